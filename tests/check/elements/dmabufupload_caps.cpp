// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufupload: templates, caps queries, negotiation, and what it says when that fails.
#include "support/dmabuf_elements.hpp"
#include "support/gpu_table.hpp"
#include "support/overlays.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

const std::string kNv12 = plain_caps("NV12", 640, 480);

// Every pair that the templates pair up has to have the same bytes on both sides.
GST_START_TEST(test_templates)
{
  const Harness h("dmabufupload allocator=memfd");
  for (const char *name : {"sink", "src"}) {
    GstPadTemplate *tmpl = gst_element_get_pad_template(h.element(), name);
    const auto caps = GstPtr<GstCaps>::adopt(gst_pad_template_get_caps(tmpl));
    fail_unless(gst_caps_is_subset(caps_of(dmabuf_caps("NV12:0x0100000000000002", 64, 64)).get(),
                                   caps.get()));
    fail_unless(gst_caps_is_subset(caps_of(kNv12).get(), caps.get()), "%s",
                text_of(caps.get()).c_str());
    fail_if(gst_caps_can_intersect(caps.get(), caps_of("video/x-raw, format=NV12_4L4").get()),
            "tiled format");
    fail_if(gst_caps_can_intersect(caps.get(), caps_of("video/x-raw, format=RGB8P").get()),
            "palette");
    // for implicit-modifier=linear
    fail_unless_equals_int(
        gst_caps_can_intersect(caps.get(), caps_of("video/x-raw(memory:DMABuf), format=NV12").get()),
        std::string(name) == "src");
  }
  guint n_formats = 0;
  const GstVideoFormat *formats = gst_video_formats_raw(&n_formats);
  const auto sink = GstPtr<GstCaps>::adopt(
      gst_pad_template_get_caps(gst_element_get_pad_template(h.element(), "sink")));
  for (guint i = 0; i < n_formats; i++) {
    guint64 modifier = 1;
    const char *name = gst_video_format_to_string(formats[i]);
    const bool linear =
        gst_drm_format_from_video_format(formats[i], &modifier) != 0 && modifier == 0;
    const auto caps = caps_of(plain_caps(name, 64, 64));
    fail_unless(gst_caps_is_subset(caps.get(), sink.get()) == linear, "%s", name);
  }
}
GST_END_TEST

struct NegotiationRow {
  const char *name;
  const char *format;     // upstream's, 640x480
  const char *downstream; // caps
  const char *result;     // drm-format, "plain", "implicit", or "" where it has to fail
  const char *properties = "";
};

constexpr NegotiationRow kNegotiation[] = {
    {"anything", "NV12", "ANY", "plain"},
    {"video with any features", "NV12", "video/x-raw(ANY)", "plain"},
    {"anything, and the user says which implicit caps are linear", "NV12", "ANY", "plain", "implicit-modifier=linear"},
    {"any drm-format", "I420", "video/x-raw(memory:DMABuf), format=DMA_DRM", "YU12"},
    {"linear in a list", "NV12",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={XR24, NV12:0x0100000000000002, NV12}",
     "NV12"},
    {"byte order reads backwards", "BGRx",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={XR24, XB24}", "XR24"},
    {"fourcc with spaces", "GRAY8",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={(string)\"R8\\ \\ \", XR24}", "R8  "},
    {"plain only", "NV12", "video/x-raw, format={I420, NV12}", "plain"},
    {"both, plain first", "NV12",
     "video/x-raw, format=NV12; video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12",
     "NV12"},
    {"both, in different formats", "NV12",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=XR24; video/x-raw, format=NV12",
     "plain"},
    {"one structure per size", "YUY2",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12, YUYV}, width=1024, height=768; "
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12, YUYV}, width=640, height=480",
     "YUYV"},
    {"any features", "NV12", "video/x-raw(ANY), format={NV12, I420}", "plain"},
    {"tiled only", "NV12",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0100000000000002", ""},
    {"named tiling is not linear", "NV12",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0900000000000001", ""},
    {"rockchip's and other old encoders: no modifier", "NV12", "video/x-raw(memory:DMABuf), format=NV12", "implicit"},
    {"no modifier, and the user refuses that", "NV12", "video/x-raw(memory:DMABuf), format=NV12", "",
     "implicit-modifier=refuse"},
    {"no modifier, and only a driver knows it", "NV12", "video/x-raw(memory:DMABuf), format=NV12", "",
     "implicit-modifier=driver"},
    {"no modifier before a named one", "NV12",
     "video/x-raw(memory:DMABuf), format=NV12; video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12", "NV12"},
    {"a drm-format and no format", "NV12", "video/x-raw(memory:DMABuf), drm-format=NV12:0x0100000000000002", "",
     "implicit-modifier=linear"},
    {"the old dialect where plain video is taken, too", "NV12",
     "video/x-raw(memory:DMABuf), format=NV12; video/x-raw, format=NV12", "plain"},
    {"the old dialect before any features, as vapostproc of GStreamer 1.22", "NV12",
     "video/x-raw(memory:DMABuf), format={NV12, I420}; video/x-raw, format=NV12; video/x-raw(ANY)", "plain"},
    {"DMA buffers without a format beside plain video, likewise", "NV12",
     "video/x-raw(memory:DMABuf), width=[1, 8192]; video/x-raw, format=NV12", "plain"},
    {"implicit modifier that means linear", "NV12", "video/x-raw(memory:DMABuf), format={I420, NV12}",
     "implicit", "implicit-modifier=linear"},
    {"implicit modifier before no DMA buffers", "NV12",
     "video/x-raw, format=NV12; video/x-raw(memory:DMABuf), format=NV12", "implicit",
     "implicit-modifier=linear"},
    {"a modifier before the implicit one", "NV12",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12; video/x-raw(memory:DMABuf), "
     "format=NV12",
     "NV12", "implicit-modifier=linear"},
    {"implicit modifier, of which a CPU knows nothing", "NV12",
     "video/x-raw(memory:DMABuf), format=NV12", "", "implicit-modifier=driver"},
    {"implicit modifier, refused", "NV12", "video/x-raw(memory:DMABuf), format=NV12", "",
     "implicit-modifier=refuse"},
    {"same size of pixel, other order", "BGRx",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=XB24", ""},
    {"alpha is not padding", "BGRx", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=AR24",
     ""},
    {"other size", "NV12",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=[1, 600]", ""},
    {"other memory", "NV12", "video/x-raw(memory:GLMemory), format=NV12", ""},
};

GST_START_TEST(test_negotiation)
{
  const NegotiationRow &row = kNegotiation[__i__];
  const Harness h(std::string("dmabufupload allocator=memfd ") + row.properties);
  gst_harness_set_sink_caps(h.get(), caps_of(row.downstream).release());
  const bool accepted = h.negotiate(plain_caps(row.format, 640, 480));
  fail_unless(accepted == (row.result[0] != '\0'), "%s: %s", row.name, h.last_error().c_str());
  if (!accepted) {
    CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), row.format, "640x480", "dmabufupload",
                      "finds nothing in common");
    return;
  }
  const std::string plain = plain_caps(row.format, 640, 480);
  const auto expected =
      caps_of(std::strcmp(row.result, "plain") == 0 ? plain
              : std::strcmp(row.result, "implicit") == 0
                  ? "video/x-raw(memory:DMABuf), format=NV12, width=640, height=480, framerate=30/1"
                  : dmabuf_caps((std::string("\"") + row.result + "\"").c_str(), 640, 480));
  fail_unless(gst_caps_is_equal(h.output_caps().get(), expected.get()), "%s: %s, expected %s",
              row.name, text_of(h.output_caps().get()).c_str(), text_of(expected.get()).c_str());
}
GST_END_TEST

struct QueryRow {
  const char *name;
  const char *downstream;
  const char *filter; // or nullptr
  const char *answer;
};

constexpr QueryRow kQueries[] = {
    {"linear becomes plain, tiled passes",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12, XR24:0x0100000000000001, AR24}",
     nullptr,
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={AR24, NV12, "
     "XR24:0x0100000000000001}; video/x-raw, format={NV12, BGRA}"},
    {"plain stays plain", "video/x-raw, format={NV12, NV12_4L4, I420}", nullptr,
     "video/x-raw, format={I420, NV12}"},
    {"the same in both dialects once",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12; video/x-raw, format=NV12",
     nullptr,
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12; video/x-raw, format=NV12"},
    {"filter of plain video", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12, XR24}",
     "video/x-raw, format={I420, NV12}, width=640", "video/x-raw, format=NV12, width=640"},
    {"sizes are kept",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=[64, 4096], height=[64, "
     "2160]",
     "video/x-raw", "video/x-raw, format=NV12, width=[64, 4096], height=[64, 2160]"},
    {"other fields are kept",
     "video/x-raw, format=NV12, colorimetry=bt709, interlace-mode=progressive", nullptr,
     "video/x-raw, format=NV12, colorimetry=bt709, interlace-mode=progressive"},
    {"nothing in common", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=XR24",
     "video/x-raw, format=NV12", "EMPTY"},
    {"not video", "audio/x-raw", nullptr, "EMPTY"},
    {"written linear is refused",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12:0x0000000000000000, XR24}",
     "video/x-raw", "video/x-raw, format=BGRx"},
};

GST_START_TEST(test_query)
{
  const QueryRow &row = kQueries[__i__];
  const Harness h("dmabufupload allocator=memfd");
  gst_harness_set_sink_caps(h.get(), caps_of(row.downstream).release());
  gst_harness_play(h.get());
  const auto filter = row.filter ? caps_of(row.filter) : GstPtr<GstCaps>();
  const auto answer =
      GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(h.get()->srcpad, filter.get()));
  const auto unsized_expected = caps_of(row.answer);
  // the templates' own limits
  const auto expected = GstPtr<GstCaps>::adopt(gst_drm_caps_intersect(
      unsized_expected.get(),
      caps_of("video/x-raw(ANY), width=[1, 16384], height=[1, 16384]").get()));
  fail_unless(gst_caps_is_strictly_equal(answer.get(), expected.get()), "%s: %s, expected %s",
              row.name, text_of(answer.get()).c_str(), text_of(expected.get()).c_str());
}
GST_END_TEST

GstPtr<GstCaps> table_caps(const std::vector<gstdrm::Format> &pairs)
{
  GstDrmFormatSet *set = gst_drm_format_set_new();
  for (const gstdrm::Format &pair : pairs)
    gst_drm_format_set_add(set, pair.fourcc, pair.modifier);
  auto caps = GstPtr<GstCaps>::adopt(gst_drm_format_set_to_caps(set));
  gst_drm_format_set_unref(set);
  return caps;
}

// A GPU's whole table downstream: plain video is taken in the formats of its linear pairs, and no
// others.
GST_START_TEST(test_gpu_table)
{
  const std::vector<gstdrm::Format> pairs =
      load_gpu_table(gpu_table_names()[static_cast<std::size_t>(__i__)]);
  const auto downstream = table_caps(pairs);
  const Harness h("dmabufupload allocator=memfd");
  gst_harness_set_sink_caps(h.get(), gst_caps_ref(downstream.get()));
  gst_harness_play(h.get());
  const auto answer = GstPtr<GstCaps>::adopt(
      gst_pad_peer_query_caps(h.get()->srcpad, caps_of("video/x-raw").get()));
  const auto whole = GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(h.get()->srcpad, nullptr));
  fail_unless_equals_int(gst_caps_get_size(answer.get()), 1);
  const GValue *formats =
      gst_structure_get_value(gst_caps_get_structure(answer.get(), 0), "format");
  guint expected = 0;
  for (const gstdrm::Format &pair : pairs) {
    const GstVideoFormat format = gst_drm_format_to_video_format(pair.fourcc, pair.modifier);
    if (pair.modifier != 0 || format == GST_VIDEO_FORMAT_UNKNOWN)
      continue;
    // formats of 64 bits a pixel are for those who have nothing else
    const GstVideoFormatInfo *info = gst_video_format_get_info(format);
    const bool deep = GST_VIDEO_FORMAT_INFO_N_PLANES(info) == 1 && GST_VIDEO_FORMAT_INFO_PSTRIDE(info, 0) == 8;
    expected += deep ? 0 : 1;
    const char *name = gst_video_format_to_string(format);
    const auto plain = caps_of(plain_caps(name, 64, 64));
    fail_unless(gst_caps_can_intersect(whole.get(), plain.get()), "%s is missing", name);
    fail_unless(gst_caps_can_intersect(answer.get(), plain.get()) == !deep, "%s", name);
    const auto alone = GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(h.get()->srcpad, plain.get()));
    fail_if(gst_caps_is_empty(alone.get()), "%s is missing where upstream has nothing else", name);
  }
  fail_unless_equals_int(gst_value_list_get_size(formats), expected);
  fail_unless(expected > 0);
}
GST_END_TEST

// A filter with another GPU's whole table: the same pairs as comparing every string with every
// other.
GST_START_TEST(test_gpu_table_filter)
{
  const auto downstream = table_caps(load_gpu_table("amd-navi31"));
  const auto filter =
      table_caps(load_gpu_table(gpu_table_names()[static_cast<std::size_t>(__i__)]));
  const Harness h("dmabufupload allocator=memfd");
  gst_harness_set_sink_caps(h.get(), gst_caps_ref(downstream.get()));
  gst_harness_play(h.get());
  const auto answer =
      GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(h.get()->srcpad, filter.get()));
  const auto expected = GstPtr<GstCaps>::adopt(gst_caps_intersect(filter.get(), downstream.get()));
  GstDrmFormatSet *got = gst_drm_format_set_new_from_caps(answer.get());
  GstDrmFormatSet *want = gst_drm_format_set_new_from_caps(expected.get());
  fail_unless(gst_drm_format_set_get_size(want) > 10);
  fail_unless(gst_drm_format_set_is_equal(got, want), "%u pairs, expected %u",
              gst_drm_format_set_get_size(got), gst_drm_format_set_get_size(want));
  gst_drm_format_set_unref(got);
  gst_drm_format_set_unref(want);
}
GST_END_TEST

struct ErrorRow {
  const char *name;
  const char *upstream;
  const char *downstream;
  std::vector<const char *> says;
};

const std::vector<ErrorRow> &error_rows()
{
  static const std::vector<ErrorRow> rows = {
      {"tiled only",
       "video/x-raw, format=NV12, width=640, height=480",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0100000000000002",
       {"plain NV12", "NV12:0x0100000000000002", "linear", "glupload"}},
      {"this format tiled, another one linear",
       "video/x-raw, format=NV12, width=640, height=480",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12:0x0100000000000002, XR24}",
       {"NV12 in tiled layouts only", "videoconvert", "BGRx"}},
      {"other format",
       "video/x-raw, format=NV12, width=640, height=480",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={XR24, AR24}",
       {"videoconvert", "BGRA"}},
      {"other size",
       "video/x-raw, format=NV12, width=641, height=480",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=[1, 640]",
       {"641x480", "width 641 against [ 1, 640 ]", "videoscale"}},
      {"other rate",
       "video/x-raw, format=NV12, width=640, height=480, framerate=25/1",
       "video/x-raw, format=NV12, framerate=30/1",
       {"framerate 25/1 against 30/1", "videorate after"}},
      {"a display of whole pictures",
       "video/x-raw, format=NV12, width=640, height=480, interlace-mode=interleaved",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, interlace-mode=progressive",
       {"interlace-mode interleaved against progressive", "deinterlace after"}},
      {"no fourcc of the same bytes",
       "video/x-raw, format=NV12_4L4, width=640, height=480",
       "ANY",
       {"NV12_4L4", "videoconvert"}},
      {"no video downstream",
       "video/x-raw, format=NV12, width=640, height=480",
       "audio/x-raw",
       {"audio/x-raw"}},
      {"passed through, but refused",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0100000000000002, width=64, "
       "height=64",
       "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12",
       {"DMA_DRM NV12:0x0100000000000002", "takes DMA_DRM NV12"}},
  };
  return rows;
}

// One error however often upstream tries, and it names both sides.
GST_START_TEST(test_error)
{
  const ErrorRow &row = error_rows()[static_cast<std::size_t>(__i__)];
  const Harness h("dmabufupload allocator=memfd");
  gst_harness_set_sink_caps(h.get(), caps_of(row.downstream).release());
  for (int attempt = 0; attempt < 3; attempt++)
    fail_if(h.negotiate(row.upstream), "%s", row.name);
  CHECK_ONE_MESSAGE_OF(row.name, h.messages(GST_MESSAGE_ERROR), row.says);
}
GST_END_TEST

// Another run, and a stream that was taken in between, make the same refusal another failure.
GST_START_TEST(test_error_again)
{
  const Harness h("dmabufupload allocator=memfd");
  const auto refuse = [&h] {
    gst_harness_set_sink_caps(h.get(), caps_of("video/x-raw, format=BGRx").release());
    gst_harness_push_upstream_event(h.get(), gst_event_new_reconfigure());
    fail_if(h.negotiate(plain_caps("NV12", 66, 64)));
    CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "nothing in common");
  };
  refuse();
  gst_element_set_state(h.element(), GST_STATE_NULL);
  gst_harness_play(h.get());
  gst_pad_push_event(h.get()->srcpad, gst_event_new_stream_start("again"));
  refuse();
  gst_harness_set_sink_caps(h.get(), caps_of("video/x-raw, format=NV12").release());
  gst_harness_push_upstream_event(h.get(), gst_event_new_reconfigure());
  const std::string caps = plain_caps("NV12", 66, 64);
  fail_unless(h.negotiate(caps));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_pad_push_event(h.get()->srcpad, gst_event_new_segment(&segment));
  (void)h.push(new_frame(caps));
  gst_harness_set_sink_caps(h.get(), caps_of("video/x-raw, format=BGRx").release());
  gst_harness_push_upstream_event(h.get(), gst_event_new_reconfigure());
  fail_unless_equals_int(gst_harness_push(h.get(), new_frame(caps)), GST_FLOW_NOT_NEGOTIATED);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "nothing in common");
}
GST_END_TEST

// The application only asks; kit_negotiation has sources that ask.
GST_START_TEST(test_empty_query_is_a_question)
{
  const Harness h("dmabufupload allocator=memfd");
  gst_harness_set_sink_caps(
      h.get(), caps_of("video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=XR24").release());
  const auto filter = caps_of("video/x-raw, format={NV12, I420}");
  gst_harness_play(h.get());
  const auto answer =
      GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(h.get()->srcpad, filter.get()));
  fail_unless(gst_caps_is_empty(answer.get()));
  fail_unless(h.messages(GST_MESSAGE_WARNING).empty() && h.messages(GST_MESSAGE_ERROR).empty());
}
GST_END_TEST

// Downstream changes its mind while frames flow.
GST_START_TEST(test_reconfigure)
{
  const Harness h("dmabufupload allocator=memfd");
  gst_harness_set_sink_caps(h.get(), caps_of("video/x-raw, format=NV12").release());
  fail_unless(h.negotiate(kNv12));
  fail_unless(all_dmabuf(h.push(new_frame(kNv12)).get()));
  fail_unless(gst_caps_is_equal(h.output_caps().get(), caps_of(kNv12).get()));

  gst_harness_set_sink_caps(
      h.get(), caps_of("video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12").release());
  gst_harness_push_upstream_event(h.get(), gst_event_new_reconfigure());
  const auto frame = h.push(new_frame(kNv12, 1));
  fail_unless(
      gst_caps_is_equal(h.output_caps().get(), caps_of(dmabuf_caps("NV12", 640, 480)).get()));
  check_drawn(frame.get(), video_info(kNv12), 1);

  gst_harness_set_sink_caps(
      h.get(), caps_of("video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=XR24").release());
  gst_harness_push_upstream_event(h.get(), gst_event_new_reconfigure());
  fail_unless_equals_int(gst_harness_push(h.get(), new_frame(kNv12)), GST_FLOW_NOT_NEGOTIATED);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "NV12", "XR24");
}
GST_END_TEST

// Fields in buffers of their own are refused with a reason: a frame's consumer would show them at
// half the height, or read beside them.
GST_START_TEST(test_fields)
{
  static const char *const kCaps[] = {
      "video/x-raw(format:Interlaced), format=NV12",
      "video/x-raw(memory:DMABuf, format:Interlaced), format=DMA_DRM, drm-format=NV12",
      "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12",
      "video/x-raw, format=NV12",
  };
  const Harness h(std::string("dmabufupload allocator=") + test_kinds().front());
  fail_if(h.negotiate(std::string(kCaps[__i__]) +
                      ", width=64, height=64, framerate=25/1, interlace-mode=alternate"));
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR),
                    __i__ < 2 ? "one field each" : "format:Interlaced");
}
GST_END_TEST

// textoverlay, subtitleoverlay
GST_START_TEST(test_overlays)
{
  const Harness upload("dmabufupload allocator=memfd");
  check_overlays_pass(upload, kNv12, dmabuf_caps("NV12", 640, 480), GST_CAPS_FEATURE_MEMORY_DMABUF);
  const Harness plain("dmabufupload allocator=memfd");
  check_overlays_pass(plain, kNv12, kNv12, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
  const Harness download("dmabufdownload");
  check_overlays_pass(download, kNv12, kNv12, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
}
GST_END_TEST

// What unixfdsrc sends while its unixfdsink has no caps yet (1.26); its own follow.
GST_START_TEST(test_caps_that_are_none_yet)
{
  for (const char *element : {"dmabufupload allocator=memfd", "dmabufdownload", "dmabufrelabel"}) {
    const Harness h(element);
    fail_if(h.negotiate("NULL"));
    const std::string error = h.last_error();
    fail_unless(error == "no error message", "%s: %s", element, error.c_str());
    const bool plain = std::string(element) != "dmabufrelabel";
    fail_unless(h.negotiate(plain ? kNv12 : dmabuf_caps("NV12", 640, 480)), "%s: %s", element, h.last_error().c_str());
  }
}
GST_END_TEST

Suite *dmabufupload_caps_suite()
{
  Suite *suite = suite_create("dmabufupload-caps");
  TCase *tcase = tcase_create("caps");
  suite_add_tcase(suite, tcase);
  const int n_tables = static_cast<int>(gpu_table_names().size());
  tcase_add_test(tcase, test_templates);
  tcase_add_test(tcase, test_overlays);
  tcase_add_test(tcase, test_caps_that_are_none_yet);
  tcase_add_loop_test(tcase, test_negotiation, 0, G_N_ELEMENTS(kNegotiation));
  tcase_add_loop_test(tcase, test_query, 0, G_N_ELEMENTS(kQueries));
  tcase_add_loop_test(tcase, test_gpu_table, 0, n_tables);
  tcase_add_loop_test(tcase, test_gpu_table_filter, 0, n_tables);
  tcase_add_loop_test(tcase, test_error, 0, static_cast<int>(error_rows().size()));
  tcase_add_test(tcase, test_error_again);
  tcase_add_test(tcase, test_empty_query_is_a_question);
  tcase_add_test(tcase, test_reconfigure);
  tcase_add_loop_test(tcase, test_fields, 0, 4);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabufupload_caps)

// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufrelabel: which caps become which, and what frames have to be for them.
#include "support/dmabuf_elements.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

#define SIZE ", width=64, height=48, framerate=30/1"
constexpr const char *kPlain = "video/x-raw, format=NV12" SIZE;
constexpr const char *kImplicit = "video/x-raw(memory:DMABuf), format=NV12" SIZE;
constexpr const char *kLinear = "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12" SIZE;
constexpr const char *kTiled = "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0100000000000002" SIZE;

constexpr const char *kDmaDrmPeer = "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12, XR24, NV12:0x0100000000000002}";
constexpr const char *kOldPeer = "video/x-raw(memory:DMABuf), format={I420, NV12}";
constexpr const char *kAnyDmaDrm = "video/x-raw(memory:DMABuf), format=DMA_DRM";

struct CapsRow {
  const char *name;
  const char *upstream;
  const char *downstream;
  const char *result; // nullptr: refused
  const char *properties = "";
};

constexpr CapsRow kCaps[] = {
    {"a camera of 1.22 that says nothing of DMA buffers", kPlain, kDmaDrmPeer, kLinear},
    {"the same before an old element", kPlain, kOldPeer, kImplicit},
    {"the old dialect, whose layout nobody knows", kImplicit, kDmaDrmPeer, nullptr},
    {"the old dialect, linear as the user knows", kImplicit, kDmaDrmPeer, kLinear, "modifier=linear"},
    {"the old dialect, tiled as the user knows", kImplicit, kDmaDrmPeer, kTiled, "modifier=0x0100000000000002"},
    {"the old dialect, in a layout that downstream does not take", kImplicit, kDmaDrmPeer, nullptr, "modifier=0x0100000000000001"},
    {"the old dialect on both sides", kImplicit, kOldPeer, kImplicit},
    {"a downstream that lists no formats", kImplicit, kAnyDmaDrm, kTiled, "modifier=0x0100000000000002"},
    {"linear before an old element", kLinear, kOldPeer, kImplicit},
    {"tiled before an old element, which may not know", kTiled, kOldPeer, nullptr},
    {"tiled before an old element, as the user knows", kTiled, kOldPeer, kImplicit, "modifier=0x0100000000000002"},
    {"a drm-format and no format", kImplicit, "video/x-raw(memory:DMABuf), drm-format=NV12:0x0100000000000002", nullptr},
    {"DMA_DRM on both sides", kTiled, kDmaDrmPeer, kTiled},
    {"anything downstream", kTiled, "ANY", kTiled},
    {"plain video is never tiled", kPlain, kDmaDrmPeer, nullptr, "modifier=0x0100000000000002"},
    {"another format", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=YUYV" SIZE, kDmaDrmPeer, nullptr},
    {"no DMA buffers downstream", kLinear, "video/x-raw, format=NV12", nullptr},
};

GST_START_TEST(test_caps)
{
  const CapsRow &row = kCaps[__i__];
  say(row.name);
  const Harness h(std::string("dmabufrelabel ") + row.properties);
  gst_harness_set_sink_caps(h.get(), caps_of(row.downstream).release());
  const bool taken = h.negotiate(row.upstream);
  const std::vector<std::string> errors = h.messages(GST_MESSAGE_ERROR);
  fail_unless(taken == (row.result != nullptr), "%s: %s", row.name, errors.empty() ? "no error" : errors.front().c_str());
  if (!taken) {
    fail_unless(errors.size() == 1, "%s: %zu messages", row.name, errors.size());
    fail_unless(errors.front().find("finds nothing in common") != std::string::npos, "%s", errors.front().c_str());
    return;
  }
  fail_unless(gst_caps_is_equal(h.output_caps().get(), caps_of(row.result).get()), "%s", text_of(h.output_caps().get()).c_str());
}
GST_END_TEST

struct QueryRow {
  const char *name;
  const char *downstream;
  const char *answer; // of the sink pad
  const char *properties = "";
};

const QueryRow kQueries[] = {
    {"what becomes linear", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12, XR24:0x0100000000000001}",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12, XR24:0x0100000000000001}; video/x-raw, format=NV12"},
    {"with a layout that the user knows", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12, XR24:0x0100000000000001}",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12, XR24:0x0100000000000001}; video/x-raw(memory:DMABuf), format=BGRx",
     "modifier=0x0100000000000001"},
    {"an old element", kOldPeer,
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12, YU12}; video/x-raw(memory:DMABuf), format={I420, NV12}; "
     "video/x-raw, format={I420, NV12}"},
};

GST_START_TEST(test_queries)
{
  const QueryRow &row = kQueries[__i__];
  say(row.name);
  const Harness h(std::string("dmabufrelabel ") + row.properties);
  gst_harness_set_sink_caps(h.get(), caps_of(row.downstream).release());
  gst_harness_play(h.get());
  const auto asked = GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(h.get()->srcpad, nullptr));
  auto answer = GstPtr<GstCaps>::adopt(gst_caps_copy(asked.get()));
  for (guint i = 0; i < gst_caps_get_size(answer.get()); i++)
    gst_structure_remove_fields(gst_caps_get_structure(answer.get(), i), "width", "height", nullptr);
  fail_unless(gst_caps_is_equal(answer.get(), caps_of(row.answer).get()), "%s", text_of(answer.get()).c_str());
}
GST_END_TEST

// The memory stays, and the GstVideoMeta has the format of the new caps.
GST_START_TEST(test_frames)
{
  struct {
    const char *upstream, *downstream, *properties;
    bool has_meta;
  } const rows[] = {{kPlain, kDmaDrmPeer, "", true},
                    {kPlain, kDmaDrmPeer, "", false},
                    {kImplicit, kDmaDrmPeer, "modifier=linear", true},
                    {kLinear, kOldPeer, "", true},
                    {kTiled, kOldPeer, "modifier=0x0100000000000002", true}};
  for (const auto &row : rows) {
    const Harness h(std::string("dmabufrelabel ") + row.properties);
    gst_harness_set_sink_caps(h.get(), caps_of(row.downstream).release());
    fail_unless(h.negotiate(row.upstream), "%s", h.last_error().c_str());
    GstBuffer *frame = new_dmabuf_frame(test_kinds().front(), "video/x-raw, format=NV12, width=256, height=48", 3);
    if (GstVideoMeta *meta = gst_buffer_get_video_meta(frame))
      gst_buffer_remove_meta(frame, &meta->meta);
    if (row.has_meta) {
      gsize offsets[GST_VIDEO_MAX_PLANES] = {0, 256 * 48};
      gint strides[GST_VIDEO_MAX_PLANES] = {256, 256};
      gst_buffer_add_video_meta_full(frame, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 64, 48, 2, offsets, strides);
    }
    const GstMemory *memory = gst_buffer_peek_memory(frame, 0);
    const auto out = h.push(frame);
    fail_unless(gst_buffer_peek_memory(out.get(), 0) == memory);
    const GstVideoMeta *meta = gst_buffer_get_video_meta(out.get());
    fail_unless(meta && meta->format == GST_VIDEO_FORMAT_NV12 && meta->stride[0] == (row.has_meta ? 256 : 64), "%s: %d %d",
                row.upstream, meta ? meta->format : -1, meta ? meta->stride[0] : -1);
    fail_unless_equals_uint64(h.stat("frames"), 1);
    fail_unless_equals_uint64(h.stat("copies"), 0);
  }
}
GST_END_TEST

struct BadRow {
  const char *name;
  const char *upstream, *properties;
  std::function<GstBuffer *()> frame;
  const char *says;
};

const BadRow kBad[] = {
    {"system memory", kLinear, "", [] { return new_frame(kPlain); }, "no DMA buffer"},
    {"smaller than the caps say", kPlain, "", [] { return new_dmabuf_frame(test_kinds().front(), "video/x-raw, format=NV12, width=16, height=8"); },
     "64"},
    {"tiled without strides", kImplicit, "modifier=0x0100000000000002",
     [] {
       GstBuffer *frame = new_dmabuf_frame(test_kinds().front(), kPlain);
       if (GstVideoMeta *meta = gst_buffer_get_video_meta(frame))
         gst_buffer_remove_meta(frame, &meta->meta);
       return frame;
     },
     "GstVideoMeta"},
};

GST_START_TEST(test_bad_frames)
{
  const BadRow &row = kBad[__i__];
  say(row.name);
  const Harness h(std::string("dmabufrelabel ") + row.properties);
  gst_harness_set_sink_caps(h.get(), caps_of(kAnyDmaDrm).release());
  fail_unless(h.negotiate(row.upstream), "%s", h.last_error().c_str());
  fail_unless_equals_int(gst_harness_push(h.get(), row.frame()), GST_FLOW_ERROR);
  const std::vector<std::string> errors = h.messages(GST_MESSAGE_ERROR);
  fail_unless_equals_int(static_cast<int>(errors.size()), 1);
  fail_unless(errors.front().find(row.says) != std::string::npos, "%s", errors.front().c_str());
}
GST_END_TEST

GST_START_TEST(test_modifiers_that_are_none)
{
  for (const char *text : {"tiled", "0x", "NV12", "0x01000000000000022"}) {
    const std::string said = start_error(std::string("dmabufrelabel modifier=") + text);
    fail_unless(said.find("is no modifier") != std::string::npos, "%s", said.c_str());
  }
}
GST_END_TEST

// Upstream hears what downstream says of frames with the other caps.
GST_START_TEST(test_allocation)
{
  const Harness h("dmabufrelabel");
  gst_harness_set_sink_caps(h.get(), caps_of(kDmaDrmPeer).release());
  gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_META_API_TYPE, nullptr);
  fail_unless(h.negotiate(kPlain));
  const auto query = h.ask_allocation(kPlain);
  fail_unless(query && gst_query_find_allocation_meta(query.get(), GST_VIDEO_META_API_TYPE, nullptr));
}
GST_END_TEST

// What downstream leaves open, upstream is not told.
GST_START_TEST(test_allocation_that_downstream_refuses)
{
  const Harness h("dmabufrelabel");
  gst_harness_set_sink_caps(h.get(), caps_of(kDmaDrmPeer).release());
  fail_unless(h.negotiate(kPlain), "%s", h.last_error().c_str());
  const auto refuse = [](GstPad *, GstPadProbeInfo *info, gpointer) {
    return GST_QUERY_TYPE(GST_PAD_PROBE_INFO_QUERY(info)) == GST_QUERY_ALLOCATION ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
  };
  gst_pad_add_probe(h.get()->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, refuse, nullptr, nullptr);
  const auto query = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps_of(kPlain).get(), TRUE));
  fail_if(gst_pad_peer_query(h.get()->srcpad, query.get()));
}
GST_END_TEST

Suite *dmabufrelabel_suite()
{
  Suite *suite = suite_create("dmabufrelabel");
  TCase *tcase = tcase_create("relabel");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_caps, 0, G_N_ELEMENTS(kCaps));
  tcase_add_loop_test(tcase, test_queries, 0, G_N_ELEMENTS(kQueries));
  tcase_add_test(tcase, test_frames);
  tcase_add_loop_test(tcase, test_bad_frames, 0, G_N_ELEMENTS(kBad));
  tcase_add_test(tcase, test_modifiers_that_are_none);
  tcase_add_test(tcase, test_allocation);
  tcase_add_test(tcase, test_allocation_that_downstream_refuses);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabufrelabel)

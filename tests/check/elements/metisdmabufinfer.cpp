// SPDX-License-Identifier: LGPL-2.1-or-later
// metisdmabufinfer with BlazeFace on the CPU: frames pass untouched and in order with their tensors,
// and what is wrong is said.
#include "metisdmabufinfer.hpp"

#include <cstring>

#include "gst/metis/element/gstmetisinferlatency.hpp"
#include "support/crops.hpp"
#include "support/overlays.hpp"

namespace {

using namespace gstdrm::test::infer;

// --- frames --------------------------------------------------------------------------------------

struct FormatRow {
  const char *name;
  std::string caps;
  const char *format; // of the pixels
  bool dmabuf;
  const char *properties;
  bool dmabuf_results;
};

const FormatRow kFormats[] = {
    {"DMA_DRM NV12", dmabuf_caps("NV12", kWidth, kHeight), "NV12", true, "", true},
    {"DMA_DRM XR24", dmabuf_caps("XR24", kWidth, kHeight), "BGRx", true, "", true},
    {"DMA_DRM BG24", dmabuf_caps("BG24", kWidth, kHeight), "RGB", true, "", true},
    {"DMA_DRM YU12", dmabuf_caps("YU12", kWidth, kHeight), "I420", true, "", true},
    {"plain YV12", plain_caps("YV12", kWidth, kHeight), "YV12", false, "", true},
    {"DMA_DRM YUYV", dmabuf_caps("YUYV", kWidth, kHeight), "YUY2", true, "", true},
    {"DMA_DRM P010", dmabuf_caps("P010", kWidth, kHeight), "P010_10LE", true, "", true},
    {"DMA_DRM R8", dmabuf_caps("\"R8  \"", kWidth, kHeight), "GRAY8", true, "", true},
    {"plain YUY2", plain_caps("YUY2", kWidth, kHeight), "YUY2", false, "", true},
    {"plain Y42B", plain_caps("Y42B", kWidth, kHeight), "Y42B", false, "", true},
    {"plain Y444", plain_caps("Y444", kWidth, kHeight), "Y444", false, "", true},
    {"plain I420_10LE", plain_caps("I420_10LE", kWidth, kHeight), "I420_10LE", false, "", true},
    {"plain NV12", plain_caps("NV12", kWidth, kHeight), "NV12", false, "", true},
    {"plain RGBA", plain_caps("RGBA", kWidth, kHeight), "RGBA", false, "", true},
    {"results in system memory", dmabuf_caps("NV12", kWidth, kHeight), "NV12", true,
     "output-buffer-mode=system", false},
    {"frames are mapped anew", dmabuf_caps("NV12", kWidth, kHeight), "NV12", true,
     "cache-imports=false", true},
    {"one in flight", dmabuf_caps("NV12", kWidth, kHeight), "NV12", true, "max-in-flight=1", true},
};

GST_START_TEST(test_frames)
{
  const FormatRow &row = kFormats[__i__];
  const Harness harness(element_with(row.properties));
  fail_unless(harness.negotiate(row.caps), "%s: %s", row.name, harness.last_error().c_str());
  const std::string pixels = plain_caps(row.format, kWidth, kHeight);
  std::vector<GstBuffer *> inputs;
  std::vector<GstMemory *> memories;
  for (guint i = 0; i < 3; i++) {
    GstBuffer *input = row.dmabuf ? new_dmabuf_frame(test_kinds().front(), pixels, i) : new_frame(pixels, i);
    GST_BUFFER_PTS(input) = i * GST_SECOND;
    inputs.push_back(input);
    memories.push_back(gst_buffer_peek_memory(input, 0));
    push(harness, input);
  }
  for (guint i = 0; i < 3; i++) {
    const auto output = pull(harness);
    fail_unless(output.get() == inputs[i], "%s: another buffer", row.name);
    fail_unless(gst_buffer_peek_memory(output.get(), 0) == memories[i]);
    fail_unless(GST_BUFFER_PTS(output.get()) == i * GST_SECOND);
    gstdrm::test::check_drawn(output.get(), gstdrm::test::video_info(pixels), i);
    check_tensors(output.get(), row.dmabuf_results);
  }
  fail_unless(gst_caps_is_equal(harness.output_caps().get(), gstdrm::test::caps_of(row.caps).get()));
  fail_unless_equals_uint64(harness.stat("frames"), 3);
  fail_unless_equals_uint64(harness.stat("inferences"), 3);
  fail_unless_equals_uint64(harness.stat("copies"), 0);
  fail_unless_equals_uint64(harness.stat("passed-through"), 0);
  fail_unless(harness.stat("preprocessing-ns") > 0 && harness.stat("device-ns") > 0);
}
GST_END_TEST

// The scores of the frame that the element gives next.
std::vector<gfloat> next_scores(const Harness &harness, GstPtr<GstBuffer> &output)
{
  output = pull(harness);
  GstDrmTensorMeta *meta = gst_buffer_get_drm_tensor_meta(output.get(), kGroup);
  fail_unless(meta != nullptr, "no tensors");
  gsize n = 0;
  gfloat *values = gst_drm_tensor_meta_dup_float32(meta, 1, GST_SECOND, &n, nullptr);
  std::vector<gfloat> scores(values, values + n);
  g_free(values);
  return scores;
}

// The part as a frame of its own, tightly packed.
GstPtr<GstBuffer> cut_out(GstBuffer *frame, const GstVideoInfo &whole, const GstVideoInfo &part, const gstdrm::test::Crop &crop)
{
  auto made = GstPtr<GstBuffer>::adopt(gst_buffer_new_allocate(nullptr, part.size, nullptr));
  GstMapInfo from;
  GstMapInfo to;
  fail_unless(gst_buffer_map(frame, &from, GST_MAP_READ) && gst_buffer_map(made.get(), &to, GST_MAP_WRITE));
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(&part); p++) {
    const auto bytes = [&](guint pixels) {
      return static_cast<gsize>(GST_VIDEO_FORMAT_INFO_SCALE_WIDTH(part.finfo, p, pixels)) *
             static_cast<gsize>(GST_VIDEO_FORMAT_INFO_PSTRIDE(part.finfo, p));
    };
    const auto rows = [&](guint pixels) {
      return static_cast<gsize>(GST_VIDEO_FORMAT_INFO_SCALE_HEIGHT(part.finfo, p, pixels));
    };
    for (gsize y = 0; y < rows(crop.height); y++)
      std::memcpy(to.data + part.offset[p] + y * static_cast<gsize>(part.stride[p]),
                  from.data + whole.offset[p] + ((crop.y >> part.finfo->h_sub[p]) + y) * static_cast<gsize>(whole.stride[p]) +
                      (crop.x >> part.finfo->w_sub[p]) * static_cast<gsize>(GST_VIDEO_FORMAT_INFO_PSTRIDE(part.finfo, p)),
                  bytes(crop.width));
  }
  gst_buffer_unmap(frame, &from);
  gst_buffer_unmap(made.get(), &to);
  return made;
}

struct CropRow {
  const char *name;
  const char *format;
  const char *drm_format; // nullptr: system memory
  guint x, y;             // of the picture in a frame of twice its size
  const char *error;
};

const CropRow kCrops[] = {
    {"RGB, at an odd pixel", "BGRx", "XR24", 31, 17, ""},
    {"NV12", "NV12", "NV12", 20, 10, ""},
    {"I420 in system memory", "I420", nullptr, 2, 40, ""},
    {"YUYV", "YUY2", "YUYV", 20, 11, ""},
    {"a decoder's padding", "NV12", "NV12", 0, 0, ""},
    {"among pixels that share chroma", "NV12", "NV12", 1, 0, "Crop at even pixels"},
    {"the same, in system memory", "NV12", nullptr, 2, 1, ""},
};

// Of a frame that is larger than the caps the picture is read, and the frame goes on as it came.
GST_START_TEST(test_crop)
{
  const CropRow &row = kCrops[__i__];
  const gstdrm::test::Crop crop{row.x, row.y, kWidth, kHeight};
  const GstVideoInfo whole = gstdrm::test::video_info(plain_caps(row.format, 2 * kWidth, 2 * kHeight));
  const GstVideoInfo part = gstdrm::test::video_info(plain_caps(row.format, kWidth, kHeight));
  const auto pixels = GstPtr<GstBuffer>::adopt(gstdrm::test::new_noise_frame(whole, 3));
  const Harness harness(element_with(""));
  fail_unless(harness.negotiate(row.drm_format ? dmabuf_caps(row.drm_format, kWidth, kHeight)
                                               : plain_caps(row.format, kWidth, kHeight)));
  auto frame = row.drm_format
                   ? GstPtr<GstBuffer>::adopt(new_dmabuf_frame(test_kinds().front(), plain_caps(row.format, 2 * kWidth, 2 * kHeight)))
                   : GstPtr<GstBuffer>::adopt(gst_buffer_copy_deep(pixels.get()));
  if (row.drm_format) {
    GstVideoFrame to;
    GstVideoFrame from;
    fail_unless(gst_video_frame_map(&to, &whole, frame.get(), GST_MAP_WRITE) &&
                gst_video_frame_map(&from, &whole, pixels.get(), GST_MAP_READ));
    gst_video_frame_copy(&to, &from);
    gst_video_frame_unmap(&to);
    gst_video_frame_unmap(&from);
  }
  gstdrm::test::add_crop(frame.get(), crop);
  const GstBuffer *pushed = frame.get();
  const GstFlowReturn flow = gst_harness_push(harness.get(), frame.release());
  fail_unless((flow == GST_FLOW_OK) == (*row.error == '\0') && harness.last_error().find(row.error) != std::string::npos,
              "%s: %s", row.name, harness.last_error().c_str());
  if (flow != GST_FLOW_OK)
    return;
  GstPtr<GstBuffer> output;
  const auto scores = next_scores(harness, output);
  fail_unless(output.get() == pushed && gst_buffer_get_video_crop_meta(output.get()), "%s", row.name);
  // the same picture by itself
  const Harness other(element_with(""));
  fail_unless(other.negotiate(plain_caps(row.format, kWidth, kHeight)));
  push(other, cut_out(pixels.get(), whole, part, crop).release());
  fail_unless(next_scores(other, output) == scores, "%s: other pixels were read", row.name);
}
GST_END_TEST

// Subtitles go on beside their frames, in memory of both kinds.
GST_START_TEST(test_overlays)
{
  const std::string plain = plain_caps("NV12", kWidth, kHeight);
  gstdrm::test::check_overlays_pass(Harness(element_with("")), plain, plain, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
  const Harness harness(element_with(""));
  const std::string caps = gstdrm::test::with_overlays(dmabuf_caps("NV12", kWidth, kHeight));
  fail_unless(harness.negotiate(caps), "%s", harness.last_error().c_str());
  GstBuffer *frame = new_dmabuf_frame(test_kinds().front(), plain);
  gstdrm::test::add_overlay(frame);
  push(harness, frame);
  const auto output = pull(harness);
  fail_unless(gst_buffer_get_video_overlay_composition_meta(output.get()) && gstdrm::test::have_overlays(harness.output_caps().get()));
  check_tensors(output.get(), true);
}
GST_END_TEST

// Another element holds the buffer: it gets no meta, and the frame's memory is shared.
GST_START_TEST(test_shared_buffer)
{
  const Harness harness(element_with(""));
  fail_unless(harness.negotiate(dmabuf_caps("NV12", kWidth, kHeight)));
  const auto kept = GstPtr<GstBuffer>::adopt(
      new_dmabuf_frame(test_kinds().front(), plain_caps("NV12", kWidth, kHeight)));
  push(harness, gst_buffer_ref(kept.get()));
  const auto output = pull(harness);
  fail_unless(output.get() != kept.get());
  fail_unless(gst_buffer_peek_memory(output.get(), 0) == gst_buffer_peek_memory(kept.get(), 0));
  check_tensors(output.get(), true);
  fail_unless(gst_buffer_get_drm_tensor_meta(kept.get(), nullptr) == nullptr);
  fail_unless_equals_uint64(harness.stat("copies"), 0);
}
GST_END_TEST

// A frame that comes round again is mapped once.
GST_START_TEST(test_imports)
{
  const Harness harness(element_with(""));
  fail_unless(harness.negotiate(dmabuf_caps("NV12", kWidth, kHeight)));
  const auto frame = GstPtr<GstBuffer>::adopt(
      new_dmabuf_frame(test_kinds().front(), plain_caps("NV12", kWidth, kHeight)));
  for (int i = 0; i < 4; i++) {
    push(harness, gst_buffer_ref(frame.get()));
    pull(harness);
  }
  fail_unless_equals_uint64(harness.stat("imports"), 1);
  fail_unless_equals_uint64(harness.stat("import-hits"), 3);
}
GST_END_TEST

GST_START_TEST(test_interval)
{
  const Harness harness(element_with("interval=3"));
  fail_unless(harness.negotiate(plain_caps("NV12", kWidth, kHeight)));
  for (guint i = 0; i < 7; i++)
    push(harness, new_frame(plain_caps("NV12", kWidth, kHeight), i));
  for (guint i = 0; i < 7; i++) {
    const auto output = pull(harness);
    fail_unless(GST_BUFFER_PTS(output.get()) == i * 33 * GST_MSECOND);
    const bool inferred = gst_buffer_get_drm_tensor_meta(output.get(), nullptr) != nullptr;
    fail_unless(inferred == (i % 3 == 0), "frame %u", i);
  }
  fail_unless_equals_uint64(harness.stat("inferences"), 3);
  fail_unless_equals_uint64(harness.stat("passed-through"), 4);
}
GST_END_TEST

// --- events, queries, states ---------------------------------------------------------------------

// Buffers and events leave as they came; EOS is last.
struct QosRow {
  const char *name;
  const char *properties;
  GstClockTime time; // of the frame that was late, in frames
  GstClockTimeDiff late;
  std::string inferred; // for each of four frames whether it has a result
};

const QosRow kQos[] = {
    {"nobody asked for it", "", 1, GST_SECOND, "1111"},
    {"frames that would be late", "leaky=true", 1, GST_SECOND, "0001"}, // up to 2 s
    {"downstream has time", "leaky=true", 1, -1 * GST_SECOND, "1111"},
    {"the clock of a sink that does not synchronise", "leaky=true", GST_CLOCK_TIME_NONE, GST_SECOND, "1111"},
};

// QoS events pass upstream, and are forgotten with the next segment.
GST_START_TEST(test_qos)
{
  const QosRow &row = kQos[__i__];
  gstdrm::test::say(row.name);
  const Harness harness(element_with(row.properties));
  const std::string caps = plain_caps("NV12", kWidth, kHeight);
  fail_unless(harness.negotiate(caps));
  const GstClockTime time = GST_CLOCK_TIME_IS_VALID(row.time) ? row.time * GST_SECOND : row.time;
  fail_unless(gst_harness_push_upstream_event(harness.get(), gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1.5, row.late, time)));
  GstEvent *passed = nullptr;
  while ((passed = gst_harness_pull_upstream_event(harness.get())) && GST_EVENT_TYPE(passed) != GST_EVENT_QOS)
    gst_event_unref(passed);
  gst_event_unref(passed);
  for (const std::string &expected : {row.inferred, std::string("1111")}) {
    std::string inferred;
    for (guint i = 0; i < 4; i++) {
      GstBuffer *input = new_frame(caps, i);
      GST_BUFFER_PTS(input) = i * GST_SECOND;
      push(harness, input);
      inferred += gst_buffer_get_drm_tensor_meta(pull(harness).get(), kGroup) ? '1' : '0';
    }
    fail_unless(inferred == expected, "%s: %s", row.name, inferred.c_str());
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    fail_unless(gst_harness_push_event(harness.get(), gst_event_new_segment(&segment)));
  }
}
GST_END_TEST

GST_START_TEST(test_order)
{
  const Harness harness(element_with("max-in-flight=4"));
  fail_unless(harness.negotiate(plain_caps("NV12", kWidth, kHeight)));
  for (GstEventType type = GST_EVENT_UNKNOWN; type != GST_EVENT_SEGMENT;) {
    GstEvent *event = gst_harness_pull_event(harness.get());
    fail_unless(event != nullptr);
    type = GST_EVENT_TYPE(event);
    gst_event_unref(event);
  }
  for (guint i = 0; i < 4; i++) {
    push(harness, new_frame(plain_caps("NV12", kWidth, kHeight), i));
    fail_unless(gst_harness_push_event(harness.get(), gst_event_new_gap(i * GST_SECOND, GST_SECOND)));
  }
  fail_unless(gst_harness_push_event(harness.get(), gst_event_new_eos()));
  for (guint i = 0; i < 5; i++) {
    GstEvent *event = gst_harness_pull_event(harness.get());
    fail_unless(event != nullptr);
    if (i < 4) {
      GstClockTime at = 0;
      fail_unless_equals_int(GST_EVENT_TYPE(event), GST_EVENT_GAP);
      gst_event_parse_gap(event, &at, nullptr);
      fail_unless_equals_uint64(at, i * GST_SECOND);
      fail_unless(gst_harness_buffers_in_queue(harness.get()) >= i + 1); // those before the event
    } else {
      fail_unless_equals_int(GST_EVENT_TYPE(event), GST_EVENT_EOS);
    }
    gst_event_unref(event);
  }
  fail_unless_equals_int(static_cast<int>(gst_harness_buffers_in_queue(harness.get())), 4);
}
GST_END_TEST

GST_START_TEST(test_hostile_meta)
{
  const Harness harness(element_with(""));
  const std::string plain = plain_caps("NV12", 64, 48);
  fail_unless(harness.negotiate(plain));
  GstBuffer *frame = gstdrm::test::new_frame_with_long_rows(static_cast<guint>(__i__));
  fail_unless_equals_int(gst_harness_push(harness.get(), frame), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), "stride 4096", "byte 4608");
}
GST_END_TEST

// What the element takes and holds goes into the answers of queries.
GST_START_TEST(test_queries)
{
  const Harness harness(element_with(""));
  const std::string caps = dmabuf_caps("NV12", kWidth, kHeight);
  fail_unless(harness.negotiate(caps));
  push(harness, new_dmabuf_frame(test_kinds().front(), plain_caps("NV12", kWidth, kHeight)));
  pull(harness);
  gst_harness_set_upstream_latency(harness.get(), 40 * GST_MSECOND);
  fail_unless(gst_harness_query_latency(harness.get()) > 40 * GST_MSECOND);

  gst_harness_add_propose_allocation_meta(harness.get(), GST_VIDEO_META_API_TYPE, nullptr);
  const auto query = harness.ask_allocation(caps);
  fail_unless(static_cast<bool>(query));
  fail_unless(gst_query_find_allocation_meta(query.get(), GST_VIDEO_META_API_TYPE, nullptr));
  fail_unless(gst_query_find_allocation_meta(query.get(), GST_DRM_SYNC_META_API_TYPE, nullptr));
  g_autoptr(GPtrArray) all = gst_query_get_drm_constraints(query.get());
  fail_unless_equals_int(all->len, 1);
  const auto *asked = static_cast<const GstDrmConstraints *>(all->pdata[0]);
  guint64 access = 0;
  guint64 held = 0;
  fail_unless(gst_drm_constraints_get_range(asked, GST_DRM_CONSTRAINT_PERMISSIONS, &access, nullptr));
  fail_unless_equals_uint64(access, GST_DRM_ACCESS_READ);
  fail_unless(gst_drm_constraints_get_range(asked, GST_DRM_CONSTRAINT_BUFFERS_HELD, &held, nullptr));
  fail_unless(held > 0);

  gst_harness_set_sink_caps_str(harness.get(), "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12, NV15}");
  const auto taken = GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(harness.get()->srcpad, nullptr));
  const std::string text = gstdrm::test::text_of(taken.get());
  fail_unless(text.find("NV12") != std::string::npos && text.find("NV15") == std::string::npos, "%s", text.c_str());
}
GST_END_TEST

// A pipeline that asks for the latency whenever it is told to.
class Asking {
public:
  void frames(unsigned count, std::chrono::milliseconds inside)
  {
    for (unsigned i = 0; i < count; i++) {
      if (!latency_.note(inside))
        continue;
      messages++;
      const auto query = GstPtr<GstQuery>::adopt(gst_query_new_latency());
      latency_.add_to(query.get(), 1);
      gst_query_parse_latency(query.get(), nullptr, &announced, nullptr);
    }
  }
  GstClockTime announced = 0;
  unsigned messages = 0;

private:
  gstdrm::metis::InferLatency latency_;
};

// A slow answer of the device is forgotten. One now and then does not keep the pipeline changing.
GST_START_TEST(test_latency)
{
  using std::chrono_literals::operator""ms;
  constexpr unsigned kWindow = gstdrm::metis::InferLatency::kFirstWindow;
  Asking asking;
  asking.frames(10, 10ms);
  fail_unless_equals_uint64(asking.announced, 10 * GST_MSECOND);
  asking.frames(1, 4000ms);
  fail_unless_equals_uint64(asking.announced, 4 * GST_SECOND);
  asking.frames(kWindow - 11, 10ms);
  fail_unless_equals_uint64(asking.announced, 4 * GST_SECOND);
  asking.frames(kWindow, 10ms);
  fail_unless_equals_uint64(asking.announced, 10 * GST_MSECOND);
  fail_unless_equals_int(static_cast<int>(asking.messages), 3);
  asking.frames(100 * kWindow, 8ms); // no news
  fail_unless_equals_int(static_cast<int>(asking.messages), 3);

  for (unsigned i = 0; i < 1000; i++) {
    asking.frames(1, 100ms);
    asking.frames(3 * kWindow, 10ms);
  }
  fail_unless(asking.messages < 3 + 2 * 8, "%u messages", asking.messages);
  fail_unless_equals_uint64(asking.announced, 100 * GST_MSECOND);
}
GST_END_TEST

// --- what is wrong -------------------------------------------------------------------------------

struct StartRow {
  const char *name;
  std::string properties;
  std::vector<const char *> says;
};

const std::vector<StartRow> &start_rows()
{
  static const std::vector<StartRow> rows{
      {"no model", "backend=cpu", {"No model is set", "property model"}},
      {"no such file", "backend=cpu model=/nonexistent/face.onnx", {"/nonexistent/face.onnx"}},
      {"a folder", "backend=cpu model=/", {"/"}},
      {"no network", "backend=cpu model=" + model_path() + ".modelinfo", {"modelinfo"}},
      {"no device for axl", "backend=axl device=metis-7:7:7 model=" + model_path(), {"metis-7:7:7"}},
      {"no back end at all", "device=metis-7:7:7 model=" + model_path() + ".modelinfo",
       {"No back end", "axl:", "cpu:"}},
  };
  return rows;
}

GST_START_TEST(test_start)
{
  const StartRow &row = start_rows()[static_cast<std::size_t>(__i__)];
  GstElement *element = gstdrm::test::make_element("metisdmabufinfer " + row.properties);
  GstBus *bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  for (int i = 0; i < 2; i++) { // another try is another message
    fail_unless_equals_int(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
    GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    fail_unless(message != nullptr, "%s: no message", row.name);
    GError *error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    gstdrm::test::say(error->message);
    for (const char *part : row.says)
      fail_unless(strstr(error->message, part) != nullptr, "%s: '%s' does not say '%s'", row.name,
                  error->message, part);
    g_error_free(error);
    gst_message_unref(message);
    fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR) == nullptr, "%s: two messages", row.name);
    gst_element_set_state(element, GST_STATE_NULL);
  }
  gst_element_set_bus(element, nullptr);
  gst_object_unref(bus);
  gst_object_unref(element);
}
GST_END_TEST

struct CapsRow {
  const char *name;
  std::string caps;
  const char *downstream; // nullptr: anything
  std::vector<const char *> says;
};

const CapsRow kRefused[] = {
    {"tiled", dmabuf_caps("NV12:0x0100000000000002", kWidth, kHeight), nullptr, {"nothing in common", "INTEL_Y_TILED"}},
    {"an implicit modifier", "video/x-raw(memory:DMABuf), format=NV12, width=64, height=48, framerate=30/1", nullptr,
     {"nothing in common", "NV12", "implicit-modifier=linear"}},
    {"another format", dmabuf_caps("NV15", kWidth, kHeight), nullptr, {"nothing in common", "NV15"}},
    {"downstream takes another", plain_caps("NV12", kWidth, kHeight), "video/x-raw, format=RGBA",
     {"nothing in common", "NV12", "RGBA"}},
    {"downstream decodes another model's tensors", plain_caps("NV12", kWidth, kHeight),
     "video/x-raw, format=NV12, tensors=(structure)[tensorgroups, yolo-v8-out=(string)any]",
     {"takes tensors of yolo-v8-out", "the model gives blazeface-short-range-128", "drmtensordecode"}},
};

GST_START_TEST(test_caps)
{
  const CapsRow &row = kRefused[__i__];
  const Harness harness(element_with(""));
  if (row.downstream)
    gst_harness_set_sink_caps_str(harness.get(), row.downstream);
  fail_if(harness.negotiate(row.caps), "%s", row.name);
  const std::vector<std::string> texts = harness.messages(GST_MESSAGE_ERROR);
  fail_unless_equals_int(static_cast<int>(texts.size()), 1);
  gstdrm::test::say(texts.front());
  for (const char *part : row.says)
    fail_unless(texts.front().find(part) != std::string::npos, "'%s' does not say '%s'", texts.front().c_str(), part);
}
GST_END_TEST

GST_START_TEST(test_wrong_memory)
{
  const Harness harness(element_with(""));
  fail_unless(harness.negotiate(dmabuf_caps("NV12", kWidth, kHeight)));
  fail_unless_equals_int(gst_harness_push(harness.get(), new_frame(plain_caps("NV12", kWidth, kHeight))), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), "no dma-buf", "dmabufupload");
}
GST_END_TEST

GST_START_TEST(test_short_frame)
{
  const Harness harness(element_with(""));
  fail_unless(harness.negotiate(dmabuf_caps("NV12", 8 * kWidth, kHeight)));
  GstBuffer *frame = new_dmabuf_frame(test_kinds().front(), plain_caps("NV12", kWidth, kHeight));
  fail_unless_equals_int(gst_harness_push(harness.get(), frame), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), "512x48");
}
GST_END_TEST

GST_START_TEST(test_buffer_before_caps)
{
  const Harness harness(element_with(""));
  gst_harness_play(harness.get());
  gst_pad_push_event(harness.get()->srcpad, gst_event_new_stream_start("test"));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_pad_push_event(harness.get()->srcpad, gst_event_new_segment(&segment));
  const GstFlowReturn flow = gst_harness_push(harness.get(), new_frame(plain_caps("NV12", kWidth, kHeight)));
  fail_unless_equals_int(flow, GST_FLOW_NOT_NEGOTIATED);
}
GST_END_TEST

GST_START_TEST(test_template)
{
  gstdrm::test::check_template_sizes("metisdmabufinfer");
}
GST_END_TEST

// The flow of a buffer that downstream refuses reaches upstream.
GST_START_TEST(test_downstream_ends)
{
  const Harness harness(element_with(""));
  const std::string plain = plain_caps("NV12", kWidth, kHeight);
  fail_unless(harness.negotiate(plain));
  push(harness, new_frame(plain, 1));
  pull(harness);
  gst_pad_push_event(harness.get()->sinkpad, gst_event_new_reconfigure()); // passes upstream
  gst_pad_set_active(harness.get()->sinkpad, FALSE);
  GstFlowReturn flow = GST_FLOW_OK;
  for (int i = 0; i < 100 && flow == GST_FLOW_OK; i++) // more than there are places
    flow = gst_harness_push(harness.get(), new_frame(plain, 2));
  fail_unless_equals_int(flow, GST_FLOW_FLUSHING);
}
GST_END_TEST

Suite *metisdmabufinfer_suite()
{
  Suite *suite = suite_create("metisdmabufinfer");
  TCase *tc = tcase_create("metisdmabufinfer");
  tcase_add_loop_test(tc, test_frames, 0, G_N_ELEMENTS(kFormats));
  tcase_add_loop_test(tc, test_crop, 0, G_N_ELEMENTS(kCrops));
  tcase_add_test(tc, test_overlays);
  tcase_add_test(tc, test_shared_buffer);
  tcase_add_test(tc, test_imports);
  tcase_add_test(tc, test_interval);
  tcase_add_loop_test(tc, test_qos, 0, G_N_ELEMENTS(kQos));
  tcase_add_test(tc, test_order);
  tcase_add_loop_test(tc, test_hostile_meta, 0, 2);
  tcase_add_test(tc, test_queries);
  tcase_add_test(tc, test_latency);
  tcase_add_loop_test(tc, test_start, 0, static_cast<int>(start_rows().size()));
  tcase_add_loop_test(tc, test_caps, 0, G_N_ELEMENTS(kRefused));
  tcase_add_test(tc, test_wrong_memory);
  tcase_add_test(tc, test_short_frame);
  tcase_add_test(tc, test_buffer_before_caps);
  tcase_add_test(tc, test_template);
  tcase_add_test(tc, test_downstream_ends);
  suite_add_tcase(suite, tc);
  suite_add_tcase(suite, change_cases());
  suite_add_tcase(suite, nvmm_cases());
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(metisdmabufinfer)

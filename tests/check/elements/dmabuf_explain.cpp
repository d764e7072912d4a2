// SPDX-License-Identifier: LGPL-2.1-or-later
// What dmabufupload and dmabufdownload say when negotiation fails behind other elements: who refuses,
// and what helps.
#include <algorithm>
#include <cerrno>
#include <memory>

#include <fcntl.h>
#include <sys/mman.h>

#include <gst/allocators/gstfdmemory.h>

#include "support/dmabuf_elements.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

struct ChainRow {
  const char *name;
  const char *upstream; // caps of the source
  const char *launch;   // after the source; the element is called up
  struct {
    const char *element;
    const char *caps;
  } later[2]; // set when all is linked: gst_parse_launch() refuses what cannot work
  std::vector<const char *> says;
  std::vector<const char *> says_not;
};

const std::string kNv12 = plain_caps("NV12", 64, 48);

const std::vector<ChainRow> &chain_rows()
{
  static const std::vector<ChainRow> rows = {
      {"a capsfilter of another format", kNv12.c_str(),
       "dmabufupload name=up ! capsfilter name=f caps=video/x-raw,format=I420 ! fakesink", {},
       {"appsrc (appsrc) has plain NV12 in 64x48", "f (capsfilter) allows plain I420", "videoconvert", "change the caps of f"},
       {"no peer", "no video"}},
      {"a capsfilter against its sink", kNv12.c_str(),
       "dmabufupload name=up ! capsfilter name=f ! appsink name=s",
       {{"f", "video/x-raw, format=NV12"}, {"s", "video/x-raw, format=I420"}},
       {"f (capsfilter) allows plain NV12", "s (appsink) takes plain I420", "nothing in common", "Change the caps of f"},
       {"no peer"}},
      {"a size, behind a queue and identity", kNv12.c_str(),
       "dmabufupload name=up ! queue ! identity ! capsfilter name=f caps=video/x-raw,width=640 ! fakesink", {},
       {"f (capsfilter)", "width 64 against 640", "videoscale"}, {"queue0", "identity0"}},
      {"the old dialect", kNv12.c_str(),
       "dmabufupload name=up implicit-modifier=refuse ! capsfilter name=f ! fakesink", {{"f", "video/x-raw(memory:DMABuf), format=NV12"}, {}},
       {"f (capsfilter)", "format=DMA_DRM", "drm-format"}, {"no peer"}},
      {"tiled only", kNv12.c_str(),
       "dmabufupload name=up ! capsfilter name=f ! fakesink",
       {{"f", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0100000000000002"}, {}},
       {"f (capsfilter) allows DMA_DRM NV12:0x0100000000000002", "linear"}, {"no peer"}},
      {"EMPTY caps", kNv12.c_str(),
       "dmabufupload name=up ! capsfilter name=f ! fakesink", {{"f", "EMPTY"}, {}}, {"f (capsfilter)", "EMPTY"}, {"no peer"}},
      {"one branch of a tee", kNv12.c_str(),
       "dmabufupload name=up ! tee name=t t. ! queue ! fakesink t. ! queue ! appsink name=s", {{"s", "video/x-raw, format=I420"}, {}},
       {"s (appsink) takes plain I420", "videoconvert"}, {"queue0", "t (tee)"}},
      {"two branches of a tee", kNv12.c_str(),
       "dmabufupload name=up ! tee name=t t. ! queue ! appsink name=r t. ! queue ! appsink name=s",
       {{"r", "video/x-raw, format=NV12, framerate=30/1"}, {"s", "video/x-raw, format=NV12, framerate=25/1"}},
       {"s (appsink)", "framerate 30/1 against 25/1"}, {"queue0", "t (tee)"}},
      {"in a bin", kNv12.c_str(),
       "dmabufupload name=up ! ( capsfilter name=f caps=video/x-raw,format=I420 ! queue ) ! fakesink", {},
       {"f (capsfilter) allows plain I420"}, {"bin0", "queue0"}},
      {"a capsfilter upstream", kNv12.c_str(),
       "capsfilter name=b caps=video/x-raw,width=64 ! queue ! dmabufupload name=up ! appsink name=s", {{"s", "video/x-raw, format=I420"}, {}},
       {"appsrc (appsrc), through b (capsfilter) has plain NV12", "s (appsink) takes plain I420"}, {"queue0"}},
      {"download", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=64, height=48",
       "dmabufdownload name=up ! queue ! capsfilter name=f caps=video/x-raw,format=I420 ! fakesink", {},
       {"f (capsfilter) allows plain I420", "videoconvert"}, {"queue0"}},
      {"GStreamer's name of a format", "video/x-raw, format=BGRx, width=64, height=48",
       "dmabufupload name=up ! capsfilter name=f ! fakesink", {{"f", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=BGRx"}, {}},
       {"f (capsfilter) allows DMA_DRM BGRx", "write drm-format=XR24"}, {}},
      {"a fourcc without its spaces", "video/x-raw, format=GRAY8, width=64, height=48",
       "dmabufupload name=up ! capsfilter name=f ! fakesink", {{"f", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=R8"}, {}},
       {"f (capsfilter) allows DMA_DRM R8", "write drm-format=\"R8  \"."}, {}},
      {"a linear modifier", kNv12.c_str(),
       "dmabufupload name=up ! capsfilter name=f ! fakesink", {{"f", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0"}, {}},
       {"'NV12:0x0' is no drm-format", "by leaving it out"}, {}},
      {"a filter behind videoconvert", kNv12.c_str(),
       "dmabufupload name=up ! videoconvert name=c ! capsfilter name=f ! fakesink", {{"f", "video/x-raw, width=1"}, {}},
       {"c (videoconvert)", "width 64 against 1", "videoscale"}, {"f (capsfilter)"}},
  };
  return rows;
}

struct FreeStructure {
  void operator()(GstStructure *structure) const { gst_structure_free(structure); }
};
using Details = std::unique_ptr<GstStructure, FreeStructure>;

// The text of the first error or warning that the element called up posts, and the details of an error.
std::string error_of(GstElement *pipeline, Details &kept)
{
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline));
  std::string text;
  while (text.empty()) {
    const auto message = GstPtr<GstMessage>::adopt(
        gst_bus_timed_pop_filtered(bus.get(), 10 * GST_SECOND,
                                   static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING)));
    fail_unless(static_cast<bool>(message), "no message");
    if (std::strcmp(GST_MESSAGE_SRC_NAME(message.get()), "up") != 0)
      continue;
    GError *error = nullptr;
    if (GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_ERROR) {
      gst_message_parse_error(message.get(), &error, nullptr);
      const GstStructure *details = nullptr;
      gst_message_parse_error_details(message.get(), &details);
      fail_unless(details && gst_structure_has_name(details, "GstDrmMismatch"), "%s", error->message);
      fail_unless_equals_string(gst_structure_get_string(details, "text"), error->message);
      kept.reset(gst_structure_copy(details));
    } else {
      gst_message_parse_warning(message.get(), &error, nullptr);
    }
    text = error->message;
    g_error_free(error);
  }
  return text;
}

// The text of a failing row in full, and what is launched after the source instead where its advice is followed.
struct FixedRow {
  const char *name; // of the failing row
  const char *text;
  const char *launch;
  const char *miss; // the field `nearest-miss` of the details
};

const std::vector<FixedRow> &fixed_rows()
{
  static const std::vector<FixedRow> rows = {
      {"a capsfilter of another format",
       "up finds nothing in common. appsrc (appsrc) has plain NV12 in 64x48. f (capsfilter) allows plain I420 (no format in common). Put videoconvert before it, for one of I420. Or change the caps of f (capsfilter).",
       "videoconvert ! dmabufupload ! video/x-raw,format=I420 ! fakesink", "no format in common"},
      {"a capsfilter against its sink",
       "up finds nothing in common. appsrc (appsrc) has plain NV12 in 64x48. f (capsfilter) allows plain NV12 and s (appsink) takes plain I420, which have nothing in common. Change the caps of f (capsfilter), or put a converter (videoconvert) before s (appsink).",
       "dmabufupload ! video/x-raw,format=NV12 ! appsink wait-on-eos=false caps=video/x-raw,format=NV12", "no format in common"},
      {"a size, behind a queue and identity",
       "up finds nothing in common. appsrc (appsrc) has plain NV12 in 64x48. f (capsfilter) allows plain video in any format (width 64 against 640). Put videoscale before it, or choose another size. Or change the caps of f (capsfilter).",
       "videoscale ! dmabufupload ! queue ! identity ! video/x-raw,width=640 ! fakesink", "width 64 against 640"},
      {"the old dialect",
       "up finds nothing in common. appsrc (appsrc) has plain NV12 in 64x48. f (capsfilter) allows memory:DMABuf NV12 (no format in common). With memory:DMABuf, format=NV12 stands for a layout that only a driver knows: write format=DMA_DRM and drm-format, or, for linear frames, set implicit-modifier=linear.",
       "dmabufupload ! video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12 ! fakesink", "no format in common"},
      {"tiled only",
       "up finds nothing in common. appsrc (appsrc) has plain NV12 in 64x48. f (capsfilter) allows DMA_DRM NV12:0x0100000000000002 (INTEL_Y_TILED) (NV12 with other modifiers). A CPU can write linear layouts only, and downstream takes none: upload with the device that reads the frames (glupload for OpenGL), or choose a downstream element that takes linear. Or change the caps of f (capsfilter).",
       "dmabufupload ! video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format={NV12,NV12:0x0100000000000002} ! fakesink", "NV12 with other modifiers"},
      {"EMPTY caps",
       "up finds nothing in common. appsrc (appsrc) has plain NV12 in 64x48. f (capsfilter) allows nothing. Its caps are EMPTY: write those that the stream may have.",
       "dmabufupload ! video/x-raw ! fakesink", ""},
      {"one branch of a tee",
       "up finds nothing in common. appsrc (appsrc) has plain NV12 in 64x48. s (appsink) takes plain I420 (no format in common). Put videoconvert before it, for one of I420.",
       "dmabufupload ! tee name=t t. ! queue ! fakesink t. ! queue ! videoconvert ! appsink wait-on-eos=false caps=video/x-raw,format=I420", "no format in common"},
      {"two branches of a tee",
       "up finds nothing in common. appsrc (appsrc) has plain NV12 in 64x48. r (appsink) takes plain NV12 and s (appsink) takes plain NV12 (framerate 30/1 against 25/1), which have nothing in common. Let both take one format, or put a converter (videoconvert) before s (appsink).",
       "dmabufupload ! tee name=t t. ! queue ! appsink wait-on-eos=false caps=video/x-raw,format=NV12,framerate=30/1 t. ! queue ! fakesink", "framerate 30/1 against 25/1"},
      {"in a bin",
       "up finds nothing in common. appsrc (appsrc) has plain NV12 in 64x48. f (capsfilter) allows plain I420 (no format in common). Put videoconvert before it, for one of I420. Or change the caps of f (capsfilter).",
       "videoconvert ! dmabufupload ! ( capsfilter caps=video/x-raw,format=I420 ! queue ) ! fakesink", "no format in common"},
      {"a capsfilter upstream",
       "up finds nothing in common. appsrc (appsrc), through b (capsfilter) has plain NV12 in 64x48. s (appsink) takes plain I420 (no format in common). Put videoconvert before it, for one of I420.",
       "capsfilter caps=video/x-raw,width=64 ! queue ! videoconvert ! dmabufupload ! appsink wait-on-eos=false caps=video/x-raw,format=I420", "no format in common"},
  };
  return rows;
}

GstPtr<GstElement> parse(const std::string &after_source)
{
  const std::string launch = "appsrc name=appsrc format=time ! " + after_source;
  GError *error = nullptr;
  auto pipeline = GstPtr<GstElement>::adopt(
      GST_ELEMENT(gst_object_ref_sink(gst_parse_launch(launch.c_str(), &error))));
  fail_unless(error == nullptr, "%s: %s", launch.c_str(), error ? error->message : "");
  return pipeline;
}

void push_frame(GstElement *pipeline, const char *caps)
{
  const auto source = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline), "appsrc"));
  g_object_set(source.get(), "caps", caps_of(caps).get(), nullptr);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstFlowReturn flow = GST_FLOW_OK;
  GstBuffer *buffer = gst_buffer_new_allocate(nullptr, 64 * 48 * 3 / 2, nullptr);
  g_signal_emit_by_name(source.get(), "push-buffer", buffer, &flow);
  gst_buffer_unref(buffer);
  g_signal_emit_by_name(source.get(), "end-of-stream", &flow);
}

std::string failing_text(const ChainRow &row, Details &details)
{
  const auto pipeline = parse(row.launch);
  for (const auto &later : row.later)
    if (later.element) {
      const auto element =
          GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), later.element));
      g_object_set(element.get(), "caps", caps_of(later.caps).get(), nullptr);
    }
  push_frame(pipeline.get(), row.upstream);
  std::string text = error_of(pipeline.get(), details);
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  return text;
}

// An application gets the same, part by part: who refuses, why, and the advice with which the text ends.
void check_golden_details(const std::string &text, const GstStructure *details, const char *miss)
{
  fail_unless(details != nullptr, "a warning came before the error: %s", text.c_str());
  for (const char *field : {"sender", "receiver", "taken", "advice"}) {
    const gchar *value = gst_structure_get_string(details, field);
    say(std::string(field) + ": " + (value ? value : "none"));
    fail_unless(value && *value && text.find(value) != std::string::npos, "%s '%s' is not in '%s'", field, value, text.c_str());
  }
  fail_unless_equals_string(gst_structure_get_string(details, "nearest-miss"), miss);
  fail_unless(text.ends_with(gst_structure_get_string(details, "advice")), "%s", text.c_str());
  gint code = -1;
  fail_unless(gst_structure_get_int(details, "code", &code));
  fail_unless_equals_int(code, GST_DRM_ERROR_CONFLICT);
  for (const char *field : {"sent-caps", "taken-caps"})
    fail_unless(gst_structure_has_field_typed(details, field, GST_TYPE_CAPS), "%s", field);
}

// What is said, word for word; with the advice followed the frame gets through.
GST_START_TEST(test_advice_helps)
{
  const FixedRow &row = fixed_rows()[static_cast<std::size_t>(__i__)];
  const auto failing = std::find_if(chain_rows().begin(), chain_rows().end(), [&](const ChainRow &one) { return std::strcmp(one.name, row.name) == 0; });
  fail_unless(failing != chain_rows().end(), "%s", row.name);
  Details details;
  const std::string text = failing_text(*failing, details);
  fail_unless_equals_string(text.c_str(), row.text);
  check_golden_details(text, details.get(), row.miss);
  const auto pipeline = parse(row.launch);
  push_frame(pipeline.get(), failing->upstream);
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline.get()));
  const auto end = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(
      bus.get(), 10 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS)));
  fail_unless(end && GST_MESSAGE_TYPE(end.get()) == GST_MESSAGE_EOS, "%s does not run", row.launch);
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
}
GST_END_TEST

GST_START_TEST(test_chain)
{
  const ChainRow &row = chain_rows()[static_cast<std::size_t>(__i__)];
  Details details;
  const std::string text = failing_text(row, details);
  say(text);
  for (const char *part : row.says)
    fail_unless(text.find(part) != std::string::npos, "%s: '%s' does not say '%s'", row.name, text.c_str(), part);
  for (const char *part : row.says_not)
    fail_unless(text.find(part) == std::string::npos, "%s: '%s' says '%s'", row.name, text.c_str(), part);
}
GST_END_TEST

// Nothing at all after it.
GST_START_TEST(test_unlinked)
{
  const auto up = GstPtr<GstElement>::adopt(
      GST_ELEMENT(gst_object_ref_sink(make_element("dmabufupload allocator=memfd"))));
  GstHarness *h = gst_harness_new_with_element(up.get(), "sink", nullptr);
  const auto bus = GstPtr<GstBus>::adopt(gst_bus_new());
  gst_element_set_bus(up.get(), bus.get());
  gst_harness_set_src_caps_str(h, "video/x-raw, format=NV12_4L4, width=64, height=48, framerate=30/1");
  const auto message = GstPtr<GstMessage>::adopt(gst_bus_pop_filtered(bus.get(), GST_MESSAGE_ERROR));
  fail_unless(static_cast<bool>(message));
  GError *error = nullptr;
  gst_message_parse_error(message.get(), &error, nullptr);
  fail_unless(std::strstr(error->message, "Link its source pad") != nullptr, "%s", error->message);
  g_error_free(error);
  gst_element_set_bus(up.get(), nullptr);
  gst_harness_teardown(h);
}
GST_END_TEST

void count_freed(gpointer data, GstMiniObject *)
{
  ++*static_cast<int *>(data);
}

// Both sides' caps are let go of when an error has been made of them, and the error names what came
// in, not what went out.
GST_START_TEST(test_nothing_is_kept)
{
  int freed = 0;
  {
    const Harness h("dmabufupload allocator=memfd");
    gst_harness_set_sink_caps(h.get(), caps_of("video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12").release());
    fail_unless(h.negotiate(kNv12));
    const auto sink = GstPtr<GstPad>::adopt(gst_element_get_static_pad(h.element(), "sink"));
    const auto sent = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(sink.get()));
    const auto refusing = caps_of("video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=XR24");
    gst_mini_object_weak_ref(GST_MINI_OBJECT_CAST(sent.get()), count_freed, &freed);
    gst_mini_object_weak_ref(GST_MINI_OBJECT_CAST(refusing.get()), count_freed, &freed);
    gst_harness_set_sink_caps(h.get(), gst_caps_ref(refusing.get()));
    gst_harness_push_upstream_event(h.get(), gst_event_new_reconfigure());
    fail_unless_equals_int(gst_harness_push(h.get(), new_frame(kNv12)), GST_FLOW_NOT_NEGOTIATED);
    CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "has plain NV12 in 64x48", "takes DMA_DRM XR24");
  }
  fail_unless_equals_int(freed, 2);
}
GST_END_TEST

// Memory that its descriptor lets nobody read: the copy fails, and so does the stream.
GST_START_TEST(test_copy_that_fails)
{
  const Harness h("dmabufupload allocator=memfd");
  fail_unless(h.negotiate(kNv12));
  const gsize size = video_info(kNv12).size;
  const int file = memfd_create("frame", MFD_CLOEXEC);
  fail_unless(ftruncate(file, static_cast<off_t>(size)) == 0);
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const int write_only = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  fail_unless(write_only >= 0, "%s: %s", path.c_str(), g_strerror(errno));
  close(file);
  GstAllocator *allocator = gst_fd_allocator_new();
  GstBuffer *buffer = gst_buffer_new();
  gst_buffer_append_memory(
      buffer, gst_fd_allocator_alloc(allocator, write_only, size, GST_FD_MEMORY_FLAG_NONE));
  gst_object_unref(allocator);
  fail_unless_equals_int(gst_harness_push(h.get(), buffer), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "cannot be mapped for reading");
  fail_unless(h.stat("copies") == 0);
}
GST_END_TEST

Suite *dmabuf_explain_suite()
{
  Suite *suite = suite_create("dmabuf-explain");
  TCase *tcase = tcase_create("explain");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_chain, 0, static_cast<int>(chain_rows().size()));
  tcase_add_loop_test(tcase, test_advice_helps, 0, static_cast<int>(fixed_rows().size()));
  tcase_add_test(tcase, test_unlinked);
  tcase_add_test(tcase, test_nothing_is_kept);
  tcase_add_test(tcase, test_copy_that_fails);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabuf_explain)

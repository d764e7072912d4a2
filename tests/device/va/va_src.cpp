// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc on the test driver in the box: what a frame costs, fences, the CPU's part, renegotiation, devices. The picture
// itself is in va_src_pictures.cpp, what consumers keep and ask for in va_src_needs.cpp.
#include <fcntl.h>
#include <unistd.h>

#include <gst/drm/core/unique_fd.hpp>

#include "va_support.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::UniqueFd;
using C = vadriver::Counter;

// ---- 600 frames: each once, in order, and nothing made on the way

struct CostRow {
  const char *driver;
  const char *pattern;
  std::uint64_t calls; // VA calls a frame, at most
  std::uint64_t pictures = 1; // a frame
};
const CostRow kCosts[] = {
    {"formats=NV12", "frame-counter", 4},
    {"formats=NV12,modifiers=samsung", "frame-counter", 4},
    {"formats=NV12,async=1", "frame-counter", 3},
    {"formats=NV12,async=1,fences=0", "frame-counter", 4},
    {"profile=ihd,formats=NV12", "frame-counter", 4},
    {"profile=i965,formats=NV12", "frame-counter", 43, 14}, // one picture a piece
    {"profile=radeonsi,formats=NV12", "frame-counter", 4},
    {"profile=radeonsi26,formats=NV12", "frame-counter", 4},
    {"profile=nouveau,formats=BGRX", "frame-counter", 4},
};

GST_START_TEST(test_600_frames)
{
  const auto &row = kCosts[__i__];
  const Counters counters;
  set_driver(std::string(row.driver) + "," + counters.setting());
  Pipeline pipeline(source(std::string("num-buffers=600 pattern=") + row.pattern,
                           "video/x-raw(memory:DMABuf),width=160,height=112",
                           "appsink name=sink sync=false max-buffers=2"));
  // what the plugin asked of the driver before there was an element
  const std::uint64_t created_before = counters[C::Create];
  const std::uint64_t exported_before = counters[C::Export];
  const std::uint64_t begun_before = counters[C::Begin];
  fail_unless(pipeline.play());
  std::uint64_t created = 0;
  std::uint64_t exported = 0;
  std::uint64_t written = 0;
  for (std::uint64_t i = 0; i < 600; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "frame %d: %s", static_cast<int>(i),
                pipeline.message(GST_MESSAGE_ERROR).c_str());
    const auto counter = read_counter(read_frame(sample));
    fail_unless(counter.valid, "frame %d", static_cast<int>(i));
    fail_unless_equals_uint64(counter.frame, i);
    fail_unless_equals_uint64(counter.timestamp_ns, GST_BUFFER_PTS(gst_sample_get_buffer(sample)));
    const auto writes = counters[C::Put] + counters[C::Derive] + counters[C::Map];
    if (i == 10) { // warm
      created = counters[C::Create];
      exported = counters[C::Export];
      written = writes;
    } else if (i > 10) {
      fail_unless_equals_uint64(counters[C::Create], created);
      fail_unless_equals_uint64(counters[C::Export], exported);
      fail_unless_equals_uint64(writes, written);
    }
  }
  fail_unless(pipeline.pull() == nullptr);
  fail_unless_equals_uint64(pipeline.stat("frames"), 600);
  fail_unless_equals_uint64(pipeline.stat("copies"), 0);
  fail_unless_equals_uint64(pipeline.stat("exports"), counters[C::Export] - exported_before);
  // the driver counts what it refuses as well
  fail_unless(pipeline.stat("surfaces") >= pipeline.stat("exports"));
  fail_unless(pipeline.stat("surfaces") <= counters[C::Create] - created_before);
  const auto calls = counters[C::Begin] + counters[C::Render] + counters[C::End] + counters[C::Sync] + counters[C::Status];
  fail_unless(calls <= row.calls * 605, "%d VA calls", static_cast<int>(calls));
  // one that is drawn ahead, one when the device is probed, one when the format is agreed on
  fail_unless(counters[C::Begin] - begun_before <= 603 * row.pictures, "pictures");
}
GST_END_TEST

// ---- fences

GST_START_TEST(test_no_fences_means_a_thread_sleeps)
{
  const Counters counters;
  set_driver("formats=NV12,async=20,fences=0," + counters.setting());
  Pipeline pipeline(source("num-buffers=5 pattern=frame-counter", dma_caps("NV12", 64, 64)));
  fail_unless(pipeline.play());
  for (std::uint64_t i = 0; i < 5; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr);
    // Without any fence to wait for, the pixels are there.
    const auto counter = read_counter(read_frame(sample));
    fail_unless(counter.valid, "frame %d", static_cast<int>(i));
    fail_unless_equals_uint64(counter.frame, i);
  }
  fail_unless(counters[C::Sync] >= 5);
}
GST_END_TEST

// A stream that is stopped amid its frames begins again with the first: drawn, stamped and counted from 0. The second row has
// a frame that was drawn ahead.
GST_START_TEST(test_restart)
{
  set_driver(__i__ == 0 ? "formats=NV12" : "formats=NV12,async=5,fences=0");
  Pipeline pipeline(source("pattern=frame-counter", dma_caps("NV12", 64, 64)));
  for (int run = 0; run < 2; ++run) {
    fail_unless(pipeline.play());
    for (std::uint64_t i = 0; i < 3; ++i) {
      g_autoptr(GstSample) sample = pipeline.pull();
      fail_unless(sample != nullptr);
      const auto counter = read_counter(read_frame(sample));
      fail_unless(counter.valid);
      fail_unless_equals_uint64(counter.frame, i);
      fail_unless_equals_uint64(counter.timestamp_ns, GST_BUFFER_PTS(gst_sample_get_buffer(sample)));
      fail_unless_equals_uint64(GST_BUFFER_OFFSET(gst_sample_get_buffer(sample)), i);
    }
    pipeline.stop();
  }
}
GST_END_TEST

// ---- no video processing: the CPU writes, counted and announced, or not at all

const char *const kCpu[] = {"formats=NV12,vpp=0", "formats=NV12,vpp=0,derive=0",
                            // the driver puts images when it comes to it
                            "formats=NV12,vpp=0,derive=0,queue-put=1,async=20", "formats=NV12,vpp=0,derive=0,queue-put=1,async=20,fences=0"};

GST_START_TEST(test_cpu_fallback_is_counted)
{
  set_driver(kCpu[__i__]);
  Pipeline pipeline(source("num-buffers=10 pattern=frame-counter", dma_caps("NV12", 128, 104)));
  fail_unless(pipeline.play());
  for (std::uint64_t i = 0; i < 10; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr);
    const auto counter = read_counter(read_frame(sample));
    fail_unless(counter.valid);
    fail_unless_equals_uint64(counter.frame, i);
  }
  // where a thread waits for the device, one is drawn ahead
  fail_unless(pipeline.stat("copies") >= 10 && pipeline.stat("copies") <= (__i__ == 3 ? 11U : 10U));
  fail_unless(pipeline.stat("bytes-copied") >= 10 * 128 * 104 * 3 / 2);
  fail_unless(pipeline.message(GST_MESSAGE_INFO).find("no video processing") != std::string::npos);
}
GST_END_TEST

GST_START_TEST(test_zero_copy_required)
{
  set_driver("formats=NV12,vpp=0");
  Pipeline pipeline(source("zero-copy=require", dma_caps("NV12", 128, 104)));
  pipeline.play();
  fail_unless(pipeline.message(GST_MESSAGE_ERROR).find("zero-copy=require") != std::string::npos);
}
GST_END_TEST

// ---- negotiation

GST_START_TEST(test_nothing_in_common_names_both)
{
  set_driver("formats=NV12,modifiers=x-tiled");
  Pipeline pipeline(source("", "capsfilter name=filter"));
  g_autoptr(GstCaps) caps = gst_caps_from_string(dma_caps("XR24", 128, 104).c_str());
  g_object_set(pipeline.get("filter"), "caps", caps, nullptr);
  pipeline.play();
  const auto error = pipeline.message(GST_MESSAGE_ERROR);
  fail_unless(error.find("NV12:0x0100000000000001") != std::string::npos, "%s", error.c_str());
  fail_unless(error.find("XR24") != std::string::npos, "%s", error.c_str());
}
GST_END_TEST

// Downstream's list changes in mid-stream: another modifier from the next frame on, none lost, none out of order.
GST_START_TEST(test_reconfigure)
{
  set_driver(__i__ == 0 ? "list-modifiers=1,modifiers=samsung:x-tiled:linear" : "list-modifiers=1,modifiers=samsung:x-tiled:linear,async=2,fences=0");
  Pipeline pipeline(source("num-buffers=60 pattern=frame-counter", "capsfilter name=filter caps-change-mode=immediate",
                           "appsink name=sink sync=false max-buffers=1"));
  const char *lists[] = {"NV12", "{NV12,NV12:0x0100000000000001}", "{NV12,NV12:0x0400000000000001}", "XR24"};
  const guint64 expected[] = {0, 0x0100000000000001, 0x0400000000000001, 0};
  const auto set_list = [&pipeline](const char *list) {
    g_autoptr(GstCaps) caps = gst_caps_from_string(
        (std::string("video/x-raw(memory:DMABuf),format=DMA_DRM,width=128,height=104,drm-format=") + list).c_str());
    g_object_set(pipeline.get("filter"), "caps", caps, nullptr);
  };
  set_list(lists[0]);
  fail_unless(pipeline.play());
  guint step = 0;
  guint changes = 0;
  guint64 last = expected[0];
  guint32 last_fourcc = 0;
  GstClockTime end = 0; // of the frame before
  for (std::uint64_t i = 0; i < 60; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "frame %d: %s", static_cast<int>(i), pipeline.message(GST_MESSAGE_ERROR).c_str());
    const auto frame = read_frame(sample);
    const auto counter = read_counter(frame);
    fail_unless(counter.valid, "frame %d", static_cast<int>(i));
    fail_unless_equals_uint64(counter.frame, i);
    const GstBuffer *buffer = gst_sample_get_buffer(sample);
    fail_unless_equals_uint64(counter.timestamp_ns, GST_BUFFER_PTS(buffer));
    fail_unless_equals_uint64(GST_BUFFER_PTS(buffer), end); // without a gap, across changes of caps too
    end = GST_BUFFER_PTS(buffer) + GST_BUFFER_DURATION(buffer);
    if (i > 0 && (frame.info.drm_modifier != last || frame.info.drm_fourcc != last_fourcc))
      ++changes;
    last = frame.info.drm_modifier;
    last_fourcc = frame.info.drm_fourcc;
    if (i % 15 == 14 && step < 3) {
      fail_unless_equals_uint64(last, expected[step]);
      set_list(lists[++step]);
    }
  }
  fail_unless_equals_uint64(last, expected[3]);
  fail_unless_equals_int(static_cast<int>(changes), 3);
}
GST_END_TEST

// ---- which device

// What downstream answers in the allocation query.
GstPadProbeReturn answer_device(GstPad *, GstPadProbeInfo *info, gpointer node)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  fail_unless(gst_drm_query_add_device(query, static_cast<UniqueFd *>(node)->get()));
  return GST_PAD_PROBE_HANDLED;
}

struct DeviceRow {
  const char *node;  // on which downstream imports
  const char *named; // in the warning; "": there is none
};
const DeviceRow kDevices[] = {
    {"/dev/dri/renderD128", ""},          // vgem's, ours
    {"/dev/dri/card0", ""},               // vgem's other node
    {"/dev/dri/card1", "/dev/dri/card1"}, // vkms
    {"/dev/null", "1:3"},                 // no DRM device: named by its number
};

GST_START_TEST(test_wrong_gpu_is_named)
{
  const auto &row = kDevices[__i__];
  UniqueFd node(::open(row.node, O_RDONLY | O_CLOEXEC));
  fail_unless(static_cast<bool>(node), "%s", row.node);
  set_driver("formats=NV12");
  Pipeline pipeline(source("num-buffers=12", dma_caps("NV12", 128, 104)));
  GstPad *pad = gst_element_get_static_pad(pipeline.get("src"), "src");
  gst_pad_add_probe(
      pad,
      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH),
      answer_device, &node, nullptr);
  fail_unless(pipeline.play());
  // All come, whatever is said about the device; a second ALLOCATION query repeats nothing.
  for (int i = 0; i < 12; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr);
    if (i == 0)
      gst_pad_send_event(pad, gst_event_new_reconfigure());
  }
  gst_object_unref(pad);
  fail_unless(pipeline.pull() == nullptr);
  const auto warnings = pipeline.warnings();
  if (*row.named == '\0') {
    fail_unless(warnings.empty(), "one device: '%s'", warnings.empty() ? "" : warnings[0].c_str());
    return;
  }
  fail_unless_equals_int(static_cast<int>(warnings.size()), 1);
  fail_unless(warnings[0].find(row.named) != std::string::npos, "'%s'", warnings[0].c_str());
  fail_unless(warnings[0].find("/dev/dri/renderD128") != std::string::npos, "'%s'",
              warnings[0].c_str());
}
GST_END_TEST

Suite *va_src_suite()
{
  Suite *suite = suite_create("vadmabufsrc");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_600_frames, 0, G_N_ELEMENTS(kCosts));
  tcase_add_test(tcase, test_no_fences_means_a_thread_sleeps);
  tcase_add_loop_test(tcase, test_restart, 0, 2);
  tcase_add_loop_test(tcase, test_cpu_fallback_is_counted, 0, G_N_ELEMENTS(kCpu));
  tcase_add_test(tcase, test_zero_copy_required);
  tcase_add_test(tcase, test_nothing_in_common_names_both);
  tcase_add_loop_test(tcase, test_reconfigure, 0, 2);
  tcase_add_loop_test(tcase, test_wrong_gpu_is_named, 0, G_N_ELEMENTS(kDevices));
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_src)

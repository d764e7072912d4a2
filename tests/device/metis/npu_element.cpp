// SPDX-License-Identifier: LGPL-2.1-or-later
// metisdmabufinfer on the box's test NPU: the tensor of every frame against the network computed
// here, and what the element says of each failure.
#include <cstring>
#include <string>
#include <vector>

#include <gst/drm/gstdrmframe-private.hpp>
#include <gst/drm/gstdrmtensormeta.h>

#include "npu_document.hpp"
#include "npu_support.hpp"
#include "support/crops.hpp"
#include "support/dmabuf_elements.hpp"
#include "support/sw_sync.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

std::string element_with(const std::string &properties)
{
  return "metisdmabufinfer backend=axl model=" + std::string(g_getenv("GST_DRM_TEST_DATA")) +
         "/../box/npu/models/check.npu " + properties;
}

NpuResult expected_of(GstBuffer *buffer, int width, int height)
{
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_from_caps(&info, caps_of(dmabuf_caps("NV12", width, height)).get()));
  const auto layout = gstdrm::frame_layout_of(buffer, info);
  fail_unless(static_cast<bool>(layout));
  GstMapInfo map;
  fail_unless(gst_memory_map(gst_buffer_peek_memory(buffer, 0), &map, GST_MAP_READ));
  const NpuResult result = npu_reference(*layout, map.data);
  gst_memory_unmap(gst_buffer_peek_memory(buffer, 0), &map);
  return result;
}

bool has_tensor(GstBuffer *buffer)
{
  return gst_buffer_get_drm_tensor_meta(buffer, nullptr) != nullptr;
}

void check_tensor(GstBuffer *buffer, const NpuResult &expected, bool dmabuf = true)
{
  GstDrmTensorMeta *meta = gst_buffer_get_drm_tensor_meta(buffer, nullptr);
  fail_unless(meta != nullptr, "no tensor");
  const GstDrmTensor *tensor = gst_drm_tensor_meta_get_tensor(meta, 0);
  fail_unless((gst_is_dmabuf_memory(tensor->memory) != FALSE) == dmabuf);
  fail_unless_equals_int(static_cast<int>(tensor->size), static_cast<int>(expected.size()));
  GstMapInfo map;
  fail_unless(gst_memory_map(tensor->memory, &map, GST_MAP_READ));
  fail_unless(memcmp(map.data, expected.data(), expected.size()) == 0, "another result");
  gst_memory_unmap(tensor->memory, &map);
}

GstPtr<GstBuffer> pull(const Harness &harness)
{
  GstPtr<GstBuffer> buffer = harness.pull();
  fail_unless(static_cast<bool>(buffer), "no buffer: %s", harness.last_error().c_str());
  return buffer;
}

struct StreamRow {
  const char *name;
  int width;
  int height;
  const char *properties;
  guint imports; // of 250 frames in 4 memories
};

constexpr guint kFrames = 250;
constexpr guint kMemories = 4;
const StreamRow kStreams[] = {
    {"64x48", 64, 48, "max-in-flight=1", kMemories},
    {"322x242", 322, 242, "max-in-flight=2", kMemories},
    {"640x480", 640, 480, "max-in-flight=4", kMemories},
    {"1280x720", 1280, 720, "max-in-flight=4", kMemories},
    {"results in system memory", 322, 242, "output-buffer-mode=system", kMemories},
    {"each frame is imported", 322, 242, "cache-imports=false", kFrames},
};

GST_START_TEST(test_stream)
{
  const StreamRow &row = kStreams[__i__];
  Npu::reset();
  {
    const Harness harness(element_with(row.properties));
    const std::string plain = plain_caps("NV12", row.width, row.height);
    fail_unless(harness.negotiate(dmabuf_caps("NV12", row.width, row.height)), "%s", harness.last_error().c_str());
    std::vector<GstPtr<GstBuffer>> frames;
    std::vector<NpuResult> expected;
    for (guint i = 0; i < kMemories; i++) {
      frames.push_back(GstPtr<GstBuffer>::adopt(new_dmabuf_frame("udmabuf", plain, i)));
      expected.push_back(expected_of(frames.back().get(), row.width, row.height));
    }
    guint pulled = 0;
    const auto check_next = [&] {
      const auto output = pull(harness);
      fail_unless(GST_BUFFER_PTS(output.get()) == pulled * GST_MSECOND, "frame %u", pulled);
      check_tensor(output.get(), expected[pulled % kMemories], std::strstr(row.properties, "=system") == nullptr);
      pulled++;
    };
    for (guint i = 0; i < kFrames; i++) {
      GstBuffer *buffer = gst_buffer_copy(frames[i % kMemories].get()); // shares the memory
      GST_BUFFER_PTS(buffer) = i * GST_MSECOND;
      fail_unless_equals_int(gst_harness_push(harness.get(), buffer), GST_FLOW_OK);
      if (i >= kMemories)
        check_next();
    }
    while (pulled < kFrames)
      check_next();
    fail_unless_equals_uint64(harness.stat("imports"), row.imports);
    fail_unless_equals_uint64(harness.stat("inferences"), kFrames);
    fail_unless_equals_uint64(harness.stat("copies"), 0);
    fail_unless_equals_uint64(harness.stat("preprocessing-ns"), 0);
    fail_unless(harness.stat("device-ns") >= kFrames * 1000 * 1000); // latency_us
    if (row.imports == kMemories)
      Npu::expect("imports", kMemories);
  }
  Npu::expect("imports", 0); // gone with their memory
  Npu::expect("in_flight", 0);
}
GST_END_TEST

// Of a frame that is larger than the caps the device reads the picture where it lies, without a copy.
GST_START_TEST(test_crop)
{
  constexpr guint kX = 34, kY = 18;
  Npu::reset();
  const Harness harness(element_with(""));
  fail_unless(harness.negotiate(dmabuf_caps("NV12", 64, 48)), "%s", harness.last_error().c_str());
  const auto frame = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("udmabuf", plain_caps("NV12", 160, 120), 5));
  GstDrmVideoInfo whole;
  fail_unless(gst_drm_video_info_from_caps(&whole, caps_of(dmabuf_caps("NV12", 160, 120)).get()));
  auto picture = gstdrm::frame_layout_of(frame.get(), whole);
  fail_unless(static_cast<bool>(picture));
  picture->width = 64;
  picture->height = 48;
  picture->planes[0].offset_bytes += kY * picture->planes[0].stride_bytes + kX;
  picture->planes[1].offset_bytes += kY / 2 * picture->planes[1].stride_bytes + kX;
  GstMapInfo map;
  fail_unless(gst_memory_map(gst_buffer_peek_memory(frame.get(), 0), &map, GST_MAP_READ));
  const NpuResult expected = npu_reference(*picture, map.data);
  gst_memory_unmap(gst_buffer_peek_memory(frame.get(), 0), &map);
  add_crop(frame.get(), {kX, kY, 64, 48});
  fail_unless_equals_int(gst_harness_push(harness.get(), gst_buffer_ref(frame.get())), GST_FLOW_OK);
  check_tensor(pull(harness).get(), expected);
  fail_unless_equals_uint64(harness.stat("copies"), 0);
}
GST_END_TEST

enum class Letting { Drain, Flush, Caps };
struct LettingRow {
  const char *name;
  Letting by;
};
const LettingRow kLetting[] = {{"DRAIN query", Letting::Drain}, {"flush", Letting::Flush}, {"new caps", Letting::Caps}};

// Upstream's pool is gone: its memory must not live on until other frames have come.
GST_START_TEST(test_memory_of_an_old_pool)
{
  const LettingRow &row = kLetting[__i__];
  Npu::reset();
  const Harness harness(element_with(""));
  fail_unless(harness.negotiate(dmabuf_caps("NV12", 64, 48)), "%s", harness.last_error().c_str());
  for (guint i = 0; i < 8; i++) {
    fail_unless_equals_int(gst_harness_push(harness.get(), new_dmabuf_frame("udmabuf", plain_caps("NV12", 64, 48), i)), GST_FLOW_OK);
    (void)pull(harness);
  }
  Npu::expect("imports", 8);
  GstPad *src = harness.get()->srcpad;
  if (row.by == Letting::Drain) {
    const auto query = GstPtr<GstQuery>::adopt(gst_query_new_drain());
    (void)gst_pad_peer_query(src, query.get());
  } else if (row.by == Letting::Flush) {
    gst_pad_push_event(src, gst_event_new_flush_start());
    gst_pad_push_event(src, gst_event_new_flush_stop(FALSE));
  } else {
    fail_unless(harness.negotiate(dmabuf_caps("NV12", 128, 48)));
  }
  Npu::expect("imports", 0);
}
GST_END_TEST

struct FailureRow {
  const char *name;
  const char *parameter;
  unsigned value;
  const char *properties;
  const char *tensors; // of 4 frames: r has one, - has none; x: the stream ends there
  std::vector<const char *> says;
};

const FailureRow kFailures[] = {
    {"the second fails", "fail_nth", 2, "on-device-lost=passthrough", "r-rr", {"without results"}},
    {"the second fails, error", "fail_nth", 2, "", "rx", {"EINVAL"}},
    {"the second hangs", "hang_nth", 2, "on-device-lost=passthrough timeout=50", "r-rr", {"without results"}},
    {"lost", "lose_nth", 2, "on-device-lost=passthrough", "r---", {"without results", "ENODEV"}},
    {"lost, error", "lose_nth", 2, "", "rx", {"ENODEV"}},
    {"half a result", "short_result", 1, "on-device-lost=passthrough", "----", {"without results"}},
    {"half a result, error", "short_result", 1, "", "x", {"ENODATA"}},
    {"the second hangs, error", "hang_nth", 2, "timeout=50", "rx", {"ETIMEDOUT"}},
    {"busy", "busy", 1, "", "x", {"EBUSY"}},
};

// What was wrong is over: the element starts anew, and finds what is there to be found.
void check_restart(const Harness &harness)
{
  Npu::reset();
  fail_unless_equals_int(gst_element_set_state(harness.element(), GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  while (harness.try_pull())
    ;
  fail_unless_equals_int(gst_element_set_state(harness.element(), GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
  gst_pad_push_event(harness.get()->srcpad, gst_event_new_stream_start("again"));
  gst_pad_push_event(harness.get()->srcpad, gst_event_new_caps(caps_of(dmabuf_caps("NV12", 64, 48)).get()));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_pad_push_event(harness.get()->srcpad, gst_event_new_segment(&segment));
  const auto frame = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("udmabuf", plain_caps("NV12", 64, 48), 9));
  fail_unless_equals_int(gst_harness_push(harness.get(), gst_buffer_ref(frame.get())), GST_FLOW_OK);
  check_tensor(pull(harness).get(), expected_of(frame.get(), 64, 48));
}

GST_START_TEST(test_failure)
{
  const FailureRow &row = kFailures[__i__];
  Npu::reset();
  {
    const Harness harness(element_with(std::string("max-in-flight=1 ") + row.properties));
    fail_unless(harness.negotiate(dmabuf_caps("NV12", 64, 48)), "%s", harness.last_error().c_str());
    Npu::set(row.parameter, row.value);
    std::string got;
    bool ended = false;
    for (guint i = 0; i < 4 && !ended; i++) {
      GstBuffer *frame = new_dmabuf_frame("udmabuf", plain_caps("NV12", 64, 48), i);
      ended = gst_harness_push(harness.get(), frame) != GST_FLOW_OK;
      while (!ended && gst_harness_buffers_received(harness.get()) <= i) {
        ended = gst_harness_push_event(harness.get(), gst_event_new_gap(0, 0)) == FALSE;
        g_usleep(1000);
      }
      if (ended)
        got += 'x';
      else
        got += has_tensor(pull(harness).get()) ? 'r' : '-';
    }
    fail_unless_equals_string(got.c_str(), row.tensors);
    const bool error = got.back() == 'x';
    const std::vector<std::string> texts = harness.messages(error ? GST_MESSAGE_ERROR : GST_MESSAGE_WARNING);
    fail_unless_equals_int(static_cast<int>(texts.size()), 1);
    say(texts.front());
    for (const char *part : row.says)
      fail_unless(texts.front().find(part) != std::string::npos, "'%s' does not say '%s'", texts.front().c_str(), part);
    check_restart(harness);
  }
  Npu::expect("imports", 0);
}
GST_END_TEST

struct FenceRow {
  const char *name;
  const char *properties;
  bool error;
};

const FenceRow kFences[] = {
    {"the device reads", "on-device-lost=passthrough", false},
    {"the device reads, error", "", true},
    {"the CPU copies", "on-device-lost=passthrough import-mode=copy", false},
    {"the CPU copies, error", "import-mode=copy", true},
};

// What a frame holds whose producer failed is no picture.
GST_START_TEST(test_failed_fence)
{
  const FenceRow &row = kFences[__i__];
  Npu::reset();
  const Harness harness(element_with(row.properties));
  fail_unless(harness.negotiate(dmabuf_caps("NV12", 64, 48)), "%s", harness.last_error().c_str());
  GstBuffer *frame = new_dmabuf_frame("udmabuf", plain_caps("NV12", 64, 48), 1);
  Timeline timeline;
  GstDrmSyncMeta *meta = gst_buffer_add_drm_sync_meta(frame);
  fail_unless(gst_drm_sync_meta_add_acquire_fence(meta, timeline.fence(1), nullptr));
  timeline.destroy();
  const GstFlowReturn flow = gst_harness_push(harness.get(), frame);
  if (row.error) {
    while (flow == GST_FLOW_OK && gst_harness_push_event(harness.get(), gst_event_new_gap(0, 0)))
      g_usleep(1000);
    CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), "acquire fence signalled an error");
    check_restart(harness);
    return;
  }
  fail_unless_equals_int(flow, GST_FLOW_OK);
  fail_if(has_tensor(pull(harness).get()));
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_WARNING), "acquire fence signalled an error");
  const auto good = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("udmabuf", plain_caps("NV12", 64, 48), 2));
  fail_unless_equals_int(gst_harness_push(harness.get(), gst_buffer_ref(good.get())), GST_FLOW_OK);
  check_tensor(pull(harness).get(), expected_of(good.get(), 64, 48));
  fail_unless_equals_uint64(harness.stat("passed-through"), 1);
}
GST_END_TEST

// The timeout is of one inference: those that stand in line behind it may take longer.
GST_START_TEST(test_timeout_in_line)
{
  constexpr guint kInLine = 16;
  Npu::reset();
  Npu::set("latency_us", 50000);
  const Harness harness(element_with("max-in-flight=16 timeout=400"));
  fail_unless(harness.negotiate(dmabuf_caps("NV12", 64, 48)), "%s", harness.last_error().c_str());
  for (guint i = 0; i < kInLine; i++)
    fail_unless_equals_int(gst_harness_push(harness.get(), new_dmabuf_frame("udmabuf", plain_caps("NV12", 64, 48), i)), GST_FLOW_OK);
  for (guint i = 0; i < kInLine; i++)
    fail_unless(has_tensor(pull(harness).get()), "frame %u", i);
}
GST_END_TEST

struct FrameRow {
  const char *name;
  int width;
  int height;
  const char *says;
};

const FrameRow kBadFrames[] = {
    {"an odd width", 319, 240, "319x240"},
    {"an odd height", 320, 239, "320x239"},
    {"smaller than the network", 14, 14, "14x14"},
};

GST_START_TEST(test_bad_frame)
{
  const FrameRow &row = kBadFrames[__i__];
  Npu::reset();
  {
    const Harness harness(element_with(""));
    fail_unless(harness.negotiate(dmabuf_caps("NV12", row.width, row.height)));
    gst_harness_push(harness.get(), new_dmabuf_frame("udmabuf", plain_caps("NV12", row.width, row.height)));
    while (gst_harness_push_event(harness.get(), gst_event_new_gap(0, 0))) // until the error is there
      g_usleep(1000);
    CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), row.says);
    check_restart(harness);
  }
  Npu::expect("imports", 0);
}
GST_END_TEST

// A frame in system memory: refused with advice, or copied where the user wants that.
GST_START_TEST(test_system_memory)
{
  Npu::reset();
  const std::string plain = plain_caps("NV12", 64, 48);
  const Harness refusing(element_with(""));
  fail_if(refusing.negotiate(plain));
  CHECK_ONE_MESSAGE(refusing.messages(GST_MESSAGE_ERROR), "nothing in common", "dmabufupload", "import-mode=copy");

  const Harness copying(element_with("import-mode=copy"));
  fail_unless(copying.negotiate(plain), "%s", copying.last_error().c_str());
  const auto same = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("udmabuf", plain, 3));
  for (guint i = 0; i < 3; i++) {
    fail_unless_equals_int(gst_harness_push(copying.get(), new_frame(plain, 3)), GST_FLOW_OK);
    check_tensor(pull(copying).get(), expected_of(same.get(), 64, 48));
  }
  fail_unless_equals_uint64(copying.stat("copies"), 3);
  CHECK_ONE_MESSAGE(copying.messages(GST_MESSAGE_INFO), "import-mode=copy");
}
GST_END_TEST

GST_START_TEST(test_start)
{
  Npu::reset();
  const auto refused = [](const std::string &properties, const char *says) {
    const std::string said = start_error(element_with(properties));
    fail_unless(said.find(says) != std::string::npos, "'%s' does not say '%s'", said.c_str(), says);
  };
  refused("device=metis-9:9:9", "metis-9:9:9");
  refused("import-mode=copy zero-copy=require", "contradict");
  refused("inference-region=regions", "The back end axl reads whole frames");
  Npu::set("busy", 1);
  refused("", "EBUSY");
}
GST_END_TEST

Suite *npu_element_suite()
{
  Suite *suite = suite_create("npu_element");
  TCase *tc = tcase_create("npu_element");
  tcase_add_loop_test(tc, test_stream, 0, G_N_ELEMENTS(kStreams));
  tcase_add_test(tc, test_crop);
  tcase_add_loop_test(tc, test_memory_of_an_old_pool, 0, G_N_ELEMENTS(kLetting));
  tcase_add_loop_test(tc, test_failure, 0, G_N_ELEMENTS(kFailures));
  tcase_add_loop_test(tc, test_failed_fence, 0, G_N_ELEMENTS(kFences));
  tcase_add_test(tc, test_timeout_in_line);
  tcase_add_loop_test(tc, test_bad_frame, 0, G_N_ELEMENTS(kBadFrames));
  tcase_add_test(tc, test_system_memory);
  tcase_add_test(tc, test_start);
  suite_add_tcase(suite, tc);
  suite_add_tcase(suite, npu_document_cases());
  suite_add_tcase(suite, npu_syscall_cases());
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(npu_element)

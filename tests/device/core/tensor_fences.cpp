// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors that a device is still writing: fences of a real kernel (sw_sync). Tests check order and state, never how
// long something took.
#include "support/dmabuf_elements.hpp"

#include <string>

#include <gst/drm/core/unique_fd.hpp>

#include "support/held_frames.hpp"
#include "support/sw_sync.hpp"

namespace {

using gstdrm::GstPtr;
using gstdrm::UniqueFd;
using gstdrm::test::Harness;
using gstdrm::test::Pusher;
using gstdrm::test::Timeline;

// One tensor of an SSD's scores, classes and boxes each, and a fence.
GstBuffer *frame_with(int fence)
{
  GstBuffer *buffer = gst_buffer_new_allocate(nullptr, 16, nullptr);
  GstDrmTensorMeta *meta = gst_buffer_add_drm_tensor_meta(buffer, "objects");
  meta->placement = {100, 100, 1, 1, 0, 0};
  const gfloat values[] = {0.1F, 0.1F, 0.5F, 0.5F, 0, 0.9F};
  GstMemory *memory = gst_allocator_alloc(nullptr, sizeof values, nullptr);
  GstMapInfo map;
  fail_unless(gst_memory_map(memory, &map, GST_MAP_WRITE));
  memcpy(map.data, values, sizeof values);
  gst_memory_unmap(memory, &map);
  gsize offset = 0;
  for (const auto &[name, count] : {std::pair("boxes", gsize{4}), {"classes", gsize{1}}, {"scores", gsize{1}}}) {
    GstDrmTensor tensor;
    gst_drm_tensor_init(&tensor);
    tensor.name = name;
    tensor.type = GST_DRM_TENSOR_TYPE_FLOAT32;
    tensor.n_dims = count == 4 ? 2 : 1;
    tensor.dims[0].size = 1;
    tensor.dims[1].size = 4;
    tensor.memory = memory;
    tensor.offset = offset;
    tensor.size = count * sizeof(gfloat);
    offset += tensor.size;
    fail_unless(gst_drm_tensor_meta_add_tensor(meta, &tensor, nullptr));
  }
  gst_memory_unref(memory);
  if (fence >= 0)
    fail_unless(gst_drm_tensor_meta_add_acquire_fence(meta, fence, nullptr));
  return buffer;
}

GST_START_TEST(test_values_wait)
{
  Timeline timeline;
  g_autoptr(GstBuffer) frame = frame_with(timeline.fence(1));
  g_autoptr(GstBuffer) copy = gst_buffer_copy(frame);
  GstDrmTensorMeta *meta = gst_buffer_get_drm_tensor_meta(copy, nullptr);
  GError *error = nullptr;
  fail_unless(gst_drm_tensor_meta_dup_float32(meta, 0, 0, nullptr, &error) == nullptr, "read before the fence");
  fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_SYNC));
  gstdrm::test::say(error->message);
  g_clear_error(&error);
  timeline.advance();
  g_autofree gfloat *values = gst_drm_tensor_meta_dup_float32(meta, 0, GST_CLOCK_TIME_NONE, nullptr, &error);
  fail_unless(values && values[2] == 0.5F);
}
GST_END_TEST

// Two fences: both have to signal.
GST_START_TEST(test_fences_merge)
{
  Timeline timeline;
  g_autoptr(GstBuffer) frame = frame_with(timeline.fence(1));
  GstDrmTensorMeta *meta = gst_buffer_get_drm_tensor_meta(frame, nullptr);
  fail_unless(gst_drm_tensor_meta_add_acquire_fence(meta, timeline.fence(2), nullptr));
  const UniqueFd merged(gst_drm_tensor_meta_dup_acquire_fence(meta));
  auto state = GST_DRM_FENCE_STATE_FAILED;
  timeline.advance();
  fail_unless(gst_drm_fence_get_state(merged.get(), &state, nullptr) && state == GST_DRM_FENCE_STATE_PENDING);
  timeline.advance();
  fail_unless(gst_drm_fence_get_state(merged.get(), &state, nullptr) && state == GST_DRM_FENCE_STATE_SIGNALLED);
}
GST_END_TEST

GST_START_TEST(test_failed_device)
{
  Timeline timeline;
  g_autoptr(GstBuffer) frame = frame_with(timeline.fence(1));
  timeline.destroy();
  GError *error = nullptr;
  fail_unless(gst_drm_tensor_meta_dup_float32(gst_buffer_get_drm_tensor_meta(frame, nullptr), 0, 0, nullptr, &error) == nullptr);
  fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_SYNC) && strstr(error->message, "failed"), "%s", error->message);
  g_clear_error(&error);
}
GST_END_TEST

bool has_region(GstBuffer *buffer)
{
  return gst_buffer_get_video_region_of_interest_meta_id(buffer, 0) != nullptr;
}

// The element reads no tensor before its fence has signalled.
GST_START_TEST(test_element_waits)
{
  const Harness harness("drmtensordecode");
  fail_unless(harness.negotiate("video/x-raw, format=(string)GRAY8, width=(int)100, height=(int)100"));
  Timeline timeline;
  GstBuffer *frame = frame_with(timeline.fence(1));
  GThread *thread = g_thread_new("device", [](gpointer data) -> gpointer {
    g_usleep(20000);
    static_cast<Timeline *>(data)->advance();
    return nullptr;
  }, &timeline);
  const auto output = harness.push(frame);
  g_thread_join(thread);
  fail_unless(has_region(output.get()));
  fail_unless_equals_int(harness.stat("waits"), 1);
}
GST_END_TEST

// A device that failed: the frame passes without detections, and one warning says so.
GST_START_TEST(test_element_after_a_failure)
{
  const Harness harness("drmtensordecode");
  fail_unless(harness.negotiate("video/x-raw, format=(string)GRAY8, width=(int)100, height=(int)100"));
  for (int i = 0; i < 2; i++) {
    Timeline timeline;
    GstBuffer *frame = frame_with(timeline.fence(1));
    timeline.destroy();
    fail_if(has_region(harness.push(frame).get()));
  }
  fail_unless_equals_int(harness.messages(GST_MESSAGE_WARNING).size(), 1);
  fail_unless(has_region(harness.push(frame_with(-1)).get()), "later frames are decoded");
}
GST_END_TEST

// A flush ends the wait at once, without an error; afterwards the stream goes on.
GST_START_TEST(test_flush_ends_the_wait)
{
  const Harness harness("drmtensordecode");
  fail_unless(harness.negotiate("video/x-raw, format=(string)GRAY8, width=(int)100, height=(int)100"));
  Timeline timeline;
  GstBuffer *frame = frame_with(timeline.fence(1));
  Pusher pusher(harness, frame);
  pusher.wait_until_stuck();
  fail_unless(gst_harness_push_event(harness.get(), gst_event_new_flush_start()));
  fail_unless_equals_int(pusher.join(), GST_FLOW_FLUSHING);
  fail_unless(harness.messages(GST_MESSAGE_ERROR).empty());
}
GST_END_TEST

Suite *tensor_fences_suite()
{
  Suite *suite = suite_create("tensor fences");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_values_wait);
  tcase_add_test(tcase, test_fences_merge);
  tcase_add_test(tcase, test_failed_device);
  if (gst_registry_check_feature_version(gst_registry_get(), "drmtensordecode", 0, 0, 0)) {
    tcase_add_test(tcase, test_element_waits);
    tcase_add_test(tcase, test_element_after_a_failure);
    tcase_add_test(tcase, test_flush_ends_the_wait);
  }
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(tensor_fences)

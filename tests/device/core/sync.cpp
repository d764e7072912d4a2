// SPDX-License-Identifier: LGPL-2.1-or-later
// Fences of a real kernel: sw_sync makes them, udmabuf makes dma-bufs to hang them on. Tests check order
// and state, never how long something took.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/types.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/drm.h>
#include <gst/video/video.h>

#include "core/frame_layout.hpp"
#include "core/sync_file.hpp"
#include "support/check_main.hpp"
#include "support/open_fds.hpp"
#include "support/sw_sync.hpp"

namespace {

using gstdrm::FenceState;
using gstdrm::UniqueFd;
using gstdrm::test::count_fds;
using gstdrm::test::Timeline;

UniqueFd new_dmabuf(gsize size)
{
  const UniqueFd memory(memfd_create("sync", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  fail_unless_equals_int(ftruncate(memory.get(), static_cast<off_t>(size)), 0);
  fail_unless_equals_int(fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  const UniqueFd device(open("/dev/udmabuf", O_RDWR | O_CLOEXEC));
  fail_unless(static_cast<bool>(device), "no udmabuf: %s", strerror(errno));
  udmabuf_create create = {};
  create.memfd = static_cast<__u32>(memory.get());
  create.flags = UDMABUF_FLAGS_CLOEXEC;
  create.size = size;
  UniqueFd dmabuf(ioctl(device.get(), UDMABUF_CREATE, &create));
  fail_unless(static_cast<bool>(dmabuf), "UDMABUF_CREATE: %s", strerror(errno));
  return dmabuf;
}

GstDrmFenceState state_of(int fence)
{
  GstDrmFenceState state = GST_DRM_FENCE_STATE_PENDING;
  GError *error = nullptr;
  fail_unless(gst_drm_fence_get_state(fence, &state, &error), "%s", error ? error->message : "");
  return state;
}

GST_START_TEST(test_state)
{
  Timeline timeline;
  const UniqueFd one(timeline.fence(1));
  const UniqueFd two(timeline.fence(2));
  fail_unless_equals_int(state_of(one.get()), GST_DRM_FENCE_STATE_PENDING);
  timeline.advance();
  fail_unless_equals_int(state_of(one.get()), GST_DRM_FENCE_STATE_SIGNALLED);
  fail_unless_equals_int(state_of(two.get()), GST_DRM_FENCE_STATE_PENDING);
  timeline.destroy();
  fail_unless_equals_int(state_of(two.get()), GST_DRM_FENCE_STATE_FAILED);
}
GST_END_TEST

GST_START_TEST(test_wait)
{
  Timeline timeline;
  const UniqueFd fence(timeline.fence(1));
  GstDrmFenceState state = GST_DRM_FENCE_STATE_SIGNALLED;
  fail_unless(gst_drm_fence_wait(fence.get(), 0, &state, nullptr));
  fail_unless_equals_int(state, GST_DRM_FENCE_STATE_PENDING);
  fail_unless(gst_drm_fence_wait(fence.get(), 5 * GST_MSECOND, &state, nullptr));
  fail_unless_equals_int(state, GST_DRM_FENCE_STATE_PENDING);
  timeline.advance();
  fail_unless(gst_drm_fence_wait(fence.get(), GST_CLOCK_TIME_NONE, &state, nullptr));
  fail_unless_equals_int(state, GST_DRM_FENCE_STATE_SIGNALLED);
}
GST_END_TEST

gpointer advance_later(gpointer timeline)
{
  g_usleep(20000);
  static_cast<Timeline *>(timeline)->advance();
  return nullptr;
}

GST_START_TEST(test_wait_wakes_up)
{
  Timeline timeline;
  const UniqueFd fence(timeline.fence(1));
  GThread *thread = g_thread_new("signaller", advance_later, &timeline);
  GstDrmFenceState state = GST_DRM_FENCE_STATE_PENDING;
  fail_unless(gst_drm_fence_wait(fence.get(), GST_CLOCK_TIME_NONE, &state, nullptr));
  fail_unless_equals_int(state, GST_DRM_FENCE_STATE_SIGNALLED);
  g_thread_join(thread);
}
GST_END_TEST

GST_START_TEST(test_wait_for_a_failure)
{
  Timeline timeline;
  const UniqueFd fence(timeline.fence(1));
  timeline.destroy();
  GstDrmFenceState state = GST_DRM_FENCE_STATE_PENDING;
  fail_unless(gst_drm_fence_wait(fence.get(), GST_CLOCK_TIME_NONE, &state, nullptr));
  fail_unless_equals_int(state, GST_DRM_FENCE_STATE_FAILED);
}
GST_END_TEST

GST_START_TEST(test_merge_signals_last)
{
  Timeline a;
  Timeline b;
  const UniqueFd of_a(a.fence(1));
  const UniqueFd of_b(b.fence(1));
  const gstdrm::Result<UniqueFd> both = gstdrm::fence_merge(of_a.get(), of_b.get());
  fail_unless(static_cast<bool>(both));
  fail_unless(fcntl(both->get(), F_GETFD) & FD_CLOEXEC, "must not leak into children");
  fail_unless_equals_int(state_of(both->get()), GST_DRM_FENCE_STATE_PENDING);
  a.advance();
  fail_unless_equals_int(state_of(both->get()), GST_DRM_FENCE_STATE_PENDING);
  b.advance();
  fail_unless_equals_int(state_of(both->get()), GST_DRM_FENCE_STATE_SIGNALLED);
}
GST_END_TEST

// Every fence added to either side has to signal; copies that share the memory see the same.
GST_START_TEST(test_meta_collects)
{
  Timeline a;
  Timeline b;
  g_autoptr(GstBuffer) buffer = gst_buffer_new_allocate(nullptr, 64, nullptr);
  GstDrmSyncMeta *meta = gst_buffer_add_drm_sync_meta(buffer);
  g_autoptr(GstBuffer) copy = gst_buffer_copy(buffer);
  GstDrmSyncMeta *copied = gst_buffer_get_drm_sync_meta(copy);
  fail_unless(gst_drm_sync_meta_add_acquire_fence(meta, a.fence(1), nullptr));
  fail_unless(gst_drm_sync_meta_add_release_fence(copied, a.fence(2), nullptr));
  fail_unless(gst_drm_sync_meta_add_release_fence(meta, b.fence(1), nullptr));

  const UniqueFd acquire(gst_drm_sync_meta_dup_acquire_fence(copied));
  const UniqueFd release(gst_drm_sync_meta_dup_release_fence(meta));
  fail_unless(acquire && release);
  a.advance();
  fail_unless_equals_int(state_of(acquire.get()), GST_DRM_FENCE_STATE_SIGNALLED);
  fail_unless_equals_int(state_of(release.get()), GST_DRM_FENCE_STATE_PENDING);
  b.advance();
  fail_unless_equals_int(state_of(release.get()), GST_DRM_FENCE_STATE_PENDING);
  a.advance();
  fail_unless_equals_int(state_of(release.get()), GST_DRM_FENCE_STATE_SIGNALLED);

  gst_drm_sync_meta_clear(copied);
  fail_unless_equals_int(gst_drm_sync_meta_dup_acquire_fence(meta), -1);
  fail_unless_equals_int(gst_drm_sync_meta_dup_release_fence(meta), -1);
}
GST_END_TEST

GST_START_TEST(test_meta_keeps_its_fence_on_failure)
{
  Timeline timeline;
  g_autoptr(GstBuffer) buffer = gst_buffer_new_allocate(nullptr, 64, nullptr);
  GstDrmSyncMeta *meta = gst_buffer_add_drm_sync_meta(buffer);
  fail_unless(gst_drm_sync_meta_add_acquire_fence(meta, timeline.fence(1), nullptr));
  fail_if(gst_drm_sync_meta_add_acquire_fence(meta, memfd_create("no-fence", MFD_CLOEXEC), nullptr));
  const UniqueFd fence(gst_drm_sync_meta_dup_acquire_fence(meta));
  fail_unless_equals_int(state_of(fence.get()), GST_DRM_FENCE_STATE_PENDING);
}
GST_END_TEST

GST_START_TEST(test_no_descriptor_leaks)
{
  Timeline timeline;
  const guint before = count_fds();
  for (int i = 0; i < 20; ++i) {
    g_autoptr(GstBuffer) buffer = gst_buffer_new_allocate(nullptr, 64, nullptr);
    GstDrmSyncMeta *meta = gst_buffer_add_drm_sync_meta(buffer);
    for (int j = 0; j < 5; ++j) {
      fail_unless(gst_drm_sync_meta_add_acquire_fence(meta, timeline.fence(1), nullptr));
      fail_unless(gst_drm_sync_meta_add_release_fence(meta, timeline.fence(1), nullptr));
    }
    g_autoptr(GstBuffer) copy = gst_buffer_copy(buffer);
  }
  fail_unless_equals_int(count_fds(), before);
}
GST_END_TEST

// A writer's fence, imported into a dma-buf, is what a reader has to wait for.
GST_START_TEST(test_implicit_fences)
{
  Timeline timeline;
  const UniqueFd dmabuf = new_dmabuf(4096);
  GError *error = nullptr;
  const UniqueFd idle(gst_drm_dmabuf_export_fence(dmabuf.get(), GST_DRM_ACCESS_WRITE, &error));
  fail_unless(static_cast<bool>(idle), "%s", error ? error->message : "");
  fail_unless_equals_int(state_of(idle.get()), GST_DRM_FENCE_STATE_SIGNALLED);

  const UniqueFd write(timeline.fence(1));
  fail_unless(gst_drm_dmabuf_import_fence(dmabuf.get(), write.get(), GST_DRM_ACCESS_WRITE, &error), "%s",
              error ? error->message : "");
  const UniqueFd reader(gst_drm_dmabuf_export_fence(dmabuf.get(), GST_DRM_ACCESS_READ, nullptr));
  fail_unless_equals_int(state_of(reader.get()), GST_DRM_FENCE_STATE_PENDING);
  timeline.advance();
  fail_unless_equals_int(state_of(reader.get()), GST_DRM_FENCE_STATE_SIGNALLED);
}
GST_END_TEST

GST_START_TEST(test_readers_do_not_wait_for_readers)
{
  Timeline timeline;
  const UniqueFd dmabuf = new_dmabuf(4096);
  const UniqueFd read(timeline.fence(1));
  fail_unless(gst_drm_dmabuf_import_fence(dmabuf.get(), read.get(), GST_DRM_ACCESS_READ, nullptr));
  const UniqueFd reader(gst_drm_dmabuf_export_fence(dmabuf.get(), GST_DRM_ACCESS_READ, nullptr));
  const UniqueFd writer(gst_drm_dmabuf_export_fence(dmabuf.get(), GST_DRM_ACCESS_WRITE, nullptr));
  fail_unless_equals_int(state_of(reader.get()), GST_DRM_FENCE_STATE_SIGNALLED);
  fail_unless_equals_int(state_of(writer.get()), GST_DRM_FENCE_STATE_PENDING);
  timeline.advance();
  fail_unless_equals_int(state_of(writer.get()), GST_DRM_FENCE_STATE_SIGNALLED);
}
GST_END_TEST

GST_START_TEST(test_import_of_no_fence)
{
  const UniqueFd dmabuf = new_dmabuf(4096);
  GError *error = nullptr;
  fail_if(gst_drm_dmabuf_import_fence(dmabuf.get(), dmabuf.get(), GST_DRM_ACCESS_WRITE, &error));
  fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_SYNC), "%s", error->message);
  g_clear_error(&error);
}
GST_END_TEST

gpointer read_by_cpu(gpointer data)
{
  GstMapInfo map;
  if (!gst_memory_map(static_cast<GstMemory *>(data), &map, GST_MAP_READ))
    return GINT_TO_POINTER(0);
  gst_memory_unmap(static_cast<GstMemory *>(data), &map);
  return GINT_TO_POINTER(1);
}

// A device that writes holds up GStreamer's map for reading, which does DMA_BUF_IOCTL_SYNC: the fence has signalled
// when the memory is mapped.
GST_START_TEST(test_cpu_access_waits_for_the_device)
{
  Timeline timeline;
  const UniqueFd dmabuf = new_dmabuf(4096);
  const UniqueFd write(timeline.fence(1));
  fail_unless(gst_drm_dmabuf_import_fence(dmabuf.get(), write.get(), GST_DRM_ACCESS_WRITE, nullptr));
  GstAllocator *allocator = gst_dmabuf_allocator_new();
  GstMemory *memory = gst_dmabuf_allocator_alloc(allocator, dmabuf.dup().release(), 4096);
  GThread *signaller = g_thread_new("signaller", advance_later, &timeline);
  GThread *reader = g_thread_new("reader", read_by_cpu, memory);
  fail_unless_equals_int(GPOINTER_TO_INT(g_thread_join(reader)), 1);
  fail_unless_equals_int(state_of(write.get()), GST_DRM_FENCE_STATE_SIGNALLED);
  g_thread_join(signaller);
  gst_memory_unref(memory);
  gst_object_unref(allocator);
}
GST_END_TEST

// What the layout checks ask of a descriptor, asked of a real dma-buf.
GST_START_TEST(test_identity_of_a_dmabuf)
{
  const UniqueFd dmabuf = new_dmabuf(16384);
  const UniqueFd copy = dmabuf.dup();
  const UniqueFd other = new_dmabuf(16384);
  const auto a = gstdrm::query_object(dmabuf.get());
  const auto b = gstdrm::query_object(copy.get());
  const auto c = gstdrm::query_object(other.get());
  fail_unless(a && b && c);
  fail_unless_equals_uint64(a->size_bytes, 16384);
  fail_unless(a->identity == b->identity);
  fail_unless(a->identity != c->identity);

  Timeline timeline;
  const UniqueFd fence(timeline.fence(1));
  fail_if(gstdrm::query_object(fence.get()), "a fence is no buffer");
}
GST_END_TEST

GST_START_TEST(test_frame_of_a_dmabuf)
{
  GstAllocator *allocator = gst_dmabuf_allocator_new();
  g_autoptr(GstCaps) caps = gst_caps_from_string(
      "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=XR24, width=64, height=64");
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_from_caps(&info, caps));
  g_autoptr(GstBuffer) buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, gst_dmabuf_allocator_alloc(allocator, new_dmabuf(16384).release(), 16384));
  gst_object_unref(allocator);
  GstDrmFrame frame;
  GError *error = nullptr;
  fail_unless(gst_drm_frame_from_buffer(&frame, buffer, &info, &error), "%s", error ? error->message : "");
  fail_unless_equals_uint64(frame.planes[0].size, 16384);
  fail_unless(frame.planes[0].inode != 0);
}
GST_END_TEST

Suite *sync_suite()
{
  Suite *suite = suite_create("sync");
  TCase *tcase = tcase_create("sync");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_state);
  tcase_add_test(tcase, test_wait);
  tcase_add_test(tcase, test_wait_wakes_up);
  tcase_add_test(tcase, test_wait_for_a_failure);
  tcase_add_test(tcase, test_merge_signals_last);
  tcase_add_test(tcase, test_meta_collects);
  tcase_add_test(tcase, test_meta_keeps_its_fence_on_failure);
  tcase_add_test(tcase, test_no_descriptor_leaks);
  tcase_add_test(tcase, test_implicit_fences);
  tcase_add_test(tcase, test_readers_do_not_wait_for_readers);
  tcase_add_test(tcase, test_import_of_no_fence);
  tcase_add_test(tcase, test_cpu_access_waits_for_the_device);
  tcase_add_test(tcase, test_identity_of_a_dmabuf);
  tcase_add_test(tcase, test_frame_of_a_dmabuf);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(sync)

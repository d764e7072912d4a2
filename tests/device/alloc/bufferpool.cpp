// SPDX-License-Identifier: LGPL-2.1-or-later
// The pool and fences: sw_sync signals when the test says so. Order is tested, never time.
#include <atomic>
#include <thread>
#include <vector>

#include "support/check_main.hpp"
#include "support/frames.hpp"
#include "support/pools.hpp"
#include "support/sw_sync.hpp"

namespace {

using namespace gstdrm::test;

constexpr const char *kCaps =
    "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=64, height=64, framerate=30/1";

GstMemory *memory_of(GstBuffer *buffer)
{
  return gst_buffer_peek_memory(buffer, 0);
}

void add_release_fence(GstBuffer *buffer, Timeline &timeline, guint value)
{
  GError *error = nullptr;
  fail_unless(gst_drm_sync_meta_add_release_fence(gst_buffer_get_drm_sync_meta(buffer), timeline.fence(value), &error), "%s",
              error ? error->message : "no error");
}

GstFlowReturn acquire_now(const Pool &pool, GstBuffer **buffer)
{
  GstBufferPoolAcquireParams params = {};
  params.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT;
  return gst_buffer_pool_acquire_buffer(pool.get(), buffer, &params);
}

GST_START_TEST(test_prefers_a_buffer_that_is_done)
{
  Timeline timeline;
  Pool pool(GST_DRM_ALLOCATOR_KIND_UDMABUF);
  pool.configure({.caps = kCaps, .min = 2, .max = 2});
  GstBuffer *a = pool.acquire();
  GstBuffer *b = pool.acquire();
  const GstMemory *memory_a = memory_of(a);
  const GstMemory *memory_b = memory_of(b);
  add_release_fence(a, timeline, 1);
  gst_buffer_unref(a); // back first, so it would be the next
  gst_buffer_unref(b);
  for (int i = 0; i < 3; ++i) {
    b = pool.acquire();
    fail_unless(memory_of(b) == memory_b);
    gst_buffer_unref(b);
  }
  fail_unless_equals_uint64(stat_of(pool, "waits"), 0);
  timeline.advance();
  b = pool.acquire();
  a = pool.acquire();
  fail_unless((memory_of(a) == memory_a) != (memory_of(b) == memory_a));
  // the next owner starts without fences
  fail_unless_equals_int(gst_drm_sync_meta_dup_release_fence(gst_buffer_get_drm_sync_meta(a)), -1);
  fail_unless_equals_int(gst_drm_sync_meta_dup_release_fence(gst_buffer_get_drm_sync_meta(b)), -1);
  gst_buffer_unref(a);
  gst_buffer_unref(b);
}
GST_END_TEST

GST_START_TEST(test_grows_rather_than_waits)
{
  Timeline timeline;
  Pool pool(GST_DRM_ALLOCATOR_KIND_UDMABUF);
  pool.configure({.caps = kCaps, .min = 1, .max = 2});
  GstBuffer *a = pool.acquire();
  const GstMemory *memory_a = memory_of(a);
  add_release_fence(a, timeline, 1);
  gst_buffer_unref(a);
  GstBuffer *b = pool.acquire();
  fail_unless(memory_of(b) != memory_a);
  fail_unless_equals_uint64(stat_of(pool, "waits"), 0);
  gst_buffer_unref(b);
}
GST_END_TEST

GST_START_TEST(test_all_pending_without_waiting)
{
  Timeline timeline;
  Pool pool(GST_DRM_ALLOCATOR_KIND_UDMABUF);
  pool.configure({.caps = kCaps, .min = 2, .max = 2});
  GstBuffer *buffers[2] = {pool.acquire(), pool.acquire()};
  for (GstBuffer *buffer : buffers) {
    add_release_fence(buffer, timeline, 1);
    gst_buffer_unref(buffer);
  }
  GstBuffer *got = nullptr;
  fail_unless_equals_int(acquire_now(pool, &got), GST_FLOW_EOS);
  fail_unless_equals_uint64(stat_of(pool, "waits"), 0);
  timeline.advance();
  fail_unless_equals_int(acquire_now(pool, &got), GST_FLOW_OK);
  gst_buffer_unref(got);
}
GST_END_TEST

// A reader that never ends must not make the pool grow for ever.
GST_START_TEST(test_growth_is_bounded)
{
  Timeline timeline;
  Pool pool(GST_DRM_ALLOCATOR_KIND_UDMABUF);
  pool.configure({.caps = kCaps, .min = 0, .max = 0});
  int made = 0;
  GstBuffer *buffer = nullptr;
  while (acquire_now(pool, &buffer) == GST_FLOW_OK) {
    fail_unless(++made < 100);
    add_release_fence(buffer, timeline, 1);
    gst_buffer_unref(buffer);
  }
  fail_unless_equals_int(made, 8);
}
GST_END_TEST

GST_START_TEST(test_waits_for_the_fence)
{
  Timeline timeline;
  Pool pool(GST_DRM_ALLOCATOR_KIND_UDMABUF);
  pool.configure({.caps = kCaps, .min = 1, .max = 1});
  GstBuffer *buffer = pool.acquire();
  const GstMemory *memory = memory_of(buffer);
  add_release_fence(buffer, timeline, 1);
  gst_buffer_unref(buffer);
  std::atomic<bool> signalled{false};
  bool too_early = true;
  std::thread waiter([&] {
    buffer = nullptr;
    if (gst_buffer_pool_acquire_buffer(pool.get(), &buffer, nullptr) == GST_FLOW_OK)
      too_early = !signalled;
  });
  while (stat_of(pool, "waits") == 0)
    g_usleep(1000);
  signalled = true;
  timeline.advance();
  waiter.join();
  fail_if(too_early);
  fail_unless(memory_of(buffer) == memory);
  fail_unless_equals_uint64(stat_of(pool, "waits"), 1);
  gst_buffer_unref(buffer);
}
GST_END_TEST

// It is out when it is asked for, and comes back with a fence.
GST_START_TEST(test_comes_back_with_a_fence)
{
  Timeline timeline;
  Pool pool(GST_DRM_ALLOCATOR_KIND_UDMABUF);
  pool.configure({.caps = kCaps, .min = 1, .max = 1});
  GstBuffer *buffer = pool.acquire();
  add_release_fence(buffer, timeline, 1);
  std::atomic<bool> signalled{false};
  bool too_early = true;
  GstBuffer *second = nullptr;
  std::thread waiter([&] {
    if (gst_buffer_pool_acquire_buffer(pool.get(), &second, nullptr) == GST_FLOW_OK)
      too_early = !signalled;
  });
  g_usleep(20000); // either order is right; this makes the sleeping waiter likely
  gst_buffer_unref(buffer);
  while (stat_of(pool, "waits") == 0)
    g_usleep(1000);
  signalled = true;
  timeline.advance();
  waiter.join();
  fail_if(too_early);
  gst_buffer_unref(second);
}
GST_END_TEST

GST_START_TEST(test_flushed_while_waiting)
{
  Timeline timeline;
  Pool pool(GST_DRM_ALLOCATOR_KIND_UDMABUF);
  pool.configure({.caps = kCaps, .min = 1, .max = 1});
  GstBuffer *buffer = pool.acquire();
  add_release_fence(buffer, timeline, 1);
  gst_buffer_unref(buffer);
  GstFlowReturn flow = GST_FLOW_OK;
  GstBuffer *second = nullptr;
  std::thread waiter([&] { flow = gst_buffer_pool_acquire_buffer(pool.get(), &second, nullptr); });
  while (stat_of(pool, "waits") == 0)
    g_usleep(1000);
  gst_buffer_pool_set_flushing(pool.get(), TRUE);
  waiter.join();
  fail_unless_equals_int(flow, GST_FLOW_FLUSHING);
  gst_buffer_pool_set_flushing(pool.get(), FALSE);
  timeline.advance();
  gst_buffer_unref(pool.acquire()); // nothing was lost
}
GST_END_TEST

// A device that hangs: its buffer is given up, and the stream goes on with a new one.
GST_START_TEST(test_gives_up_a_hanging_reader)
{
  Timeline timeline;
  Pool pool(GST_DRM_ALLOCATOR_KIND_UDMABUF);
  pool.configure({.caps = kCaps, .min = 1, .max = 1});
  GstBuffer *buffer = pool.acquire();
  GstMemory *hanging = gst_memory_ref(memory_of(buffer));
  add_release_fence(buffer, timeline, 1);
  gst_buffer_unref(buffer);
  buffer = pool.acquire();
  fail_unless(memory_of(buffer) != hanging);
  check_linear_meta(buffer, {"NV12", 64, 64});
  gst_buffer_unref(buffer);
  gst_memory_unref(hanging);
  timeline.advance();
}
GST_END_TEST

// The reader failed: it reads no longer.
GST_START_TEST(test_failed_fence_is_done)
{
  Timeline timeline;
  Pool pool(GST_DRM_ALLOCATOR_KIND_UDMABUF);
  pool.configure({.caps = kCaps, .min = 1, .max = 1});
  GstBuffer *buffer = pool.acquire();
  add_release_fence(buffer, timeline, 1);
  gst_buffer_unref(buffer);
  timeline.destroy();
  fail_unless_equals_int(acquire_now(pool, &buffer), GST_FLOW_OK);
  gst_buffer_unref(buffer);
}
GST_END_TEST

// What downstream got was a copy; its fence must hold the pool's buffer all the same.
GST_START_TEST(test_fence_on_a_shallow_copy)
{
  Timeline timeline;
  Pool pool(GST_DRM_ALLOCATOR_KIND_UDMABUF);
  pool.configure({.caps = kCaps, .min = 1, .max = 1});
  GstBuffer *buffer = pool.acquire();
  const GstMemory *memory = memory_of(buffer);
  GstBuffer *copy = gst_buffer_copy(buffer);
  gst_buffer_unref(buffer);
  add_release_fence(copy, timeline, 1);
  gst_buffer_unref(copy);
  fail_unless_equals_int(acquire_now(pool, &buffer), GST_FLOW_EOS);
  timeline.advance();
  fail_unless_equals_int(acquire_now(pool, &buffer), GST_FLOW_OK);
  fail_unless(memory_of(buffer) == memory);
  gst_buffer_unref(buffer);
}
GST_END_TEST

// The producer's fence is of no interest once the buffer is back; the reader's is.
GST_START_TEST(test_acquire_fence_is_dropped)
{
  Timeline timeline;
  const std::size_t fds = count_fds();
  {
    Pool pool(GST_DRM_ALLOCATOR_KIND_UDMABUF);
    pool.configure({.caps = kCaps, .min = 1, .max = 1});
    GstBuffer *buffer = pool.acquire();
    const std::size_t in_use = count_fds();
    fail_unless(
        gst_drm_sync_meta_add_acquire_fence(gst_buffer_get_drm_sync_meta(buffer), timeline.fence(1), nullptr));
    fail_unless_equals_int(count_fds(), in_use + 1);
    gst_buffer_unref(buffer);
    fail_unless_equals_int(count_fds(), in_use);
    fail_unless_equals_int(acquire_now(pool, &buffer), GST_FLOW_OK);
    fail_unless_equals_int(gst_drm_sync_meta_dup_acquire_fence(gst_buffer_get_drm_sync_meta(buffer)), -1);
    gst_buffer_unref(buffer);
  }
  fail_unless_equals_int(count_fds(), fds);
}
GST_END_TEST

GST_START_TEST(test_no_descriptor_is_left)
{
  Timeline timeline;
  const std::size_t fds = count_fds();
  for (int i = 0; i < 20; ++i) {
    Pool pool(GST_DRM_ALLOCATOR_KIND_UDMABUF);
    pool.configure({.caps = kCaps, .min = 2, .max = 4});
    for (int n = 0; n < 4; ++n) {
      GstBuffer *buffer = pool.acquire();
      add_release_fence(buffer, timeline, 1);
      gst_buffer_unref(buffer);
    }
  }
  fail_unless_equals_int(count_fds(), fds);
}
GST_END_TEST

constexpr GstDrmAllocatorKind kDecoderKinds[] = {GST_DRM_ALLOCATOR_KIND_UDMABUF, GST_DRM_ALLOCATOR_KIND_DMA_HEAP,
                                                 GST_DRM_ALLOCATOR_KIND_DUMB};

GST_START_TEST(test_decoder_takes_it)
{
  check_decoder(kDecoderKinds[__i__]);
}
GST_END_TEST

struct LayoutRow {
  GstDrmAllocatorKind kind;
  const char *caps;
  bool accepted; // GStreamer's default layout, for a user without GstVideoMeta
};

constexpr LayoutRow kDefaultLayouts[] = {
    {GST_DRM_ALLOCATOR_KIND_UDMABUF, "video/x-raw, format=NV12, width=641, height=481", true},
    {GST_DRM_ALLOCATOR_KIND_DMA_HEAP, "video/x-raw, format=I420, width=641, height=481", true},
    {GST_DRM_ALLOCATOR_KIND_DUMB, "video/x-raw, format=NV12, width=641, height=481", false},
    {GST_DRM_ALLOCATOR_KIND_DUMB, "video/x-raw, format=BGRx, width=640, height=480", true},
    {GST_DRM_ALLOCATOR_KIND_DUMB, "video/x-raw, format=NV12, width=1024, height=768", true},
};

GST_START_TEST(test_default_layout)
{
  const LayoutRow &row = kDefaultLayouts[__i__];
  Pool pool(row.kind);
  fail_unless(pool.try_configure({.caps = row.caps, .video_meta = false}) == row.accepted);
  if (!row.accepted)
    return;
  fail_unless(gst_buffer_pool_set_active(pool.get(), TRUE));
  GstCaps *caps = gst_caps_from_string(row.caps);
  GstVideoInfo info;
  fail_unless(gst_video_info_from_caps(&info, caps));
  gst_caps_unref(caps);
  GstBuffer *buffer = pool.acquire();
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  for (guint p = 0; p < meta->n_planes; ++p) {
    fail_unless_equals_int(meta->stride[p], info.stride[p]);
    fail_unless_equals_uint64(meta->offset[p], info.offset[p]);
  }
  gst_buffer_unref(buffer);
}
GST_END_TEST

Suite *bufferpool_suite()
{
  Suite *suite = suite_create("bufferpool");
  TCase *tcase = tcase_create("box");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_prefers_a_buffer_that_is_done);
  tcase_add_test(tcase, test_grows_rather_than_waits);
  tcase_add_test(tcase, test_all_pending_without_waiting);
  tcase_add_test(tcase, test_growth_is_bounded);
  tcase_add_test(tcase, test_waits_for_the_fence);
  tcase_add_test(tcase, test_comes_back_with_a_fence);
  tcase_add_test(tcase, test_flushed_while_waiting);
  tcase_add_test(tcase, test_gives_up_a_hanging_reader);
  tcase_add_test(tcase, test_failed_fence_is_done);
  tcase_add_test(tcase, test_fence_on_a_shallow_copy);
  tcase_add_test(tcase, test_acquire_fence_is_dropped);
  tcase_add_test(tcase, test_no_descriptor_is_left);
  tcase_add_loop_test(tcase, test_decoder_takes_it, 0, G_N_ELEMENTS(kDecoderKinds));
  tcase_add_loop_test(tcase, test_default_layout, 0, G_N_ELEMENTS(kDefaultLayouts));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(bufferpool)

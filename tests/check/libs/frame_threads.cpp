// SPDX-License-Identifier: LGPL-2.1-or-later
// Many threads at once on what the library lets many threads at once have: fresh buffers, whose facts are kept at the
// first look; fences of one state; sets. To be run under ASan and TSan as well, which see what a lucky order hides.
#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include <gst/drm/drm.h>
#include <gst/video/video.h>

#include "support/check_main.hpp"

namespace {

constexpr guint kThreads = 8;
constexpr guint kRounds = 300;
constexpr guint32 kNv12 = 0x3231564e;

// Calls `work` kRounds times in kThreads threads, each round at the same moment; `prepare` comes before each round, in
// one thread alone, and `done` after the last one.
void in_threads(const std::function<void()> &prepare, const std::function<void(guint)> &work)
{
  std::barrier round(kThreads, [&prepare]() noexcept { prepare(); });
  std::vector<std::thread> threads;
  for (guint i = 0; i < kThreads; ++i)
    threads.emplace_back([&round, &work, i] {
      for (guint n = 0; n < kRounds; ++n) {
        round.arrive_and_wait();
        work(i);
      }
      round.arrive_and_drop();
    });
  for (std::thread &thread : threads)
    thread.join();
}

GstDrmVideoInfo nv12_info()
{
  GstVideoInfo vinfo;
  gst_video_info_set_format(&vinfo, GST_VIDEO_FORMAT_NV12, 64, 64);
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_from_video_info(&info, &vinfo, GST_DRM_MODIFIER_LINEAR));
  return info;
}

// Every thread looks first at a buffer that nobody has looked at yet.
GST_START_TEST(test_fresh_buffers)
{
  GError *error = nullptr;
  GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, &error);
  fail_unless(allocator != nullptr, "%s", error ? error->message : "");
  const GstDrmVideoInfo info = nv12_info();
  const guint64 linear = GST_DRM_MODIFIER_LINEAR;
  std::vector<GstBuffer *> buffers;
  const auto prepare = [&] {
    buffers.push_back(gst_drm_allocator_alloc_frame(allocator, kNv12, 64, 64, &linear, 1, nullptr, nullptr, nullptr));
  };
  std::vector<std::vector<guint64>> inodes(kThreads);
  in_threads(prepare, [&](guint thread) {
    GstDrmFrame frame;
    inodes[thread].push_back(gst_drm_frame_from_buffer(&frame, buffers.back(), &info, nullptr) ? frame.planes[1].inode : 0);
  });
  for (guint n = 0; n < kRounds; ++n) {
    GstDrmFrame frame;
    fail_unless(gst_drm_frame_from_buffer(&frame, buffers[n], &info, nullptr));
    for (guint i = 0; i < kThreads; ++i)
      fail_unless(inodes[i][n] == frame.planes[1].inode, "thread %u, buffer %u", i, n);
  }
  for (GstBuffer *buffer : buffers)
    gst_clear_buffer(&buffer);
  gst_object_unref(allocator);
}
GST_END_TEST

// The metas of shallow copies share one state.
GST_START_TEST(test_shared_fences)
{
  GstBuffer *buffer = gst_buffer_new_allocate(nullptr, 16, nullptr);
  gst_buffer_add_drm_sync_meta(buffer);
  std::vector<GstBuffer *> copies;
  for (guint i = 0; i < kThreads; ++i)
    copies.push_back(gst_buffer_copy(buffer));
  in_threads([] {}, [&](guint thread) {
    GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(copies[thread]);
    gst_drm_sync_meta_add_release_fence(meta, -1, nullptr);
    if (gst_drm_sync_meta_dup_release_fence(meta) != -1)
      g_error("a fence from nowhere");
    gst_drm_sync_meta_clear(meta);
  });
  for (GstBuffer *copy : copies)
    gst_clear_buffer(&copy);
  gst_buffer_unref(buffer);
}
GST_END_TEST

// A shared set is immutable: any thread reads it, and each has a reference of its own to give up.
GST_START_TEST(test_shared_set)
{
  GstDrmFormatSet *set = gst_drm_format_set_new();
  for (guint64 modifier = 0; modifier < 64; ++modifier)
    gst_drm_format_set_add(set, kNv12, modifier);
  gst_drm_format_set_ref(set);
  in_threads([] {}, [set](guint thread) {
    GstDrmFormatSet *own = gst_drm_format_set_ref(set);
    GstDrmFormatSet *common = gst_drm_format_set_intersect(own, set);
    if (gst_drm_format_set_get_size(common) != 64 || !gst_drm_format_set_contains(own, kNv12, thread))
      g_error("a set that changed");
    gst_drm_format_set_unref(common);
    gst_drm_format_set_unref(own);
  });
  gst_drm_format_set_unref(set);
  gst_drm_format_set_unref(set);
}
GST_END_TEST

Suite *threads_suite()
{
  Suite *suite = suite_create("threads");
  TCase *tcase = tcase_create("threads");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_fresh_buffers);
  tcase_add_test(tcase, test_shared_fences);
  tcase_add_test(tcase, test_shared_set);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(threads)

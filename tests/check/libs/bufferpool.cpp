// SPDX-License-Identifier: LGPL-2.1-or-later
// The pool over memfd. What needs fences is in tests/device.
#include <string>
#include <thread>
#include <vector>

#include "support/check_main.hpp"
#include "support/frames.hpp"
#include "support/pools.hpp"

namespace {

using namespace gstdrm::test;

constexpr const char *kDrmNv12 =
    "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=641, height=481, framerate=30/1";
constexpr const char *kPlainNv12 = "video/x-raw, format=NV12, width=641, height=481, framerate=30/1";

struct CapsRow {
  const char *caps;
  FrameRow frame;
};

constexpr CapsRow kCaps[] = {
    {kDrmNv12, {"NV12", 641, 481}},
    {kPlainNv12, {"NV12", 641, 481}},
    {"video/x-raw, format=I420, width=1920, height=1080", {"YU12", 1920, 1080}},
    {"video/x-raw, format=BGRx, width=64, height=64", {"XR24", 64, 64}},
    {"video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=XR24, width=64, height=64", {"XR24", 64, 64}},
    {"video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV15, width=64, height=64", {"NV15", 64, 64}},
    {"video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=(string)\"R8\\ \\ \", width=64, height=64",
     {"R8  ", 64, 64}},
};

GST_START_TEST(test_caps)
{
  const CapsRow &row = kCaps[__i__];
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  pool.configure({.caps = row.caps});
  GstBuffer *buffer = pool.acquire();
  check_linear_meta(buffer, row.frame);
  fail_unless_equals_uint64(gst_buffer_get_size(buffer), pool.configured_size());
  write_frame(buffer, row.frame);
  check_frame(buffer, row.frame);
  fail_unless(gst_buffer_get_drm_sync_meta(buffer) != nullptr);
  gst_buffer_unref(buffer);
}
GST_END_TEST

constexpr const char *kBadCaps[] = {
    "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0100000000000001, width=640, height=480",
    "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0, width=640, height=480",
    "video/x-raw(memory:DMABuf), format=DMA_DRM, width=640, height=480",
    "video/x-raw(memory:DMABuf), format=NV12, width=640, height=480",
    "video/x-raw, format=NV12_4L4, width=640, height=480",
    "video/x-raw, format=NV12, width=20000, height=480",
    "video/x-raw, format=NV12, width=640",
    "audio/x-raw",
};

GST_START_TEST(test_refused_caps)
{
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  const std::size_t fds = count_fds();
  fail_if(pool.try_configure({.caps = kBadCaps[__i__]}), "%s", kBadCaps[__i__]);
  fail_if(gst_buffer_pool_set_active(pool.get(), TRUE));
  fail_unless_equals_int(count_fds(), fds);
}
GST_END_TEST

GST_START_TEST(test_no_caps)
{
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  fail_if(pool.try_configure({.caps = nullptr}));
}
GST_END_TEST

// A pool that bindings made without gst_drm_buffer_pool_new().
GST_START_TEST(test_no_allocator)
{
  auto *pool = static_cast<GstBufferPool *>(g_object_new(GST_TYPE_DRM_BUFFER_POOL, nullptr));
  GstCaps *caps = gst_caps_from_string(kPlainNv12);
  GstStructure *config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, 0, 1, 0);
  fail_if(gst_buffer_pool_set_config(pool, config));
  gst_caps_unref(caps);
  gst_object_unref(pool);
}
GST_END_TEST

// The frame that set_config made is the first that is handed out.
GST_START_TEST(test_first_frame_is_not_wasted)
{
  const std::size_t before = count_fds();
  {
    Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
    const std::size_t fds = count_fds();
    pool.configure({.caps = kDrmNv12, .min = 3, .max = 3});
    fail_unless_equals_int(count_fds(), fds + 3);
    std::vector<GstBuffer *> buffers;
    for (int i = 0; i < 3; ++i)
      buffers.push_back(pool.acquire());
    fail_unless_equals_int(count_fds(), fds + 3);
    for (GstBuffer *buffer : buffers)
      gst_buffer_unref(buffer);
  }
  fail_unless_equals_int(count_fds(), before);
}
GST_END_TEST

GST_START_TEST(test_configured_again)
{
  const std::size_t before = count_fds();
  {
    Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
    const std::size_t fds = count_fds();
    fail_unless(pool.try_configure({.caps = kDrmNv12}));
    fail_unless(pool.try_configure({.caps = kPlainNv12}));
    fail_unless_equals_int(count_fds(), fds + 1);
    pool.configure({.caps = "video/x-raw, format=BGRx, width=64, height=64"});
    GstBuffer *buffer = pool.acquire();
    check_linear_meta(buffer, {"XR24", 64, 64});
    gst_buffer_unref(buffer);
    fail_unless(gst_buffer_pool_set_active(pool.get(), FALSE));
    fail_unless_equals_int(count_fds(), fds);
    fail_unless(gst_buffer_pool_set_active(pool.get(), TRUE));
    gst_buffer_unref(pool.acquire());
  }
  fail_unless_equals_int(count_fds(), before);
}
GST_END_TEST

GST_START_TEST(test_recycles)
{
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  pool.configure({.caps = kDrmNv12});
  const GstMemory *memory = nullptr;
  const GstVideoMeta *meta = nullptr;
  for (int i = 0; i < 10; ++i) {
    GstBuffer *buffer = pool.acquire();
    if (i == 0) {
      memory = gst_buffer_peek_memory(buffer, 0);
      meta = gst_buffer_get_video_meta(buffer);
    }
    fail_unless(gst_buffer_peek_memory(buffer, 0) == memory);
    fail_unless(gst_buffer_get_video_meta(buffer) == meta);
    check_linear_meta(buffer, {"NV12", 641, 481});
    gst_buffer_unref(buffer);
  }
  fail_unless_equals_uint64(stat_of(pool, "waits"), 0);
}
GST_END_TEST

// Consumers cut buffers; the next user gets all of it.
GST_START_TEST(test_resized_buffer)
{
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  pool.configure({.caps = kDrmNv12});
  GstBuffer *buffer = pool.acquire();
  const GstMemory *memory = gst_buffer_peek_memory(buffer, 0);
  gst_buffer_resize(buffer, 100, 1000);
  gst_buffer_unref(buffer);
  buffer = pool.acquire();
  fail_unless(gst_buffer_peek_memory(buffer, 0) == memory);
  fail_unless_equals_uint64(memory->offset, 0);
  fail_unless_equals_uint64(gst_buffer_get_size(buffer), pool.configured_size());
  gst_buffer_unref(buffer);
}
GST_END_TEST

GST_START_TEST(test_replaced_memory)
{
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  pool.configure({.caps = kDrmNv12});
  GstBuffer *buffer = pool.acquire();
  gst_buffer_replace_all_memory(buffer, gst_allocator_alloc(nullptr, 10, nullptr));
  gst_buffer_unref(buffer);
  buffer = pool.acquire();
  check_linear_meta(buffer, {"NV12", 641, 481});
  fail_unless_equals_uint64(gst_buffer_get_size(buffer), pool.configured_size());
  gst_buffer_unref(buffer);
}
GST_END_TEST

// Somebody made a buffer of his own of the memory, and still reads it.
GST_START_TEST(test_shared_memory_is_not_reused)
{
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  pool.configure({.caps = kDrmNv12});
  GstBuffer *buffer = pool.acquire();
  GstBuffer *kept = gst_buffer_new();
  gst_buffer_append_memory(kept, gst_buffer_get_memory(buffer, 0));
  gst_buffer_unref(buffer);
  buffer = pool.acquire();
  fail_if(gst_buffer_peek_memory(buffer, 0) == gst_buffer_peek_memory(kept, 0));
  gst_buffer_unref(kept);
  gst_buffer_unref(buffer);
}
GST_END_TEST

// A shallow copy, cut or not, gives the pool its buffer back in the end, memory and all.
GST_START_TEST(test_shallow_copy_is_recycled)
{
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  pool.configure({.caps = kDrmNv12, .min = 1, .max = 1});
  const GstMemory *memory = nullptr;
  for (int i = 0; i < 10; ++i) {
    GstBuffer *buffer = pool.acquire();
    memory = memory ? memory : gst_buffer_peek_memory(buffer, 0);
    fail_unless(gst_buffer_peek_memory(buffer, 0) == memory, "round %d", i);
    fail_unless_equals_uint64(gst_buffer_get_size(buffer), pool.configured_size());
    check_linear_meta(buffer, {"NV12", 641, 481});
    GstBuffer *copy = gst_buffer_copy(buffer);
    if (i % 2 == 0)
      gst_buffer_resize(copy, 16, 100);
    gst_buffer_unref(buffer);
    gst_buffer_unref(copy);
  }
}
GST_END_TEST

// A thread sleeps until a buffer comes back, and it comes back by way of a copy.
GST_START_TEST(test_copy_wakes_a_sleeper)
{
  for (int i = 0; i < 50; ++i) {
    Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
    pool.configure({.caps = kDrmNv12, .min = 1, .max = 1});
    GstBuffer *buffer = pool.acquire();
    GstBuffer *copy = gst_buffer_copy(buffer);
    gst_buffer_unref(buffer);
    std::thread sleeper([&] { gst_buffer_unref(pool.acquire()); });
    if (i % 2 == 0)
      g_usleep(1000);
    gst_buffer_unref(copy);
    sleeper.join();
  }
}
GST_END_TEST

// More copies than the pool keeps in mind, alive while it is stopped.
GST_START_TEST(test_copies_outlive_the_pool)
{
  const std::size_t fds = count_fds();
  std::vector<GstBuffer *> others;
  {
    Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
    pool.configure({.caps = kDrmNv12});
    for (int i = 0; i < 20; ++i) {
      GstBuffer *buffer = pool.acquire();
      others.push_back(gst_buffer_new());
      gst_buffer_append_memory(others.back(), gst_buffer_get_memory(buffer, 0));
      gst_buffer_unref(buffer);
    }
  }
  for (GstBuffer *other : others)
    gst_buffer_unref(other);
  fail_unless_equals_int(count_fds(), fds);
}
GST_END_TEST

GST_START_TEST(test_alignment)
{
  GstVideoAlignment align;
  gst_video_alignment_reset(&align);
  align.padding_left = 16;
  align.padding_right = 32;
  align.padding_top = 8;
  align.padding_bottom = 24;
  for (guint &mask : align.stride_align)
    mask = 63;
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  pool.configure({.caps = kPlainNv12, .align = &align});

  GstVideoAlignment realised;
  GstStructure *config = gst_buffer_pool_get_config(pool.get());
  fail_unless(gst_buffer_pool_config_get_video_alignment(config, &realised));
  gst_structure_free(config);
  fail_unless(realised.padding_left >= align.padding_left && realised.padding_right >= align.padding_right);
  fail_unless(realised.padding_top >= align.padding_top && realised.padding_bottom >= align.padding_bottom);

  // What a decoder computes from the realised alignment is what the buffers have.
  GstVideoInfo info;
  fail_unless(gst_video_info_set_format(&info, GST_VIDEO_FORMAT_NV12, 641, 481));
  fail_unless(gst_video_info_align(&info, &realised));
  GstBuffer *buffer = pool.acquire();
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  for (guint p = 0; p < 2; ++p) {
    fail_unless_equals_int(meta->stride[p], info.stride[p]);
    fail_unless_equals_uint64(meta->offset[p], info.offset[p]);
  }
  write_frame(buffer, {"NV12", 641, 481});
  check_frame(buffer, {"NV12", 641, 481});
  gst_buffer_unref(buffer);
}
GST_END_TEST

struct DefaultRow {
  const char *name;
  const char *caps;
  FrameRow frame;
};
const DefaultRow kDefaults[] = {
    {"rows that the allocator would pad", "video/x-raw, format=NV12, width=641, height=481", {"NV12", 641, 481}},
    {"rows that are the allocator's own, not in whole pages", "video/x-raw, format=NV12, width=1280, height=720", {"NV12", 1280, 720}},
    {"three planes", "video/x-raw, format=I420, width=512, height=300", {"YU12", 512, 300}},
    {"an odd height with fields", "video/x-raw, format=GRAY8, width=256, height=9, interlace-mode=interleaved", {"R8  ", 256, 9}},
    {"less than a page", "video/x-raw, format=GRAY8, width=256, height=9", {"R8  ", 256, 9}},
};

// Without GstVideoMeta a user lays planes out as GstVideoInfo says, and writes buffers whole into files: so must the buffer be.
GST_START_TEST(test_default_layout)
{
  const DefaultRow &row = kDefaults[__i__];
  gstdrm::test::say(row.name);
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  pool.configure({.caps = row.caps, .video_meta = false});
  g_autoptr(GstCaps) caps = gst_caps_from_string(row.caps);
  GstVideoInfo info;
  fail_unless(gst_video_info_from_caps(&info, caps));
  for (int i = 0; i < 2; ++i) {
    GstBuffer *buffer = pool.acquire();
    fail_unless_equals_uint64(gst_buffer_get_size(buffer), info.size);
    const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
    for (guint p = 0; p < info.finfo->n_planes; ++p) {
      fail_unless_equals_int(meta->stride[p], info.stride[p]);
      fail_unless_equals_uint64(meta->offset[p], info.offset[p]);
    }
    write_frame(buffer, row.frame);
    check_frame(buffer, row.frame);
    gst_buffer_unref(buffer);
  }
}
GST_END_TEST

// VIDIOC_QBUF refuses a buffer with more bytes than the rows have.
GST_START_TEST(test_ends_with_the_last_row)
{
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  pool.configure({.caps = "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=1280, height=720"});
  GstBuffer *buffer = pool.acquire();
  fail_unless_equals_uint64(gst_buffer_get_size(buffer), 1280 * 720 * 3 / 2);
  check_linear_meta(buffer, {"NV12", 1280, 720});
  gst_buffer_unref(buffer);
}
GST_END_TEST

// DMA_DRM users have the meta by contract.
GST_START_TEST(test_drm_caps_are_aligned_always)
{
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  pool.configure({.caps = kDrmNv12, .video_meta = false});
  GstBuffer *buffer = pool.acquire();
  check_linear_meta(buffer, {"NV12", 641, 481});
  gst_buffer_unref(buffer);
}
GST_END_TEST

// More than the frame has: refused, and the configuration says what there is.
GST_START_TEST(test_too_large_a_size)
{
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  fail_if(pool.try_configure({.caps = kDrmNv12, .size = 1 << 28}));
  const guint size = pool.configured_size();
  fail_unless(size > 0 && size < 1 << 28);
  fail_unless(pool.try_configure({.caps = kDrmNv12, .size = size}));
}
GST_END_TEST

GST_START_TEST(test_exhausted)
{
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  pool.configure({.caps = kDrmNv12, .min = 1, .max = 1});
  GstBuffer *buffer = pool.acquire();
  GstBufferPoolAcquireParams params = {};
  params.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT;
  GstBuffer *second = nullptr;
  fail_unless_equals_int(gst_buffer_pool_acquire_buffer(pool.get(), &second, &params), GST_FLOW_EOS);
  gst_buffer_unref(buffer);
}
GST_END_TEST

// One thread waits for a buffer, the other gives it back.
GST_START_TEST(test_waits_for_a_buffer)
{
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  pool.configure({.caps = kDrmNv12, .min = 1, .max = 1});
  GstBuffer *buffer = pool.acquire();
  GstBuffer *second = nullptr;
  GstFlowReturn flow = GST_FLOW_ERROR;
  std::thread waiter([&] { flow = gst_buffer_pool_acquire_buffer(pool.get(), &second, nullptr); });
  g_usleep(10000); // either order is right; this makes the waiting one likely
  gst_buffer_unref(buffer);
  waiter.join();
  fail_unless_equals_int(flow, GST_FLOW_OK);
  gst_buffer_unref(second);
}
GST_END_TEST

GST_START_TEST(test_flushed_while_waiting)
{
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  pool.configure({.caps = kDrmNv12, .min = 1, .max = 1});
  GstBuffer *buffer = pool.acquire();
  GstBuffer *second = nullptr;
  GstFlowReturn flow = GST_FLOW_OK;
  std::thread waiter([&] { flow = gst_buffer_pool_acquire_buffer(pool.get(), &second, nullptr); });
  g_usleep(10000);
  gst_buffer_pool_set_flushing(pool.get(), TRUE);
  waiter.join();
  fail_unless_equals_int(flow, GST_FLOW_FLUSHING);
  gst_buffer_pool_set_flushing(pool.get(), FALSE);
  gst_buffer_unref(buffer);
}
GST_END_TEST

GST_START_TEST(test_buffer_outlives_pool)
{
  const std::size_t fds = count_fds();
  GstBuffer *buffer = nullptr;
  {
    Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
    pool.configure({.caps = kDrmNv12});
    buffer = pool.acquire();
  }
  write_frame(buffer, {"NV12", 641, 481});
  check_frame(buffer, {"NV12", 641, 481});
  gst_buffer_unref(buffer);
  fail_unless_equals_int(count_fds(), fds);
}
GST_END_TEST

// One frame that somebody keeps does not keep those that come back to a pool that is no longer active.
GST_START_TEST(test_kept_buffer_keeps_itself_alone)
{
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  pool.configure({.caps = kDrmNv12});
  GstBuffer *kept = pool.acquire();
  GstBuffer *shared = pool.acquire();
  GstMemory *memory = gst_memory_ref(gst_buffer_peek_memory(shared, 0));
  GstBuffer *others[] = {pool.acquire(), shared};
  const std::size_t with_all = count_fds();
  fail_unless(gst_buffer_pool_set_active(pool.get(), FALSE));
  for (GstBuffer *other : others)
    gst_buffer_unref(other);
  fail_unless_equals_int(count_fds(), with_all - 1);
  gst_memory_unref(memory);
  fail_unless_equals_int(count_fds(), with_all - 2);
  gst_buffer_unref(kept);
  fail_unless_equals_int(count_fds(), with_all - 3);
  fail_unless(gst_buffer_pool_set_active(pool.get(), TRUE)); // as before
  gst_buffer_unref(pool.acquire());
  fail_unless(gst_buffer_pool_set_active(pool.get(), FALSE));
  fail_unless_equals_int(count_fds(), with_all - 3);
}
GST_END_TEST

GST_START_TEST(test_options)
{
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  fail_unless(gst_buffer_pool_has_option(pool.get(), GST_BUFFER_POOL_OPTION_VIDEO_META));
  fail_unless(gst_buffer_pool_has_option(pool.get(), GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT));
  fail_if(gst_buffer_pool_has_option(pool.get(), GST_BUFFER_POOL_OPTION_VIDEO_GL_TEXTURE_UPLOAD_META));
  EXPECT_CRITICAL(gst_drm_buffer_pool_new(nullptr));
}
GST_END_TEST

GST_START_TEST(test_decoder_takes_it)
{
  check_decoder(GST_DRM_ALLOCATOR_KIND_MEMFD);
}
GST_END_TEST

Suite *bufferpool_suite()
{
  Suite *suite = suite_create("bufferpool");
  TCase *tcase = tcase_create("native");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_caps, 0, G_N_ELEMENTS(kCaps));
  tcase_add_loop_test(tcase, test_refused_caps, 0, G_N_ELEMENTS(kBadCaps));
  tcase_add_test(tcase, test_no_caps);
  tcase_add_test(tcase, test_no_allocator);
  tcase_add_test(tcase, test_first_frame_is_not_wasted);
  tcase_add_test(tcase, test_configured_again);
  tcase_add_test(tcase, test_recycles);
  tcase_add_test(tcase, test_resized_buffer);
  tcase_add_test(tcase, test_replaced_memory);
  tcase_add_test(tcase, test_shared_memory_is_not_reused);
  tcase_add_test(tcase, test_shallow_copy_is_recycled);
  tcase_add_test(tcase, test_copy_wakes_a_sleeper);
  tcase_add_test(tcase, test_copies_outlive_the_pool);
  tcase_add_test(tcase, test_alignment);
  tcase_add_loop_test(tcase, test_default_layout, 0, G_N_ELEMENTS(kDefaults));
  tcase_add_test(tcase, test_ends_with_the_last_row);
  tcase_add_test(tcase, test_drm_caps_are_aligned_always);
  tcase_add_test(tcase, test_too_large_a_size);
  tcase_add_test(tcase, test_exhausted);
  tcase_add_test(tcase, test_waits_for_a_buffer);
  tcase_add_test(tcase, test_flushed_while_waiting);
  tcase_add_test(tcase, test_buffer_outlives_pool);
  tcase_add_test(tcase, test_kept_buffer_keeps_itself_alone);
  tcase_add_test(tcase, test_options);
  tcase_add_test(tcase, test_decoder_takes_it);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(bufferpool)

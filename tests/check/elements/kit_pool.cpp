// SPDX-License-Identifier: LGPL-2.1-or-later
// The set-up of a pool: what was asked for is what the pool has, and a refusal says for which caps. The pool that an element keeps.
#include <atomic>
#include <cerrno>
#include <thread>
#include <utility>

#include <unistd.h>

#include "support/descriptors.hpp"
#include "support/dmabuf_elements.hpp"
#include "support/open_fds.hpp"
#include "support/threads.hpp"

#include <gst/drm/element/pool.hpp>

namespace {

using gstdrm::GstPtr;
using gstdrm::PoolSetup;

struct Row {
  const char *name;
  const char *caps;
  guint min;
  guint max;
  bool video_meta;
  guint least_size;
  guint size; // bytes of a buffer; 0: refused
};

// 64x48 BGRx: rows of 256 bytes need no padding
constexpr Row kRows[] = {
    {"plain, no meta", "video/x-raw,format=BGRx,width=64,height=48", 1, 2, false, 0, 64 * 4 * 48},
    {"plain, padded", "video/x-raw,format=BGRx,width=63,height=48", 0, 0, true, 0, 256 * 48},
    {"DMA_DRM", "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=XR24,width=64,height=48", 2, 4, true, 0, 64 * 4 * 48},
    {"large enough", "video/x-raw,format=BGRx,width=64,height=48", 0, 0, true, 64 * 4 * 48, 64 * 4 * 48},
    {"too small", "video/x-raw,format=BGRx,width=64,height=48", 0, 0, true, 64 * 4 * 48 + 4096, 0},
    {"no format of an allocator", "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=XR24:0x0100000000000001,width=64,height=48", 0, 0, true, 0, 0},
};

GST_START_TEST(test_row)
{
  const Row &row = kRows[__i__];
  gstdrm::test::say(row.name);
  const auto allocator = GstPtr<GstDrmAllocator>::adopt(gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr));
  const auto caps = gstdrm::test::caps_of(row.caps);
  const auto made = gstdrm::configure_pool(allocator.get(), {caps.get(), row.min, row.max, row.video_meta, row.least_size});
  if (!row.size) {
    fail_if(made);
    fail_unless(made.error().code == gstdrm::ErrorCode::Allocation);
    fail_unless(made.error().message.find("64") != std::string::npos, "%s", made.error().message.c_str());
    return;
  }
  fail_unless(made, "%s", made ? "" : made.error().message.c_str());
  fail_unless_equals_int(made->size, row.size);
  fail_if(gst_buffer_pool_is_active(made->pool.get()));
  GstStructure *config = gst_buffer_pool_get_config(made->pool.get());
  GstCaps *set = nullptr;
  guint min = 0;
  guint max = 0;
  gst_buffer_pool_config_get_params(config, &set, nullptr, &min, &max);
  fail_unless(gst_caps_is_equal(set, caps.get()));
  fail_unless_equals_int(min, row.min);
  fail_unless_equals_int(max, row.max);
  fail_unless(gst_buffer_pool_config_has_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META) == row.video_meta);
  gst_structure_free(config);
}
GST_END_TEST

// What GStreamer's pool needs for itself (2), and the first buffer: an error, not a critical of GStreamer's.
GST_START_TEST(test_few_descriptors)
{
  const auto left = static_cast<unsigned>(__i__);
  const auto allocator = GstPtr<GstDrmAllocator>::adopt(gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr));
  const auto caps = gstdrm::test::caps_of(kRows[0].caps);
  const gstdrm::test::FewDescriptors few(left);
  fail_unless(static_cast<bool>(gstdrm::room_for_pool()) == (left >= 2));
  const auto made = gstdrm::configure_pool(allocator.get(), {caps.get(), 1, 1});
  if (left >= 2 && made && gst_buffer_pool_set_active(made->pool.get(), TRUE))
    return;
  fail_unless(left < 4, "%u left", left);
  if (made) // the pool logs why it is not activated
    return;
  fail_unless_equals_int(made.error().sys_errno, EMFILE);
  fail_unless(made.error().message.find("EMFILE") != std::string::npos, "%s", made.error().message.c_str());
}
GST_END_TEST

// Active, of one buffer.
GstPtr<GstBufferPool> pool_of_one()
{
  const auto allocator = GstPtr<GstDrmAllocator>::adopt(gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr));
  const auto caps = gstdrm::test::caps_of(kRows[0].caps);
  auto made = gstdrm::configure_pool(allocator.get(), {caps.get(), 0, 1});
  fail_unless(made && gst_buffer_pool_set_active(made->pool.get(), TRUE));
  return std::move(made->pool);
}

GST_START_TEST(test_kept)
{
  gstdrm::ActivePool kept;
  GstPtr<GstBuffer> buffer;
  fail_unless_equals_int(kept.acquire(buffer), GST_FLOW_FLUSHING); // there is none
  kept.set_flushing(true);
  kept.keep(pool_of_one());
  fail_unless_equals_int(kept.acquire(buffer), GST_FLOW_FLUSHING); // of a flush that began before
  fail_if(buffer);
  kept.set_flushing(false);
  fail_unless_equals_int(kept.acquire(buffer), GST_FLOW_OK);
  const GstPtr<GstBufferPool> first = kept.get();
  kept.keep(pool_of_one());
  fail_if(gst_buffer_pool_is_active(first.get()));
  fail_unless_equals_int(gst_buffer_get_size(buffer.get()), kRows[0].size); // stays valid
  const GstPtr<GstBufferPool> second = kept.get();
  kept.drop();
  fail_if(kept.get() || gst_buffer_pool_is_active(second.get()));
}
GST_END_TEST

GST_START_TEST(test_flush_ends_a_wait)
{
  gstdrm::ActivePool kept;
  kept.keep(pool_of_one());
  GstPtr<GstBuffer> only;
  fail_unless_equals_int(kept.acquire(only), GST_FLOW_OK);
  std::atomic<pid_t> tid{0};
  GstFlowReturn flow = GST_FLOW_OK;
  std::thread streaming([&] {
    tid = ::gettid();
    GstPtr<GstBuffer> buffer;
    flow = kept.acquire(buffer);
  });
  while (tid == 0 || gstdrm::test::state_of_thread(tid) != 'S')
    g_usleep(100);
  kept.set_flushing(true);
  streaming.join();
  fail_unless_equals_int(flow, GST_FLOW_FLUSHING);
}
GST_END_TEST

// What is in the pool when it is closed is freed, although a buffer is still in use.
GST_START_TEST(test_close)
{
  const auto allocator = GstPtr<GstDrmAllocator>::adopt(gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr));
  const auto caps = gstdrm::test::caps_of(kRows[0].caps);
  const unsigned before = gstdrm::test::count_fds();
  auto made = gstdrm::configure_pool(allocator.get(), {caps.get(), 4, 4});
  fail_unless(made && gst_buffer_pool_set_active(made->pool.get(), TRUE));
  GstBuffer *acquired = nullptr;
  fail_unless_equals_int(gst_buffer_pool_acquire_buffer(made->pool.get(), &acquired, nullptr), GST_FLOW_OK);
  auto kept = GstPtr<GstBuffer>::adopt(acquired);
  const unsigned with_four = gstdrm::test::count_fds();
  gstdrm::close_pool(made->pool);
  fail_if(made->pool);
  fail_unless_equals_int(gstdrm::test::count_fds(), with_four - 3);
  fail_unless_equals_int(gst_buffer_get_size(kept.get()), kRows[0].size);
  kept.reset();
  fail_unless_equals_int(gstdrm::test::count_fds(), before);
  gstdrm::close_pool(made->pool); // none
}
GST_END_TEST

Suite *kit_pool_suite()
{
  Suite *suite = suite_create("kit-pool");
  TCase *tc = tcase_create("configure");
  tcase_add_loop_test(tc, test_row, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tc, test_few_descriptors, 0, 6);
  suite_add_tcase(suite, tc);
  tcase_add_test(tc, test_close);
  TCase *active = tcase_create("active");
  tcase_add_test(active, test_kept);
  tcase_add_test(active, test_flush_ends_a_wait);
  suite_add_tcase(suite, active);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(kit_pool)

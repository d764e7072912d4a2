// SPDX-License-Identifier: LGPL-2.1-or-later
// Objects that several streaming threads use at once. The locks are what is under test (TSan).
#include "support/threads.hpp"

#include <atomic>
#include <functional>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "support/check_main.hpp"
#include "support/pools.hpp"

namespace {

using namespace gstdrm::test;

constexpr int kThreads = 4;
constexpr int kRounds = 200;

std::vector<std::function<void()>> times(int n, const std::function<void()> &job)
{
  return {static_cast<std::size_t>(n), job};
}

// Relaxed: a test that orders the threads would do a lock's work.
using Counter = std::atomic<int>;
void add(Counter &counter)
{
  counter.fetch_add(1, std::memory_order_relaxed);
}

struct PoolRow {
  const char *name;
  guint max; // buffers; 0: no limit, and nobody sleeps
};

constexpr PoolRow kPools[] = {
    {"buffers for all", 0},
    {"fewer buffers than threads", kThreads - 1},
};

// A copy that outlives its buffer brings the buffer back while it holds the memory itself: each is
// parked.
GST_START_TEST(test_pool)
{
  const PoolRow &row = kPools[__i__];
  Pool pool(GST_DRM_ALLOCATOR_KIND_MEMFD);
  pool.configure(
      {.caps = "video/x-raw, format=NV12, width=64, height=64", .min = 2, .max = row.max});
  Counter acquired{0};
  at_once(times(kThreads, [&pool, &acquired] {
    for (int i = 0; i < kRounds; ++i) {
      GstBuffer *buffer = nullptr;
      if (gst_buffer_pool_acquire_buffer(pool.get(), &buffer, nullptr) != GST_FLOW_OK)
        return;
      add(acquired);
      GstBuffer *copy = i % 2 ? gst_buffer_copy(buffer) : gst_buffer_ref(buffer);
      gst_buffer_unref(buffer);
      gst_buffer_unref(copy);
    }
  }));
  fail_unless_equals_int(acquired.load(), kThreads * kRounds);
}
GST_END_TEST

GST_START_TEST(test_sync_meta)
{
  GstBuffer *buffer = gst_buffer_new_allocate(nullptr, 64, nullptr);
  gst_buffer_add_drm_sync_meta(buffer);
  GstBuffer *copy = gst_buffer_copy(buffer);
  Counter fences{0}, taken{0};
  const auto use = [&fences, &taken](GstBuffer *shared) {
    GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(shared);
    for (int i = 0; i < kRounds; ++i) {
      for (const int fence :
           {gst_drm_sync_meta_dup_acquire_fence(meta), gst_drm_sync_meta_dup_release_fence(meta)})
        if (fence >= 0)
          add(fences);
      if (gst_drm_sync_meta_add_release_fence(meta, memfd_create("no-fence", MFD_CLOEXEC), nullptr))
        add(taken);
      gst_drm_sync_meta_clear(meta);
    }
  };
  at_once({[&] { use(buffer); }, [&] { use(buffer); }, [&] { use(copy); }, [&] { use(copy); }});
  fail_unless_equals_int(fences.load(), 0);
  fail_unless_equals_int(taken.load(), 0);
  gst_buffer_unref(copy);
  gst_buffer_unref(buffer);
}
GST_END_TEST

Suite *threads_suite()
{
  Suite *suite = suite_create("threads");
  TCase *tcase = tcase_create("threads");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_pool, 0, G_N_ELEMENTS(kPools));
  tcase_add_test(tcase, test_sync_meta);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(threads)

// SPDX-License-Identifier: LGPL-2.1-or-later
// Who may hold a buffer of the pool, or its memory, last: the pool makes no new frame for any of
// them. Counted in system calls, not in what the pool says of itself.
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "support/check_main.hpp"
#include "support/count_memfds.hpp"
#include "support/frames.hpp"
#include "support/pools.hpp"

namespace {

using namespace gstdrm::test;

constexpr GstDrmAllocatorKind kMemfd = GST_DRM_ALLOCATOR_KIND_MEMFD;
constexpr const char *kDrmNv12 =
    "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=641, height=481";
constexpr const char *kPlainNv12 = "video/x-raw, format=NV12, width=641, height=481";

void copy_outlives_original(GstBuffer *buffer)
{
  GstBuffer *copy = gst_buffer_copy(buffer);
  gst_buffer_unref(buffer);
  gst_buffer_unref(copy);
}

void original_outlives_copy(GstBuffer *buffer)
{
  GstBuffer *copy = gst_buffer_copy(buffer);
  gst_buffer_unref(copy);
  gst_buffer_unref(buffer);
}

void sub_buffer(GstBuffer *buffer)
{
  GstBuffer *part = gst_buffer_copy_region(buffer, GST_BUFFER_COPY_ALL, 4096, 1000);
  gst_buffer_unref(buffer);
  gst_buffer_unref(part);
}

void copies_of_copies(GstBuffer *buffer)
{
  for (int i = 0; i < 4; ++i) {
    GstBuffer *other = gst_buffer_ref(buffer);
    buffer = gst_buffer_make_writable(buffer); // another buffer, as there are two owners
    GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(i);
    gst_buffer_unref(other);
  }
  gst_buffer_unref(buffer);
}

void buffer_list(GstBuffer *buffer)
{
  GstBufferList *list = gst_buffer_list_new();
  gst_buffer_list_add(list, gst_buffer_ref(buffer));
  gst_buffer_list_add(list, gst_buffer_copy(buffer));
  gst_buffer_unref(buffer);
  GstBufferList *copy = gst_buffer_list_copy(list);
  gst_buffer_list_unref(list);
  gst_buffer_list_get_writable(copy, 0);
  gst_buffer_list_unref(copy);
}

void buffer_of_its_memory(GstBuffer *buffer)
{
  GstBuffer *other = gst_buffer_new();
  gst_buffer_append_memory(other, gst_buffer_get_memory(buffer, 0));
  gst_buffer_unref(buffer);
  gst_buffer_unref(other);
}

void shared_memory(GstBuffer *buffer)
{
  GstMemory *part = gst_memory_share(gst_buffer_peek_memory(buffer, 0), 64, 64);
  gst_buffer_unref(buffer);
  gst_memory_unref(part);
}

void cut_and_copied(GstBuffer *buffer)
{
  gst_buffer_resize(buffer, 100, 1000);
  copy_outlives_original(buffer);
}

void copied_and_cut(GstBuffer *buffer)
{
  GstBuffer *copy = gst_buffer_copy(buffer);
  gst_buffer_resize(copy, 16, 100);
  gst_buffer_unref(buffer);
  gst_buffer_unref(copy);
}

void last_in_another_thread(GstBuffer *buffer)
{
  GstBuffer *copy = gst_buffer_copy(buffer);
  std::thread other([copy] { gst_buffer_unref(copy); });
  gst_buffer_unref(buffer);
  other.join();
}

struct HolderRow {
  const char *name;
  void (*use)(GstBuffer *adopted);
};

constexpr HolderRow kHolders[] = {
    {"nobody", [](GstBuffer *buffer) { gst_buffer_unref(buffer); }},
    {"a copy after the original", copy_outlives_original},
    {"the original after a copy", original_outlives_copy},
    {"a sub-buffer", sub_buffer},
    {"copies of copies", copies_of_copies},
    {"a buffer list", buffer_list},
    {"a buffer of its memory", buffer_of_its_memory},
    {"a part of its memory", shared_memory},
    {"a copy of the cut buffer", cut_and_copied},
    {"a copy that is cut", copied_and_cut},
    {"another thread", last_in_another_thread},
};

struct LayoutRow {
  const char *name;
  const char *caps;
  bool video_meta;
};

constexpr LayoutRow kLayouts[] = {
    {"DMA_DRM", kDrmNv12, true},
    {"plain", kPlainNv12, true},
    {"plain, default layout", kPlainNv12, false},
};

constexpr int kHolderCount = G_N_ELEMENTS(kHolders);

// One buffer, always the same, whole and with its metas.
GST_START_TEST(test_recycled_after)
{
  const HolderRow &holder = kHolders[__i__ % kHolderCount];
  const LayoutRow &layout = kLayouts[__i__ / kHolderCount];
  Pool pool(kMemfd);
  pool.configure({.caps = layout.caps, .video_meta = layout.video_meta});
  const std::uint64_t made = memfds_made();
  const GstMemory *memory = nullptr;
  for (int i = 0; i < 50; ++i) {
    GstBuffer *buffer = pool.acquire();
    memory = memory ? memory : gst_buffer_peek_memory(buffer, 0);
    fail_unless(gst_buffer_peek_memory(buffer, 0) == memory, "%s, %s: round %d", layout.name, holder.name, i);
    fail_unless_equals_int(gst_buffer_n_memory(buffer), 1);
    fail_unless_equals_uint64(gst_buffer_get_size(buffer), pool.configured_size());
    fail_unless(gst_buffer_get_video_meta(buffer) != nullptr);
    fail_unless(gst_buffer_get_drm_sync_meta(buffer) != nullptr);
    fail_unless(gst_buffer_is_all_memory_writable(buffer));
    holder.use(buffer);
  }
  fail_unless_equals_uint64(memfds_made() - made, 0);
}
GST_END_TEST

// Twenty copies are kept at any time, more than any list of the pool: as many frames, and no more.
GST_START_TEST(test_kept_copies)
{
  const LayoutRow &layout = kLayouts[__i__];
  Pool pool(kMemfd);
  pool.configure({.caps = layout.caps, .video_meta = layout.video_meta});
  const std::uint64_t made = memfds_made();
  std::array<GstBuffer *, 20> kept{};
  for (std::size_t i = 0; i < 300; ++i) {
    GstBuffer *buffer = pool.acquire();
    GstBuffer *&place = kept[i % kept.size()];
    if (place)
      gst_buffer_unref(place);
    place = gst_buffer_new();
    gst_buffer_append_memory(place, gst_buffer_get_memory(buffer, 0));
    gst_buffer_unref(buffer);
  }
  fail_unless_equals_uint64(memfds_made() - made, kept.size());
  for (GstBuffer *buffer : kept)
    gst_buffer_unref(buffer);
}
GST_END_TEST

bool can_acquire(const Pool &pool, GstBuffer **buffer)
{
  GstBufferPoolAcquireParams params = {};
  params.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT;
  return gst_buffer_pool_acquire_buffer(pool.get(), buffer, &params) == GST_FLOW_OK;
}

// A maximum bounds the memory, also what is held by copies alone.
GST_START_TEST(test_bound_counts_held_memory)
{
  Pool pool(kMemfd);
  const std::uint64_t made = memfds_made();
  pool.configure({.caps = kDrmNv12, .min = 0, .max = 2});
  std::vector<GstMemory *> parts;
  for (int i = 0; i < 2; ++i) {
    GstBuffer *buffer = pool.acquire();
    parts.push_back(gst_memory_share(gst_buffer_peek_memory(buffer, 0), 0, 16));
    gst_buffer_unref(buffer);
  }
  GstBuffer *third = nullptr;
  fail_if(can_acquire(pool, &third));
  fail_unless_equals_uint64(memfds_made() - made, 2);
  fail_unless_equals_uint64(stat_of(pool, "out"), 2);
  fail_unless_equals_uint64(stat_of(pool, "frames"), 2);
  fail_unless_equals_uint64(stat_of(pool, "bytes"), 2 * pool.configured_size());
  gst_memory_unref(parts.back());
  fail_unless_equals_uint64(stat_of(pool, "out"), 1);
  fail_unless(can_acquire(pool, &third));
  gst_memory_unref(parts.front());
  gst_buffer_unref(third);
  fail_unless_equals_uint64(stat_of(pool, "out"), 0);
  fail_unless_equals_uint64(stat_of(pool, "allocations"), 2);
  fail_unless_equals_uint64(memfds_made() - made, 2);
}
GST_END_TEST

// A thread sleeps on an exhausted pool, and what comes back is memory, never the buffer.
GST_START_TEST(test_memory_wakes_a_sleeper)
{
  Pool pool(kMemfd);
  const std::uint64_t made = memfds_made();
  pool.configure({.caps = kDrmNv12, .min = 1, .max = 1});
  // a sleeper that nobody wakes looks again after a second, and says so
  guint overslept = 0;
  g_signal_connect_swapped(pool.get(), "exhausted", G_CALLBACK(+[](guint *n) { g_atomic_int_inc(n); }), &overslept);
  for (int i = 0; i < 50; ++i) {
    GstBuffer *buffer = pool.acquire();
    GstMemory *part = gst_memory_share(gst_buffer_peek_memory(buffer, 0), 0, 16);
    gst_buffer_unref(buffer);
    std::thread sleeper([&] { gst_buffer_unref(pool.acquire()); });
    if (i % 2 == 0)
      g_usleep(1000); // either order is right; this makes the sleeping one likely
    gst_memory_unref(part);
    sleeper.join();
    fail_if(overslept > 3, "nobody wakes the sleeper"); // a machine may stall for a second, not each time
  }
  fail_unless_equals_uint64(memfds_made() - made, 1);
}
GST_END_TEST

// Frames of two memories, as a GPU makes them with its planes apart.
struct TwoMemories {
  GstDrmAllocator parent;
  GstDrmAllocator *bytes;
};

struct TwoMemoriesClass {
  GstDrmAllocatorClass parent_class;
};

G_DEFINE_TYPE(TwoMemories, two_memories, GST_TYPE_DRM_ALLOCATOR)

constexpr gsize kPlaneBytes[] = {64 * 256, 32 * 256};

GstBuffer *two_memories_alloc_frame(GstDrmAllocator *allocator, guint32, guint width, guint height, const guint64 *,
                                    guint, const GstVideoAlignment *, guint64 *, GError **)
{
  GstAllocator *bytes = GST_ALLOCATOR(reinterpret_cast<TwoMemories *>(allocator)->bytes);
  gsize offsets[] = {0, kPlaneBytes[0], 0, 0};
  gint strides[] = {256, 256, 0, 0};
  GstBuffer *buffer = gst_buffer_new();
  for (const gsize size : kPlaneBytes)
    gst_buffer_append_memory(buffer, gst_allocator_alloc(bytes, size, nullptr));
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, width, height, 2, offsets,
                                 strides);
  return buffer;
}

void two_memories_finalize(GObject *object)
{
  gst_object_unref(reinterpret_cast<TwoMemories *>(object)->bytes);
  G_OBJECT_CLASS(two_memories_parent_class)->finalize(object);
}

void two_memories_class_init(TwoMemoriesClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = two_memories_finalize;
  klass->parent_class.alloc_frame = two_memories_alloc_frame;
}

void two_memories_init(TwoMemories *self)
{
  self->bytes = gst_drm_allocator_new(kMemfd, nullptr, nullptr);
}

class PairPool {
public:
  PairPool()
  {
    GObject *allocator = G_OBJECT(gst_object_ref_sink(g_object_new(two_memories_get_type(), nullptr)));
    pool_ = gst_drm_buffer_pool_new(GST_DRM_ALLOCATOR(allocator));
    g_object_unref(allocator);
    GstCaps *caps = gst_caps_from_string(
        "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=64, height=64");
    GstStructure *config = gst_buffer_pool_get_config(pool_);
    gst_buffer_pool_config_set_params(config, caps, 0, 1, 1);
    fail_unless(gst_buffer_pool_set_config(pool_, config));
    fail_unless(gst_buffer_pool_set_active(pool_, TRUE));
    gst_caps_unref(caps);
  }
  PairPool(const PairPool &) = delete;
  PairPool &operator=(const PairPool &) = delete;
  ~PairPool()
  {
    gst_buffer_pool_set_active(pool_, FALSE);
    gst_object_unref(pool_);
  }
  // The only buffer of the pool; NULL: its memory is not complete.
  [[nodiscard]] GstBuffer *acquire() const
  {
    GstBufferPoolAcquireParams params = {};
    params.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT;
    GstBuffer *buffer = nullptr;
    gst_buffer_pool_acquire_buffer(pool_, &buffer, &params);
    for (guint i = 0; buffer && i < 2; ++i) {
      gsize offset = 1;
      fail_unless_equals_int(gst_buffer_n_memory(buffer), 2);
      fail_unless_equals_uint64(gst_memory_get_sizes(gst_buffer_peek_memory(buffer, i), &offset, nullptr),
                                kPlaneBytes[i]);
      fail_unless_equals_uint64(offset, 0);
    }
    return buffer;
  }

private:
  GstBufferPool *pool_ = nullptr;
};

// Each memory is as large as it was, whichever was cut.
GST_START_TEST(test_pair_is_cut)
{
  const PairPool pool;
  const std::uint64_t made = memfds_made();
  for (guint i = 0; i < 4; ++i) {
    GstBuffer *buffer = pool.acquire();
    fail_unless(buffer != nullptr, "round %u", i);
    gst_memory_resize(gst_buffer_peek_memory(buffer, i % 2), 16, 100);
    gst_buffer_unref(buffer);
  }
  fail_unless_equals_uint64(memfds_made() - made, 0);
}
GST_END_TEST

// The buffer is back when both memories are, in whatever order, and in their own order.
GST_START_TEST(test_pair_is_held)
{
  const PairPool pool;
  const std::uint64_t made = memfds_made();
  for (guint i = 0; i < 4; ++i) {
    GstBuffer *buffer = pool.acquire();
    fail_unless(buffer != nullptr, "round %u", i);
    GstMemory *parts[] = {gst_memory_share(gst_buffer_peek_memory(buffer, 0), 0, 16),
                          gst_memory_share(gst_buffer_peek_memory(buffer, 1), 0, 16)};
    gst_buffer_unref(buffer);
    fail_unless(pool.acquire() == nullptr);
    gst_memory_unref(parts[i % 2]);
    fail_unless(pool.acquire() == nullptr);
    gst_memory_unref(parts[1 - i % 2]);
  }
  fail_unless_equals_uint64(memfds_made() - made, 0);
}
GST_END_TEST

// Stopped when one of the memories is back and the other is not.
GST_START_TEST(test_half_a_pair_and_a_stop)
{
  const std::size_t fds = count_fds();
  for (guint i = 0; i < 2; ++i) {
    GstMemory *part = nullptr;
    {
      const PairPool pool;
      GstBuffer *buffer = pool.acquire();
      part = gst_memory_share(gst_buffer_peek_memory(buffer, i), 0, 16);
      gst_buffer_unref(buffer);
    }
    fail_unless_equals_int(count_fds(), fds + 1);
    gst_memory_unref(part);
    fail_unless_equals_int(count_fds(), fds);
  }
}
GST_END_TEST

// The pool stops, is configured anew, or goes, while others hold memory of it.
GST_START_TEST(test_held_memory_and_the_pool)
{
  const std::size_t fds = count_fds();
  GstMemory *first = nullptr;
  GstMemory *second = nullptr;
  {
    Pool pool(kMemfd);
    pool.configure({.caps = kDrmNv12});
    GstBuffer *buffer = pool.acquire();
    first = gst_memory_share(gst_buffer_peek_memory(buffer, 0), 0, 16);
    gst_buffer_unref(buffer);
    fail_unless(gst_buffer_pool_set_active(pool.get(), FALSE));
    fail_unless_equals_uint64(stat_of(pool, "out"), 0);
    fail_unless_equals_uint64(stat_of(pool, "frames"), 1);
    pool.configure({.caps = "video/x-raw, format=BGRx, width=64, height=64"});
    buffer = pool.acquire();
    check_linear_meta(buffer, {"XR24", 64, 64});
    second = gst_memory_share(gst_buffer_peek_memory(buffer, 0), 0, 16);
    gst_buffer_unref(buffer);
    gst_memory_unref(first); // of the old configuration: it never comes back
    buffer = pool.acquire();
    check_linear_meta(buffer, {"XR24", 64, 64});
    gst_buffer_unref(buffer);
  }
  fail_unless(count_fds() > fds);
  gst_memory_unref(second);
  fail_unless_equals_int(count_fds(), fds);
}
GST_END_TEST

GST_START_TEST(test_stats_of_an_idle_pool)
{
  Pool pool(kMemfd);
  for (const char *field : {"allocations", "frames", "bytes", "out", "waits"})
    fail_unless_equals_uint64(stat_of(pool, field), 0);
  pool.configure({.caps = kDrmNv12, .min = 3, .max = 3});
  fail_unless_equals_uint64(stat_of(pool, "allocations"), 3);
  fail_unless_equals_uint64(stat_of(pool, "frames"), 3);
  fail_unless_equals_uint64(stat_of(pool, "out"), 0);
  GstBuffer *buffer = pool.acquire();
  fail_unless_equals_uint64(stat_of(pool, "out"), 1);
  gst_buffer_unref(buffer);
  fail_unless_equals_uint64(stat_of(pool, "out"), 0);
  fail_unless(gst_buffer_pool_set_active(pool.get(), FALSE));
  fail_unless_equals_uint64(stat_of(pool, "frames"), 0);
  EXPECT_CRITICAL(gst_drm_buffer_pool_get_stats(nullptr));
}
GST_END_TEST

// Four threads take, copy and cut; a fifth flushes and stops. Nothing is lost or freed twice.
GST_START_TEST(test_threads)
{
  const std::size_t fds = count_fds();
  {
    Pool pool(kMemfd);
    pool.configure({.caps = kPlainNv12, .min = 2, .max = 3, .video_meta = false});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&pool, t] {
        for (int i = 0; i < 300; ++i) {
          GstBuffer *buffer = nullptr;
          if (gst_buffer_pool_acquire_buffer(pool.get(), &buffer, nullptr) != GST_FLOW_OK)
            continue;
          if (gst_buffer_get_size(buffer) != pool.configured_size() || gst_buffer_n_memory(buffer) != 1)
            fail("thread %d, round %d: a buffer that is not whole", t, i);
          kHolders[(t + i) % kHolderCount].use(buffer);
        }
      });
    for (int i = 0; i < 20; ++i) {
      gst_buffer_pool_set_flushing(pool.get(), TRUE);
      gst_buffer_pool_set_flushing(pool.get(), FALSE);
      g_usleep(500); // spreads the flushes over the threads' rounds
    }
    gst_buffer_pool_set_active(pool.get(), FALSE);
    for (std::thread &thread : threads)
      thread.join();
    fail_unless_equals_uint64(stat_of(pool, "out"), 0);
    fail_unless_equals_uint64(stat_of(pool, "frames"), 0);
  }
  fail_unless_equals_int(count_fds(), fds);
}
GST_END_TEST

Suite *bufferpool_sharing_suite()
{
  Suite *suite = suite_create("bufferpool-sharing");
  TCase *tcase = tcase_create("native");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_recycled_after, 0, kHolderCount * G_N_ELEMENTS(kLayouts));
  tcase_add_loop_test(tcase, test_kept_copies, 0, G_N_ELEMENTS(kLayouts));
  tcase_add_test(tcase, test_bound_counts_held_memory);
  tcase_add_test(tcase, test_memory_wakes_a_sleeper);
  tcase_add_test(tcase, test_pair_is_cut);
  tcase_add_test(tcase, test_pair_is_held);
  tcase_add_test(tcase, test_half_a_pair_and_a_stop);
  tcase_add_test(tcase, test_held_memory_and_the_pool);
  tcase_add_test(tcase, test_stats_of_an_idle_pool);
  tcase_add_test(tcase, test_threads);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(bufferpool_sharing)

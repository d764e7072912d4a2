// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gst/drm/core/import_cache.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <vector>

#include <drm_fourcc.h>
#include <gtest/gtest.h>

namespace {

using namespace gstdrm;

using Cache = ImportCache<std::shared_ptr<int>>;
constexpr ImportBounds kBounds{3, 1000};

// A frame of one plane in buffer `inode`.
FrameLayout frame(std::uint64_t inode, std::uint64_t size_bytes = 400)
{
  FrameLayout layout;
  layout.format = {DRM_FORMAT_XRGB8888, kModLinear};
  layout.width = 10;
  layout.height = 10;
  layout.n_planes = 1;
  layout.planes[0] = {5, 0, 40, {{1, inode}, size_bytes}};
  return layout;
}

class Imports : public testing::Test {
protected:
  void TearDown() override { EXPECT_EQ(releases_ + cache_.size(), made_); }
  Result<std::shared_ptr<int>> make(const FrameLayout &)
  {
    calls_++;
    if (fail_)
      return Error{ErrorCode::Import, "no", ENOMEM};
    made_++;
    return std::make_shared<int>(calls_);
  }
  bool hits(const FrameLayout &layout)
  {
    Result<Cache::Import> import = cache_.import(layout);
    EXPECT_TRUE(import);
    return import && import->hit;
  }

  const ImportBounds bounds_ = kBounds;
  int calls_ = 0;
  bool fail_ = false;
  std::size_t made_ = 0;
  std::atomic<std::uint64_t> releases_{0};
  Cache cache_{[this](const FrameLayout &layout) { return make(layout); },
               ImportBounds{.keep_frames = kBounds.keep_frames,
                            .keep_bytes = kBounds.keep_bytes,
                            .releases = &releases_}};
};

TEST_F(Imports, a_buffer_that_comes_again_is_a_hit)
{
  Result<Cache::Import> first = cache_.import(frame(7));
  FrameLayout again = frame(7);
  again.planes[0].fd = 6; // the number of the descriptor does not count
  Result<Cache::Import> second = cache_.import(again);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->hit);
  EXPECT_TRUE(second->hit);
  EXPECT_EQ(first->imported, second->imported);
  EXPECT_EQ(first->liveness, second->liveness);
  EXPECT_EQ(calls_, 1);
}

// Linux before 5.3: each frame of a pool is another buffer, and the pool's memory is alive.
TEST_F(Imports, buffers_that_cannot_be_told_apart_do_not_pile_up)
{
  EXPECT_FALSE(hits(frame(7)));
  std::vector<Cache::Liveness> alive;
  for (std::uint64_t i = 0; i < 100; i++) {
    FrameLayout layout = frame(i);
    layout.planes[0].object.identity.device = BufferIdentity::kUnknown;
    Result<Cache::Import> import = cache_.import(layout);
    ASSERT_TRUE(import);
    EXPECT_FALSE(import->hit);
    alive.push_back(import->liveness);
  }
  EXPECT_EQ(cache_.size(), 1 + ImportBounds{}.most_unknown);
  EXPECT_TRUE(hits(frame(7)));
}

TEST_F(Imports, whatever_the_import_is_made_of_is_the_key)
{
  EXPECT_FALSE(hits(frame(7)));
  const auto other = [this](auto change) {
    FrameLayout layout = frame(7);
    change(layout);
    return !hits(layout) && hits(layout);
  };
  EXPECT_TRUE(other([](FrameLayout &l) { l.planes[0].object.identity.inode = 8; }));
  EXPECT_TRUE(other([](FrameLayout &l) { l.planes[0].object.identity.device = 2; }));
  EXPECT_TRUE(other([](FrameLayout &l) { l.planes[0].stride_bytes = 64; }));
  EXPECT_TRUE(other([](FrameLayout &l) { l.planes[0].offset_bytes = 4; }));
  EXPECT_TRUE(other([](FrameLayout &l) { l.width = 9; }));
  EXPECT_TRUE(other([](FrameLayout &l) { l.height = 9; }));
  EXPECT_TRUE(other([](FrameLayout &l) { l.format.modifier = kModImplicit; }));
  EXPECT_TRUE(other([](FrameLayout &l) { l.format.fourcc = DRM_FORMAT_ARGB8888; }));
  EXPECT_TRUE(hits(frame(7)));
  EXPECT_EQ(cache_.size(), 9U);
}

// Somebody else's memory, which can hold no token: what comes round is kept by coming.
TEST_F(Imports, a_hit_counts_as_alive)
{
  EXPECT_FALSE(hits(frame(7)));
  for (int i = 0; i < 10; i++) {
    for (std::uint64_t k = 0; k < kBounds.keep_frames; k++)
      cache_.advance();
    EXPECT_TRUE(hits(frame(7)));
  }
  EXPECT_EQ(calls_, 1);
}

TEST_F(Imports, a_failure_is_handed_on_and_not_kept)
{
  fail_ = true;
  Result<Cache::Import> failed = cache_.import(frame(7));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().sys_errno, ENOMEM);
  EXPECT_EQ(cache_.size(), 0U);
  fail_ = false;
  EXPECT_FALSE(hits(frame(7)));
  EXPECT_EQ(calls_, 2);
}

TEST_F(Imports, an_entry_without_memory_goes_after_the_bound_of_frames)
{
  Result<Cache::Import> kept = cache_.import(frame(7));
  ASSERT_TRUE(kept);
  std::weak_ptr<int> imported = kept->imported;
  kept->imported.reset();
  for (int i = 0; i < 10; i++)
    cache_.advance();
  EXPECT_FALSE(imported.expired()); // its memory is alive
  kept->liveness.reset();
  for (std::uint64_t i = 0; i < kBounds.keep_frames; i++)
    cache_.advance();
  EXPECT_FALSE(imported.expired());
  cache_.advance();
  EXPECT_TRUE(imported.expired());
  EXPECT_EQ(cache_.size(), 0U);
}

TEST_F(Imports, the_oldest_goes_first_when_dead_entries_hold_too_much)
{
  for (std::uint64_t inode = 1; inode <= 3; inode++) {
    EXPECT_FALSE(hits(frame(inode)));
    cache_.advance();
  }
  EXPECT_EQ(cache_.size(), 2U);
  EXPECT_TRUE(hits(frame(2)));
  EXPECT_TRUE(hits(frame(3)));
}

// A picture that moves within a buffer whose memory lives: each corner is another import.
TEST_F(Imports, the_imports_of_one_buffer_are_bounded)
{
  std::vector<Cache::Liveness> alive;
  std::vector<std::weak_ptr<int>> made;
  const auto corner = [](std::uint64_t i) {
    FrameLayout layout = frame(7);
    layout.planes[0].offset_bytes = 4 * i;
    return layout;
  };
  const auto other = cache_.import(frame(8));
  ASSERT_TRUE(other);
  alive.push_back(other->liveness);
  for (std::uint64_t i = 0; i < 1000; i++) {
    cache_.advance();
    const auto import = cache_.import(corner(i));
    ASSERT_TRUE(import);
    alive.push_back(import->liveness);
    made.emplace_back(import->imported);
    EXPECT_TRUE(hits(corner(0))) << "what is used goes last";
    EXPECT_LE(cache_.size(), bounds_.most_of_one + 1);
  }
  EXPECT_EQ(std::count_if(made.begin(), made.end(), [](const auto &one) { return !one.expired(); }),
            static_cast<std::ptrdiff_t>(bounds_.most_of_one));
  EXPECT_TRUE(hits(frame(8))) << "of another buffer";
}

TEST_F(Imports, all_imports_are_bounded)
{
  std::vector<Cache::Liveness> alive;
  for (std::uint64_t inode = 1; inode <= bounds_.most + 10; inode++) {
    const auto import = cache_.import(frame(inode, 0));
    ASSERT_TRUE(import);
    alive.push_back(import->liveness);
  }
  EXPECT_EQ(cache_.size(), bounds_.most);
  EXPECT_TRUE(hits(frame(11, 0)));
  EXPECT_FALSE(hits(frame(10, 0))) << "used longest ago";
}

TEST_F(Imports, a_buffer_of_two_planes_counts_once)
{
  FrameLayout two = frame(7, 900);
  two.n_planes = 2;
  two.planes[1] = two.planes[0];
  two.planes[1].offset_bytes = 400;
  EXPECT_FALSE(hits(two));
  cache_.advance();
  EXPECT_TRUE(hits(two));
}

TEST_F(Imports, unused_entries_can_be_dropped_at_once)
{
  Result<Cache::Import> used = cache_.import(frame(7));
  ASSERT_TRUE(used);
  (void)cache_.import(frame(8));
  cache_.drop_unused();
  EXPECT_EQ(cache_.size(), 1U);
  EXPECT_TRUE(hits(frame(7)));
  EXPECT_FALSE(hits(frame(8)));
}

TEST_F(Imports, clear_forgets_all)
{
  EXPECT_FALSE(hits(frame(7)));
  cache_.clear();
  EXPECT_FALSE(hits(frame(7)));
}

} // namespace

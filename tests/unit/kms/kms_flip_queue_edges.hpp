// SPDX-License-Identifier: LGPL-2.1-or-later
// A flip queue on a clock that the test moves, and on a target that refuses what it is told to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "fake_fences.hpp"
#include "gst/kms/engine/commit/kms_flip_queue.hpp"

namespace gstdrm::test {

using namespace gstdrm::kms;

inline constexpr std::int64_t kRefresh = 16'000'000;
inline constexpr std::int64_t kTimeout = 5 * kRefresh;
inline constexpr std::int64_t kLong_ns = 60'000'000'000;

inline UniqueFd open_null()
{
  return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

struct Target : FlipTarget {
  std::vector<bool> fences; // whether each commit had one
  std::vector<int> results; // of the next commits; then 0
  std::optional<std::int64_t> vblank;
  int questions = 0; // for it
  std::optional<std::int64_t> last_vblank() override
  {
    questions++;
    return vblank;
  }
  int flip(Commit &next) override
  {
    fences.push_back(next.frame.acquire_fence != nullptr);
    int ret = 0;
    if (!results.empty()) {
      ret = results.front();
      results.erase(results.begin());
    }
    if (ret == 0 && next.writeback_framebuffer != 0)
      next.writeback_fence = open_null();
    return ret;
  }
};

class Edges : public testing::Test {
protected:
  Edges()
  {
    queue.set_timing(kRefresh, kRefresh);
    queue.set_fence_rules({true, kTimeout});
  }
  static Frame frame(bool fence = false, std::int64_t due = kNever)
  {
    Frame made;
    made.owner = std::make_shared<int>(0);
    made.due_ns = due;
    if (fence)
      made.acquire_fence = std::make_shared<UniqueFd>(open_null());
    return made;
  }
  Shown submit(Frame made) { return queue.submit(made, FlipQueue::Overflow::Replace); }
  void vblank()
  {
    now += kRefresh;
    queue.on_flip(queue.counters().commits, ++sequence, now);
  }
  void settle()
  {
    EXPECT_EQ(submit(frame()), Shown::Yes);
    vblank();
  }

  Target target;
  std::int64_t now = 1'000'000'000;
  std::uint32_t sequence = 0;
  std::function<FenceState()> probe = [] { return FenceState::Pending; };
  gstdrm::test::FakeFences fences{[this](int) { return probe(); }};
  std::vector<gstdrm::Error> errors;
  FlipQueue queue{target, [this] { return now; }, [] {},
                  [this](const gstdrm::Error &error) { errors.push_back(error); }};
};

} // namespace gstdrm::test

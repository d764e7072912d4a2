// SPDX-License-Identifier: LGPL-2.1-or-later
// The queue with its real threads: a streaming thread that submits, the event thread that completes
// flips, the application that asks, takes snapshots and flushes. The lock is what is under test
// (TSan).
#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "changed_cursor.hpp"
#include "fake_fences.hpp"
#include "gst/kms/engine/commit/kms_flip_queue.hpp"
#include "support/threads.hpp"

namespace {

using namespace gstdrm::kms;
using gstdrm::test::change_cursor;
using gstdrm::FenceState;
using gstdrm::UniqueFd;

constexpr int kFrames = 400;
constexpr std::int64_t kRefresh = 16'000'000;
constexpr std::int64_t kSoon = 1'000'000;

// Relaxed, or the counters of the test would put the threads in an order that the queue has to.
using Counter = std::atomic<std::uint64_t>;
void add(Counter &counter)
{
  counter.fetch_add(1, std::memory_order_relaxed);
}
std::uint64_t read(const Counter &counter)
{
  return counter.load(std::memory_order_relaxed);
}

// Commits are made under the queue's lock, so that a target needs none of its own.
struct Target : FlipTarget {
  std::vector<std::uint64_t> serials;
  Counter last{0};

  int flip(Commit &next) override
  {
    serials.push_back(next.serial);
    if (next.writeback_framebuffer != 0)
      next.writeback_fence = gstdrm::UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    last.store(next.serial, std::memory_order_relaxed);
    return 0;
  }
};

// Counts its buffers; the queue has to give each back once.
struct Owner {
  explicit Owner(Counter &count) : released(count) {}
  Owner(const Owner &) = delete;
  Owner &operator=(const Owner &) = delete;
  ~Owner() { add(released); }
  Counter &released;
};

class FlipQueueThreads : public testing::TestWithParam<FlipQueue::Overflow> {
protected:
  FlipQueueThreads() { queue.set_timing(kRefresh, kRefresh); }

  void stream(int frames, const SharedFence &fence = nullptr)
  {
    for (int i = 0; i < frames; i++) {
      Frame frame;
      frame.owner = std::make_shared<Owner>(released);
      frame.acquire_fence = i % 2 ? fence : nullptr;
      frame.due_ns = 1;
      if (queue.submit(frame, GetParam()) == Shown::Yes)
        add(queued);
      else
        refused++;
    }
    finished.store(true);
  }

  // One is on screen, and no other is on its way.
  [[nodiscard]] bool is_at_rest() const
  {
    const FlipQueue::Counters counters = queue.counters();
    return counters.held == 0 || (counters.held == 1 && counters.shown > 0);
  }

  // Every commit flips at once.
  void complete_flips()
  {
    for (std::uint32_t sequence = 1; !finished.load() || !is_at_rest(); sequence++) {
      add(now); // the clock's unit is of no matter here
      queue.on_flip(read(target.last), sequence, static_cast<std::int64_t>(read(now)));
      if (queue.next_deadline() != kNever || queue.watched_fence())
        queue.on_timer();
      std::this_thread::yield();
    }
  }

  // Asks as long as the stream runs.
  void ask(const std::function<void()> &question) const
  {
    do {
      question();
      std::this_thread::yield();
    } while (!finished.load());
  }

  void check()
  {
    const FlipQueue::Counters counters = queue.counters();
    EXPECT_EQ(counters.held, 1U); // on screen
    EXPECT_EQ(counters.shown + counters.dropped, read(queued));
    EXPECT_EQ(counters.commits, target.serials.size());
    for (std::size_t i = 1; i < target.serials.size(); i++)
      EXPECT_LT(target.serials[i - 1], target.serials[i]);
    queue.clear();
    EXPECT_EQ(queue.counters().held, 0U);
    EXPECT_EQ(read(released), read(queued) + refused);
  }

  Target target;
  Counter queued{0}, released{0}, now{1};
  std::uint64_t refused = 0;
  std::atomic<bool> finished{false};
  FlipQueue queue{target, [this] { return static_cast<std::int64_t>(read(now)); }, [] {},
                  [](const gstdrm::Error &) {}};
};

TEST_P(FlipQueueThreads, a_stream_and_its_flips)
{
  gstdrm::test::at_once({[this] { stream(kFrames); }, [this] { complete_flips(); }});
  check();
}

TEST_P(FlipQueueThreads, what_the_application_asks)
{
  gstdrm::test::at_once({[this] { stream(kFrames); }, [this] { complete_flips(); },
                         [this] {
                           ask([this] {
                             (void)queue.take_late();
                             (void)queue.failure();
                             (void)queue.flushing();
                             (void)queue.counters();
                           });
                         },
                         [this] {
                           ask([this] {
                             queue.set_timing(kRefresh, 2 * kRefresh);
                             queue.set_fence_rules({true, kRefresh});
                             change_cursor(queue);
                             queue.exclusively([this] { (void)target.serials.size(); });
                           });
                         }});
  check();
}

TEST_P(FlipQueueThreads, snapshots)
{
  gstdrm::test::at_once({[this] { stream(kFrames); }, [this] { complete_flips(); },
                         [this] { ask([this] { (void)queue.capture(7, kSoon); }); },
                         [this] {
                           ask([this] {
                             queue.cancel_capture();
                             queue.accept_captures();
                           });
                         }});
  check();
}

TEST_P(FlipQueueThreads, fences)
{
  Counter asked{0};
  queue.set_fence_rules({true, 5 * kRefresh});
  const gstdrm::test::FakeFences fences([&asked](int) {
    add(asked); // every third time it has signalled
    return read(asked) % 3 ? FenceState::Pending : FenceState::Signalled;
  });
  const auto fence = std::make_shared<const UniqueFd>(open("/dev/null", O_RDONLY | O_CLOEXEC));
  gstdrm::test::at_once({[this, &fence] { stream(kFrames, fence); }, [this] { complete_flips(); }});
  check();
}

TEST_P(FlipQueueThreads, flushes)
{
  gstdrm::test::at_once({[this] { stream(kFrames); }, [this] { complete_flips(); },
                         [this] {
                           ask([this] {
                             queue.set_flushing(true);
                             queue.drop_waiting();
                             queue.set_flushing(false);
                             (void)queue.drain(kSoon);
                             queue.forgive();
                           });
                         }});
  check();
}

TEST_P(FlipQueueThreads, the_display_is_lost)
{
  const gstdrm::Error gone{gstdrm::ErrorCode::Device, "gone", ENODEV};
  gstdrm::test::at_once({[this] { stream(kFrames); }, [this] { complete_flips(); },
                         [this, &gone] {
                           ask([this, &gone] {
                             queue.abort(gone);
                             queue.clear();
                           });
                         }});
  queue.clear();
  EXPECT_EQ(queue.counters().held, 0U);
  EXPECT_EQ(read(released), static_cast<std::uint64_t>(kFrames));
}

INSTANTIATE_TEST_SUITE_P(Overflow, FlipQueueThreads,
                         testing::Values(FlipQueue::Overflow::Replace, FlipQueue::Overflow::Wait),
                         [](const auto &info) {
                           return info.param == FlipQueue::Overflow::Wait ? "wait" : "replace";
                         });

} // namespace

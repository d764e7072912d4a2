// SPDX-License-Identifier: LGPL-2.1-or-later
// The event thread with handlers that call back: which of them are called, who waits for whom, and
// that no lock is in the way. The timer alone is used, so any descriptor does for the device's.
#include "gst/kms/engine/card/kms_event_loop.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/threads.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using Subscription = std::unique_ptr<EventHub::Subscription>;

class Handler final : public EventHandler {
public:
  explicit Handler(std::function<void()> call) : call_(std::move(call)) {}
  void on_flip(std::uint32_t, std::uint64_t, std::uint32_t, std::int64_t) noexcept override {}
  void on_timer() noexcept override
  {
    due = always.load();
    call_();
    calls++;
    rung++;
  }
  std::int64_t next_deadline() noexcept override { return due ? 0 : INT64_MAX; }
  void on_device_lost(int) noexcept override {}

  std::atomic<bool> due{false}, always{false};
  std::atomic<int> rung{0};
  int calls = 0; // plain: for a thread that knows that no call is running (TSan)

private:
  const std::function<void()> call_;
};

// Is called once for each ring(), and as often as it can be after ring_on().
struct Bell {
  explicit Bell(std::function<void(Bell &)> call = [](Bell &) {})
      : handler([this, call = std::move(call)] { call(*this); })
  {
  }
  Bell(const Bell &) = delete;
  Bell &operator=(const Bell &) = delete;
  void listen(EventHub &hub)
  {
    Result<Subscription> made = hub.subscribe(1, handler);
    ASSERT_TRUE(made) << made.error().message;
    subscription = std::move(*made);
  }
  void ring()
  {
    handler.due = true;
    subscription->wake();
  }
  void ring_on()
  {
    handler.always = true;
    ring();
  }
  void await(int calls) const
  {
    while (handler.rung < calls)
      std::this_thread::yield();
  }

  Handler handler;
  Subscription subscription; // ends before the handler goes
};

class EventLoopTest : public testing::Test {
protected:
  EventLoopTest()
  {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe(ends), 0);
    quiet = UniqueFd(ends[0]);
    other_end = UniqueFd(ends[1]);
  }
  UniqueFd quiet, other_end; // nothing is ever written
  EventHub hub{quiet.get()};
};

TEST_F(EventLoopTest, a_handler_may_bring_and_end_others)
{
  Bell other, third;
  other.listen(hub);
  Bell bell([&](Bell &own) {
    EXPECT_TRUE(own.subscription->is_current());
    other.subscription.reset();
    third.listen(hub);
    own.subscription->wake();
  });
  bell.listen(hub);
  EXPECT_FALSE(bell.subscription->is_current());
  bell.ring();
  bell.await(1);
  third.ring();
  third.await(1);
  EXPECT_EQ(other.handler.calls, 0);
}

TEST_F(EventLoopTest, another_thread_may_come_and_go_during_a_call)
{
  std::atomic<bool> done{false};
  Bell bell([&](Bell &) {
    while (!done)
      std::this_thread::yield();
  });
  bell.listen(hub);
  bell.ring();
  Bell other; // neither waits for the call of the first
  other.listen(hub);
  other.subscription.reset();
  done = true;
  bell.await(1);
}

TEST_F(EventLoopTest, the_end_waits_for_a_call_on_another_thread)
{
  for (const bool alone : {true, false}) {
    Bell witness;
    if (!alone)
      witness.listen(hub);
    std::atomic<pid_t> ender_tid{0};
    std::atomic<bool> inside{false}, ended{false}, returned{false};
    Bell bell([&](Bell &) {
      inside = true;
      while (!ended && (ender_tid == 0 || test::state_of_thread(ender_tid) != 'S'))
        std::this_thread::yield();
      returned = true;
    });
    bell.listen(hub);
    bell.ring();
    while (!inside)
      std::this_thread::yield();
    bool waited = false;
    std::thread ender([&] {
      ender_tid = gettid();
      bell.subscription.reset();
      waited = returned;
      ended = true;
    });
    ender.join();
    EXPECT_TRUE(waited) << "alone: " << alone;
    EXPECT_EQ(bell.handler.calls, 1);
  }
}

TEST_F(EventLoopTest, a_handler_may_end_itself)
{
  for (int i = 0; i < 20; i++) {
    std::atomic<bool> ended{false};
    auto bell = std::make_unique<Bell>([&](Bell &own) {
      own.subscription.reset(); // the last: the thread ends, too
      ended = true;
    });
    bell->listen(hub);
    bell->ring();
    bell->await(1);
    ASSERT_TRUE(ended);
    Bell next; // a new thread
    next.listen(hub);
    next.ring();
    next.await(1);
  }
}

TEST_F(EventLoopTest, a_last_handler_waits_for_one_that_ended_itself)
{
  Bell last;
  last.listen(hub);
  std::atomic<pid_t> ender_tid{0};
  std::atomic<bool> gone{false}, ended{false};
  Bell bell([&](Bell &own) {
    own.subscription.reset();
    gone = true;
    while (!ended && (ender_tid == 0 || test::state_of_thread(ender_tid) != 'S'))
      std::this_thread::yield();
    last.listen(hub); // while another thread ends the subscription before
  });
  bell.listen(hub);
  bell.ring();
  while (!gone)
    std::this_thread::yield();
  Subscription before = std::move(last.subscription);
  std::thread ender([&] {
    ender_tid = gettid();
    before.reset();
    ended = true;
  });
  ender.join();
  bell.await(1);
  last.ring();
  last.await(1);
}

// Both wait for one call. Whichever goes on first ends the loop, in which the other still is: ASan sees it.
TEST_F(EventLoopTest, two_last_handlers_may_end_at_once)
{
  for (int i = 0; i < 200; i++) {
    std::atomic<bool> inside{false};
    std::atomic<pid_t> first{0}, second{0};
    const auto sleeps = [](pid_t tid) { return tid != 0 && test::state_of_thread(tid) == 'S'; };
    std::atomic<bool> ended{false}; // the second, where the first had slept on something else
    Bell bell([&](Bell &) {
      inside = true;
      while (!ended && !sleeps(second))
        std::this_thread::yield();
    });
    Bell other;
    bell.listen(hub);
    other.listen(hub);
    bell.ring();
    const auto end_first = [&] {
      while (!inside)
        std::this_thread::yield();
      first = gettid();
      bell.subscription.reset();
    };
    const auto end_second = [&] {
      while (!sleeps(first))
        std::this_thread::yield();
      second = gettid();
      other.subscription.reset();
      ended = true;
    };
    test::at_once({end_first, end_second});
    EXPECT_EQ(bell.handler.calls, 1);
  }
}

TEST_F(EventLoopTest, threads_come_and_go_while_it_calls)
{
  const auto come_and_go = [this] {
    for (int i = 0; i < 30; i++) {
      Bell bell;
      Result<Subscription> made = hub.subscribe(1, bell.handler);
      if (!made)
        return;
      bell.subscription = std::move(*made);
      bell.ring_on();
      bell.await(i % 3);
      bell.subscription.reset();
      bell.handler.calls++; // no call is running
    }
  };
  test::at_once({come_and_go, come_and_go, come_and_go});
}

} // namespace

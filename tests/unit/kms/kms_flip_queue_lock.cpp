// SPDX-License-Identifier: LGPL-2.1-or-later
// Every function of the queue that any thread may call waits for the lock: each is called by a
// thread of its own while another holds it.
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

#include "gst/kms/engine/commit/kms_flip_queue.hpp"
#include "support/threads.hpp"

namespace {

using namespace gstdrm::kms;

// flip() is called with the lock held.
struct HoldingTarget : FlipTarget {
  std::function<void()> held;
  int flip(Commit &) override
  {
    if (held)
      std::exchange(held, nullptr)();
    return 0;
  }
};

struct Row {
  const char *name;
  void (*call)(FlipQueue &queue);
};

const Row kRows[] = {
    {"set_timing", [](FlipQueue &q) { q.set_timing(1, 1); }},
    {"set_fence_rules", [](FlipQueue &q) { q.set_fence_rules({}); }},
    {"submit", [](FlipQueue &q) { Frame frame; q.submit(frame, FlipQueue::Overflow::Replace); }},
    {"submit_with", [](FlipQueue &q) { Frame f; q.submit_with(f, [](const Commit &) { return -1; }); }},
    {"await_fence", [](FlipQueue &q) { Frame frame; q.await_fence(frame); }},
    {"exclusively", [](FlipQueue &q) { q.exclusively([] {}); }},
    {"drain", [](FlipQueue &q) { q.drain(0); }},
    {"drop_waiting", [](FlipQueue &q) { q.drop_waiting(); }},
    {"set_flushing", [](FlipQueue &q) { q.set_flushing(true); }},
    {"clear", [](FlipQueue &q) { q.clear(); }},
    {"reset_counters", [](FlipQueue &q) { q.reset_counters(); }},
    {"forgive", [](FlipQueue &q) { q.forgive(); }},
    {"capture", [](FlipQueue &q) { (void)q.capture(1, 0); }},
    {"set_shared", [](FlipQueue &q) { q.set_shared(true); }},
    {"set_cursor_image", [](FlipQueue &q) { q.set_cursor_image(nullptr); }},
    {"move_cursor", [](FlipQueue &q) { q.move_cursor(1, 1); }},
    {"cancel_capture", [](FlipQueue &q) { q.cancel_capture(); }},
    {"on_flip", [](FlipQueue &q) { q.on_flip(1, 1, 1); }},
    {"on_timer", [](FlipQueue &q) { q.on_timer(); }},
    {"abort", [](FlipQueue &q) { q.abort({}); }},
    {"give_up", [](FlipQueue &q) { q.give_up(); }},
    {"next_deadline", [](FlipQueue &q) { (void)q.next_deadline(); }},
    {"watched_fence", [](FlipQueue &q) { (void)q.watched_fence(); }},
    {"take_late", [](FlipQueue &q) { (void)q.take_late(); }},
    {"counters", [](FlipQueue &q) { (void)q.counters(); }},
    {"failure", [](FlipQueue &q) { (void)q.failure(); }},
    {"flushing", [](FlipQueue &q) { (void)q.flushing(); }},
};

class Lock : public testing::TestWithParam<Row> {};

TEST_P(Lock, is_waited_for)
{
  HoldingTarget target;
  FlipQueue queue(target, [] { return std::int64_t{1}; }, [] {}, [](const gstdrm::Error &) {});
  std::atomic<pid_t> tid{0};
  std::atomic<bool> done{false};
  std::thread caller;
  bool slept = false;
  target.held = [&] {
    caller = std::thread([&] {
      tid = gettid();
      GetParam().call(queue);
      done = true;
    });
    while (!done && !slept) { // it does the one or the other, whenever the machine lets it
      slept = tid != 0 && gstdrm::test::state_of_thread(tid) == 'S';
      std::this_thread::yield();
    }
  };
  Frame frame;
  queue.submit(frame, FlipQueue::Overflow::Replace);
  caller.join();
  EXPECT_TRUE(slept) << "done while another thread held the lock";
}

INSTANTIATE_TEST_SUITE_P(Rows, Lock, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace

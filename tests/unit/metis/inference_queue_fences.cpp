// SPDX-License-Identifier: LGPL-2.1-or-later
// Fences of frames in the queue of metisdmabufinfer.
#include <thread>

#include "inference_queue_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::metis;
using namespace gstdrm::metis::test;

TEST(InferenceQueue, FrameWaitsForItsFence)
{
  Fixture f("", {4});
  auto fence = std::move(*WakeFd::create());
  ASSERT_EQ(f.queue->push(f.frame(0, UniqueFd::dup(fence.get()))), Passage::Done);
  ASSERT_EQ(f.queue->push(f.frame(1)), Passage::Done);
  while (f.counters.waits == 0)
    std::this_thread::yield();
  EXPECT_EQ(f.device->n_submitted(), 0U); // neither it nor the one behind
  fence.wake();
  for (int i = 0; i < 2; i++) {
    const auto outcome = f.queue->pop();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(number_in(*outcome), i);
    EXPECT_EQ(letter_of(*outcome), 'r');
  }
}

TEST(InferenceQueue, FenceThatNeverSignals)
{
  Fixture f("", {4, 8, 5ms});
  auto fence = std::move(*WakeFd::create());
  ASSERT_EQ(f.queue->push(f.frame(0, UniqueFd::dup(fence.get()))), Passage::Done);
  ASSERT_EQ(f.queue->push(f.frame(1)), Passage::Done);
  auto outcome = f.queue->pop();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(letter_of(*outcome), 't');
  EXPECT_NE(outcome->error->message.find("fence"), std::string::npos) << outcome->error->message;
  outcome = f.queue->pop();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(letter_of(*outcome), 'r');
  EXPECT_EQ(f.device->n_submitted(), 1U);
}

TEST(InferenceQueue, FlushEndsTheWaitForAFence)
{
  {
    Fixture f("", {1});
    auto fence = std::move(*WakeFd::create());
    ASSERT_EQ(f.queue->push(f.frame(0, UniqueFd::dup(fence.get()))), Passage::Done);
    while (f.counters.waits == 0)
      std::this_thread::yield();
    f.queue->set_flushing(true);
    f.queue->set_flushing(false);
    ASSERT_EQ(f.queue->push(f.frame(1)), Passage::Done);
    const auto outcome = f.queue->pop();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(number_in(*outcome), 1);
  }
  EXPECT_EQ(payloads_alive, 0);
}

// The implicit fences of the second plane's dma-buf; an eventfd stands for it.
TEST(InferenceQueue, FrameWaitsForTheDmaBufOfEachPlane)
{
  Fixture f("", {4});
  auto fence = std::move(*WakeFd::create());
  const UniqueFd other = std::move(create_sealed_memfd(4096)).value();
  Item item = f.frame(0);
  FrameLayout &layout = item.frame->layout;
  layout.planes[1] = layout.planes[0];
  layout.planes[1].fd = fence.get();
  layout.planes[1].object.identity = query_object(other.get())->identity;
  layout.n_planes = 2;
  ASSERT_EQ(f.queue->push(std::move(item)), Passage::Done);
  while (f.counters.waits == 0 && f.device->n_submitted() == 0)
    std::this_thread::yield();
  EXPECT_EQ(f.device->n_submitted(), 0U);
  fence.wake();
  const auto outcome = f.queue->pop();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(letter_of(*outcome), 'r');
}

} // namespace

// SPDX-License-Identifier: LGPL-2.1-or-later
// Mutexes with ranks: the right order works, a wrong one ends the process and names both.
#include "core/ordered_mutex.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace {

using gstdrm::OrderedCondition;
using gstdrm::OrderedMutex;

struct Locks {
  OrderedMutex outer{10, "the outer"};
  OrderedMutex inner{20, "the inner"};
  OrderedMutex sibling{20, "the sibling"};
};

TEST(OrderedMutexTest, rising_ranks_and_any_order_of_release)
{
  Locks locks;
  for (int i = 0; i < 100; i++) { // nothing is left behind in the thread's list
    std::unique_lock outer(locks.outer);
    std::unique_lock inner(locks.inner);
    outer.unlock();
    inner.unlock();
    const std::lock_guard again(locks.outer);
  }
}

TEST(OrderedMutexTest, threads_have_lists_of_their_own)
{
  Locks locks;
  const std::lock_guard inner(locks.inner);
  std::thread([&locks] { const std::lock_guard outer(locks.outer); }).join();
}

TEST(OrderedMutexTest, the_innermost_is_told_where_it_is_checked)
{
  Locks locks;
  EXPECT_EQ(OrderedMutex::innermost(), nullptr);
  std::unique_lock outer(locks.outer);
  const std::lock_guard inner(locks.inner);
  EXPECT_STREQ(OrderedMutex::innermost(), OrderedMutex::kChecks ? "the inner" : nullptr);
  outer.unlock();
  EXPECT_STREQ(OrderedMutex::innermost(), OrderedMutex::kChecks ? "the inner" : nullptr);
  std::thread([] { EXPECT_EQ(OrderedMutex::innermost(), nullptr); }).join();
}

TEST(OrderedMutexTest, a_try_may_go_against_the_order)
{
  Locks locks;
  const std::lock_guard inner(locks.inner);
  const std::unique_lock outer(locks.outer, std::try_to_lock);
  EXPECT_TRUE(outer.owns_lock());
}

TEST(OrderedMutexTest, a_condition_lets_go_of_it)
{
  Locks locks;
  OrderedCondition changed;
  bool ready = false;
  std::thread other([&] {
    const std::lock_guard guard(locks.inner);
    ready = true;
    changed.notify_all();
  });
  {
    std::unique_lock guard(locks.inner);
    changed.wait(guard, [&ready] { return ready; });
  }
  other.join();
  const std::lock_guard outer(locks.outer); // the inner one is not in the list any more
}

// A second mutex, as in std::condition_variable_any, costs futex calls for each wake-up.
static_assert(sizeof(OrderedCondition) == sizeof(std::condition_variable));

TEST(OrderedMutexTest, a_wait_with_a_limit_ends_and_keeps_the_mutex)
{
  Locks locks;
  OrderedCondition changed;
  std::unique_lock guard(locks.inner);
  EXPECT_FALSE(changed.wait_for(guard, std::chrono::nanoseconds(1), [] { return false; }));
  EXPECT_TRUE(guard.owns_lock());
  std::thread([&locks] { EXPECT_FALSE(locks.inner.try_lock()); }).join();
  guard.unlock();
  std::thread([&locks] { const std::lock_guard other(locks.inner); }).join();
}

#ifndef NDEBUG
void take(OrderedMutex &first, OrderedMutex &second)
{
  const std::lock_guard one(first);
  const std::lock_guard two(second);
}

TEST(OrderedMutexDeathTest, a_falling_rank_names_both)
{
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  Locks locks;
  EXPECT_DEATH(take(locks.inner, locks.outer),
               "the outer \\(rank 10\\) under the inner \\(rank 20\\)");
}

TEST(OrderedMutexDeathTest, equal_ranks_have_no_order)
{
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  Locks locks;
  EXPECT_DEATH(take(locks.inner, locks.sibling), "the sibling .* under the inner");
}

TEST(OrderedMutexDeathTest, one_mutex_is_not_taken_twice)
{
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  Locks locks;
  EXPECT_DEATH(take(locks.inner, locks.inner), "the inner .* under the inner");
}
#endif

} // namespace

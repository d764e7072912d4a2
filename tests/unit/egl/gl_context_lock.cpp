// SPDX-License-Identifier: LGPL-2.1-or-later
// Readers of a GL context and changes of state: a change begins when no other thread reads.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "element/gstglcontextlock.hpp"

namespace gstdrm {
namespace {

TEST(ContextLock, WriterWaitsForReaders)
{
  ContextLock lock;
  std::atomic<bool> reading{false};
  std::atomic<bool> ends{false};
  std::thread other([&] {
    const ContextLock::Reader reader(lock);
    EXPECT_TRUE(static_cast<bool>(reader));
    reading = true;
    while (!ends)
      std::this_thread::yield();
    reading = false;
  });
  while (!reading)
    std::this_thread::yield();
  std::thread ending([&] { ends = true; });
  const ContextLock::Writer writer(lock);
  EXPECT_FALSE(reading);
  ending.join();
  other.join();
}

TEST(ContextLock, NobodyReadsBesideAWriter)
{
  ContextLock lock;
  {
    const ContextLock::Writer writer(lock);
    const ContextLock::Reader reader(lock);
    EXPECT_FALSE(static_cast<bool>(reader));
    const ContextLock::Writer inner(lock);
    const ContextLock::Reader another(lock);
    EXPECT_FALSE(static_cast<bool>(another));
  }
  const ContextLock::Reader reader(lock);
  EXPECT_TRUE(static_cast<bool>(reader));
}

// A handler on the bus, in the midst of a query, sets the element to NULL.
TEST(ContextLock, ReadersOfTheSameThreadAreNotWaitedFor)
{
  ContextLock lock;
  ContextLock neighbour;
  const ContextLock::Reader reader(lock);
  const ContextLock::Reader of_a_neighbour(neighbour);
  const ContextLock::Reader once_more(lock);
  EXPECT_TRUE(reader && of_a_neighbour && once_more);
  const ContextLock::Writer writer(lock);
  EXPECT_TRUE(writer.is_alone());
}

} // namespace
} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
// Searches for a GL context and changes of state: a change begins when nobody else searches.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "element/gstglsearches.hpp"

namespace gstdrm {
namespace {

TEST(GlSearches, EndBeforeAChange)
{
  GlSearches searches;
  std::atomic<bool> searching{false};
  std::atomic<bool> ends{false};
  std::thread other([&] {
    const GlSearches::Search search(searches);
    EXPECT_TRUE(static_cast<bool>(search));
    searching = true;
    while (!ends)
      std::this_thread::yield();
    searching = false;
  });
  while (!searching)
    std::this_thread::yield();
  std::thread ending([&] { ends = true; });
  const GlSearches::Change change(searches);
  EXPECT_FALSE(searching);
  ending.join();
  other.join();
}

TEST(GlSearches, FindNothingInAChange)
{
  GlSearches searches;
  {
    const GlSearches::Change change(searches);
    const GlSearches::Search search(searches);
    EXPECT_FALSE(static_cast<bool>(search));
    const GlSearches::Change inner(searches);
    const GlSearches::Search another(searches);
    EXPECT_FALSE(static_cast<bool>(another));
  }
  const GlSearches::Search search(searches);
  EXPECT_TRUE(static_cast<bool>(search));
}

// A handler on the bus, in the midst of a search, sets the element to NULL.
TEST(GlSearches, OfTheSameThreadAreNotWaitedFor)
{
  GlSearches searches;
  GlSearches others;
  const GlSearches::Search search(searches);
  const GlSearches::Search of_a_neighbour(others);
  const GlSearches::Search once_more(searches);
  EXPECT_TRUE(search && of_a_neighbour && once_more);
  const GlSearches::Change change(searches);
  EXPECT_TRUE(change.is_alone());
}

} // namespace
} // namespace gstdrm

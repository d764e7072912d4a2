// SPDX-License-Identifier: LGPL-2.1-or-later
// How much memory a reconciliation takes: operator new of the program's own counts bytes.
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "constraint_text.hpp"

namespace {

std::size_t allocated = 0;

} // namespace

void *operator new(std::size_t size)
{
  allocated += size;
  if (void *memory = std::malloc(size > 0 ? size : 1))
    return memory;
  throw std::bad_alloc();
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept // std::stable_sort()
{
  allocated += size;
  return std::malloc(size > 0 ? size : 1);
}
void operator delete(void *memory) noexcept
{
  std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept
{
  std::free(memory);
}

namespace {

using namespace gstdrm;

std::vector<Constraints> accessors_with(std::size_t pairs, std::uint64_t first)
{
  std::vector<Constraints> all(8);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<Format> formats(pairs);
    for (std::size_t k = 0; k < pairs; ++k)
      formats[k] = {parse_format("XR24")->fourcc, 1 + k + first * i};
    all[i].name = std::to_string(i);
    all[i].formats = FormatSet::from_pairs(std::move(formats));
  }
  return all;
}

// Ten times the pairs take at most ten times the bytes, whether the lists have all or nothing in common; the product
// would be more than a thousand times as much.
TEST(ReconcileMemory, GrowsWithTheSumOfTheLists)
{
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{1} << 40}) {
    std::size_t bytes[2] = {};
    for (int i = 0; i < 2; ++i) {
      const auto all = accessors_with(i == 0 ? 1000 : 10000, first);
      std::vector<const Constraints *> pointers;
      for (const Constraints &one : all)
        pointers.push_back(&one);
      const std::size_t before = allocated;
      const auto outcome = reconcile(pointers);
      bytes[i] = allocated - before;
      ASSERT_EQ(std::holds_alternative<Conflict>(outcome), first != 0);
    }
    EXPECT_GT(bytes[0], 8000U);
    EXPECT_LE(bytes[1], bytes[0] * 10);
    EXPECT_LE(bytes[1], 10000 * sizeof(Format) * 8 * 2) << "two copies of every list";
  }
}

} // namespace

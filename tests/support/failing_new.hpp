// SPDX-License-Identifier: LGPL-2.1-or-later
// operator new of the program's own, for its libraries and plugins too: the n-th call of this
// thread fails. Included by one source of a program.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

namespace gstdrm::test {

inline thread_local long countdown = 0; // 0: nothing fails
inline thread_local bool thrown = false;
inline std::atomic<bool> thrown_anywhere{false}; // by any thread

inline void *allocate(std::size_t size)
{
  if (countdown > 0 && --countdown == 0) {
    thrown = true;
    thrown_anywhere = true;
    throw std::bad_alloc();
  }
  if (void *memory = std::malloc(size > 0 ? size : 1))
    return memory;
  throw std::bad_alloc();
}

} // namespace gstdrm::test

void *operator new(std::size_t size)
{
  return gstdrm::test::allocate(size);
}
void *operator new[](std::size_t size)
{
  return gstdrm::test::allocate(size);
}
// std::stable_sort() asks with this one.
void *operator new(std::size_t size, const std::nothrow_t &) noexcept
{
  try {
    return gstdrm::test::allocate(size);
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}
void operator delete(void *memory) noexcept
{
  std::free(memory);
}
void operator delete[](void *memory) noexcept
{
  std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept
{
  std::free(memory);
}
void operator delete[](void *memory, std::size_t) noexcept
{
  std::free(memory);
}

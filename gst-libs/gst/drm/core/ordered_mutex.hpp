// SPDX-License-Identifier: LGPL-2.1-or-later
// A mutex with a rank. A thread takes mutexes by rising rank alone, so that no two threads can wait
// for each other. Builds without NDEBUG check that when a mutex is taken, whether or not another
// thread is in the way, and end the process with both names; with NDEBUG it is a std::mutex. The
// check sees the mutexes of one module, which is where the ranks are given
// (docs/architecture.md). Any thread.
#pragma once

#include <mutex>

#ifndef NDEBUG
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#endif

namespace gstdrm {

// Of a mutex under which no other mutex of the table is taken.
inline constexpr int kLeafLockRank = 100;

#ifdef NDEBUG

class OrderedMutex : public std::mutex {
public:
  static constexpr bool kChecks = false;
  constexpr OrderedMutex(int /*rank*/, const char * /*name*/) noexcept {}
};

#else

class OrderedMutex {
public:
  static constexpr bool kChecks = true;
  // `name` is a literal: what the mutex guards.
  OrderedMutex(int rank, const char *name) noexcept : rank_(rank), name_(name) {}

  void lock()
  {
    check();
    mutex_.lock();
    push();
  }
  // Waits for nobody, so any order will do.
  bool try_lock()
  {
    if (!mutex_.try_lock())
      return false;
    push();
    return true;
  }
  void unlock()
  {
    forget();
    mutex_.unlock();
  }

private:
  // What this thread holds, in the order in which it was taken.
  struct Held {
    std::array<const OrderedMutex *, 16> mutexes;
    std::size_t count;
  };
  static Held &held() noexcept
  {
    static constinit thread_local Held held{};
    return held;
  }

  void check() const noexcept
  {
    const Held &own = held();
    for (std::size_t i = 0; i < own.count; i++)
      if (own.mutexes[i]->rank_ >= rank_) {
        std::fprintf(stderr, "Mutexes are taken out of order: %s (rank %d) under %s (rank %d).\n",
                     name_, rank_, own.mutexes[i]->name_, own.mutexes[i]->rank_);
        std::abort();
      }
  }
  void push() const noexcept
  {
    Held &own = held();
    if (own.count == own.mutexes.size()) {
      std::fprintf(stderr, "A thread holds too many mutexes; the last is %s.\n", name_);
      std::abort();
    }
    own.mutexes[own.count++] = this;
  }
  // Mutexes may be let go in any order.
  void forget() const noexcept
  {
    Held &own = held();
    std::size_t at = own.count;
    while (at > 0 && own.mutexes[at - 1] != this)
      at--;
    if (at == 0)
      return; // not held by this thread: undefined for a std::mutex, too
    for (own.count--; at <= own.count; at++)
      own.mutexes[at - 1] = own.mutexes[at];
  }

  std::mutex mutex_;
  const int rank_;
  const char *const name_;
};

#endif

} // namespace gstdrm

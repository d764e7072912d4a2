// SPDX-License-Identifier: LGPL-2.1-or-later
// A mutex with a rank. A thread takes mutexes by rising rank alone, so that no two threads can wait
// for each other. Builds without NDEBUG check that when a mutex is taken, whether or not another
// thread is in the way, and end the process with both names; with NDEBUG it is a std::mutex. The
// check sees the mutexes of one module, which is where the ranks are given
// (docs/architecture.md). Any thread.
//
// OrderedCondition is the condition variable of such a mutex. std::condition_variable_any is not:
// it has a second mutex inside, which a thread that notifies still holds when the thread that waits
// wakes up, so that each wake-up costs up to two more futex calls.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#ifndef NDEBUG
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#endif

namespace gstdrm {

// The rank of a leaf: a mutex under which no other mutex of the table is taken.
inline constexpr int kLeafLockRank = 100;

#ifdef NDEBUG

class OrderedMutex : public std::mutex {
public:
  static constexpr bool kChecks = false;
  constexpr OrderedMutex(int /*rank*/, const char * /*name*/) noexcept {}
  [[nodiscard]] static const char *innermost() noexcept { return nullptr; }

private:
  friend class OrderedCondition;
  std::mutex &native() noexcept { return *this; }
};

#else

class OrderedMutex {
public:
  static constexpr bool kChecks = true;
  // `name` is a literal: the mutex as the table in docs/architecture.md calls it.
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
  // The name of the mutex that the calling thread took last of those that it holds; nullptr: it
  // holds none.
  [[nodiscard]] static const char *innermost() noexcept
  {
    const Held &own = held();
    return own.count == 0 ? nullptr : own.mutexes[own.count - 1]->name_;
  }

private:
  friend class OrderedCondition;
  std::mutex &native() noexcept { return mutex_; }

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

} // namespace gstdrm

// No message, signal or event is sent under a mutex of the table. Tests ask each
// module for its list by this name (tests/support/held_locks.hpp).
extern "C" [[gnu::used, gnu::visibility("default")]] inline const char *
gst_drm_innermost_lock() noexcept
{
  return gstdrm::OrderedMutex::innermost();
}

namespace gstdrm {

#endif

// A thread that waits keeps the mutex in its list of what it holds: it takes no other meanwhile.
class OrderedCondition {
public:
  void notify_all() noexcept { changed_.notify_all(); }

  void wait(std::unique_lock<OrderedMutex> &guard)
  {
    const Native native(guard);
    changed_.wait(native.lock);
  }
  template <typename Predicate>
  void wait(std::unique_lock<OrderedMutex> &guard, Predicate predicate)
  {
    const Native native(guard);
    changed_.wait(native.lock, std::move(predicate));
  }
  // false: `limit` has passed, and the predicate is still false.
  template <typename Rep, typename Period, typename Predicate>
  bool wait_for(std::unique_lock<OrderedMutex> &guard,
                const std::chrono::duration<Rep, Period> &limit, Predicate predicate)
  {
    const Native native(guard);
    return changed_.wait_for(native.lock, limit, std::move(predicate));
  }

private:
  // The std::mutex inside the one that `guard` holds, and goes on holding.
  struct Native {
    explicit Native(const std::unique_lock<OrderedMutex> &guard)
        : lock(guard.mutex()->native(), std::adopt_lock)
    {
    }
    ~Native() { static_cast<void>(lock.release()); }
    Native(const Native &) = delete;
    Native &operator=(const Native &) = delete;
    mutable std::unique_lock<std::mutex> lock;
  };

  std::condition_variable changed_;
};

} // namespace gstdrm

// It has a mutex of its own: each wake-up would cost up to two more futex calls. Use OrderedCondition.
#pragma GCC poison condition_variable_any

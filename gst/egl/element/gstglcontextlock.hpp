// SPDX-License-Identifier: LGPL-2.1-or-later
// Shared by threads that read an element's GL context, exclusive for its changes of state.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include <gst/drm/core/ordered_mutex.hpp>

namespace gstdrm {

// gst_gl_base_filter_reset() unrefs the context and the display before it clears them, without a
// lock, so that a query of another thread may take what is gone. So a reset waits until no other
// thread reads them, and nobody reads them during a reset. Any thread.
class ContextLock {
public:
  class Reader {
  public:
    explicit Reader(ContextLock &lock) : lock_(lock)
    {
      const std::lock_guard guard(lock_.lock_);
      may_read_ = lock_.writers_ == 0;
      if (may_read_)
        lock_.readers_.push_back(std::this_thread::get_id());
    }
    Reader(const Reader &) = delete;
    Reader &operator=(const Reader &) = delete;
    ~Reader()
    {
      if (!may_read_)
        return;
      const std::lock_guard guard(lock_.lock_);
      lock_.readers_.erase(std::ranges::find(lock_.readers_, std::this_thread::get_id()));
      lock_.reader_left_.notify_all();
    }
    // False during a change of state: the context must not be read.
    explicit operator bool() const noexcept { return may_read_; }

  private:
    ContextLock &lock_;
    bool may_read_ = false;
  };

  // Waits for the readers of other threads alone: a handler on the bus may set a state while its
  // thread reads.
  class Writer {
  public:
    explicit Writer(ContextLock &lock) : lock_(lock)
    {
      std::unique_lock guard(lock_.lock_);
      lock_.writers_++;
      is_alone_ = lock_.reader_left_.wait_for(guard, kLongest, [this] {
        const auto is_own = [](std::thread::id id) { return id == std::this_thread::get_id(); };
        return std::ranges::all_of(lock_.readers_, is_own);
      });
    }
    Writer(const Writer &) = delete;
    Writer &operator=(const Writer &) = delete;
    ~Writer()
    {
      const std::lock_guard guard(lock_.lock_);
      lock_.writers_--;
    }
    // False if another thread still reads after kLongest.
    [[nodiscard]] bool is_alone() const noexcept { return is_alone_; }

  private:
    ContextLock &lock_;
    bool is_alone_ = false;
  };

private:
  // How long a writer waits for a reader that does not end, because its thread waits in turn for
  // the change of state: a handler in the application, in the midst of a query for the context.
  static constexpr std::chrono::seconds kLongest{1};

  OrderedMutex lock_{kLeafLockRank, "ContextLock::lock_"}; // guards all below
  OrderedCondition reader_left_;
  std::vector<std::thread::id> readers_; // one entry for each Reader
  unsigned writers_ = 0;
};

} // namespace gstdrm

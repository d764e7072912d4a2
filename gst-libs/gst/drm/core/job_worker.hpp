// SPDX-License-Identifier: LGPL-2.1-or-later
// A thread for calls that sleep in a driver and that nothing can interrupt. Header only.
#pragma once

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "result.hpp"

namespace gstdrm {

// Runs jobs one after the other on a thread of its own. Any thread. The destructor waits for the job that is running and
// drops those behind it.
template <typename Job> class JobWorker {
public:
  // The largest number of jobs that are queued or running.
  static constexpr std::size_t kDepth = 4;
  enum class Outcome { Done, Cancelled };
  // Called on the worker's thread. An exception counts as an Error.
  using Run = std::function<Result<void>(const Job &job)>;

  explicit JobWorker(Run run) : run_(std::move(run)), thread_(&JobWorker::work, this) {}
  JobWorker(const JobWorker &) = delete;
  JobWorker &operator=(const JobWorker &) = delete;
  ~JobWorker()
  {
    {
      const std::lock_guard guard(lock_);
      quit_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // Queues a job and returns its ticket, for wait(). Jobs run in the order in which they were queued. Sleeps while kDepth
  // jobs are queued or running; where set_cancelled(true) ends that sleep, the job is dropped and there is no ticket.
  std::optional<std::uint64_t> submit(Job job)
  {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [this] { return cancelled_ || submitted_ - done_ < kDepth; });
    if (submitted_ - done_ >= kDepth)
      return std::nullopt;
    ring_[submitted_ % kDepth] = std::move(job);
    const std::uint64_t ticket = ++submitted_;
    guard.unlock();
    changed_.notify_all();
    return ticket;
  }

  // Sleeps until the job of that ticket is done, or set_cancelled(true) is called. The Error of any job is final: every
  // wait from then on returns it.
  Result<Outcome> wait(std::uint64_t ticket)
  {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [this, ticket] { return cancelled_ || done_ >= ticket; });
    if (!failed_)
      return failed_.error();
    return done_ >= ticket ? Outcome::Done : Outcome::Cancelled;
  }

  // While `cancelled` is true, neither wait() nor submit() sleeps. Jobs that are queued still run.
  void set_cancelled(bool cancelled)
  {
    {
      const std::lock_guard guard(lock_);
      cancelled_ = cancelled;
    }
    changed_.notify_all();
  }

private:
  // No exception leaves the thread: an exception becomes an Error, also one that the Error's text throws.
  Result<void> run_here(const Job &job) noexcept
  try {
    return run_(job);
  } catch (...) {
    return Error{ErrorCode::Device, "out of memory", ENOMEM}; // short enough to need none
  }

  void work() noexcept
  {
    std::unique_lock guard(lock_);
    while (true) {
      changed_.wait(guard, [this] { return quit_ || done_ < submitted_; });
      if (quit_)
        return;
      const Job job = std::exchange(ring_[done_ % kDepth], Job{});
      guard.unlock();
      Result<void> done = run_here(job);
      guard.lock();
      if (!done)
        failed_ = std::move(done);
      ++done_;
      changed_.notify_all();
    }
  }

  const Run run_;
  std::mutex lock_; // guards all below
  std::condition_variable changed_;
  std::array<Job, kDepth> ring_{};
  std::uint64_t submitted_ = 0;
  std::uint64_t done_ = 0;
  Result<void> failed_;
  bool cancelled_ = false;
  bool quit_ = false;
  std::thread thread_; // last: it uses all above
};

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
// A thread for calls that sleep in a driver and that nothing can interrupt. Header only.
#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "result.hpp"

namespace gstdrm {

// Runs jobs one after the other on a thread of its own. Any thread. The destructor lets the jobs
// run that are queued, for a limited time; a thread that still sleeps in its driver then goes on
// alone, with the jobs that it has and nothing of the worker's owner.
template <typename Job> class JobWorker {
public:
  // The largest number of jobs that are queued or running.
  static constexpr std::size_t kDepth = 4;
  // A GPU that hangs is reset by its driver within about ten seconds; nobody waits that long for a
  // pipeline to stop.
  static constexpr std::chrono::milliseconds kEndLimit{5000};
  enum class Outcome { Done, Cancelled };
  // Called on the worker's thread, perhaps after the destructor: it may use what it owns, and the
  // job. An exception counts as an Error.
  using Run = std::function<Result<void>(const Job &job)>;

  explicit JobWorker(Run run, std::chrono::milliseconds end_limit = kEndLimit)
      : end_limit_(end_limit), state_(std::make_shared<State>()),
        thread_(&JobWorker::work, state_, std::move(run))
  {
  }
  JobWorker(const JobWorker &) = delete;
  JobWorker &operator=(const JobWorker &) = delete;
  ~JobWorker()
  {
    bool ended = false;
    {
      std::unique_lock guard(state_->lock_);
      state_->quit_ = true;
      state_->changed_.notify_all();
      ended = state_->changed_.wait_for(guard, end_limit_, [this] { return state_->ended_; });
    }
    ended ? thread_.join() : thread_.detach();
  }

  // Queues a job and returns its ticket, for wait(). Jobs run in the order in which they were
  // queued. Sleeps while kDepth jobs are queued or running; where set_cancelled(true) ends that
  // sleep, the job is dropped and there is no ticket.
  std::optional<std::uint64_t> submit(Job job)
  {
    State &s = *state_;
    std::unique_lock guard(s.lock_);
    s.changed_.wait(guard, [&s] { return s.cancelled_ || s.submitted_ - s.done_ < kDepth; });
    if (s.submitted_ - s.done_ >= kDepth)
      return std::nullopt;
    s.ring_[s.submitted_ % kDepth] = std::move(job);
    const std::uint64_t ticket = ++s.submitted_;
    guard.unlock();
    s.changed_.notify_all();
    return ticket;
  }

  // Sleeps until the job of that ticket is done, or set_cancelled(true) is called. The Error of any
  // job is final: every wait from then on returns it.
  Result<Outcome> wait(std::uint64_t ticket)
  {
    return wait_until([ticket](const State &s) { return s.done_ >= ticket; });
  }

  // The same until no more than `most` jobs are queued or running.
  Result<Outcome> wait_for_room(std::size_t most)
  {
    return wait_until([most](const State &s) { return s.submitted_ - s.done_ <= most; });
  }

  // How many jobs are queued or running now.
  [[nodiscard]] std::size_t pending() const
  {
    const std::lock_guard guard(state_->lock_);
    return static_cast<std::size_t>(state_->submitted_ - state_->done_);
  }

  // While `cancelled` is true, neither a wait nor submit() sleeps. Jobs that are queued still run.
  void set_cancelled(bool cancelled)
  {
    {
      const std::lock_guard guard(state_->lock_);
      state_->cancelled_ = cancelled;
    }
    state_->changed_.notify_all();
  }

private:
  // Shared with the thread, which may outlive the worker.
  struct State {
    std::mutex lock_; // guards all below
    std::condition_variable changed_;
    std::array<Job, kDepth> ring_{};
    std::uint64_t submitted_ = 0;
    std::uint64_t done_ = 0;
    Result<void> failed_;
    bool cancelled_ = false;
    bool quit_ = false;
    bool ended_ = false; // the thread touches nothing but this any more
  };

  template <typename Reached> Result<Outcome> wait_until(Reached reached)
  {
    State &s = *state_;
    std::unique_lock guard(s.lock_);
    s.changed_.wait(guard, [&] { return s.cancelled_ || reached(s); });
    if (!s.failed_)
      return s.failed_.error();
    return reached(s) ? Outcome::Done : Outcome::Cancelled;
  }

  // No exception leaves the thread: an exception becomes an Error, also one that the Error's text
  // throws.
  static Result<void> run_here(const Run &run, const Job &job) noexcept
  try {
    return run(job);
  } catch (...) {
    return Error{ErrorCode::Device, "out of memory", ENOMEM}; // short enough to need none
  }

  static void work(const std::shared_ptr<State> &state, const Run &run) noexcept
  {
    State &s = *state;
    std::unique_lock guard(s.lock_);
    while (true) {
      s.changed_.wait(guard, [&s] { return s.quit_ || s.done_ < s.submitted_; });
      if (s.done_ == s.submitted_)
        break;
      Job job = std::exchange(s.ring_[s.done_ % kDepth], Job{});
      guard.unlock();
      Result<void> done = run_here(run, job);
      job = {}; // without the lock: what a job owns may call others
      guard.lock();
      if (!done)
        s.failed_ = std::move(done);
      ++s.done_;
      s.changed_.notify_all();
    }
    s.ended_ = true;
    s.changed_.notify_all();
  }

  const std::chrono::milliseconds end_limit_;
  const std::shared_ptr<State> state_;
  std::thread thread_; // last: it uses all above
};

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
// Requests for a runtime whose inference call blocks, perhaps for ever: a thread of its own makes
// the calls, one after the other.
#pragma once

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/timerfd.h>

#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/log.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "backend.hpp"

namespace gstdrm::metis {

// A timerfd(2): it becomes readable at a deadline without a thread that waits.
class DoneTimer {
public:
  using Clock = std::chrono::steady_clock; // CLOCK_MONOTONIC

  // ErrorCode::Device if the process has no descriptor left.
  static Result<DoneTimer> create()
  {
    UniqueFd fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    const int error = errno;
    if (!fd)
      return Error{ErrorCode::Device,
                   "No descriptor can be had for the timer of an inference: " + errno_text(error) +
                       ". Raise the limit of open files (ulimit -n), or close some.",
                   error};
    return DoneTimer(std::move(fd));
  }

  [[nodiscard]] int get() const noexcept { return fd_.get(); }

  // Replaces an earlier deadline.
  void expire_at(Clock::time_point deadline) const noexcept
  {
    using namespace std::chrono;
    const auto since_boot = deadline.time_since_epoch();
    const auto whole = duration_cast<seconds>(since_boot);
    itimerspec when{};
    when.it_value.tv_sec = static_cast<time_t>(whole.count());
    when.it_value.tv_nsec = static_cast<long>(nanoseconds(since_boot - whole).count());
    ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
  }
  // One nanosecond, because zero disarms the timer.
  void expire_now() const noexcept { expire_at(Clock::time_point(std::chrono::nanoseconds(1))); }

private:
  explicit DoneTimer(UniqueFd fd) noexcept : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

// What is wrong with the memory for that tensor; empty if it is right.
inline std::string wrong_memory(const TensorView &view, const TensorInfo &info, bool as_dmabuf)
{
  if (as_dmabuf && view.fd < 0)
    return "no dma-buf, which the runtime was told to expect";
  if (as_dmabuf && view.fd == 0)
    return "descriptor 0, which means host memory to the runtime; open standard input";
  if (!as_dmabuf && !view.data)
    return "no host memory";
  if (view.size_bytes < info.size_bytes())
    return "memory of " + std::to_string(view.size_bytes) + " bytes, and the tensor has " +
           std::to_string(info.size_bytes());
  return {};
}

// A runtime would write beyond an output that is too small.
inline Result<void> check_tensors(const Backend &backend, const Request &request)
{
  const Model &model = backend.model();
  if (request.outputs.size() != model.outputs.size())
    return Error{ErrorCode::Layout,
                 std::string(backend.name()) + ": The model \"" + model.path + "\" has " +
                     std::to_string(model.outputs.size()) + " outputs, and the request " +
                     std::to_string(request.outputs.size()) + ".",
                 EINVAL};
  std::string wrong = wrong_memory(request.input, model.input, backend.takes_dmabuf_input());
  std::string which = "input";
  for (std::size_t n = 0; wrong.empty() && n < model.outputs.size(); n++) {
    which = "output " + std::to_string(n);
    wrong = wrong_memory(request.outputs[n], model.outputs[n], backend.takes_dmabuf_output());
  }
  if (!wrong.empty())
    return Error{ErrorCode::Layout,
                 std::string(backend.name()) + ": The " + which + " of the model \"" + model.path +
                     "\" has " + wrong + ".",
                 EINVAL};
  return {};
}

struct BlockingLimits {
  std::chrono::milliseconds timeout; // of one call
  unsigned max_in_flight;
  const char *name; // for messages; a literal
};

// The back ends cpu and axruntime give it `run`, which it calls on its thread. No function waits
// for the runtime, except that the destructor lets a running call use the rest of its time. A call
// that does not return after that keeps its thread, `run` with all it holds, and the request's
// keeper until it returns; the process may end before. Any thread.
class BlockingRuns {
public:
  struct Call {
    TensorView input;
    std::vector<TensorView> outputs;
    std::shared_ptr<const void> keeper; // Request::keeper
  };
  using Run = std::function<Result<void>(const Call &call)>;

  BlockingRuns(Run run, BlockingLimits limits)
      : shared_(std::make_shared<Shared>(std::move(run), limits)), thread_(&work, shared_)
  {
  }
  BlockingRuns(const BlockingRuns &) = delete;
  BlockingRuns &operator=(const BlockingRuns &) = delete;
  ~BlockingRuns()
  {
    if (shared_->stop()) {
      thread_.join();
      return;
    }
    GSTDRM_WARNING(
        "%s: A call has not come back within %lld ms. Its thread and its memory are left "
        "to it.",
        shared_->limits.name, static_cast<long long>(shared_->limits.timeout.count()));
    thread_.detach();
  }

  // ErrorCode::Sync with ETIMEDOUT if a running call has used up its time; ErrorCode::Conflict with
  // EBUSY if max_in_flight requests are not finished.
  Result<Submitted> submit(const Request &request)
  {
    auto done = DoneTimer::create();
    if (!done)
      return done.error();
    return shared_->add(
        Job{{request.input, {request.outputs.begin(), request.outputs.end()}, request.keeper},
            std::move(*done)});
  }

  // Call it when `done` is readable. ErrorCode::Sync with ETIMEDOUT if the time is over.
  Result<Finished> finish(std::uint64_t id) { return shared_->finish(id); }

private:
  using Clock = DoneTimer::Clock;

  // One request, until finish() has returned and its call, if it was begun, has come back.
  struct Job {
    Call call; // empty after the job has left the queue
    DoneTimer done;
    Clock::time_point deadline = Clock::time_point::max(); // until begin() sets it
    std::optional<Result<Finished>> outcome = std::nullopt;
    bool given_up = false; // finish() has returned ETIMEDOUT, and the call is still running
    [[nodiscard]] bool overdue() const { return Clock::now() >= deadline; }
  };
  using Jobs = std::map<std::uint64_t, Job>; // oldest first

  // What the worker thread shares with BlockingRuns. The thread may outlive BlockingRuns.
  struct Shared {
    Shared(Run to_run, BlockingLimits its_limits) : run(std::move(to_run)), limits(its_limits) {}

    const Run run;
    const BlockingLimits limits;
    std::mutex lock; // guards all below
    std::condition_variable changed;
    Jobs jobs;
    std::uint64_t last_id = 0;
    std::uint64_t last_begun = 0; // or dropped; jobs with a higher id are queued
    std::uint64_t running = 0;    // 0 if no call is running
    bool quit = false;

    Jobs::iterator first_queued() { return jobs.upper_bound(last_begun); }
    [[nodiscard]] bool stuck() const { return running != 0 && jobs.at(running).overdue(); }
    [[nodiscard]] Error timed_out(const std::string &what) const
    {
      return Error{ErrorCode::Sync,
                   std::string(limits.name) + ": " + what + " within " +
                       std::to_string(limits.timeout.count()) + " ms.",
                   ETIMEDOUT};
    }
    [[nodiscard]] Error not_begun(std::uint64_t id) const
    {
      return timed_out("Inference " + std::to_string(id) + " was not begun");
    }

    Result<Submitted> add(Job job)
    {
      const std::lock_guard guard(lock);
      if (stuck())
        return timed_out("Inference " + std::to_string(running) +
                         ", which is before this one, has not come back");
      const std::size_t in_flight =
          jobs.size() - (running != 0 && jobs.at(running).given_up ? 1 : 0);
      if (in_flight >= limits.max_in_flight)
        return Error{ErrorCode::Conflict,
                     std::string(limits.name) + ": " + std::to_string(in_flight) +
                         " requests are on their way, which is the most.",
                     EBUSY};
      set_deadline(job);
      Submitted submitted;
      submitted.id = ++last_id;
      submitted.done = job.done.get();
      jobs.emplace(submitted.id, std::move(job));
      changed.notify_all();
      return submitted;
    }

    // Behind a running call the time of a job follows the time of the jobs before it. Otherwise
    // begin() sets the deadline, so that only the time of the runtime counts.
    void set_deadline(Job &job)
    {
      if (running == 0)
        return;
      const Job &before =
          first_queued() == jobs.end() ? jobs.at(running) : std::prev(jobs.end())->second;
      job.deadline = std::max(Clock::now(), before.deadline) + limits.timeout;
      job.done.expire_at(job.deadline);
    }

    // The next job and its call, for the worker thread. Sleeps while there is none. Returns nullopt
    // when the thread has to end.
    std::optional<Call> next()
    {
      std::unique_lock guard(lock);
      changed.wait(guard, [this] { return quit || first_queued() != jobs.end(); });
      if (quit)
        return std::nullopt;
      begin();
      const auto first = first_queued();
      running = last_begun = first->first;
      return std::move(first->second.call);
    }

    // Sets the deadlines of the queued jobs from now on. They only come nearer, because the caller
    // may have seen `done` readable.
    void begin()
    {
      auto deadline = Clock::now();
      for (auto job = first_queued(); job != jobs.end(); ++job) {
        deadline += limits.timeout;
        if (job->second.deadline <= deadline)
          continue;
        job->second.deadline = deadline;
        job->second.done.expire_at(deadline);
      }
    }

    // Does not call the runtime if the job's time was over before the thread came to it.
    Result<Finished> call_runtime(const Call &call) noexcept
    try {
      {
        const std::lock_guard guard(lock);
        if (stuck())
          return not_begun(running);
      }
      const auto start = Clock::now();
      const Result<void> ran = run(call);
      const auto end = Clock::now();
      if (!ran)
        return ran.error();
      return Finished{end - start, {}};
    } catch (...) {
      return Error{ErrorCode::Device, "out of memory", ENOMEM}; // fits without an allocation
    }

    void came_back(Result<Finished> outcome)
    {
      const std::lock_guard guard(lock);
      const auto job = jobs.find(std::exchange(running, 0));
      if (job->second.given_up) {
        jobs.erase(job);
      } else {
        job->second.outcome = std::move(outcome);
        job->second.done.expire_now();
      }
      changed.notify_all();
    }

    Result<Finished> finish(std::uint64_t id)
    {
      std::vector<Call> dropped; // destroyed without the lock, because of their keepers
      const std::lock_guard guard(lock);
      dropped = drop_late();
      const auto job = jobs.find(id);
      if (job != jobs.end() && job->second.outcome) {
        Result<Finished> outcome = std::move(*job->second.outcome);
        jobs.erase(job);
        return outcome;
      }
      if (stuck() && running == id && !std::exchange(job->second.given_up, true))
        return timed_out("Inference " + std::to_string(id) + " was not done");
      return Error{ErrorCode::Sync,
                   std::string(limits.name) + ": Inference " + std::to_string(id) + " is not done.",
                   0};
    }

    // Ends queued jobs that are late, and all of them if the running call is late.
    std::vector<Call> drop_late()
    {
      std::vector<Call> late;
      const bool all = stuck();
      for (auto job = first_queued(); job != jobs.end() && (all || job->second.overdue()); ++job) {
        last_begun = job->first;
        late.push_back(std::move(job->second.call));
        job->second.outcome = not_begun(job->first);
        job->second.done.expire_now();
      }
      return late;
    }

    // Returns true if the worker thread ends now, false if its call does not come back.
    bool stop()
    {
      Jobs dropped; // destroyed without the lock
      std::unique_lock guard(lock);
      quit = true;
      while (first_queued() != jobs.end())
        dropped.insert(jobs.extract(first_queued()));
      changed.notify_all();
      if (running == 0)
        return true;
      const auto deadline = jobs.at(running).deadline; // a copy: the job may go meanwhile
      return changed.wait_until(guard, deadline, [this] { return running == 0; });
    }
  };

  static void work(const std::shared_ptr<Shared> &shared) noexcept
  {
    while (std::optional<Call> call = shared->next()) {
      Result<Finished> outcome = shared->call_runtime(*call);
      call.reset(); // before `done` is readable: the caller may reuse the memory then
      shared->came_back(std::move(outcome));
    }
  }

  const std::shared_ptr<Shared> shared_;
  std::thread thread_; // last member: it uses shared_
};

} // namespace gstdrm::metis

// SPDX-License-Identifier: LGPL-2.1-or-later
// Requests for a runtime whose one inference call blocks, perhaps for ever: a worker makes the
// calls, one after the other.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gst/drm/core/log.hpp>
#include <gst/drm/core/poll_wait.hpp>

#include "backend.hpp"
#include "done_timer.hpp"

namespace gstdrm::metis {

struct BlockingLimits {
  std::chrono::milliseconds timeout{
      -1}; // of one call; negative: none, the destructor waits as well
  unsigned max_in_flight = 16;
  const char *name = "runtime"; // for messages; a literal
};

// Used by the back ends that block: they hand over `run`, which is called on the worker's thread.
// No function of this class waits for the runtime, except that the destructor gives the call that
// is running the rest of its time. A call that does not come back then keeps its thread, `run` with
// all it holds, and the request's keeper, until it does; the process may end before.
class BlockingRuns {
public:
  struct Call {
    TensorView input;
    std::vector<TensorView> outputs;
    std::shared_ptr<const void> keeper; // owner of the memory
  };
  using Run = std::function<Result<void>(const Call &call)>;

  explicit BlockingRuns(Run run, BlockingLimits limits = {})
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

  // Never sleeps. ErrorCode::Sync with ETIMEDOUT: an earlier call has used up its time and has not
  // come back yet. ErrorCode::Conflict with EBUSY: max_in_flight requests are not finished.
  Result<Submitted> submit(const Request &request)
  {
    auto done = DoneTimer::create();
    if (!done)
      return done.error();
    Submitted submitted;
    submitted.done = done->get();
    Job job;
    job.call = {request.input, {request.outputs.begin(), request.outputs.end()}, request.keeper};
    job.done = std::make_shared<const DoneTimer>(std::move(*done));
    Result<std::uint64_t> id = shared_->add(std::move(job));
    if (!id)
      return id.error();
    submitted.id = *id;
    return submitted;
  }

  // Once `done` is readable. ErrorCode::Sync with ETIMEDOUT: the time is over; the call may still
  // read and write the request's memory, which its keeper keeps.
  Result<Finished> finish(std::uint64_t id) { return shared_->finish(id); }

private:
  using Clock = DoneTimer::Clock;

  struct Job {
    std::uint64_t id = 0;
    Call call;
    std::shared_ptr<const DoneTimer> done;
    Deadline deadline;
    [[nodiscard]] bool overdue() const { return deadline && Clock::now() >= *deadline; }
  };
  // The job that the worker has; the worker alone has its memory.
  struct Running {
    Job job; // without the call
    bool given_up = false;
  };

  // What the worker and its owner have in common. The worker's reference lasts as long as its
  // thread.
  struct Shared {
    Shared(Run to_run, BlockingLimits its_limits) : run(std::move(to_run)), limits(its_limits) {}

    const Run run;
    const BlockingLimits limits;
    std::mutex lock; // guards all below
    std::condition_variable changed;
    std::deque<Job> queued;
    std::optional<Running> running;
    std::map<std::uint64_t, Result<Finished>> outcomes;
    std::map<std::uint64_t, std::shared_ptr<const DoneTimer>> timers; // of what is not finished
    std::uint64_t last_id = 0;
    unsigned in_flight = 0; // submitted and not finished
    bool quit = false;

    [[nodiscard]] bool stuck() const { return running && running->job.overdue(); }
    [[nodiscard]] Error timed_out(const std::string &what) const
    {
      return Error{ErrorCode::Sync,
                   std::string(limits.name) + ": " + what + " within " +
                       std::to_string(limits.timeout.count()) +
                       " ms. Raise the timeout if the model takes that long.",
                   ETIMEDOUT};
    }

    Result<std::uint64_t> add(Job job)
    {
      const std::lock_guard guard(lock);
      if (stuck())
        return timed_out("Inference " + std::to_string(running->job.id) +
                         ", which is before this one, has not come back");
      if (in_flight >= limits.max_in_flight)
        return Error{ErrorCode::Conflict,
                     std::string(limits.name) + ": " + std::to_string(in_flight) +
                         " requests are on their way, which is the most.",
                     EBUSY};
      job.id = ++last_id;
      set_deadline(job);
      const std::uint64_t id = job.id;
      timers.emplace(id, job.done);
      queued.push_back(std::move(job));
      ++in_flight;
      changed.notify_all();
      return id;
    }

    // Where a call is running, each request behind it has its own time after that of those before.
    // Where none is, begin() sets the deadline: only the runtime's time counts.
    void set_deadline(Job &job) const
    {
      if (!running || !running->job.deadline)
        return;
      const Job &before = queued.empty() ? running->job : queued.back();
      job.deadline = std::max(Clock::now(), *before.deadline) + limits.timeout;
      job.done->expire_at(*job.deadline);
    }

    // For the worker: sleeps until there is a job; empty: the thread's end.
    std::optional<Job> next()
    {
      std::unique_lock guard(lock);
      changed.wait(guard, [this] { return quit || !queued.empty(); });
      if (quit)
        return std::nullopt;
      Job job = std::move(queued.front());
      queued.pop_front();
      if (limits.timeout.count() >= 0)
        begin(job);
      running = Running{Job{job.id, {}, job.done, job.deadline}};
      return job;
    }

    // Deadlines only ever come nearer: `done` may have been seen readable.
    void begin(Job &job)
    {
      auto deadline = Clock::now();
      const auto bring_nearer = [&deadline, this](Job &each) {
        deadline += limits.timeout;
        if (each.deadline && *each.deadline <= deadline)
          return;
        each.deadline = deadline;
        each.done->expire_at(deadline);
      };
      bring_nearer(job);
      std::for_each(queued.begin(), queued.end(), bring_nearer);
    }

    void came_back(Result<Finished> outcome)
    {
      const std::lock_guard guard(lock);
      if (!running->given_up)
        outcomes.emplace(running->job.id, std::move(outcome));
      running->job.done->expire_now();
      running.reset();
    }

    Result<Finished> finish(std::uint64_t id)
    {
      std::deque<Job> dropped; // their keepers are let go after the lock
      const std::lock_guard guard(lock);
      dropped = drop_late();
      if (const auto found = outcomes.find(id); found != outcomes.end()) {
        Result<Finished> outcome = std::move(found->second);
        outcomes.erase(found);
        end(id);
        return outcome;
      }
      if (stuck() && running->job.id == id && !running->given_up) {
        running->given_up = true;
        end(id);
        return timed_out("Inference " + std::to_string(id) + " was not done");
      }
      return Error{ErrorCode::Sync,
                   std::string(limits.name) + ": Inference " + std::to_string(id) + " is not done.",
                   0};
    }

    void end(std::uint64_t id)
    {
      timers.erase(id);
      --in_flight;
    }

    // Nothing runs what is behind a call that does not come back, nor what is late itself.
    std::deque<Job> drop_late()
    {
      std::deque<Job> late;
      const bool all = stuck();
      while (!queued.empty() && (all || queued.front().overdue())) {
        Job &job = late.emplace_back(std::move(queued.front()));
        queued.pop_front();
        outcomes.emplace(job.id,
                         timed_out("Inference " + std::to_string(job.id) + " was not begun"));
        job.done->expire_now();
      }
      return late;
    }

    // Whether the worker's thread is about to end.
    bool stop()
    {
      std::deque<Job> dropped;
      std::shared_ptr<const DoneTimer> last;
      {
        const std::lock_guard guard(lock);
        quit = true;
        dropped.swap(queued);
        if (running)
          last = running->job.done;
        changed.notify_all();
      }
      for (const Job &job : dropped)
        job.done->expire_now();
      if (last)
        poll_readable(last->get(), std::nullopt); // ends at the deadline, if there is one
      const std::lock_guard guard(lock);
      return !running;
    }
  };

  static void work(const std::shared_ptr<Shared> &shared) noexcept
  {
    while (std::optional<Job> job = shared->next()) {
      Result<Finished> outcome = call(*shared, *job);
      job->call = {}; // the keeper goes first: whoever sees the request done may use its memory
      shared->came_back(std::move(outcome));
    }
  }

  static Result<Finished> call(const Shared &shared, const Job &job) noexcept
  try {
    if (job.overdue())
      return shared.timed_out("Inference " + std::to_string(job.id) + " was not begun");
    const auto start = Clock::now();
    const Result<void> ran = shared.run(job.call);
    const auto end = Clock::now();
    if (!ran)
      return ran.error();
    return Finished{end - start};
  } catch (...) {
    return Error{ErrorCode::Device, "out of memory", ENOMEM}; // short enough to need none
  }

  const std::shared_ptr<Shared> shared_;
  std::thread thread_; // last: uses all above
};

} // namespace gstdrm::metis

// SPDX-License-Identifier: LGPL-2.1-or-later
// Requests for a runtime whose one inference call blocks: a worker makes the calls, one after the
// other.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <gst/drm/core/job_worker.hpp>
#include <gst/drm/core/wake_fd.hpp>

#include "backend.hpp"

namespace gstdrm::metis {

// Used by the back ends that block: they hand over `run`, which is called on the worker's thread.
class BlockingRuns {
public:
  struct Call {
    TensorView input;
    std::vector<TensorView> outputs;
  };
  using Run = std::function<Result<void>(const Call &call)>;

  explicit BlockingRuns(Run run)
      : run_(std::move(run)), worker_([this](const Job &job) { return work(job); })
  {
  }

  Result<Submitted> submit(const Request &request)
  {
    auto done = WakeFd::create();
    if (!done)
      return done.error();
    UniqueFd readable(::dup(done->get()));
    if (!readable)
      return Error{ErrorCode::Device, "No descriptor for a request.", errno};
    Job job{++last_id_,
            std::make_shared<Call>(
                Call{request.input, {request.outputs.begin(), request.outputs.end()}}),
            std::make_shared<WakeFd>(std::move(*done))};
    Submitted submitted;
    submitted.id = job.id;
    submitted.done = std::move(readable);
    worker_.submit(std::move(job));
    return submitted;
  }

  Result<Finished> finish(std::uint64_t id)
  {
    const std::lock_guard guard(lock_);
    const auto found = outcomes_.find(id);
    if (found == outcomes_.end())
      return Error{ErrorCode::Sync, "The request is not done.", 0};
    Result<Finished> outcome = std::move(found->second);
    outcomes_.erase(found);
    return outcome;
  }

private:
  struct Job {
    std::uint64_t id = 0;
    std::shared_ptr<Call> call;
    std::shared_ptr<WakeFd> done;
  };

  // An Error of one request is the request's own, not the worker's.
  Result<void> work(const Job &job)
  {
    const auto start = std::chrono::steady_clock::now();
    const Result<void> ran = run_(*job.call);
    const auto end = std::chrono::steady_clock::now();
    {
      const std::lock_guard guard(lock_);
      if (ran)
        outcomes_.emplace(job.id, Finished{end - start});
      else
        outcomes_.emplace(job.id, ran.error());
    }
    job.done->wake();
    return {};
  }

  const Run run_;
  std::mutex lock_; // guards outcomes_
  std::map<std::uint64_t, Result<Finished>> outcomes_;
  std::uint64_t last_id_ = 0;
  JobWorker<Job> worker_; // last: uses all above
};

} // namespace gstdrm::metis

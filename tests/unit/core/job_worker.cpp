// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gst/drm/core/job_worker.hpp"

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace gstdrm;
using Worker = JobWorker<int>;

// Jobs wait here until they are let through.
class Gate {
public:
  void open()
  {
    const std::lock_guard guard(lock_);
    open_ = true;
    changed_.notify_all();
  }
  void pass()
  {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [this] { return open_; });
  }

private:
  std::mutex lock_; // guards open_
  std::condition_variable changed_;
  bool open_ = false;
};

TEST(JobWorker, does_jobs_in_order)
{
  std::vector<int> done; // read after wait(), which follows the job
  Worker worker([&done](int job) -> Result<void> {
    done.push_back(job);
    return {};
  });
  std::uint64_t last = 0;
  for (int job = 0; job < 20; job++)
    last = worker.submit(job);
  EXPECT_EQ(last, 20U);
  Result<Worker::Outcome> outcome = worker.wait(last);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(*outcome, Worker::Outcome::Done);
  ASSERT_EQ(done.size(), 20U);
  for (int job = 0; job < 20; job++)
    EXPECT_EQ(done[static_cast<std::size_t>(job)], job);
}

TEST(JobWorker, a_cancelled_wait_does_not_sleep)
{
  Gate gate;
  Worker worker([&gate](int) -> Result<void> {
    gate.pass();
    return {};
  });
  const std::uint64_t ticket = worker.submit(1);
  std::thread canceller([&worker] { worker.set_cancelled(true); });
  Result<Worker::Outcome> outcome = worker.wait(ticket);
  canceller.join();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(*outcome, Worker::Outcome::Cancelled);
  worker.set_cancelled(false);
  gate.open();
  outcome = worker.wait(ticket);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(*outcome, Worker::Outcome::Done);
}

TEST(JobWorker, an_error_is_of_every_wait_from_then_on)
{
  Worker worker([](int job) -> Result<void> {
    if (job == 1)
      return Error{ErrorCode::Device, "lost", EIO};
    return {};
  });
  worker.submit(1);
  Result<Worker::Outcome> outcome = worker.wait(worker.submit(2));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().sys_errno, EIO);
}

TEST(JobWorker, an_exception_is_an_error)
{
  Worker worker([](int) -> Result<void> { throw std::runtime_error("thrown"); });
  Result<Worker::Outcome> outcome = worker.wait(worker.submit(1));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::Device);
}

TEST(JobWorker, ends_with_jobs_behind_the_one_that_runs)
{
  Gate gate;
  {
    Worker worker([&gate](int) -> Result<void> {
      gate.pass();
      return {};
    });
    for (std::size_t i = 0; i < Worker::kDepth; i++)
      worker.submit(1);
    gate.open();
  }
}

} // namespace

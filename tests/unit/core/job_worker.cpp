// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gst/drm/core/job_worker.hpp"

#include <atomic>
#include <cerrno>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "support/gate.hpp"

namespace {

using namespace gstdrm;
using gstdrm::test::Gate;
using Worker = JobWorker<int>;

TEST(JobWorker, does_jobs_in_order)
{
  std::vector<int> done; // read after wait(), which follows the job
  Worker worker([&done](int job) -> Result<void> {
    done.push_back(job);
    return {};
  });
  std::uint64_t last = 0;
  for (int job = 0; job < 20; job++)
    last = worker.submit(job).value();
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
  const std::uint64_t ticket = worker.submit(1).value();
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
  worker.set_cancelled(true); // a job that is done stays so
  outcome = worker.wait(ticket);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(*outcome, Worker::Outcome::Done);
}

// A device that hangs while flush follows flush: what is behind kDepth jobs does not sleep either.
TEST(JobWorker, a_cancelled_submit_does_not_sleep)
{
  Gate gate;
  Worker worker([&gate](int) -> Result<void> {
    gate.pass();
    return {};
  });
  for (std::size_t i = 0; i < Worker::kDepth; i++)
    EXPECT_TRUE(worker.submit(1));
  std::thread canceller([&worker] { worker.set_cancelled(true); });
  EXPECT_FALSE(worker.submit(2));
  canceller.join();
  EXPECT_FALSE(worker.submit(2));
  worker.set_cancelled(false);
  gate.open();
  const auto ticket = worker.submit(2);
  ASSERT_TRUE(ticket);
  EXPECT_EQ(*ticket, Worker::kDepth + 1); // those that were dropped have no number
  EXPECT_TRUE(worker.wait(*ticket));
}

TEST(JobWorker, a_job_is_let_go_when_it_is_done)
{
  JobWorker<std::shared_ptr<int>> worker([](const std::shared_ptr<int> &) { return Result<void>(); });
  auto job = std::make_shared<int>(1);
  const std::weak_ptr<int> alive = job;
  worker.submit(std::move(job));
  EXPECT_TRUE(worker.wait(worker.submit({}).value())); // the first one is over
  EXPECT_TRUE(alive.expired());
}

TEST(JobWorker, an_error_is_of_every_wait_from_then_on)
{
  Worker worker([](int job) -> Result<void> {
    if (job == 1)
      return Error{ErrorCode::Device, "lost", EIO};
    return {};
  });
  worker.submit(1);
  Result<Worker::Outcome> outcome = worker.wait(worker.submit(2).value());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().sys_errno, EIO);
}

TEST(JobWorker, an_exception_is_an_error)
{
  Worker worker([](int) -> Result<void> { throw std::runtime_error("thrown"); });
  Result<Worker::Outcome> outcome = worker.wait(worker.submit(1).value());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::Device);
}

// Whether the thread sleeps, as the kernel sees it.
bool sleeps(pid_t thread)
{
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && text.size() > end + 2 && text[end + 2] == 'S';
}

TEST(JobWorker, drops_the_jobs_behind_the_one_that_runs)
{
  const pid_t owner = ::gettid();
  std::atomic<bool> started{false};
  std::atomic<bool> ends{false};
  std::atomic<int> done{0};
  {
    Worker worker([&](int) -> Result<void> {
      started = true;
      while (!ends || !sleeps(owner)) // in the destructor, which waits for this job
        std::this_thread::yield();
      done++;
      return {};
    });
    for (std::size_t i = 0; i < Worker::kDepth; i++)
      worker.submit(1);
    while (!started)
      std::this_thread::yield();
    ends = true;
  }
  EXPECT_EQ(done, 1);
}

} // namespace

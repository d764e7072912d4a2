// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gst/drm/core/job_worker.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

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

TEST(JobWorker, waits_until_few_jobs_are_left)
{
  std::array<Gate, 3> gates;
  Worker worker([&gates](int job) -> Result<void> {
    gates[static_cast<std::size_t>(job)].pass();
    return {};
  });
  for (int job = 0; job < 3; job++)
    worker.submit(job);
  EXPECT_EQ(worker.pending(), 3U);
  EXPECT_EQ(*worker.wait_for_room(3), Worker::Outcome::Done);
  worker.set_cancelled(true);
  EXPECT_EQ(*worker.wait_for_room(2), Worker::Outcome::Cancelled);
  worker.set_cancelled(false);
  gates[0].open();
  EXPECT_EQ(*worker.wait_for_room(2), Worker::Outcome::Done);
  EXPECT_EQ(worker.pending(), 2U);
  gates[1].open();
  gates[2].open();
  EXPECT_EQ(*worker.wait_for_room(0), Worker::Outcome::Done);
  EXPECT_EQ(worker.pending(), 0U);
}

// What a job keeps may call other elements, which may ask the worker.
TEST(JobWorker, lets_go_of_a_job_without_its_lock)
{
  JobWorker<std::shared_ptr<void>> worker([](const std::shared_ptr<void> &) { return Result<void>(); });
  std::size_t pending = 0;
  worker.submit(std::shared_ptr<void>(&worker, [&pending](void *asked) {
    pending = static_cast<JobWorker<std::shared_ptr<void>> *>(asked)->pending();
  }));
  EXPECT_TRUE(worker.wait_for_room(0));
  EXPECT_EQ(pending, 1U);
}

// A buffer that a device reads goes back when the device has read it, also when the pipeline stops.
TEST(JobWorker, runs_the_jobs_that_are_queued_when_it_ends)
{
  std::atomic<int> done{0};
  {
    Worker worker([&done](int) -> Result<void> {
      done++;
      return {};
    });
    for (std::size_t i = 0; i < Worker::kDepth; i++)
      worker.submit(1);
  }
  EXPECT_EQ(done, static_cast<int>(Worker::kDepth));
}

// A driver that never returns. What the thread uses afterwards is its own.
TEST(JobWorker, a_job_that_hangs_does_not_hold_up_the_end)
{
  const auto gate = std::make_shared<Gate>();
  std::weak_ptr<int> alive;
  {
    JobWorker<std::shared_ptr<int>> worker(
        [gate](const std::shared_ptr<int> &) -> Result<void> {
          gate->pass();
          return {};
        },
        std::chrono::milliseconds(0));
    worker.submit(std::make_shared<int>(2));
    auto job = std::make_shared<int>(1);
    alive = job;
    worker.submit(std::move(job));
  }
  EXPECT_FALSE(alive.expired()); // the device may still use it
  gate->open();
  while (!alive.expired())
    std::this_thread::yield();
}

} // namespace

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "engine/blocking_runs.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <gst/drm/core/log.hpp>
#include <gst/drm/core/poll_wait.hpp>

#include "support/gate.hpp"
#include "support/threads.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::metis;
using gstdrm::test::Gate;
using namespace std::chrono_literals;

constexpr BlockingLimits kPatient{1h, 16, "test"};
constexpr BlockingLimits kShort{300ms, 16, "test"};

// A tensor on the heap, and word of when its last owner let go.
struct Memory {
  std::array<std::byte, 64> bytes{};
  std::promise<void> gone;
};

struct Tracked {
  std::shared_ptr<Memory> memory;
  std::future<void> gone;
};

Tracked tracked()
{
  auto gone = std::make_shared<std::promise<void>>();
  std::future<void> word = gone->get_future();
  return {std::shared_ptr<Memory>(new Memory,
                                  [gone](Memory *memory) {
                                    std::unique_ptr<Memory>(memory).reset();
                                    gone->set_value();
                                  }),
          std::move(word)};
}

Request request_of(const std::shared_ptr<Memory> &memory)
{
  Request request;
  request.input = {-1, memory->bytes.data(), memory->bytes.size()};
  request.keeper = memory;
  return request;
}

PollEnd wait_for(const Submitted &submitted)
{
  return poll_readable(submitted.done, std::nullopt).end;
}

void expect_timed_out(const Result<Finished> &finished)
{
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, ErrorCode::Sync);
  EXPECT_EQ(finished.error().sys_errno, ETIMEDOUT);
  EXPECT_NE(finished.error().message.find("within 300 ms"), std::string::npos)
      << finished.error().message;
}

TEST(BlockingRuns, calls_in_order)
{
  std::vector<std::size_t> sizes; // read after finish(), which follows the call
  BlockingRuns runs(
      [&sizes](const BlockingRuns::Call &call) -> Result<void> {
        sizes.push_back(call.input.size_bytes);
        return {};
      },
      kPatient);
  for (std::size_t n = 1; n <= 100; n++) {
    Request request;
    request.input.size_bytes = n;
    Result<Submitted> submitted = runs.submit(request);
    ASSERT_TRUE(submitted) << submitted.error().message;
    EXPECT_EQ(submitted->id, n);
    EXPECT_EQ(wait_for(*submitted), PollEnd::Ready);
    ASSERT_TRUE(runs.finish(submitted->id));
    ASSERT_EQ(sizes.size(), n);
    EXPECT_EQ(sizes.back(), n);
  }
}

TEST(BlockingRuns, sixteen_are_on_their_way_without_a_sleep)
{
  Gate gate;
  BlockingRuns runs(
      [&gate](const BlockingRuns::Call &) -> Result<void> {
        gate.pass();
        return {};
      },
      kPatient);
  std::vector<Submitted> submitted;
  for (int n = 0; n < 16; n++) {
    Result<Submitted> one = runs.submit({});
    ASSERT_TRUE(one) << one.error().message;
    submitted.push_back(std::move(*one));
  }
  const Result<Submitted> one_more = runs.submit({});
  ASSERT_FALSE(one_more);
  EXPECT_EQ(one_more.error().code, ErrorCode::Conflict);
  EXPECT_EQ(one_more.error().sys_errno, EBUSY);
  EXPECT_EQ(poll_readable(submitted[0].done, deadline_after(0ns)).end, PollEnd::TimeIsOver);
  const Result<Finished> early = runs.finish(submitted[0].id);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().sys_errno, 0);
  gate.open();
  for (const Submitted &each : submitted) {
    EXPECT_EQ(wait_for(each), PollEnd::Ready);
    EXPECT_TRUE(runs.finish(each.id));
  }
  EXPECT_FALSE(runs.finish(submitted[0].id)) << "finished twice";
  EXPECT_TRUE(runs.submit({})) << "a finished request still counts";
}

TEST(BlockingRuns, no_descriptor_is_left)
{
  BlockingRuns runs([](const BlockingRuns::Call &) -> Result<void> { return {}; }, kPatient);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Result<Submitted> refused = runs.submit({});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sys_errno, EMFILE);
  EXPECT_NE(refused.error().message.find("ulimit -n"), std::string::npos);
  EXPECT_TRUE(runs.submit({}));
}

struct OutcomeRow {
  const char *name;
  std::function<Result<void>()> call;
  ErrorCode code;
  int sys_errno;
};
class Outcomes : public testing::TestWithParam<OutcomeRow> {};

// An Error is that of its request alone.
TEST_P(Outcomes, are_of_one_request)
{
  bool first = true;
  BlockingRuns runs(
      [&first](const BlockingRuns::Call &) -> Result<void> {
        if (std::exchange(first, false))
          return GetParam().call();
        return {};
      },
      kPatient);
  Result<Submitted> failing = runs.submit({});
  Result<Submitted> good = runs.submit({});
  ASSERT_TRUE(failing && good);
  EXPECT_EQ(wait_for(*failing), PollEnd::Ready);
  EXPECT_EQ(wait_for(*good), PollEnd::Ready);
  const Result<Finished> failed = runs.finish(failing->id);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, GetParam().code);
  EXPECT_EQ(failed.error().sys_errno, GetParam().sys_errno);
  EXPECT_TRUE(runs.finish(good->id));
}

const OutcomeRow kOutcomes[] = {
    {"an_error", [] { return Result<void>(Error{ErrorCode::Device, "no", EIO}); }, ErrorCode::Device, EIO},
    {"a_lost_device", [] { return Result<void>(Error{ErrorCode::Device, "gone", ENODEV}); }, ErrorCode::Device, ENODEV},
    {"an_exception", []() -> Result<void> { throw std::bad_alloc(); }, ErrorCode::Device, ENOMEM},
};
INSTANTIATE_TEST_SUITE_P(, Outcomes, testing::ValuesIn(kOutcomes),
                         [](const auto &row) { return row.param.name; });

TEST(BlockingRuns, a_keeper_is_let_go_before_the_request_is_done)
{
  BlockingRuns runs([](const BlockingRuns::Call &) -> Result<void> { return {}; }, kPatient);
  Tracked kept = tracked();
  Result<Submitted> submitted = runs.submit(request_of(kept.memory));
  ASSERT_TRUE(submitted);
  EXPECT_EQ(wait_for(*submitted), PollEnd::Ready);
  EXPECT_EQ(kept.memory.use_count(), 1);
  EXPECT_TRUE(runs.finish(submitted->id));
}

TEST(BlockingRuns, a_call_that_comes_back_late)
{
  Gate gate;
  bool first = true; // the worker's
  BlockingRuns runs(
      [&](const BlockingRuns::Call &call) -> Result<void> {
        if (std::exchange(first, false)) {
          gate.pass();
          std::memset(call.input.data, 1, call.input.size_bytes);
        }
        return {};
      },
      kShort);
  Tracked late = tracked();
  Result<Submitted> hanging = runs.submit(request_of(late.memory));
  Result<Submitted> behind = runs.submit({});
  ASSERT_TRUE(hanging && behind);
  EXPECT_EQ(wait_for(*hanging), PollEnd::Ready);
  expect_timed_out(runs.finish(hanging->id));
  // one look, no second wait: what stands behind it is over at once
  EXPECT_EQ(wait_for(*behind), PollEnd::Ready);
  expect_timed_out(runs.finish(behind->id));
  const Result<Submitted> refused = runs.submit({});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sys_errno, ETIMEDOUT);
  EXPECT_FALSE(runs.finish(hanging->id)) << "finished twice";

  EXPECT_EQ(late.memory.use_count(), 2) << "the call still has the memory";
  late.memory.reset();
  gate.open();
  late.gone.wait();
  // the call has come back, so the runtime works again
  Result<Submitted> next = runs.submit({});
  while (!next) {
    std::this_thread::yield();
    next = runs.submit({});
  }
  EXPECT_EQ(wait_for(*next), PollEnd::Ready);
  EXPECT_TRUE(runs.finish(next->id));
  EXPECT_FALSE(runs.finish(hanging->id)) << "its time was over";
}

int most_detailed = static_cast<int>(LogLevel::Warning);
std::atomic<int> warnings{0};
constinit const LogSink kCounting{
    &most_detailed, [](LogLevel) noexcept { return true; },
    [](LogLevel, const char *, const char *, int, const char *text) noexcept {
      warnings += std::strstr(text, "has not come back") ? 1 : 0;
    }};

TEST(BlockingRuns, a_call_that_outlives_its_owner)
{
  set_log_sink(&kCounting);
  warnings = 0;
  auto gate = std::make_shared<Gate>();
  Tracked hung = tracked();
  Tracked queued = tracked();
  std::promise<void> began;
  {
    BlockingRuns runs(
        [gate, &began](const BlockingRuns::Call &call) -> Result<void> {
          began.set_value();
          gate->pass();
          std::memset(call.input.data, 1, call.input.size_bytes); // after its owner's end
          return {};
        },
        kShort);
    ASSERT_TRUE(runs.submit(request_of(hung.memory)));
    ASSERT_TRUE(runs.submit(request_of(queued.memory)));
    began.get_future().wait();
    hung.memory.reset();
    queued.memory.reset();
  }
  EXPECT_EQ(warnings, 1);
  queued.gone.wait(); // at once: it was never begun
  EXPECT_EQ(hung.gone.wait_for(0s), std::future_status::timeout);
  gate->open();
  hung.gone.wait();
  set_log_sink(nullptr);
}

TEST(BlockingRuns, the_destructor_waits_for_a_call_that_comes_back)
{
  Gate gate;
  std::promise<void> began;
  bool came_back = false; // written by the worker, read after the destructor
  std::thread opener;
  {
    BlockingRuns runs(
        [&](const BlockingRuns::Call &) -> Result<void> {
          began.set_value();
          gate.pass();
          came_back = true;
          return {};
        },
        kPatient);
    ASSERT_TRUE(runs.submit({}));
    began.get_future().wait();
    opener = std::thread([&gate] { gate.open(); });
  }
  opener.join();
  EXPECT_TRUE(came_back);
}

TEST(BlockingRuns, finish_on_other_threads)
{
  BlockingRuns runs([](const BlockingRuns::Call &) -> Result<void> { return {}; }, kPatient);
  std::vector<Submitted> submitted;
  for (int n = 0; n < 16; n++) {
    Result<Submitted> one = runs.submit({});
    ASSERT_TRUE(one);
    submitted.push_back(std::move(*one));
  }
  std::array<int, 2> finished{};
  const auto half = [&](std::size_t which) {
    for (std::size_t n = which; n < submitted.size(); n += 2) {
      wait_for(submitted[n]);
      finished[which] += runs.finish(submitted[n].id) ? 1 : 0;
    }
  };
  test::at_once({[&half] { half(0); }, [&half] { half(1); }});
  EXPECT_EQ(finished[0], 8);
  EXPECT_EQ(finished[1], 8);
}

} // namespace

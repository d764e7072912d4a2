// SPDX-License-Identifier: LGPL-2.1-or-later
// poll_readable(): which of its four ends a wait has. No case waits for time to pass.
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/poll_wait.hpp"
#include "core/unique_fd.hpp"

namespace {

using namespace gstdrm;
using std::chrono::nanoseconds;

enum class State { Idle, Readable, Closed, None };

UniqueFd descriptor(State state)
{
  UniqueFd fd(::eventfd(state == State::Readable ? 1 : 0, EFD_CLOEXEC));
  return state == State::None ? UniqueFd() : std::move(fd);
}

// The number of a descriptor that is not open.
int closed_number()
{
  return UniqueFd(::eventfd(0, EFD_CLOEXEC)).get();
}

struct Row {
  const char *name;
  State fd;
  State wake;
  PollEnd end;
  int sys_errno;
};

class PollReadable : public testing::TestWithParam<Row> {};

TEST_P(PollReadable, LooksAtBoth)
{
  const UniqueFd fd = descriptor(GetParam().fd);
  const UniqueFd wake = descriptor(GetParam().wake);
  const int number = GetParam().fd == State::Closed ? closed_number() : fd.get();
  const PollResult result = poll_readable(number, deadline_after(nanoseconds::zero()), wake.get());
  EXPECT_EQ(result.end, GetParam().end);
  EXPECT_EQ(result.sys_errno, GetParam().sys_errno);
}

INSTANTIATE_TEST_SUITE_P(
    All, PollReadable,
    testing::Values(Row{"Idle", State::Idle, State::None, PollEnd::TimeIsOver, 0},
                    Row{"Ready", State::Readable, State::None, PollEnd::Ready, 0},
                    Row{"Woken", State::Idle, State::Readable, PollEnd::Woken, 0},
                    Row{"ReadyBeforeWoken", State::Readable, State::Readable, PollEnd::Ready, 0},
                    Row{"BothIdle", State::Idle, State::Idle, PollEnd::TimeIsOver, 0},
                    Row{"Closed", State::Closed, State::None, PollEnd::Failed, EBADF},
                    Row{"ClosedBeforeWoken", State::Closed, State::Readable, PollEnd::Failed, EBADF}),
    [](const auto &row) { return std::string(row.param.name); });

// Without a limit only the other thread can end the wait.
TEST(PollReadableUnlimited, EndsWhenAnotherThreadWakes)
{
  const UniqueFd fd = descriptor(State::Idle);
  const UniqueFd wake = descriptor(State::Idle);
  std::thread waker([&] { ::eventfd_write(wake.get(), 1); });
  EXPECT_EQ(poll_readable(fd.get(), std::nullopt, wake.get()).end, PollEnd::Woken);
  waker.join();
}

TEST(DeadlineAfter, HasNoLimitWhereTheClockEnds)
{
  EXPECT_FALSE(deadline_after(nanoseconds(-1)).has_value());
  EXPECT_FALSE(deadline_after(nanoseconds::max()).has_value());
  EXPECT_TRUE(deadline_after(nanoseconds::zero()).has_value());
  EXPECT_GT(deadline_after(std::chrono::hours(1)), deadline_after(nanoseconds::zero()));
}

} // namespace

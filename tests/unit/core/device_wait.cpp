// SPDX-License-Identifier: LGPL-2.1-or-later
// How an element waits for a device, with a ppoll() of the test's own: it stands before the C
// library's.
#include "gst-libs/gst/drm/core/device_wait.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>

namespace {

using namespace std::chrono_literals;
using gstdrm::Waited;

constexpr int kFd = 123;
constexpr auto kLimit = 3000ms;

// What ppoll() does next: `ready` with `revents`, or -1 with `error`; `woken`: a flush comes
// meanwhile.
struct Answer {
  int ready;
  short revents;
  int error;
  bool woken = false;
};

std::vector<Answer> answers;
std::vector<int> timeouts; // that ppoll() was called with, in ms
pollfd asked;
gstdrm::Interrupt *interrupt; // that the wait looks at

constexpr Answer kDone{1, POLLIN, 0}, kOver{0, 0, 0}, kInterrupted{-1, 0, EINTR},
    kAgain{-1, 0, EAGAIN}, kBad{1, POLLNVAL, 0}, kNoMemory{-1, 0, ENOMEM}, kFlush{1, 0, 0, true},
    kFlushAndDone{2, POLLIN, 0, true};

} // namespace

extern "C" int ppoll(pollfd *fds, nfds_t n, const timespec *timeout, const sigset_t *)
{
  if (!timeout)
    std::abort(); // every wait has a limit
  timeouts.push_back(static_cast<int>(timeout->tv_sec * 1000 + timeout->tv_nsec / 1'000'000));
  asked = *fds;
  if (n != 2 || fds[1].fd != interrupt->fd() || fds[1].events != POLLIN || answers.empty())
    std::abort(); // whoever asks once more here may never stop
  const Answer answer = answers.front();
  answers.erase(answers.begin());
  fds->revents = answer.revents;
  if (answer.woken)
    interrupt->raise();
  fds[1].revents = answer.woken ? POLLIN : 0;
  errno = answer.error;
  return answer.ready;
}

namespace {

struct Row {
  const char *name;
  std::vector<Answer> answers;
  int waited; // No, Yes, Interrupted; -1: an error
  int error;
};

const Row kRows[] = {
    {"nobody_writes", {kDone}, static_cast<int>(Waited::No), 0},
    {"a_writer_is_done", {kOver, kDone}, static_cast<int>(Waited::Yes), 0},
    {"a_writer_takes_too_long", {kOver, kOver}, -1, ETIMEDOUT},
    {"interrupted_at_first", {kInterrupted, kDone}, static_cast<int>(Waited::No), 0},
    {"interrupted_while_waiting",
     {kOver, kInterrupted, kInterrupted, kDone},
     static_cast<int>(Waited::Yes),
     0},
    {"once_more_at_first", {kAgain, kDone}, static_cast<int>(Waited::No), 0},
    {"once_more_while_waiting", {kOver, kAgain, kOver}, -1, ETIMEDOUT},
    {"no_descriptor", {kBad}, -1, EBADF},
    {"closed_while_waiting", {kOver, kBad}, -1, EBADF},
    {"no_memory", {kNoMemory}, -1, ENOMEM},
    {"no_memory_while_waiting", {kOver, kNoMemory}, -1, ENOMEM},
    {"a_flush_before_the_first_look", {kFlush}, static_cast<int>(Waited::Interrupted), 0},
    {"a_flush_while_waiting", {kOver, kFlush}, static_cast<int>(Waited::Interrupted), 0},
    {"a_flush_when_it_is_done", {kOver, kFlushAndDone}, static_cast<int>(Waited::Yes), 0},
};

class Wait : public testing::TestWithParam<Row> {};

TEST_P(Wait, gives)
{
  const Row &row = GetParam();
  answers = row.answers;
  timeouts.clear();
  gstdrm::Interrupt of_the_test;
  interrupt = &of_the_test;
  const auto waited = gstdrm::wait_for_writers(kFd, kLimit, of_the_test);
  EXPECT_TRUE(answers.empty()) << answers.size() << " calls too few";
  EXPECT_EQ(timeouts.size(), row.answers.size());
  EXPECT_EQ(asked.fd, kFd);
  EXPECT_EQ(asked.events, POLLIN);
  bool looked = false; // until the first look ended without a result it takes no time
  for (std::size_t i = 0; i < timeouts.size(); i++) {
    EXPECT_LE(timeouts[i], looked ? kLimit.count() : 0);
    EXPECT_GE(timeouts[i], 0);
    looked |= row.answers[i].ready == 0 || row.answers[i].woken;
  }
  ASSERT_EQ(static_cast<bool>(waited), row.waited >= 0);
  if (waited) {
    EXPECT_EQ(static_cast<int>(*waited), row.waited);
    return;
  }
  EXPECT_EQ(waited.error().code, gstdrm::ErrorCode::Sync);
  EXPECT_EQ(waited.error().sys_errno, row.error);
  EXPECT_NE(
      waited.error().message.find(row.error == ETIMEDOUT ? "3000 ms" : std::strerror(row.error)),
      std::string::npos)
      << waited.error().message;
  EXPECT_NE(waited.error().message.find(std::to_string(kFd)), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Rows, Wait, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

// After a flush the next wait lasts again.
TEST(Interrupt, ends_when_it_is_cleared)
{
  gstdrm::Interrupt of_the_test;
  const auto readable = [&of_the_test] {
    pollfd polled{of_the_test.fd(), POLLIN, 0};
    return ::poll(&polled, 1, 0) == 1;
  };
  for (int i = 0; i < 2; i++) {
    EXPECT_FALSE(of_the_test.raised());
    EXPECT_FALSE(readable());
    of_the_test.raise();
    of_the_test.raise();
    EXPECT_TRUE(of_the_test.raised());
    EXPECT_TRUE(readable());
    of_the_test.clear();
  }
  EXPECT_FALSE(of_the_test.raised());
  EXPECT_FALSE(readable());
}

// The limit is what it says, however long it is: this one no machine uses up on the way.
TEST(WaitLimit, is_what_poll_is_asked_for)
{
  answers = {kOver, kDone};
  timeouts.clear();
  gstdrm::Interrupt of_the_test;
  interrupt = &of_the_test;
  ASSERT_TRUE(gstdrm::wait_for_writers(kFd, 24h, of_the_test));
  ASSERT_EQ(timeouts.size(), 2U);
  constexpr int kDay_ms = 24 * 3600 * 1000;
  EXPECT_GT(timeouts[1], kDay_ms / 2);
  EXPECT_LE(timeouts[1], kDay_ms);
}

} // namespace

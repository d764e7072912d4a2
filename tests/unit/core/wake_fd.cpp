// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gst/drm/core/wake_fd.hpp"

#include <cerrno>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

namespace {

using gstdrm::WakeFd;

WakeFd make()
{
  gstdrm::Result<WakeFd> made = WakeFd::create();
  EXPECT_TRUE(made);
  return std::move(*made);
}

bool readable(const WakeFd &wake, int timeout_ms = 0)
{
  pollfd request{wake.get(), POLLIN, 0};
  return poll(&request, 1, timeout_ms) == 1 && request.revents == POLLIN;
}

TEST(WakeFd, is_readable_from_wake_to_drain)
{
  const WakeFd wake = make();
  EXPECT_FALSE(readable(wake));
  wake.wake();
  wake.wake();
  EXPECT_TRUE(readable(wake));
  wake.drain();
  EXPECT_FALSE(readable(wake));
  wake.drain(); // nothing to take back: does not block
}

TEST(WakeFd, ends_a_poll_of_another_thread)
{
  const WakeFd wake = make();
  std::thread sleeper([&wake] { EXPECT_TRUE(readable(wake, -1)); });
  wake.wake();
  sleeper.join();
}

TEST(WakeFd, a_full_counter_neither_blocks_nor_is_lost)
{
  const WakeFd wake = make();
  ASSERT_EQ(eventfd_write(wake.get(), ~eventfd_t{0} - 1), 0);
  wake.wake();
  EXPECT_TRUE(readable(wake));
  wake.drain();
  EXPECT_FALSE(readable(wake));
}

TEST(WakeFd, is_closed_on_exec)
{
  EXPECT_TRUE(fcntl(make().get(), F_GETFD) & FD_CLOEXEC);
}

TEST(WakeFd, empty_does_nothing)
{
  const WakeFd empty;
  EXPECT_FALSE(empty);
  EXPECT_EQ(empty.get(), -1);
  empty.wake();
  empty.drain();
  EXPECT_FALSE(readable(empty));
}

TEST(WakeFd, says_that_there_is_no_descriptor)
{
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const gstdrm::Result<WakeFd> made = WakeFd::create();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().sys_errno, EMFILE);
  EXPECT_NE(made.error().message.find("EMFILE"), std::string::npos);
}

} // namespace

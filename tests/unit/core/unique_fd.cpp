// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/unique_fd.hpp"

#include <cerrno>
#include <utility>

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace gstdrm {
namespace {

UniqueFd make_memfd()
{
  return UniqueFd(::memfd_create("test", MFD_CLOEXEC));
}

bool is_open(int fd)
{
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(UniqueFd, ClosesInItsDestructor)
{
  int number = -1;
  {
    const UniqueFd fd = make_memfd();
    ASSERT_TRUE(fd);
    number = fd.get();
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFd, MoveLeavesNothingBehind)
{
  UniqueFd first = make_memfd();
  const int number = first.get();
  UniqueFd second(std::move(first));
  EXPECT_EQ(first.get(), -1); // NOLINT(bugprone-use-after-move): that is the point
  EXPECT_EQ(second.get(), number);
  UniqueFd third = make_memfd();
  const int closed = third.get();
  third = std::move(second);
  EXPECT_EQ(third.get(), number);
  EXPECT_FALSE(is_open(closed));
}

TEST(UniqueFd, MoveToItselfKeepsIt)
{
  UniqueFd fd = make_memfd();
  UniqueFd &same = fd;
  fd = std::move(same);
  EXPECT_TRUE(is_open(fd.get()));
}

TEST(UniqueFd, ReleaseGivesUpOwnership)
{
  UniqueFd fd = make_memfd();
  const int number = fd.release();
  EXPECT_FALSE(fd);
  EXPECT_TRUE(is_open(number));
  fd.reset(number);
  fd.reset(number);
  EXPECT_TRUE(is_open(number));
  fd.reset();
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFd, DupIsCloseOnExec)
{
  const UniqueFd fd = make_memfd();
  const UniqueFd copy = fd.dup();
  ASSERT_TRUE(copy);
  EXPECT_NE(copy.get(), fd.get());
  EXPECT_EQ(::fcntl(copy.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_FALSE(UniqueFd().dup());
  EXPECT_FALSE(UniqueFd::dup(1000000));
  EXPECT_EQ(errno, EBADF);
}

} // namespace
} // namespace gstdrm

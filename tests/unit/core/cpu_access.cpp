// SPDX-License-Identifier: LGPL-2.1-or-later
// CpuAccess brackets CPU access exactly once, whatever it is moved to: an END too many is no error to the kernel, which
// is why no test on a real dma-buf notices it. Here ioctl() is the test's own.
#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <utility>
#include <vector>

#include <linux/dma-buf.h>

#include <gtest/gtest.h>

#include "core/sync_file.hpp"

namespace {

struct Call {
  int fd;
  std::uint64_t flags;
  friend bool operator==(const Call &, const Call &) = default;
};

std::vector<Call> calls;
int interruptions = 0; // how many calls are cut short by a signal first

} // namespace

// In place of libc's, for the program and the core that is linked into it.
extern "C" int ioctl(int fd, unsigned long request, ...) noexcept
{
  if (interruptions > 0) {
    --interruptions;
    errno = EINTR;
    return -1;
  }
  va_list arguments;
  va_start(arguments, request);
  const void *argument = va_arg(arguments, const void *);
  va_end(arguments);
  if (request != DMA_BUF_IOCTL_SYNC || fd < 0) {
    errno = ENOTTY;
    return -1;
  }
  calls.push_back({fd, static_cast<const dma_buf_sync *>(argument)->flags});
  return 0;
}

namespace gstdrm {
namespace {

class Access : public testing::Test {
protected:
  void SetUp() override { calls.clear(); }
  static Call start(int fd, DmaBufAccess access) { return {fd, DMA_BUF_SYNC_START | static_cast<std::uint64_t>(access)}; }
  static Call end(int fd, DmaBufAccess access) { return {fd, DMA_BUF_SYNC_END | static_cast<std::uint64_t>(access)}; }
  static CpuAccess begin(int fd, DmaBufAccess access)
  {
    Result<CpuAccess> begun = CpuAccess::begin(fd, access);
    EXPECT_TRUE(begun);
    return std::move(begun).value();
  }
};

TEST_F(Access, BeginsAndEndsOnce)
{
  for (const DmaBufAccess access : {DmaBufAccess::Read, DmaBufAccess::Write, DmaBufAccess::ReadWrite}) {
    calls.clear();
    {
      const CpuAccess held = begin(7, access); // through a Result, by moves
      EXPECT_EQ(calls, (std::vector<Call>{start(7, access)}));
    }
    EXPECT_EQ(calls, (std::vector<Call>{start(7, access), end(7, access)}));
  }
}

TEST_F(Access, TheMovedFromOneEndsNothing)
{
  {
    CpuAccess first = begin(7, DmaBufAccess::Write);
    {
      const CpuAccess second(std::move(first));
      EXPECT_EQ(calls.size(), 1U);
    }
    EXPECT_EQ(calls.size(), 2U);
  }
  EXPECT_EQ(calls, (std::vector<Call>{start(7, DmaBufAccess::Write), end(7, DmaBufAccess::Write)}));
}

TEST_F(Access, AssignmentEndsBothOnceAndEachAsItBegan)
{
  {
    CpuAccess first = begin(7, DmaBufAccess::Write);
    CpuAccess second = begin(8, DmaBufAccess::Read);
    first = std::move(second);
  }
  ASSERT_EQ(calls.size(), 4U);
  for (const Call &ended : {end(7, DmaBufAccess::Write), end(8, DmaBufAccess::Read)})
    EXPECT_EQ(std::count(calls.begin() + 2, calls.end(), ended), 1) << ended.fd;
}

TEST_F(Access, ASignalIsNoFailure)
{
  interruptions = 3;
  {
    const CpuAccess held = begin(7, DmaBufAccess::Read);
    interruptions = 2;
  }
  EXPECT_EQ(calls, (std::vector<Call>{start(7, DmaBufAccess::Read), end(7, DmaBufAccess::Read)}));
}

TEST_F(Access, NothingBegunNothingEnded)
{
  const Result<CpuAccess> refused = CpuAccess::begin(-1, DmaBufAccess::Read);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  EXPECT_TRUE(calls.empty());
}

} // namespace
} // namespace gstdrm

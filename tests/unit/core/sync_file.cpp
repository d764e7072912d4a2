// SPDX-License-Identifier: LGPL-2.1-or-later
// What can be said of fences without a kernel that makes any; the rest is tests/device/sync.cpp.
#include "core/sync_file.hpp"

#include <cerrno>

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace gstdrm {
namespace {

using namespace std::chrono_literals;

UniqueFd make_memfd()
{
  return UniqueFd(::memfd_create("test", MFD_CLOEXEC));
}

struct Row {
  const char *name;
  bool dead; // else a memfd
  int sys_errno;
};

void PrintTo(const Row &row, std::ostream *out)
{
  *out << row.name;
}

class NoFence : public testing::TestWithParam<Row> {
protected:
  UniqueFd memfd = make_memfd();
  int fd = GetParam().dead ? 1000000 : memfd.get();
  int sys_errno = GetParam().sys_errno;
};

TEST_P(NoFence, HasNoState)
{
  const Result<FenceState> state = fence_state(fd);
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, ErrorCode::Sync);
  EXPECT_EQ(state.error().sys_errno, sys_errno);
  EXPECT_NE(state.error().message.find(std::to_string(fd)), std::string::npos) << state.error().message;
}

TEST_P(NoFence, IsRefusedAsOne)
{
  const Result<void> checked = check_sync_file(fd);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::Sync);
  EXPECT_EQ(checked.error().sys_errno, sys_errno);
  EXPECT_FALSE(fence_is_pending(fd));
}

TEST_P(NoFence, CannotBeWaitedFor)
{
  // a memfd is always readable: poll(2) alone would call it signalled
  const Result<FenceState> state = fence_wait(fd, 1s);
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().sys_errno, sys_errno);
}

TEST_P(NoFence, CannotBeMerged)
{
  const UniqueFd other = make_memfd();
  const Result<UniqueFd> merged = fence_merge(fd, other.get());
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code, ErrorCode::Sync);
  EXPECT_EQ(merged.error().sys_errno, sys_errno);
}

TEST_P(NoFence, IsNoDmaBuf)
{
  const ErrorCode code = GetParam().dead ? ErrorCode::Sync : ErrorCode::Unsupported;
  const Result<UniqueFd> exported = dmabuf_export_fence(fd, DmaBufAccess::Read);
  ASSERT_FALSE(exported);
  EXPECT_EQ(exported.error().code, code);
  EXPECT_EQ(exported.error().sys_errno, sys_errno);
  const Result<void> imported = dmabuf_import_fence(fd, fd, DmaBufAccess::Write);
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().code, code);
  const Result<CpuAccess> access = CpuAccess::begin(fd, DmaBufAccess::ReadWrite);
  ASSERT_FALSE(access);
  EXPECT_EQ(access.error().code, code);
}

constexpr Row kRows[] = {{"Memfd", false, ENOTTY}, {"DeadDescriptor", true, EBADF}};

INSTANTIATE_TEST_SUITE_P(SyncFile, NoFence, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(SyncFile, MergingNothing)
{
  const Result<UniqueFd> merged = fence_merge(-1, -1);
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().sys_errno, EBADF);
}

TEST(SyncFile, MergingWithNothingIsACopy)
{
  const UniqueFd fd = make_memfd(); // dup'ed, not looked at
  for (const Result<UniqueFd> &merged : {fence_merge(fd.get(), -1), fence_merge(-1, fd.get())}) {
    ASSERT_TRUE(merged);
    EXPECT_GE(merged->get(), 0);
    EXPECT_NE(merged->get(), fd.get());
  }
}

} // namespace
} // namespace gstdrm

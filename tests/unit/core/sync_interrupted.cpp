// SPDX-License-Identifier: LGPL-2.1-or-later
// An ioctl of sync_file or dma-buf that a signal cuts short is made again. Here ioctl() is the test's own.
#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "core/sync_file.hpp"

namespace {

int interruptions = 0; // how many calls are cut short first
int interruption = EINTR;
int calls = 0;

} // namespace

// In place of libc's, for the program and the core that is linked into it.
extern "C" int ioctl(int, unsigned long, ...) noexcept
{
  calls++;
  if (interruptions == 0)
    return 0;
  interruptions--;
  errno = interruption;
  return -1;
}

namespace gstdrm {
namespace {

struct Row {
  const char *name;
  int error;
  bool (*call)();
};

// Descriptors that the test's ioctl() does not look at; what it leaves in a request is no descriptor.
const Row kRows[] = {
    {"merge_EINTR", EINTR, [] { return static_cast<bool>(fence_merge(1000, 1001)); }},
    {"merge_EAGAIN", EAGAIN, [] { return static_cast<bool>(fence_merge(1000, 1001)); }},
    {"export_EINTR", EINTR, [] { return static_cast<bool>(dmabuf_export_fence(1000, DmaBufAccess::Read)); }},
    {"export_EAGAIN", EAGAIN, [] { return static_cast<bool>(dmabuf_export_fence(1000, DmaBufAccess::Read)); }},
    {"import_EINTR", EINTR, [] { return static_cast<bool>(dmabuf_import_fence(1000, 1001, DmaBufAccess::Write)); }},
    {"import_EAGAIN", EAGAIN, [] { return static_cast<bool>(dmabuf_import_fence(1000, 1001, DmaBufAccess::Write)); }},
};

class Interrupted : public testing::TestWithParam<Row> {};

TEST_P(Interrupted, IsMadeAgain)
{
  calls = 0;
  interruptions = 3;
  interruption = GetParam().error;
  EXPECT_TRUE(GetParam().call());
  EXPECT_EQ(calls, 4);
}

INSTANTIATE_TEST_SUITE_P(SyncFile, Interrupted, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace gstdrm

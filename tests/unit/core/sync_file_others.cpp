// SPDX-License-Identifier: LGPL-2.1-or-later
// What is no fence but can be waited for: it is told apart before anybody waits.
#include <cerrno>
#include <chrono>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/sync_file.hpp"

namespace gstdrm {
namespace {

using namespace std::chrono_literals;

TEST(NoSyncFile, NotReadyIsNoPendingFence)
{
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  const UniqueFd event(eventfd(0, EFD_CLOEXEC)); // ready with the first write
  for (const int fd : {read_end.get(), event.get()}) {
    const Result<FenceState> state = fence_state(fd);
    ASSERT_FALSE(state);
    EXPECT_EQ(state.error().sys_errno, ENOTTY);
    EXPECT_EQ(state.error().code, ErrorCode::Sync);
    const Result<void> checked = check_sync_file(fd);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().sys_errno, ENOTTY);
    for (const auto limit :
         {std::chrono::nanoseconds(0), std::chrono::nanoseconds(1h), std::chrono::nanoseconds(-1)})
      EXPECT_FALSE(fence_wait(fd, limit)); // and does not wait
  }
}

} // namespace
} // namespace gstdrm

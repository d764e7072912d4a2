// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "result.hpp"
#include "unique_fd.hpp"

namespace gstdrm {

enum class FenceState { Pending, Signalled, Failed };

// sync_file (linux/sync_file.h) and dma-buf fence conversions (linux/dma-buf.h, Linux 6.0). All
// descriptors passed in are borrowed; all that are returned belong to the caller.

// poll(), and SYNC_IOC_FILE_INFO once it has signalled; Error when fd is no sync_file.
Result<FenceState> fence_state(int fence_fd);
// The same of a descriptor that is known to be a sync_file: a pending one costs poll() alone.
Result<FenceState> checked_fence_state(int fence_fd);
// Whether poll() finds a fence pending; false for what is no descriptor.
bool fence_is_pending(int fence_fd);
// Whether it is a sync_file, in any state: readlink() of /proc/self/fd; what that does not show is
// asked as fence_state() does, with the same errors.
Result<void> check_sync_file(int fd);
// When the fence of a sync_file with one fence has signalled, with an error or without, on
// CLOCK_MONOTONIC in ns; nullopt if it is pending. poll(), and SYNC_IOC_FILE_INFO once it has
// signalled.
using FenceTime = std::optional<std::int64_t>;
Result<FenceTime> fence_time(int fence_fd);
// Waits with poll(2), as sync_file.rst allows. Failed: signalled with an error; Pending: time is
// over. Negative timeout: no limit.
Result<FenceState> fence_wait(int fence_fd, std::chrono::nanoseconds timeout);
// SYNC_IOC_MERGE; either side may be -1, and the other one is then dup'ed.
Result<UniqueFd> fence_merge(int a, int b);

enum class DmaBufAccess : std::uint32_t {
  Read = 1,
  Write = 2,
  ReadWrite = 3
}; // DMA_BUF_SYNC_{READ,WRITE}

// DMA_BUF_IOCTL_EXPORT_SYNC_FILE: the fences a user with this access must wait for.
// ErrorCode::Unsupported before Linux 6.0 and for what is no dma-buf (memfd).
Result<UniqueFd> dmabuf_export_fence(int dmabuf_fd, DmaBufAccess access);
// DMA_BUF_IOCTL_IMPORT_SYNC_FILE
Result<void> dmabuf_import_fence(int dmabuf_fd, int fence_fd, DmaBufAccess access);

// DMA_BUF_IOCTL_SYNC around CPU access: begins in the constructor's factory, ends in the
// destructor.
class CpuAccess {
public:
  static Result<CpuAccess> begin(int dmabuf_fd, DmaBufAccess access);
  CpuAccess(CpuAccess &&other) noexcept;
  CpuAccess &operator=(CpuAccess &&other) noexcept;
  CpuAccess(const CpuAccess &) = delete;
  CpuAccess &operator=(const CpuAccess &) = delete;
  ~CpuAccess();

private:
  CpuAccess(int fd, DmaBufAccess access) noexcept : fd_(fd), access_(access) {}
  int fd_ = -1; // borrowed
  DmaBufAccess access_ = DmaBufAccess::Read;
};

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "sync_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include <linux/dma-buf.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "errno_text.hpp"
#include "poll_wait.hpp"

namespace gstdrm {

namespace {

static_assert(static_cast<std::uint32_t>(DmaBufAccess::Read) == DMA_BUF_SYNC_READ);
static_assert(static_cast<std::uint32_t>(DmaBufAccess::Write) == DMA_BUF_SYNC_WRITE);
static_assert(static_cast<std::uint32_t>(DmaBufAccess::ReadWrite) == DMA_BUF_SYNC_RW);

// An ioctl that a signal may interrupt (drmIoctl() of libdrm retries on the same two).
int retried_ioctl(int fd, unsigned long request, void *argument) noexcept
{
  int result = 0;
  do {
    result = ::ioctl(fd, request, argument);
  } while (result == -1 && (errno == EINTR || errno == EAGAIN));
  return result;
}

Error failed(const std::string &what, int fd, int error)
{
  return Error{
      ErrorCode::Sync,
      what + " failed for file descriptor " + std::to_string(fd) + ": " + errno_text(error), error};
}

// ENOTTY: the kernel, or what the descriptor stands for, does not know the ioctl.
Error dmabuf_failed(const std::string &what, int fd, int error)
{
  Error result = failed(what, fd, error);
  if (error == ENOTTY) {
    result.code = ErrorCode::Unsupported;
    result.message += "; it is no dma-buf, or the kernel is older than Linux 6.0";
  }
  return result;
}

enum class Kind { SyncFile, Other, Unknown };

// By the name that sync_file.c gives its files; where /proc is missing nobody can tell.
Kind kind_of(int fd)
{
  std::array<char, 32> link{};
  std::array<char, 64> target{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(link.data(), target.data(), target.size());
  if (length < 0)
    return Kind::Unknown;
  const std::string_view name(target.data(), static_cast<std::size_t>(length));
  return name.find("sync_file") == std::string_view::npos ? Kind::Other : Kind::SyncFile;
}

// Of a fence that is no longer pending, or of what is none.
Result<FenceState> final_state(int fence_fd)
{
  sync_file_info info{}; // num_fences of 0: the summary alone
  if (retried_ioctl(fence_fd, SYNC_IOC_FILE_INFO, &info) != 0) {
    const int error = errno;
    return failed("SYNC_IOC_FILE_INFO", fence_fd, error);
  }
  // sync_file.h: 1 signalled, 0 active, below 0 an error
  if (info.status == 0)
    return FenceState::Pending;
  return info.status > 0 ? FenceState::Signalled : FenceState::Failed;
}

} // namespace

bool fence_is_pending(int fence_fd)
{
  pollfd polled{fence_fd, POLLIN, 0};
  const timespec at_once{};
  return fence_fd >= 0 && ::ppoll(&polled, 1, &at_once, nullptr) == 0;
}

// SYNC_IOC_FILE_INFO asks the driver of a pending fence for its name (sync_file_get_name()), and
// Linux 7.2 stops in drm_crtc.c (the BUG_ON() of fence_to_crtc()) when a flip signals its out-fence
// at that moment. So a fence that is still pending is only polled.
Result<FenceState> fence_state(int fence_fd)
{
  if (!fence_is_pending(fence_fd))
    return final_state(fence_fd);
  if (kind_of(fence_fd) == Kind::Other)
    return failed("SYNC_IOC_FILE_INFO", fence_fd, ENOTTY);
  return FenceState::Pending;
}

Result<FenceState> checked_fence_state(int fence_fd)
{
  return fence_is_pending(fence_fd) ? Result<FenceState>(FenceState::Pending)
                                    : final_state(fence_fd);
}

Result<void> check_sync_file(int fd)
{
  if (kind_of(fd) == Kind::SyncFile)
    return {};
  const Result<FenceState> state = fence_state(fd);
  return state ? Result<void>() : state.error();
}

Result<FenceTime> fence_time(int fence_fd)
{
  if (fence_is_pending(fence_fd))
    return FenceTime();
  sync_fence_info fence{};
  sync_file_info info{};
  info.num_fences = 1;
  info.sync_fence_info = reinterpret_cast<std::uintptr_t>(&fence);
  if (retried_ioctl(fence_fd, SYNC_IOC_FILE_INFO, &info) != 0) {
    const int error = errno;
    return failed("SYNC_IOC_FILE_INFO", fence_fd, error);
  }
  return fence.status == 0 ? FenceTime() : FenceTime(static_cast<std::int64_t>(fence.timestamp_ns));
}

Result<FenceState> fence_wait(int fence_fd, std::chrono::nanoseconds timeout)
{
  const Result<FenceState> first = fence_state(fence_fd);
  if (!first || *first != FenceState::Pending)
    return first;
  const PollResult waited = poll_readable(fence_fd, deadline_after(timeout));
  if (waited.end == PollEnd::Failed)
    return failed("Waiting for a fence", fence_fd, waited.sys_errno);
  return fence_state(fence_fd);
}

Result<UniqueFd> fence_merge(int a, int b)
{
  if (a < 0 || b < 0) {
    UniqueFd copy = UniqueFd::dup(a < 0 ? b : a);
    const int error = errno;
    if (!copy)
      return failed("Duplicating a fence", a < 0 ? b : a, a < 0 && b < 0 ? EBADF : error);
    return copy;
  }
  sync_merge_data merge{};
  std::strncpy(merge.name, "gst-drm", sizeof merge.name - 1); // shown in debugfs
  merge.fd2 = b;
  merge.fence = -1;
  if (retried_ioctl(a, SYNC_IOC_MERGE, &merge) != 0) {
    const int error = errno;
    return failed("SYNC_IOC_MERGE", a, error);
  }
  return UniqueFd(merge.fence); // close-on-exec: sync_file.c makes it so
}

Result<UniqueFd> dmabuf_export_fence(int dmabuf_fd, DmaBufAccess access)
{
  dma_buf_export_sync_file request{};
  request.flags = static_cast<std::uint32_t>(access);
  request.fd = -1;
  if (retried_ioctl(dmabuf_fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &request) != 0) {
    const int error = errno;
    return dmabuf_failed("DMA_BUF_IOCTL_EXPORT_SYNC_FILE", dmabuf_fd, error);
  }
  return UniqueFd(request.fd); // close-on-exec: dma-buf.c makes it so
}

Result<void> dmabuf_import_fence(int dmabuf_fd, int fence_fd, DmaBufAccess access)
{
  dma_buf_import_sync_file request{};
  request.flags = static_cast<std::uint32_t>(access);
  request.fd = fence_fd; // the kernel takes its own reference
  if (retried_ioctl(dmabuf_fd, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &request) != 0) {
    const int error = errno;
    return dmabuf_failed("DMA_BUF_IOCTL_IMPORT_SYNC_FILE", dmabuf_fd, error);
  }
  return {};
}

Result<CpuAccess> CpuAccess::begin(int dmabuf_fd, DmaBufAccess access)
{
  dma_buf_sync request{};
  request.flags = DMA_BUF_SYNC_START | static_cast<std::uint64_t>(access);
  if (retried_ioctl(dmabuf_fd, DMA_BUF_IOCTL_SYNC, &request) != 0) {
    const int error = errno;
    Error result = failed("DMA_BUF_IOCTL_SYNC", dmabuf_fd, error);
    if (error == ENOTTY) {
      result.code = ErrorCode::Unsupported;
      result.message += "; it is no dma-buf";
    }
    return result;
  }
  return CpuAccess(dmabuf_fd, access);
}

CpuAccess::CpuAccess(CpuAccess &&other) noexcept
    : fd_(std::exchange(other.fd_, -1)), access_(other.access_)
{
}

CpuAccess &CpuAccess::operator=(CpuAccess &&other) noexcept
{
  std::swap(fd_, other.fd_);
  std::swap(access_, other.access_);
  return *this;
}

CpuAccess::~CpuAccess()
{
  if (fd_ < 0)
    return;
  dma_buf_sync request{};
  request.flags = DMA_BUF_SYNC_END | static_cast<std::uint64_t>(access_);
  retried_ioctl(fd_, DMA_BUF_IOCTL_SYNC, &request);
}

} // namespace gstdrm

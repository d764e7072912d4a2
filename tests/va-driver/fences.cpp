// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fences.hpp"

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/types.h>
#include <poll.h>
#include <sys/ioctl.h>

namespace gstdrm::test::vadriver {
namespace {

// drivers/dma-buf/sw_sync.c; the kernel exports no header for it.
struct SwSyncCreateFence {
  __u32 value;
  char name[32];
  __s32 fence;
};
constexpr unsigned long kCreateFence = _IOWR('W', 0, SwSyncCreateFence);
constexpr unsigned long kIncrement = _IOW('W', 1, __u32);

void poll_fd(int fd, short events, int limit_ms)
{
  pollfd entry{fd, events, 0};
  (void)::poll(&entry, 1, limit_ms);
}

} // namespace

Timeline Timeline::create()
{
  Timeline timeline;
  timeline.fd_ = UniqueFd(::open("/sys/kernel/debug/sync/sw_sync", O_RDWR | O_CLOEXEC));
  return timeline;
}

UniqueFd Timeline::add()
{
  SwSyncCreateFence request{};
  request.value = ++value_;
  if (!fd_ || ::ioctl(fd_.get(), kCreateFence, &request) != 0)
    return {};
  return UniqueFd(request.fence);
}

void Timeline::signal_next()
{
  __u32 step = 1;
  if (fd_)
    (void)::ioctl(fd_.get(), kIncrement, &step);
}

void wait_for_users(const Surface &surface, int limit_ms)
{
  // dma-buf.rst: POLLOUT waits for all fences, as a writer must
  for (const auto &object : surface.objects)
    poll_fd(object.fd.get(), POLLOUT, limit_ms);
}

std::array<UniqueFd, 4> users_of(const Surface &surface)
{
  std::array<UniqueFd, 4> fences;
  for (std::size_t i = 0; i < surface.objects.size() && i < fences.size(); ++i) {
    dma_buf_export_sync_file request{};
    request.flags = DMA_BUF_SYNC_RW;
    if (::ioctl(surface.objects[i].fd.get(), DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &request) == 0)
      fences[i].reset(request.fd);
  }
  return fences;
}

void wait_for(const std::array<UniqueFd, 4> &fences, int limit_ms)
{
  for (const auto &fence : fences) {
    if (fence)
      poll_fd(fence.get(), POLLIN, limit_ms);
  }
}

void attach_write_fence(const Surface &surface, int fence_fd)
{
  for (const auto &object : surface.objects) {
    dma_buf_import_sync_file request{};
    request.flags = DMA_BUF_SYNC_WRITE;
    request.fd = fence_fd;
    (void)::ioctl(object.fd.get(), DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &request);
  }
}

} // namespace gstdrm::test::vadriver

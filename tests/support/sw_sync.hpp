// SPDX-License-Identifier: LGPL-2.1-or-later
// Fences made to order by a real kernel.
#pragma once

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <linux/types.h>
#include <sys/ioctl.h>

#include <gst/check/gstcheck.h>
#include <gst/drm/core/unique_fd.hpp>

namespace gstdrm::test {

// drivers/dma-buf/sw_sync.c; it has no uapi header
struct sw_sync_create_fence_data {
  __u32 value;
  char name[32];
  __s32 fence;
};
#define SW_SYNC_IOC_CREATE_FENCE _IOWR('W', 0, struct sw_sync_create_fence_data)
#define SW_SYNC_IOC_INC _IOW('W', 1, __u32)

// A timeline of the kernel. Closing it signals what is left with an error.
class Timeline {
public:
  Timeline() : fd_(open("/sys/kernel/debug/sync/sw_sync", O_RDWR | O_CLOEXEC))
  {
    fail_unless(static_cast<bool>(fd_), "no sw_sync: %s", strerror(errno));
  }
  // Signals once the timeline has reached `value`.
  int fence(guint value)
  {
    sw_sync_create_fence_data data = {};
    data.value = value;
    data.fence = -1;
    fail_unless_equals_int(ioctl(fd_.get(), SW_SYNC_IOC_CREATE_FENCE, &data), 0);
    return data.fence;
  }
  void advance(__u32 by = 1) { fail_unless_equals_int(ioctl(fd_.get(), SW_SYNC_IOC_INC, &by), 0); }
  void destroy() { fd_.reset(); }
  // The same timeline, which is closed with the last of them.
  [[nodiscard]] Timeline share() const { return Timeline(fd_.dup()); }

private:
  explicit Timeline(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

} // namespace gstdrm::test

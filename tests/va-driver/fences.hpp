// SPDX-License-Identifier: LGPL-2.1-or-later
// Implicit fences of the software "GPU": what a real driver's kernel side does, made with sw_sync
// (CONFIG_SW_SYNC) and the dma-buf fence ioctls (linux/dma-buf.h, Linux 6.0).
#pragma once

#include <cstdint>

#include <gst/drm/core/unique_fd.hpp>

#include "surface.hpp"

namespace gstdrm::test::vadriver {

// One timeline: pictures are done in the order in which they were queued.
class Timeline {
public:
  // Without sw_sync (or debugfs) the timeline stays empty and add() returns no fence.
  static Timeline create();
  // A fence that signals once signal_next() has been called as often as add().
  [[nodiscard]] UniqueFd add();
  void signal_next();

private:
  UniqueFd fd_;
  std::uint32_t value_ = 0;
};

// Waits for everything that others have queued on the surface's dma-bufs; `limit_ms` bounds it.
void wait_for_users(const Surface &surface, int limit_ms);
// The same, as fences to wait for later: to be taken before the surface gets a fence of ours.
std::array<UniqueFd, 4> users_of(const Surface &surface);
void wait_for(const std::array<UniqueFd, 4> &fences, int limit_ms);
void attach_write_fence(const Surface &surface, int fence_fd);

} // namespace gstdrm::test::vadriver

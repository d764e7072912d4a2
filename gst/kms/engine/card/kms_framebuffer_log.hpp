// SPDX-License-Identifier: LGPL-2.1-or-later
// Which framebuffer ids this process has made on a device, and when. The kernel gives the lowest id
// that is free (drm_mode_object.c, drm_mode_object_add()), so that an id that was read earlier may
// stand for something else by now. Header only. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include <gst/drm/core/ordered_mutex.hpp>

#include "kms_lock_ranks.hpp"

namespace gstdrm::kms {

class FramebufferLog {
public:
  void made(std::uint32_t id)
  {
    const std::lock_guard guard(lock_);
    made_[id] = ++count_;
  }
  // For made_since().
  [[nodiscard]] std::uint64_t count() const
  {
    const std::lock_guard guard(lock_);
    return count_;
  }
  // Whether the id was given to this process after count() was asked.
  [[nodiscard]] bool made_since(std::uint32_t id, std::uint64_t count) const
  {
    const std::lock_guard guard(lock_);
    const auto it = made_.find(id);
    return it != made_.end() && it->second > count;
  }

private:
  mutable OrderedMutex lock_{kLeafLockRank, "FramebufferLog::lock_"}; // guards the two below
  std::uint64_t count_ = 0;
  std::map<std::uint32_t, std::uint64_t> made_; // as many as were alive at once: ids come again
};

} // namespace gstdrm::kms

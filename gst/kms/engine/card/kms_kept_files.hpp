// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures that stay on screen after the sink that showed them. The kernel takes a framebuffer off
// the screen when it is removed, and removes it with the open file that it was made on
// (drm_framebuffer.c, drm_fb_release()). CLOSEFB (Linux 6.8) lets go of one that stays. Before
// that, and where the console of the kernel would take over as soon as nobody has the card open
// (drm_file.c, drm_lastclose()), the open file has to stay. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <sys/types.h>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "kms_device.hpp"

namespace gstdrm::kms {

// Lets go of a framebuffer, which stays on screen. 0, or a negative errno: -EINVAL where the kernel
// has no CLOSEFB.
int close_framebuffer(int drm_fd, std::uint32_t id);

// The open files that keep pictures on screen: one per plane of a picture at most, which is never
// master.
class KeptFiles {
public:
  using Ptr = std::shared_ptr<KeptFiles>;
  // Of the process. Its users share it, since one may live until the process ends.
  static Ptr get();
  // Returns false if the device has no separate file for its buffers: a dup() of the main one would
  // stay DRM master.
  bool keep(const Device &device, std::uint32_t plane_id);
  // Something else is on the plane.
  void forget(const Device &device, std::uint32_t plane_id);

private:
  OrderedMutex lock_{kLeafLockRank, "KeptFiles::lock_"}; // guards files_
  std::map<std::pair<dev_t, std::uint32_t>, UniqueFd> files_;
};

} // namespace gstdrm::kms

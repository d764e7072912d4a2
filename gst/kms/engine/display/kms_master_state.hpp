// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether this process is master of its display, as far as the results of its commits say. By the
// streaming thread.
#pragma once

#include <cerrno>
#include <utility>

#include <gst/drm/core/result.hpp>

namespace gstdrm::kms {

class MasterState {
public:
  // Whether the error of a commit says that another process is master: the session is not the
  // active one, or the lender took the display back (EACCES of drm_ioctl() for whoever is not
  // master).
  [[nodiscard]] static bool is_loss(const Error &error) noexcept
  {
    return error.sys_errno == EACCES || error.sys_errno == EPERM;
  }

  // A commit failed with is_loss(). Returns true if this process was master until now.
  [[nodiscard]] bool lose() noexcept { return std::exchange(is_master_, false); }
  // A mode set succeeded. Returns true if this process was not master until now.
  [[nodiscard]] bool regain() noexcept { return !std::exchange(is_master_, true); }

private:
  bool is_master_ = true;
};

} // namespace gstdrm::kms

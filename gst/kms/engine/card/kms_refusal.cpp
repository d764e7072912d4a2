// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_refusal.hpp"

#include <cerrno>

namespace gstdrm::kms {

bool is_refusal(int sys_errno)
{
  switch (sys_errno) {
  case EINVAL: // most drivers, for everything
  case ERANGE: // scaling, in drm_atomic_helper_check_plane_state()
  case ENOSPC: // a rectangle outside the framebuffer, too little bandwidth or FIFO
  case E2BIG:
  case EOVERFLOW:
  case EOPNOTSUPP:
    return true;
  default:
    return false;
  }
}

} // namespace gstdrm::kms

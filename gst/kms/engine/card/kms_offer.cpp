// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_offer.hpp"

#include <cerrno>
#include <utility>

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

FormatSet FormatOffer::offered() const
{
  FormatSet refused;
  for (const Refusal &refusal : refusals_)
    refused.add(refusal.format);
  return FormatSet::subtract(listed_, refused);
}

FormatSet FormatOffer::formats() const
{
  const std::lock_guard guard(lock_);
  return offered();
}

std::vector<Refusal> FormatOffer::refusals() const
{
  const std::lock_guard guard(lock_);
  return refusals_;
}

bool FormatOffer::list(FormatSet listed)
{
  const std::lock_guard guard(lock_);
  const FormatSet before = offered();
  listed_ = std::move(listed);
  return offered() != before;
}

bool FormatOffer::resize(std::uint32_t width, std::uint32_t height)
{
  const std::lock_guard guard(lock_);
  const FormatSet before = offered();
  std::erase_if(refusals_, [&](const Refusal &refusal) {
    return refusal.width != width || refusal.height != height;
  });
  return offered() != before;
}

bool FormatOffer::refuse(Refusal refusal)
{
  const std::lock_guard guard(lock_);
  const FormatSet before = offered();
  std::erase_if(refusals_, [&](const Refusal &old) { return old.format == refusal.format; });
  refusals_.push_back(std::move(refusal));
  return offered() != before;
}

bool FormatOffer::forget_refusals()
{
  const std::lock_guard guard(lock_);
  const FormatSet before = offered();
  refusals_.clear();
  return offered() != before;
}

} // namespace gstdrm::kms

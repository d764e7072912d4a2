// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_plug_state.hpp"

#include <algorithm>
#include <utility>

namespace gstdrm::kms {

bool PlugState::differs(const std::vector<drmModeModeInfo> &modes) const
{
  const std::lock_guard guard(lock_);
  if (modes.empty())
    return connected_;
  return !connected_ || !std::equal(modes.begin(), modes.end(), modes_.begin(), modes_.end(), same_mode);
}

void PlugState::unplug()
{
  {
    const std::lock_guard guard(lock_);
    connected_ = false;
    output_.reset();
  }
  changed_ = true;
}

void PlugState::plug(Output output, const SizeLimits &limits)
{
  {
    const std::lock_guard guard(lock_);
    connected_ = true;
    modes_ = output.connector.modes;
    limits_ = limits;
    output_ = std::move(output);
  }
  changed_ = true;
}

PlugState::Change PlugState::take()
{
  const std::lock_guard guard(lock_);
  changed_ = !connected_;
  return {connected_, std::exchange(output_, std::nullopt)};
}

void PlugState::set_limits(const SizeLimits &limits)
{
  const std::lock_guard guard(lock_);
  limits_ = limits;
}

SizeLimits PlugState::limits() const
{
  const std::lock_guard guard(lock_);
  return limits_;
}

} // namespace gstdrm::kms

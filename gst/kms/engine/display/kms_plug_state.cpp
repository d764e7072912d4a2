// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_plug_state.hpp"

#include <algorithm>
#include <utility>

namespace gstdrm::kms {

bool PlugState::differs(const Monitor &monitor) const
{
  const std::lock_guard guard(lock_);
  if (monitor.modes.empty())
    return connected_;
  return !connected_ || monitor.edid != monitor_.edid ||
         !std::equal(monitor.modes.begin(), monitor.modes.end(), monitor_.modes.begin(),
                     monitor_.modes.end(), same_mode);
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

void PlugState::plug(Output output)
{
  {
    const std::lock_guard guard(lock_);
    connected_ = true;
    monitor_ = {output.connector.modes, output.connector.edid};
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

} // namespace gstdrm::kms

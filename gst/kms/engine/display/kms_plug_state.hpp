// SPDX-License-Identifier: LGPL-2.1-or-later
// What is connected to a sink's connector, and what the streaming thread has not taken up of it
// yet. The hotplug thread writes, the streaming thread takes up.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <xf86drmMode.h>

#include <gst/drm/core/ordered_mutex.hpp>

#include "engine/output/kms_output.hpp"

namespace gstdrm::kms {

// What tells one display from another.
struct Monitor {
  std::vector<drmModeModeInfo> modes; // empty if nothing is connected
  std::vector<std::uint8_t> edid;     // empty if it has none
};

class PlugState {
public:
  // What the streaming thread has to do before its next frame.
  struct Change {
    bool connected = true;
    std::optional<Output> output; // read anew, since a display was plugged in
  };

  // What is connected when the display is opened.
  explicit PlugState(Monitor monitor) : monitor_(std::move(monitor)) {}

  // Whether this is not the display that is known.
  [[nodiscard]] bool differs(const Monitor &monitor) const
  {
    const std::lock_guard guard(lock_);
    if (monitor.modes.empty())
      return connected_;
    return !connected_ || monitor.edid != monitor_.edid ||
           !std::equal(monitor.modes.begin(), monitor.modes.end(), monitor_.modes.begin(),
                       monitor_.modes.end(), same_mode);
  }
  void unplug()
  {
    const std::lock_guard guard(lock_);
    connected_ = false;
    output_.reset();
    changed_ = true;
  }
  void plug(Output output)
  {
    const std::lock_guard guard(lock_);
    connected_ = true;
    monitor_ = {output.connector.modes, output.connector.edid};
    output_ = std::move(output);
    changed_ = true;
  }
  // The device has gone for good, whatever is connected.
  void lose_device() noexcept { device_lost_ = true; }
  [[nodiscard]] bool device_lost() const noexcept { return device_lost_; }

  // Whether the streaming thread has to call take(): after a change, and for as long as nothing is
  // connected. One atomic load.
  [[nodiscard]] bool changed() const noexcept { return changed_; }
  Change take()
  {
    const std::lock_guard guard(lock_);
    changed_ = !connected_;
    return {connected_, std::exchange(output_, std::nullopt)};
  }

private:
  std::atomic<bool> changed_{false};
  std::atomic<bool> device_lost_{false};
  mutable OrderedMutex lock_{kLeafLockRank, "PlugState::lock_"}; // guards everything below
  bool connected_ = true;
  Monitor monitor_;              // what is connected, or was connected last
  std::optional<Output> output_; // for the streaming thread to take
};

} // namespace gstdrm::kms

// SPDX-License-Identifier: LGPL-2.1-or-later
// What an output showed before the sink took it, and the way back. Plain values; one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "engine/output/kms_output.hpp"
#include "kms_request.hpp"

namespace gstdrm::kms {

// The names of what a plane shows, and where and how.
std::span<const char *const> plane_state_names();

class SavedState {
public:
  // Reads the present properties of the output's connectors, CRTC and planes; where it is joined,
  // of the plane alone.
  static Result<SavedState> capture(const Device &device, const Output &output);

  // One blocking commit. Where the old framebuffers are gone, or the driver refuses the old state,
  // the output is turned off instead. Error: that failed as well.
  Result<void> restore(const Device &device, const Output &output) const;

  // The output shows nothing; where it is joined, nothing of the sink's. 0 or a negative errno.
  static int turn_off(const Device &device, const Output &output);

private:
  // A property that can be set, as it was.
  struct Value {
    std::uint32_t object_id = 0;
    std::uint32_t property_id = 0;
    std::string name;
    std::uint64_t value = 0;
    // of a blob that was there: its contents, since the blob itself dies with the old state
    std::vector<std::uint8_t> blob;
  };
  Result<void> save(const Device &device, std::uint32_t object_id, const PropertySet &properties,
                    std::span<const char *const> names);
  int restore_old(const Device &device, std::uint32_t flags) const;

  std::vector<Value> values_;
};

} // namespace gstdrm::kms

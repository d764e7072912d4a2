// SPDX-License-Identifier: LGPL-2.1-or-later
// What an output showed before the sink took it, and the way back. Plain values; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "engine/output/kms_output.hpp"
#include "kms_request.hpp"

namespace gstdrm::kms {

class SavedState {
public:
  // Reads the present properties of the output's connectors, CRTC and planes.
  static Result<SavedState> capture(const Device &device, const Output &output);

  // One blocking commit. Where the old framebuffers are gone, or the driver refuses the old state,
  // the output is turned off instead. Error: that failed as well.
  Result<void> restore(const Device &device, const Output &output) const;

  // The output shows nothing. 0 or a negative errno.
  static int turn_off(const Device &device, const Output &output);

private:
  struct Value {
    std::uint32_t property_id = 0;
    const char *name = nullptr; // a literal
    std::uint64_t value = 0;
  };
  struct SavedPlane {
    std::uint32_t plane_id = 0;
    std::uint64_t crtc_id = 0;
    std::vector<Value> values; // of every property that says what the plane shows
  };
  int restore_old(const Device &device, const Output &output) const;

  bool crtc_active_ = false;
  std::vector<std::uint8_t>
      mode_; // contents of the MODE_ID blob: the blob itself dies with the old state
  std::uint64_t connector_crtc_ = 0;
  std::vector<std::uint8_t> hdr_; // contents of the HDR_OUTPUT_METADATA blob
  std::uint64_t colorspace_ = 0;
  std::uint64_t writeback_crtc_ = 0;
  std::vector<SavedPlane> planes_;
};

} // namespace gstdrm::kms

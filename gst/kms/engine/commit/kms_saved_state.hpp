// SPDX-License-Identifier: LGPL-2.1-or-later
// What an output showed before the sink took it, and the way back. Plain values; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "engine/output/kms_output.hpp"
#include "kms_request.hpp"

namespace gstdrm::kms {

// What tells one framebuffer from another of the same id (GETFB2; Linux 5.7). Nothing of the kind
// in older kernels: all fields are 0.
struct FramebufferFacts {
  std::uint32_t width = 0, height = 0, fourcc = 0, flags = 0;
  std::uint64_t modifier = 0;
  std::uint32_t pitch = 0, offset = 0; // of the first plane, in bytes
  friend bool operator==(const FramebufferFacts &, const FramebufferFacts &) = default;
};

class SavedState {
public:
  // Reads the present properties of the output's connectors, CRTC and planes; where it is joined,
  // of the plane alone.
  static Result<SavedState> capture(const Device &device, const Output &output);

  // One blocking commit. Where an old framebuffer is gone, or the driver refuses the old state, the
  // output is turned off instead. Error: that failed as well.
  Result<void> restore(const Device &device, const Output &output) const;

  // The output shows nothing; where it is joined, nothing of the sink's. 0 or a negative errno.
  static int turn_off(const Device &device, const Output &output);

  // Another display is connected: the old mode is put back only where this one lists it.
  void suit(const Output &output);

private:
  // A property that can be set, as it was.
  struct Value {
    std::uint32_t object_id = 0;
    std::uint32_t property_id = 0;
    std::string name;
    std::uint64_t value = 0;
    // of a blob that was there: its contents, since the blob itself dies with the old state
    std::vector<std::uint8_t> blob;
    std::optional<FramebufferFacts> framebuffer; // of one that was there
  };
  Result<void> save(const Device &device, std::uint32_t object_id, const PropertySet &properties,
                    std::span<const char *const> names);
  [[nodiscard]] bool is_gone(const Device &device, const Value &value) const;
  int restore_old(const Device &device, std::uint32_t flags) const;

  std::vector<Value> values_;
  std::uint64_t framebuffers_made_ = 0; // FramebufferLog::count() at the time
  bool is_unfit_ = false;               // the mode is not one of the display's
};

} // namespace gstdrm::kms

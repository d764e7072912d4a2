// SPDX-License-Identifier: LGPL-2.1-or-later
// Lit displays of nobody in this process, the console's or those that another master has left on,
// that gave their CRTC to a sink whose connector has no other: their pictures go on on another
// CRTC, and come back when the sink goes. Called by one thread at a time.
#pragma once

#include <memory>
#include <vector>

#include "engine/card/kms_device.hpp"
#include "engine/output/kms_output.hpp"

namespace gstdrm::kms {

class MovedDisplays {
public:
  explicit MovedDisplays(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  MovedDisplays(MovedDisplays &&) noexcept = default;
  MovedDisplays &operator=(MovedDisplays &&) = delete;
  ~MovedDisplays() { put_back(); }

  // One commit, a mode set. `free` is what no sink of this process has. false: refused, and nothing
  // has changed. Called with the choice lock.
  bool move(const Resources &free, const CrtcMove &move);
  // Each display goes back, where its CRTC is dark again and no sink has taken either. Takes the
  // choice lock.
  void put_back();

private:
  std::shared_ptr<Device> device_; // null: moved from
  std::vector<CrtcMove> moves_;
};

} // namespace gstdrm::kms

// SPDX-License-Identifier: LGPL-2.1-or-later
// Puts frames on one output: mode set, flips, and the way back. Owns what the display state needs to live
// (mode, background); the frames on screen are the flip queue's. Calls are serialised by its owner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <gst/drm/core/format.hpp>
#include <gst/drm/core/result.hpp>

#include "kms_dumb.hpp"
#include "kms_flip_queue.hpp"
#include "kms_mode.hpp"
#include "kms_offer.hpp"
#include "kms_output.hpp"
#include "kms_request.hpp"
#include "kms_saved_state.hpp"

namespace gstdrm::kms {

// What the stream is.
struct Picture {
  Format format;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  Rate rate;
  ColorEncoding encoding = ColorEncoding::Bt601;
  ColorRange range = ColorRange::Limited;
};

class Scanout : public FlipTarget {
public:
  Scanout(std::shared_ptr<Device> device, Output output)
      : device_(std::move(device)), output_(std::move(output))
  {
  }

  // Error: no candidate plane has the format, or no mode holds the size. Touches nothing.
  [[nodiscard]] Result<drmModeModeInfo> check(const Picture &picture) const;

  // Looks for a plane that takes the picture in a test commit, then commits for real, with a mode set
  // where one is needed. Returns the error with one line per attempt; `sys_errno` is the last one's.
  // ErrorCode::Unsupported: the device does not do this, so another format, size or plane may do.
  Result<void> show_first(const Picture &picture, const drmModeModeInfo &mode, const Frame &frame,
                          std::uint64_t serial);
  int flip(const Frame &frame, WritebackJob *job, std::int32_t *out_fence,
           std::uint64_t serial) override;
  // Those of `pairs` that cannot be shown as the picture is, in its size and mode: test commits with scratch
  // framebuffers refused them, on the plane that shows it, or on every plane when none does. A pair that
  // no framebuffer can be made of here is not among them: its first frame is the test.
  std::vector<Refusal> disprove(const Picture &picture, const drmModeModeInfo &mode,
                                const FormatSet &pairs);

  // The same output with what is connected to it now. Nothing may be on screen: turn_off() first.
  void set_output(Output output);
  // Nothing is scanned out until the next show_first(). What was there before is still known.
  void turn_off();
  // Gives the output back as it was before the first show_first().
  Result<void> restore();

  [[nodiscard]] const Output &output() const noexcept { return output_; }
  [[nodiscard]] bool is_set() const noexcept { return setup_.has_value(); }
  [[nodiscard]] const drmModeModeInfo &mode() const { return setup_->mode; }
  [[nodiscard]] std::uint32_t plane_id() const { return setup_->plane->id; }
  [[nodiscard]] const FormatSet &plane_formats() const { return setup_->plane->formats; }
  [[nodiscard]] bool waits_for_fences() const;
  [[nodiscard]] bool can_write_back() const noexcept { return setup_ && setup_->writeback; }
  // "plane 31 of /dev/dri/card0 (vkms), Virtual-1, 640x480@59.940"
  [[nodiscard]] std::string describe() const;

private:
  // How the hardware is used: what a test commit accepted.
  struct Setup {
    drmModeModeInfo mode{};
    const Plane *plane = nullptr;      // in output_.planes
    const Plane *background = nullptr; // a black primary plane under an overlay
    bool writeback = false;            // the writeback connector is attached
    PlaneSetup rectangle;
  };
  std::vector<Setup> candidates(const Picture &picture, const drmModeModeInfo &mode) const;
  Result<void> prepare(const drmModeModeInfo &mode);
  int test(const Picture &picture, const drmModeModeInfo &mode, std::uint32_t framebuffer_id) const;
  int commit(const Setup &setup, std::uint32_t framebuffer_id, std::uint32_t flags,
             std::uint64_t serial) const;
  int show(const Setup &setup, const Frame &frame, std::uint64_t serial, bool with_mode_set);
  [[nodiscard]] bool needs_mode_set(const Setup &setup) const;
  [[nodiscard]] std::string describe_attempt(const Setup &setup, int ret) const;

  std::shared_ptr<Device> device_;
  Output output_;
  std::optional<SavedState> saved_;
  std::optional<Setup> setup_;
  PropertyBlob mode_blob_;
  drmModeModeInfo blob_mode_{}; // what it holds
  std::unique_ptr<DumbBuffer> background_; // of the mode's size
};

} // namespace gstdrm::kms

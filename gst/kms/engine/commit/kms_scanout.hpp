// SPDX-License-Identifier: LGPL-2.1-or-later
// Puts frames on one output: mode set, flips, and the way back. kms_plan.hpp says what the commits
// contain; this class makes the kernel objects that they name (mode, background), test-commits
// plans and commits the one that the kernel accepts. The frames on screen are the flip queue's.
// Calls are serialised by its owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gst/drm/core/format.hpp>
#include <gst/drm/core/format_offer.hpp>
#include <gst/drm/core/result.hpp>

#include "engine/card/kms_dumb.hpp"
#include "engine/output/kms_output.hpp"
#include "kms_cursor.hpp"
#include "kms_flip_queue.hpp"
#include "kms_overlay_plane.hpp"
#include "kms_overlay_rasters.hpp"
#include "kms_plan.hpp"
#include "kms_request.hpp"
#include "kms_saved_state.hpp"

namespace gstdrm::kms {

class Scanout : public FlipTarget {
public:
  Scanout(std::shared_ptr<Device> device, Output output)
      : device_(std::move(device)), output_(std::move(output)), cursor_(device_), rasters_(device_)
  {
  }

  // Sets the view that the next show_first() uses. The picture on screen does not change until
  // then.
  void set_view(const View &view) { view_ = view; }
  [[nodiscard]] const View &view() const noexcept { return view_; }
  // Error: no candidate plane has the format, or no mode holds the size. Touches nothing.
  [[nodiscard]] Result<drmModeModeInfo> check(const Picture &picture) const;

  // Finds out by test commits whether some plane shows pictures that are larger than the mode,
  // which check() takes into account from then on. Once, before the first frame and before another
  // thread uses the scanout.
  void probe_downscaling();
  [[nodiscard]] bool scales_down() const noexcept { return scales_down_; }

  // Looks for a plane that takes the picture in a test commit, then commits for real, with a mode
  // set where one is needed. Returns the error with one line per plane; `sys_errno` is the last
  // attempt's. ErrorCode::Unsupported: the device does not do this, so another format, size or
  // plane may do.
  // A frame's overlay becomes part of the commit where a plane takes it.
  Result<void> show_first(const Picture &picture, const drmModeModeInfo &mode, Frame &frame,
                          std::uint64_t serial);
  int flip(const Frame &frame, WritebackJob *job, std::int32_t *out_fence,
           std::uint64_t serial) override;
  // Those of `pairs` that cannot be shown as the picture is, in its size and mode: test commits
  // with scratch framebuffers refused them, on the plane that shows it, or on every plane when none
  // does. A pair that no framebuffer can be made of here is not among them: its first frame is the
  // test.
  std::vector<Refusal> disprove(const Picture &picture, const drmModeModeInfo &mode,
                                const FormatSet &pairs);

  // The same output with what is connected to it now. Nothing may be on screen: turn_off() first.
  void set_output(Output output);
  // Turns the output off until the next show_first(). The saved state for restore() is kept.
  void turn_off();
  // Puts the output back into the state that it had before the first show_first().
  Result<void> restore();

  // Overlays (kms_scanout_overlay.cpp). Whether frames may have one at present: before the first
  // frame, as far as the planes tell.
  [[nodiscard]] bool can_overlay() const;
  // Draws the overlay of a frame that flip() shows next, for the place that the picture has now. By
  // the streaming thread. Error: the frame has no raster.
  Result<void> draw_overlay(Frame &frame);
  // Whether try_overlay() has to be called before the frame is committed.
  [[nodiscard]] bool overlay_is_untried() const noexcept { return overlay_untried_; }
  // Finds a plane that takes the raster, by test commits, while nobody commits.
  void try_overlay(const std::shared_ptr<const OverlayRaster> &raster);
  // The device has refused an overlay, so no frame gets one until another display is connected or
  // the scanout is restored. Any thread.
  [[nodiscard]] bool overlay_refused() const noexcept { return overlay_errno_ != 0; }
  // Why, and how often since the scanout was made. Any thread.
  [[nodiscard]] Error overlay_refusal() const;
  [[nodiscard]] std::uint64_t overlay_refusals() const noexcept { return overlay_refusals_; }

  [[nodiscard]] const Output &output() const noexcept { return output_; }
  // Its changes become part of the next commit of a frame.
  [[nodiscard]] Cursor &cursor() noexcept { return cursor_; }
  // null: the hardware has no cursor plane, or the picture is shown on it
  [[nodiscard]] const Plane *cursor_plane() const;
  [[nodiscard]] bool is_set() const noexcept { return plan_.has_value(); }
  [[nodiscard]] std::uint32_t plane_id() const { return plan_->plane->id; }
  [[nodiscard]] const FormatSet &plane_formats() const { return plan_->plane->formats; }
  [[nodiscard]] bool waits_for_fences() const;
  [[nodiscard]] bool can_write_back() const noexcept { return plan_ && plan_->writeback; }
  // "plane 31 of /dev/dri/card0 (vkms), Virtual-1, 640x480@59.940"
  [[nodiscard]] std::string describe() const;
  // "320x240 at 160,120, not scaled: EINVAL"
  [[nodiscard]] std::string describe_placement() const;

private:
  // The result of a plane's test commits: 0, "untried", or the errno of the last one.
  struct Attempts {
    int scaled = 0;
    int unscaled = 0;
  };
  [[nodiscard]] std::string explain(Format format,
                                    const std::map<std::uint32_t, Attempts> &attempts) const;
  [[nodiscard]] const Plan *shown() const noexcept { return plan_ ? &*plan_ : nullptr; }
  Result<void> prepare(const Picture &picture, const drmModeModeInfo &mode);
  int prepare_background(const Plan &plan);
  int test(const Picture &picture, const drmModeModeInfo &mode, std::uint32_t framebuffer_id) const;
  int commit(const Plan &plan, std::uint32_t framebuffer_id, std::uint32_t flags,
             std::uint64_t serial, const OverlayRaster *overlay = nullptr) const;
  int show(Plan plan, Frame &frame, std::uint64_t serial, bool with_mode_set);
  int flip_with(const Frame &frame, WritebackJob *job, std::int32_t *out_fence,
                std::uint64_t serial, const std::shared_ptr<const OverlayRaster> &raster,
                bool &moved);
  // kms_scanout_overlay.cpp
  [[nodiscard]] OverlayPlacement overlay_placement(const Plan &plan) const;
  void choose_overlay(Plan &plan, Frame &frame, std::uint32_t flags);
  void refuse_overlay(int error);
  void forget_overlay();

  std::shared_ptr<Device> device_;
  Output output_;
  Cursor cursor_;
  std::optional<SavedState> saved_;
  std::optional<Plan> plan_;       // of what is on screen
  FlipProperties flip_properties_; // of plan_
  Request flip_request_;           // of the last flip, kept for its memory
  OverlayRasters rasters_;
  OverlayPlane overlay_;         // on plan_->overlay
  bool overlay_untried_ = false; // plan_->overlay was chosen without a test commit
  std::atomic<int> overlay_errno_{0};
  std::atomic<std::uint64_t> overlay_refusals_{0};
  View view_;
  bool scales_down_ = false;
  int scaling_refused_ = 0; // why plan_ is not scaled, although it should be; an errno
  PropertyBlob mode_blob_;
  drmModeModeInfo blob_mode_{}; // what it holds
  PropertyBlob hdr_blob_;
  std::optional<HdrMetadata> blob_hdr_;    // what it holds
  std::unique_ptr<DumbBuffer> background_; // of the mode's size
};

} // namespace gstdrm::kms

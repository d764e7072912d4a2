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
#include <span>
#include <string>
#include <vector>

#include <gst/drm/core/format.hpp>
#include <gst/drm/core/format_offer.hpp>
#include <gst/drm/core/result.hpp>

#include "engine/card/kms_dumb.hpp"
#include "engine/card/kms_framebuffer.hpp"
#include "engine/card/kms_objects.hpp"
#include "engine/output/kms_output.hpp"
#include "kms_commit.hpp"
#include "kms_flip_queue.hpp"
#include "kms_plan.hpp"
#include "kms_request.hpp"
#include "kms_saved_state.hpp"

namespace gstdrm::kms {

class Scanout : public FlipTarget {
public:
  Scanout(std::shared_ptr<Device> device, Output output)
      : device_(std::move(device)), output_(std::move(output)), rasters_(device_),
        panel_rotation_(panel_rotation(output_)),
        flips_by_fence_((output_.joined || device_->file_is_lent()) &&
                        property_id(output_.crtc.properties, "OUT_FENCE_PTR") != 0)
  {
  }

  // Sets the view that the next show_first() uses. The picture on screen does not change until
  // then.
  void set_view(const View &view) { view_ = view; }
  [[nodiscard]] const View &view() const noexcept { return view_; }
  // Leaves out the rotation of a view if it is optional. Returns false if there is none.
  bool drop_optional_rotation()
  {
    if (!view_.rotation_is_optional || view_.rotation == DRM_MODE_ROTATE_0)
      return false;
    view_.rotation = DRM_MODE_ROTATE_0;
    return true;
  }
  // Returns the modes to try for the picture, best first. Error: no candidate plane has the format,
  // or no mode holds the size. Touches nothing.
  [[nodiscard]] Result<std::vector<ModeTry>> check(const Picture &picture) const;

  // Finds out by test commits what the planes can do, which check() takes into account from then
  // on. Once, before the first frame and before another thread uses the scanout.
  void probe();
  // Whether some plane shows pictures that are larger than the mode.
  [[nodiscard]] bool scales_down() const noexcept { return scales_down_; }
  // Whether every plane has to cover the CRTC, so that only pictures of a mode's size can be shown.
  [[nodiscard]] bool covers_only() const noexcept { return covers_only_; }
  // Whether a picture's width lies along the mode's height in this view, on this panel. Any thread.
  [[nodiscard]] bool turns(const View &view) const noexcept
  {
    return on_panel(view, panel_rotation_).is_turned();
  }

  // Looks for a plane that takes the picture in a test commit, in one mode after the other, then
  // commits for real, with a mode set where one is needed. Returns the error with one line per
  // plane; `sys_errno` is the last attempt's. ErrorCode::Unsupported: the device does not do this,
  // so another format, size or plane may do. A frame's overlay becomes part of the commit where a
  // plane takes it. With Patience::Wait, a commit without a mode set that the device can do nothing
  // about at the moment (EBUSY, ENOMEM) ends the search with EAGAIN: the same call is worth another
  // try.
  enum class Patience { Wait, SetMode };
  Result<void> show_first(const Picture &picture, const std::vector<ModeTry> &modes, Commit &next,
                          Patience patience = Patience::SetMode);
  int flip(Commit &next) override;
  std::optional<std::int64_t> last_vblank() override
  {
    return kms::last_vblank(device_->fd(), output_.crtc.id);
  }
  // Those of `pairs` that cannot be shown as the picture is, in its size and the first mode that
  // shows any pair: test commits with scratch framebuffers refused them, on the plane that shows
  // it, or on every plane when none does. A pair that no framebuffer can be made of here is not
  // among them: its first frame is the test.
  std::vector<Refusal> disprove(const Picture &picture, std::span<const ModeTry> modes,
                                const FormatSet &pairs);

  // The same output with what is connected to it now. Nothing may be on screen: turn_off() first.
  void set_output(Output output);
  // The other program has set another mode on the output that is joined. The next frame is placed
  // anew.
  void set_joined_mode(const drmModeModeInfo &mode) { output_.joined = mode; }
  // Another program has set the display: the next show_first() sets everything, mode included.
  void forget_shown();
  // Turns the output off until the next show_first(). The saved state for restore() is kept. false:
  // the device refused, so the last frame may be on screen yet.
  bool turn_off();
  // Takes the picture off the screen: the next show_first() needs no mode set for the same mode.
  // The frame is off when this returns. false: the device does neither without a mode set.
  bool hide_picture();
  // Leaves the last frame on screen, where nothing of it is needed any more.
  // What the output showed before is still known to restore(). Error: it
  // cannot stay there when its owner goes.
  Result<void> leave(const Commit &last);
  // Puts the output back into the state that it had before the first show_first().
  Result<void> restore();
  // Whether restore() has something to do.
  [[nodiscard]] bool has_saved_state() const noexcept { return saved_.has_value(); }

  // Overlays. Whether frames may have one at present: before the first
  // frame, as far as the planes tell.
  [[nodiscard]] bool can_overlay() const;
  // Draws the overlay of a frame that has one and that flip() shows next, for the place that the
  // picture has now. By the streaming thread. Error: the frame has no raster.
  Result<void> draw_overlay(Frame &frame);
  // Whether try_overlay() has to be called before a frame with the raster is committed. By the
  // streaming thread.
  [[nodiscard]] bool overlay_is_untried(const OverlayRaster &raster) const noexcept
  {
    const Rectangle &now = raster.destination;
    return !tried_overlay_ ||
           ((now.width != tried_overlay_->width || now.height != tried_overlay_->height) &&
            !overlay_resizes_);
  }
  // Finds a plane that takes the raster, by test commits, while nobody commits.
  void try_overlay(const std::shared_ptr<const OverlayRaster> &raster);
  // The device has refused an overlay, so no frame gets one until another display is connected or
  // the scanout is restored. Any thread.
  [[nodiscard]] bool overlay_refused() const noexcept { return overlay_errno_ != 0; }
  // Why, and how often since the scanout was made. Any thread.
  [[nodiscard]] Error overlay_refusal() const;
  [[nodiscard]] std::uint64_t overlay_refusals() const noexcept { return overlay_refusals_; }

  [[nodiscard]] const Output &output() const noexcept { return output_; }
  // Whether flips are told by the fences of commits, and not by events: these come to the open file
  // of the commit, where another program, or another sink on the CRTC, waits for its own. Any
  // thread.
  [[nodiscard]] bool flips_by_fence() const noexcept { return flips_by_fence_; }
  // Whether the last show_first() has set the mode.
  [[nodiscard]] bool has_set_mode() const noexcept { return has_set_mode_; }
  [[nodiscard]] bool is_set() const noexcept { return plan_.has_value(); }
  // Mode of the last mode set. Requires is_set().
  [[nodiscard]] const drmModeModeInfo &shown_mode() const { return plan_->mode; }
  [[nodiscard]] std::uint32_t plane_id() const { return plan_->plane->id; }
  [[nodiscard]] const FormatSet &plane_formats() const { return plan_->plane->formats; }
  [[nodiscard]] bool waits_for_fences() const;
  [[nodiscard]] bool can_write_back() const noexcept { return plan_ && output_.writeback; }
  // Attaches the writeback connector to the CRTC, or detaches it: a mode set each, which changes
  // nothing else, so only for a snapshot. While nobody else commits. 0 or a negative errno.
  int attach_writeback(bool attached);
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
  void explain(std::string &text, Format format,
               const std::map<std::uint32_t, Attempts> &attempts) const;
  [[nodiscard]] std::string why_not_shown(const Plane &plane, Format format,
                                          const std::map<std::uint32_t, Attempts> &attempts) const;
  // On the panel, which may be mounted rotated.
  [[nodiscard]] View panel_view() const { return on_panel(view_, panel_rotation_); }
  [[nodiscard]] const Plan *shown() const noexcept { return plan_ ? &*plan_ : nullptr; }
  [[nodiscard]] std::optional<drmModeModeInfo> fixed_mode() const;
  [[nodiscard]] std::optional<drmModeModeInfo> mode_on_screen() const;
  int show_in_mode(const Picture &picture, const ModeTry &mode, Commit &next, Patience patience,
                   std::map<std::uint32_t, Attempts> &attempts);
  Result<void> prepare(const Picture &picture, const drmModeModeInfo &mode);
  int fit_background(const drmModeModeInfo &mode);
  int test_scratch(const Picture &picture, const drmModeModeInfo &mode, bool only_scaled);
  [[nodiscard]] std::optional<drmModeModeInfo> probed_mode() const;
  [[nodiscard]] std::string advice(const drmModeModeInfo &mode, Format format, bool tried) const;
  int test(const Plan &plan, std::uint32_t framebuffer_id) const;
  int test(const Picture &picture, const drmModeModeInfo &mode, std::uint32_t framebuffer_id) const;
  int commit(const Plan &plan, std::uint32_t framebuffer_id, std::uint32_t flags,
             std::uint64_t serial, const OverlayRaster *overlay = nullptr,
             std::int32_t *out_fence = nullptr) const;
  int commit_frame(Plan plan, const Frame &frame, std::uint32_t flags, std::uint64_t serial,
                   const OverlayRaster *overlay = nullptr, std::int32_t *out_fence = nullptr) const;
  int show(const Plan &plan, Commit &next, bool with_mode_set);
  int show_over_background(Plan plan, Commit &next, bool with_mode_set);
  int commit_flip(Commit &next);
  void take_out_fence(Commit &next, std::int32_t out_fence) const;
  // overlays
  [[nodiscard]] OverlayPlacement overlay_placement(const Plan &plan) const;
  void choose_overlay(Plan &plan, Frame &frame, std::uint32_t flags);
  void refuse_overlay(int error);
  void forget_overlay();
  void forget_picture();
  void forget_kept_files();

  std::shared_ptr<Device> device_;
  Output output_;
  std::optional<SavedState> saved_;
  std::optional<Plan> plan_;       // of what is on screen, for a frame with the origin 0,0
  FlipProperties flip_properties_; // of plan_
  Request flip_request_;           // of the last flip, kept for its memory
  // What the last commit shows; the flip queue keeps what it replaces.
  Origin shown_origin_;
  std::shared_ptr<const OverlayRaster> shown_overlay_; // on plan_->overlay; null: the plane is off
  Cursor shown_cursor_;
  std::optional<Cursor> refused_cursor_;
  OverlayRasters rasters_;
  bool tears_ = true; // no asynchronous flip of plan_ was refused
  // What plan_->overlay has taken; nullopt if it was chosen without a test commit.
  std::optional<Rectangle> tried_overlay_;
  bool overlay_resizes_ = false; // and in another size, while it was on
  std::atomic<int> overlay_errno_{0};
  std::atomic<std::uint64_t> overlay_refusals_{0};
  View view_;
  std::atomic<std::uint32_t> panel_rotation_; // DRM_MODE_ROTATE_*, of output_
  bool scales_down_ = false;
  bool covers_only_ = false;
  bool has_set_mode_ = false;
  std::atomic<bool> writeback_attached_{false};
  int scaling_refused_ = 0; // why plan_ is not scaled, although it should be; an errno
  std::optional<drmModeModeInfo> first_mode_; // of the first picture since the last restore()
  PropertyBlob mode_blob_;
  drmModeModeInfo blob_mode_{}; // what it holds
  PropertyBlob hdr_blob_;
  std::optional<HdrMetadata> blob_hdr_;    // what it holds
  std::shared_ptr<DumbBuffer> background_; // of the mode's size
  const bool flips_by_fence_;
  const KeptFiles::Ptr kept_files_ = KeptFiles::get();
};

} // namespace gstdrm::kms

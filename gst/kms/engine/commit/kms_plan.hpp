// SPDX-License-Identifier: LGPL-2.1-or-later
// Plans of how a picture is shown on an output, and what the commits of a plan say. Pure functions
// of values: nothing here asks the kernel anything.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gst/drm/core/format.hpp>
#include <gst/drm/core/result.hpp>

#include "engine/output/kms_mode.hpp"
#include "engine/output/kms_output.hpp"
#include "kms_balance.hpp"
#include "kms_geometry.hpp"
#include "kms_overlay.hpp"
#include "kms_request.hpp"

namespace gstdrm::kms {

// What the stream is.
struct Picture {
  Format format;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  Rate rate;
  ColorEncoding encoding = ColorEncoding::Bt601;
  ColorRange range = ColorRange::Limited;
  std::uint32_t par_n = 1; // pixel aspect ratio, width to height
  std::uint32_t par_d = 1;
  std::optional<HdrMetadata> hdr; // told to the display, where the connector can
  Alpha alpha = Alpha::Straight;  // where the format has alpha
};

// How the viewer wants it.
struct View {
  Fit fit = Fit::Contain;
  std::uint32_t rotation =
      DRM_MODE_ROTATE_0;         // DRM_MODE_ROTATE_* and DRM_MODE_REFLECT_*, counter-clockwise
  int zpos = -1;                 // of the plane; -1: what the driver has
  std::optional<Rectangle> area; // in pixels of the mode; nullopt: all of it
  Balance balance{};
  bool upright = true;               // on a panel that is mounted rotated
  bool rotation_is_optional = false; // without rotation, rather than not at all
  friend bool operator==(const View &, const View &) = default;

  // Whether the picture's width lies along the screen's height.
  [[nodiscard]] bool is_turned() const noexcept
  {
    return (rotation & (DRM_MODE_ROTATE_90 | DRM_MODE_ROTATE_270)) != 0;
  }
};

// How far a picture has to be turned to be upright on the output's panel: DRM_MODE_ROTATE_*. A
// panel that no plane can turn a picture for counts as upright.
std::uint32_t panel_rotation(const Output &output);
// The view of a person in front of the panel, as the planes have to turn it.
View on_panel(View view, std::uint32_t panel_rotation);

// One way to use the hardware for a picture. The planes are those of the Output that the plan was
// made for, which outlives it.
struct Plan {
  drmModeModeInfo mode{};
  const Plane *plane = nullptr;      // in Output::planes
  const Plane *background = nullptr; // a black primary plane under an overlay
  PlaneSetup rectangle;
  std::uint32_t width = 0; // of the picture
  std::uint32_t height = 0;
  bool scaled = false;
  Balance balance{};
  std::optional<HdrMetadata> hdr; // told to the display
  bool hdr_left_out = false;      // the picture has it, and the display does not take it
  unsigned bits = 8;              // of a component of the picture's
  const Plane *overlay = nullptr; // in Output::crtc_planes: for overlays over the picture
  int overlay_zpos = -1;          // -1: what the driver has
};

// A sentence that says what to use in place of a format that is not in the set.
std::string nearest_fix(const FormatSet &set, Format format);

// The modes to try for the picture, best first. Error: no candidate plane has the format, or no
// mode holds the size. `scales_down`: a picture may be larger than the mode. `on_screen` and
// `is_fixed`: see ModeRules.
Result<std::vector<ModeTry>> modes_for(const Output &output, const Picture &picture,
                                       bool scales_down, const std::string &device_name,
                                       const std::optional<drmModeModeInfo> &on_screen = {},
                                       bool is_fixed = false);

// Why the plane is no candidate; empty if it is one.
std::string why_unfit(const View &view, const Plane &plane, Format format);

// Every plan that is worth a test commit, best first: as the view wants it, and not scaled where
// the hardware does not scale. `shown` is the plan of what is on screen, or null; one that changes
// the format alone comes first.
std::vector<Plan> candidate_plans(const Output &output, const View &view, const Picture &picture,
                                  const drmModeModeInfo &mode, const Plan *shown);

// Whether the plan differs from what is on screen in something that a flip may not change. Never on
// an output that is joined.
bool needs_mode_set(const Output &output, const Plan &plan, const Plan *shown);

// Ids of the kernel objects that a commit of a plan names.
struct PlanObjects {
  std::uint32_t mode_blob = 0;
  std::uint32_t hdr_blob = 0;               // unless the plan has no HDR metadata
  std::uint32_t framebuffer = 0;            // of the picture
  std::uint32_t background_framebuffer = 0; // unless the plan has no background
  const OverlayRaster *overlay = nullptr;   // null: the plane for overlays is off
  bool writeback = false;                   // a mode set leaves the writeback connector attached
};

// What the commit says that puts the plan on screen in the place of `shown` (null: nothing). With a
// mode set it begins with a clean slate: every plane that the plan does not need and no other CRTC
// uses is turned off. Without, it turns off only what `shown` needed: another plane may be the
// application's.
Request plan_commit(const Output &output, const Plan &plan, const Plan *shown,
                    const PlanObjects &objects, bool with_mode_set);

// A plane for overlays, and the zpos that it needs for that; -1: it needs none.
struct OverlaySlot {
  const Plane *plane = nullptr;
  int zpos = -1;
};

// The planes that can show an overlay over the picture of a plan, best first: of type Overlay, with
// ARGB8888, not in use, and over the plane of the picture. None where the picture is turned, and
// none where the application named a plane: then the others are the application's.
std::vector<OverlaySlot> overlay_slots(const Output &output, const Plan &plan);

// Has the plan's plane for overlays show the raster; with null it shows nothing.
void set_overlay(Request &request, const Output &output, const Plan &plan,
                 const OverlayRaster *raster);

// What a flip needs of a plan, looked up once per plan and not per frame: ids of properties, 0 if
// the object has none of that name, and the plane for the cursor.
struct FlipProperties {
  std::uint32_t framebuffer = 0; // of the plane, as is in_fence
  std::uint32_t in_fence = 0;
  std::uint32_t source_x = 0; // of the plane, as is source_y
  std::uint32_t source_y = 0;
  std::uint32_t out_fence = 0;             // of the CRTC
  std::uint32_t writeback_framebuffer = 0; // of the writeback connector, as is writeback_fence
  std::uint32_t writeback_fence = 0;
  const Plane *cursor = nullptr; // null: there is none, or it shows the picture
  int cursor_zpos = -1;          // that puts it over picture and overlay; -1: leave it
};
FlipProperties flip_properties(const Output &output, const Plan &plan);

// Adds what makes the plane ids.cursor show the cursor, or turns the plane off without an image.
void set_cursor(Request &request, const Output &output, const FlipProperties &ids,
                const Cursor &cursor);

// The value of the plane's rotation property that turns and reflects a picture as `wanted` says
// (DRM_MODE_ROTATE_* and DRM_MODE_REFLECT_*); nullopt if the plane cannot do that.
std::optional<std::uint32_t> plane_rotation(const Plane &plane, std::uint32_t wanted);

// The zpos that puts the plane over `under` (-1: none needs to be set); nullopt if it is under it.
// `under_zpos`: what a commit sets for `under`; -1: nothing.
std::optional<int> zpos_over(const Plane &plane, const Plane &under, int under_zpos);

// Why the plane cannot have the zpos; empty if it can, as every plane can have -1.
std::string why_no_zpos(const Plane &plane, int zpos);

// Whether pixels of the fourcc have an alpha of their own.
bool has_alpha(std::uint32_t fourcc);
// Bits of the largest component of a pixel: 8 for fourccs that are not known to have more.
unsigned bits_per_component(std::uint32_t fourcc);

} // namespace gstdrm::kms

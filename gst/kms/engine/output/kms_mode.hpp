// SPDX-License-Identifier: LGPL-2.1-or-later
// Which display mode a video gets. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <xf86drmMode.h>

#include <gst/drm/core/result.hpp>

namespace gstdrm::kms {

// pictures per second as a fraction; 0/1: variable
struct Rate {
  std::uint32_t numerator = 0;
  std::uint32_t denominator = 1;
};

// Whether two modes are equal in every field.
inline bool same_mode(const drmModeModeInfo &a, const drmModeModeInfo &b) noexcept
{
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}
// Fields of an interlaced mode count as pictures, as in drm_modes.c (drm_mode_vrefresh).
Rate mode_refresh(const drmModeModeInfo &mode);
// length of one refresh, rounded to the nanosecond
std::int64_t refresh_period_ns(const drmModeModeInfo &mode);
// "1920x1080@60.000"
std::string describe_mode(const drmModeModeInfo &mode);

// The display's own mode: the one that it prefers, else the first, since the kernel sorts the best
// one to the front (drm_mode_sort()). nullopt if there is no mode.
std::optional<drmModeModeInfo> own_mode(std::span<const drmModeModeInfo> modes);

// When a mode that the user does not name may be set.
enum class ModeChanges {
  Auto,   // where the mode on screen cannot show the picture
  Always, // with each picture that another mode fits better
  Start,  // with the first picture since start()
  Never,  // with none: the display keeps the mode that it has; one that is dark gets one as with
          // Start
};

// Which mode the user asks for.
struct ModeRequest {
  enum class Kind {
    Auto,      // Current beside another program's picture where the sink is asked to; else the mode
               // on screen stays, and a dark display gets its own
    Match,     // the mode of the picture's size
    Preferred, // the display's own choice
    Current,   // no mode set: the one that another program has set
    Exact,     // the fields below
  };
  Kind kind = Kind::Match;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  bool interlaced = false;
  double refresh_hz = 0;        // 0: any
  double refresh_tolerance = 0; // in Hz
};

// Whether the user has named a mode.
inline bool names_mode(const ModeRequest &request) noexcept
{
  return request.kind == ModeRequest::Kind::Exact || request.kind == ModeRequest::Kind::Preferred;
}

// "auto" (and ""), "match", "preferred", "current", "1920x1080", "1920x1080@60", "1920x1080@59.94",
// "1920x1080i@50": pictures per second, fields where interlaced. A whole number stands for what
// rounds to it.
Result<ModeRequest> parse_mode_request(const std::string &text);

// Width and height of the modes that a request allows, each once: first the preferred one's, then
// in the order of the list.
std::vector<std::pair<std::uint32_t, std::uint32_t>>
mode_sizes(std::span<const drmModeModeInfo> modes, const ModeRequest &request);

// What the choice of a mode has to know of a picture.
struct ModePicture {
  std::uint32_t width = 0; // as it lies on the screen
  std::uint32_t height = 0;
  Rate rate;
  double aspect = 0;        // width to height as it is seen; 0: square pixels
  bool scales_down = false; // a picture that is larger than the mode is shown: smaller, or cropped
};

// Indices of the modes that the picture may be shown in, best first; the next one is for a mode
// that the driver refuses. Error: there is none, and which modes there are.
Result<std::vector<std::size_t>> order_modes(std::span<const drmModeModeInfo> modes,
                                             const ModeRequest &request,
                                             const ModePicture &picture);

// A mode to try for a picture.
struct ModeTry {
  drmModeModeInfo mode{};
  bool only_as_wanted = false; // not if the picture would have to be centred for want of scaling
};

// The modes of one display, and what may be done with them.
struct ModeRules {
  std::span<const drmModeModeInfo> modes;
  ModeRequest request;
  std::optional<drmModeModeInfo> on_screen; // nullopt if the display is dark, or the mode on it
                                            // does not matter
  bool is_fixed = false;                    // no mode but `on_screen` may be used
};

// The modes to try for a picture, in this order:
// 1. the mode on screen, unless the picture is larger and no plane scales it down;
// 2. order_modes().
// Error: no mode holds the picture, or there is none that the user names.
Result<std::vector<ModeTry>> modes_to_try(const ModeRules &rules, const ModePicture &picture);

// The size of a screen in millimetres; 0 if not known.
struct ScreenSize {
  std::uint32_t width_mm = 0;
  std::uint32_t height_mm = 0;
};

// Width to height of the whole picture of a mode: what the mode says of itself
// (DRM_MODE_FLAG_PIC_AR_*), else the ratio of its pixels.
double picture_aspect(const drmModeModeInfo &mode);

// Width to height of one pixel of the mode on that screen; 1 where nothing says otherwise.
double pixel_aspect(const drmModeModeInfo &mode, const ScreenSize &screen);

} // namespace gstdrm::kms

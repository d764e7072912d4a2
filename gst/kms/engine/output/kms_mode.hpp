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

// How far the refresh is from the nearest whole multiple of the rate, as a part of that multiple:
// 0 for 60 Hz and 30 fps. 0 for a variable rate.
double refresh_mismatch(const drmModeModeInfo &mode, Rate video);

// Index of the mode that fits: the video's exact size if there is one, else the smallest that
// contains it; among these progressive before interlaced, then that with the picture's shape
// (`aspect`: width to height as it is seen; 0: the mode with square pixels), then the refresh
// nearest a multiple of the video's rate (a rate that is not known: nearest to the refresh of the
// display's preferred mode, else to 60 Hz), then the display's preferred mode, then the lower
// refresh. nullopt if the video is larger than every mode.
std::optional<std::size_t> choose_mode(std::span<const drmModeModeInfo> modes, std::uint32_t width,
                                       std::uint32_t height, Rate video, double aspect = 0);

// Index of the mode with the most pixels. Where several modes have that number of pixels,
// choose_mode() chooses among them.
std::optional<std::size_t> largest_mode(std::span<const drmModeModeInfo> modes, Rate video,
                                        double aspect = 0);

// When a mode that the user does not name may be set.
enum class ModeChanges {
  Auto,   // with the first picture, then where no plane scales a picture to the mode on screen
  Always, // with each picture that another mode fits better
  Start,  // with the first picture since start()
  Never,  // with none: the display keeps the mode that it has; one that is dark gets one as with
          // Start
};

// Which mode the user asks for.
struct ModeRequest {
  enum class Kind {
    Auto,      // Current beside another program's picture where the sink is asked to, else Match
    Match,     // choose_mode()
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

// "auto" (and ""), "match", "preferred", "current", "1920x1080", "1920x1080@60", "1920x1080@59.94",
// "1920x1080i@50": pictures per second, fields where interlaced. A whole number stands for what
// rounds to it.
Result<ModeRequest> parse_mode_request(const std::string &text);

// Width and height of the modes that a request allows, each once: first the preferred one's, then
// in the order of the list.
std::vector<std::pair<std::uint32_t, std::uint32_t>>
mode_sizes(std::span<const drmModeModeInfo> modes, const ModeRequest &request);

// Index of the mode asked for; Exact: of that size and kind the one nearest to the refresh, else to
// the video's rate. Error: there is none, and which there are.
Result<std::size_t> select_mode(std::span<const drmModeModeInfo> modes, const ModeRequest &request,
                                std::uint32_t width, std::uint32_t height, Rate video,
                                double aspect = 0);

} // namespace gstdrm::kms

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_mode.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <tuple>

#include "kms_aspect.hpp"

namespace gstdrm::kms {

namespace {

// Mismatches that differ by less than this count as equal: clocks are given in kHz, so that refresh
// rates are never exact.
constexpr double kSameMismatch = 0.0005;

// Ratios that differ by less than this count as equal: 1366x768 is 16:9.
constexpr double kSameShape = 0.05;

struct Score {
  bool exact_size;
  std::uint64_t area;
  bool interlaced;
  long shape;    // how far the picture's aspect ratio is, in steps of kSameShape
  long mismatch; // in steps of kSameMismatch
  bool preferred;
  double refresh;

  // smaller is better
  [[nodiscard]] auto key() const
  {
    return std::make_tuple(!exact_size, area, interlaced, shape, mismatch, !preferred, refresh);
  }
};

double shape_mismatch(const drmModeModeInfo &mode, double aspect)
{
  const double wanted = aspect > 0 ? aspect : static_cast<double>(mode.hdisplay) / mode.vdisplay;
  return std::abs(std::log(picture_aspect(mode) / wanted));
}

double as_double(Rate rate)
{
  return static_cast<double>(rate.numerator) / rate.denominator;
}

// The refresh for a stream whose rate is not known: that of the display's preferred mode, else 60 Hz. A television lists
// 23.976 Hz for films, at which half of a camera's frames would be lost.
double usual_refresh(std::span<const drmModeModeInfo> modes)
{
  const auto preferred = std::find_if(modes.begin(), modes.end(), [](const drmModeModeInfo &mode) {
    return (mode.type & DRM_MODE_TYPE_PREFERRED) != 0;
  });
  const double refresh = preferred != modes.end() ? as_double(mode_refresh(*preferred)) : 0;
  return refresh > 0 ? refresh : 60;
}

} // namespace

Rate mode_refresh(const drmModeModeInfo &mode)
{
  std::uint64_t numerator = std::uint64_t{mode.clock} * 1000; // clock is in kHz
  std::uint64_t denominator = std::uint64_t{mode.htotal} * mode.vtotal;
  if (mode.flags & DRM_MODE_FLAG_INTERLACE)
    numerator *= 2;
  if (mode.flags & DRM_MODE_FLAG_DBLSCAN)
    denominator *= 2;
  if (mode.vscan > 1)
    denominator *= mode.vscan;
  if (numerator == 0 || denominator == 0)
    return {};
  const std::uint64_t common = std::gcd(numerator, denominator);
  numerator /= common;
  denominator /= common;
  while (numerator > INT32_MAX || denominator > INT32_MAX) {
    numerator >>= 1;
    denominator >>= 1;
  }
  return {static_cast<std::uint32_t>(numerator),
          std::max(static_cast<std::uint32_t>(denominator), 1U)};
}

std::int64_t refresh_period_ns(const drmModeModeInfo &mode)
{
  const Rate rate = mode_refresh(mode);
  if (rate.numerator == 0)
    return 16'666'667; // a mode without a clock: assume 60 Hz
  return static_cast<std::int64_t>(
      (std::uint64_t{1'000'000'000} * rate.denominator + rate.numerator / 2) / rate.numerator);
}

std::string describe_mode(const drmModeModeInfo &mode)
{
  char text[64];
  std::snprintf(text, sizeof(text), "%ux%u%s@%.3f", unsigned{mode.hdisplay},
                unsigned{mode.vdisplay}, mode.flags & DRM_MODE_FLAG_INTERLACE ? "i" : "",
                as_double(mode_refresh(mode)));
  return text;
}

double refresh_mismatch(const drmModeModeInfo &mode, Rate video)
{
  if (video.numerator == 0 || video.denominator == 0)
    return 0;
  const double refresh = as_double(mode_refresh(mode));
  const double rate = as_double(video);
  const double multiple = std::max(1.0, std::round(refresh / rate)) * rate;
  return std::abs(refresh - multiple) / multiple;
}

std::optional<std::size_t> choose_mode(std::span<const drmModeModeInfo> modes, std::uint32_t width,
                                       std::uint32_t height, Rate video, double aspect)
{
  const bool is_known = video.numerator != 0 && video.denominator != 0;
  const double usual = usual_refresh(modes);
  std::optional<std::size_t> best;
  Score best_score{};
  for (std::size_t i = 0; i < modes.size(); i++) {
    const drmModeModeInfo &mode = modes[i];
    if (mode.hdisplay < width || mode.vdisplay < height)
      continue;
    const double mismatch = is_known ? refresh_mismatch(mode, video) : std::abs(as_double(mode_refresh(mode)) - usual) / usual;
    const Score score{mode.hdisplay == width && mode.vdisplay == height,
                      std::uint64_t{mode.hdisplay} * mode.vdisplay,
                      (mode.flags & DRM_MODE_FLAG_INTERLACE) != 0,
                      std::lround(shape_mismatch(mode, aspect) / kSameShape),
                      std::lround(mismatch / kSameMismatch),
                      (mode.type & DRM_MODE_TYPE_PREFERRED) != 0,
                      as_double(mode_refresh(mode))};
    if (!best || score.key() < best_score.key()) {
      best = i;
      best_score = score;
    }
  }
  return best;
}

std::optional<std::size_t> largest_mode(std::span<const drmModeModeInfo> modes, Rate video,
                                        double aspect)
{
  const auto largest = std::max_element(
      modes.begin(), modes.end(), [](const drmModeModeInfo &a, const drmModeModeInfo &b) {
        return std::uint64_t{a.hdisplay} * a.vdisplay < std::uint64_t{b.hdisplay} * b.vdisplay;
      });
  if (largest == modes.end())
    return std::nullopt;
  return choose_mode(modes, largest->hdisplay, largest->vdisplay, video, aspect);
}

} // namespace gstdrm::kms

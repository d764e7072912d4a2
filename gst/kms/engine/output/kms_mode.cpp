// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_mode.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace gstdrm::kms {

namespace {

double as_double(Rate rate)
{
  return static_cast<double>(rate.numerator) / rate.denominator;
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

std::optional<drmModeModeInfo> own_mode(std::span<const drmModeModeInfo> modes)
{
  const auto preferred = std::find_if(modes.begin(), modes.end(), [](const drmModeModeInfo &mode) {
    return (mode.type & DRM_MODE_TYPE_PREFERRED) != 0;
  });
  if (preferred != modes.end())
    return *preferred;
  return modes.empty() ? std::nullopt : std::optional(modes.front());
}

} // namespace gstdrm::kms

// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses the mode that the user asks for, and finds it among the modes of the connector.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "kms_mode.hpp"

namespace gstdrm::kms {

namespace {

// Clocks are given in kHz, so that 59.94 Hz is 59.9401 Hz in one table of modes and 59.9406 Hz in
// another. 60 Hz is farther away than this tolerance.
constexpr double kDecimalTolerance_hz = 0.03;
constexpr double kWholeTolerance_hz = 0.5;
constexpr double kLargestRefresh_hz = 1000;

Error not_understood(const std::string &text)
{
  return Error{
      ErrorCode::Unsupported,
      "mode=" + text +
          " is not understood. Write auto, match, preferred, current, 1920x1080, 1920x1080@60, "
          "1920x1080@59.94, or 1920x1080i@50 for fields.",
      0};
}

// Removes a number from the front of the text. 0: there is no number, or it is out of range.
std::uint32_t take_size(std::string_view &text)
{
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > std::numeric_limits<std::uint16_t>::max())
    return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view &text, char c)
{
  if (text.empty() || text.front() != c)
    return false;
  text.remove_prefix(1);
  return true;
}

// Digits with at most one point between them, whatever the locale.
bool read_refresh(std::string_view text, ModeRequest &request)
{
  double value = 0, place = 1;
  bool point = false, digit = false;
  for (const char c : text) {
    if (c == '.' && digit && !point) {
      point = true;
      digit = false;
      continue;
    }
    if (c < '0' || c > '9')
      return false;
    digit = true;
    if (point)
      place /= 10;
    value = point ? value + (c - '0') * place : value * 10 + (c - '0');
  }
  request.refresh_hz = value;
  request.refresh_tolerance = point ? kDecimalTolerance_hz : kWholeTolerance_hz;
  return digit && value > 0 && value <= kLargestRefresh_hz;
}

double refresh_hz(const drmModeModeInfo &mode)
{
  const Rate rate = mode_refresh(mode);
  return rate.numerator == 0 ? 0 : static_cast<double>(rate.numerator) / rate.denominator;
}

std::string describe(const ModeRequest &request)
{
  std::string text = std::to_string(request.width) + "x" + std::to_string(request.height) +
                     (request.interlaced ? "i" : "");
  if (request.refresh_hz > 0) {
    char refresh[32];
    std::snprintf(refresh, sizeof(refresh), "@%.6g", request.refresh_hz);
    text += refresh;
  }
  return text;
}

std::string list_modes(std::span<const drmModeModeInfo> modes)
{
  std::vector<std::string> names;
  for (const drmModeModeInfo &mode : modes)
    if (std::string name = describe_mode(mode);
        std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : " ") + name;
  return text.empty() ? "none" : text;
}

Result<std::size_t> select_exact(std::span<const drmModeModeInfo> modes, const ModeRequest &request,
                                 Rate video, double aspect)
{
  std::vector<drmModeModeInfo> fitting;
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < modes.size(); i++) {
    const drmModeModeInfo &mode = modes[i];
    const bool interlaced = (mode.flags & DRM_MODE_FLAG_INTERLACE) != 0;
    if (mode.hdisplay != request.width || mode.vdisplay != request.height ||
        interlaced != request.interlaced)
      continue;
    if (request.refresh_hz > 0 &&
        std::abs(refresh_hz(mode) - request.refresh_hz) > request.refresh_tolerance)
      continue;
    fitting.push_back(mode);
    indices.push_back(i);
  }
  if (fitting.empty())
    return Error{ErrorCode::Unsupported,
                 "There is no mode " + describe(request) + ". Modes: " + list_modes(modes) +
                     ". Choose one of these with mode.",
                 0};
  if (request.refresh_hz > 0) {
    const auto distance = [&request](const drmModeModeInfo &mode) {
      return std::abs(refresh_hz(mode) - request.refresh_hz);
    };
    const auto nearest =
        std::min_element(fitting.begin(), fitting.end(),
                         [&distance](const drmModeModeInfo &a, const drmModeModeInfo &b) {
                           return distance(a) < distance(b);
                         });
    const double least = distance(*nearest);
    std::vector<drmModeModeInfo> best;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < fitting.size(); i++)
      if (distance(fitting[i]) <= least) { // of one timing there may be several shapes
        best.push_back(fitting[i]);
        places.push_back(indices[i]);
      }
    fitting = std::move(best);
    indices = std::move(places);
  }
  return indices[choose_mode(fitting, request.width, request.height, video, aspect).value_or(0)];
}

} // namespace

Result<ModeRequest> parse_mode_request(const std::string &text)
{
  ModeRequest request;
  using Kind = ModeRequest::Kind;
  constexpr std::array<std::pair<std::string_view, Kind>, 5> kNames = {
      {{"", Kind::Auto},
       {"auto", Kind::Auto},
       {"match", Kind::Match},
       {"preferred", Kind::Preferred},
       {"current", Kind::Current}}};
  for (const auto &[name, kind] : kNames)
    if (text == name) {
      request.kind = kind;
      return request;
    }
  std::string_view rest = text;
  request.kind = ModeRequest::Kind::Exact;
  request.width = take_size(rest);
  if (request.width == 0 || !take(rest, 'x'))
    return not_understood(text);
  request.height = take_size(rest);
  request.interlaced = take(rest, 'i');
  if (request.height == 0)
    return not_understood(text);
  if (!rest.empty() && (!take(rest, '@') || !read_refresh(rest, request)))
    return not_understood(text);
  return request;
}

Result<std::size_t> select_mode(std::span<const drmModeModeInfo> modes, const ModeRequest &request,
                                std::uint32_t width, std::uint32_t height, Rate video,
                                double aspect)
{
  if (modes.empty())
    return Error{ErrorCode::Unsupported, "There is no mode at all: is the display plugged in?", 0};
  switch (request.kind) {
  case ModeRequest::Kind::Exact:
    return select_exact(modes, request, video, aspect);
  case ModeRequest::Kind::Preferred: {
    const auto preferred =
        std::find_if(modes.begin(), modes.end(), [](const drmModeModeInfo &mode) {
          return (mode.type & DRM_MODE_TYPE_PREFERRED) != 0;
        });
    // the kernel sorts the best one to the front (drm_mode_sort())
    return preferred == modes.end() ? std::size_t{0}
                                    : static_cast<std::size_t>(preferred - modes.begin());
  }
  case ModeRequest::Kind::Auto:
  case ModeRequest::Kind::Current: // of an output that is not joined
  case ModeRequest::Kind::Match:
    break;
  }
  if (const auto index = choose_mode(modes, width, height, video, aspect))
    return *index;
  return Error{ErrorCode::Unsupported,
               "The picture of " + std::to_string(width) + "x" + std::to_string(height) +
                   " is larger than every mode (largest: " +
                   describe_mode(modes[*largest_mode(modes, video)]) +
                   "), and the display hardware does not scale it. Put videoscale before the sink.",
               0};
}

std::vector<std::pair<std::uint32_t, std::uint32_t>>
mode_sizes(std::span<const drmModeModeInfo> modes, const ModeRequest &request)
{
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sizes;
  const auto add = [&](const drmModeModeInfo &mode) {
    const std::pair<std::uint32_t, std::uint32_t> size(mode.hdisplay, mode.vdisplay);
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end())
      sizes.push_back(size);
  };
  const bool any = request.kind == ModeRequest::Kind::Match;
  ModeRequest first = request;
  if (any)
    first.kind = ModeRequest::Kind::Preferred;
  if (const Result<std::size_t> index = select_mode(modes, first, 0, 0, {}))
    add(modes[*index]);
  for (const drmModeModeInfo &mode : modes)
    if (any)
      add(mode);
  return sizes;
}

} // namespace gstdrm::kms

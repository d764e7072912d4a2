// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_mode.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/card/kms_objects.hpp"

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

namespace {

// CTA-861-G, table 3: the ratios that its formats have.
std::optional<double> told_aspect(const drmModeModeInfo &mode)
{
  switch (mode.flags & DRM_MODE_FLAG_PIC_AR_MASK) {
  case DRM_MODE_FLAG_PIC_AR_4_3:
    return 4.0 / 3;
  case DRM_MODE_FLAG_PIC_AR_16_9:
    return 16.0 / 9;
  case DRM_MODE_FLAG_PIC_AR_64_27:
    return 64.0 / 27;
  case DRM_MODE_FLAG_PIC_AR_256_135:
    return 256.0 / 135;
  default:
    return std::nullopt;
  }
}

// 720 pixels, or a multiple, in 480 or 576 lines fill a screen of 4:3 and one of 16:9 (ITU-R
// BT.601; CTA-861-G, table 3): in neither are they square.
bool is_standard_definition(const drmModeModeInfo &mode)
{
  return mode.hdisplay != 0 && mode.hdisplay % 720 == 0 && mode.hdisplay <= 2880 &&
         (mode.vdisplay == 480 || mode.vdisplay == 576);
}

// Plasma televisions of 16:9 have panels of 1024x720, 1024x768, 1024x1024, 1024x1080 or 1280x1080.
bool has_wide_pixels(const drmModeModeInfo &mode)
{
  return mode.hdisplay == 1024 || (mode.hdisplay == 1280 && mode.vdisplay == 1080);
}

double distance(double a, double b)
{
  return std::abs(std::log(a / b));
}

} // namespace

double picture_aspect(const drmModeModeInfo &mode)
{
  if (mode.hdisplay == 0 || mode.vdisplay == 0)
    return 1;
  return told_aspect(mode).value_or(static_cast<double>(mode.hdisplay) / mode.vdisplay);
}

// EDIDs give centimetres, or a ratio such as 16x9 in the place of a size, and are wrong now and
// then: small panels have the size of another one. They choose between the two shapes that a mode
// of standard definition can have. The pixels of the display's own mode count as other than square
// only where a panel that exists explains the size. How a display fits another mode into its panel
// is not known: its pixels count as square.
double pixel_aspect(const drmModeModeInfo &mode, const ScreenSize &screen)
{
  if (mode.hdisplay == 0 || mode.vdisplay == 0)
    return 1;
  const double pixels = static_cast<double>(mode.hdisplay) / mode.vdisplay;
  if (const std::optional<double> told = told_aspect(mode))
    return *told / pixels;
  if (screen.width_mm == 0 || screen.height_mm == 0)
    return 1;
  const double measured = static_cast<double>(screen.width_mm) / screen.height_mm;
  if (is_standard_definition(mode)) {
    const bool plausible = measured > 1.1 && measured < 2.6;
    const bool wide = distance(measured, 16.0 / 9) < distance(measured, 4.0 / 3);
    return plausible ? (wide ? 16.0 / 9 : 4.0 / 3) / pixels : 1;
  }
  constexpr double kLeastWide = 1.15, kMostWide = 2;
  constexpr std::uint32_t kLeastTelevision_mm = 600;
  const double aspect = measured / pixels;
  const bool is_own = (mode.type & DRM_MODE_TYPE_PREFERRED) != 0;
  // 160x90 and 160x100 in centimetres are ratios too
  const bool is_ratio =
      screen.width_mm == 1600 && (screen.height_mm == 900 || screen.height_mm == 1000);
  return is_own && has_wide_pixels(mode) && screen.width_mm >= kLeastTelevision_mm && !is_ratio &&
                 aspect >= kLeastWide && aspect <= kMostWide
             ? aspect
             : 1;
}

namespace {

// Which mode a picture gets. A mode set leaves most displays dark for a second or more, so without
// a mode that the user asked for the display is left alone:
// 1. The mode on screen stays. A plane scales the picture to it, or the picture is centred.
// 2. A display that is dark, or whose mode on screen is too small, gets its own (preferred) size.
// 3. A mode that the driver refuses is followed by the next one: first those that lose no picture
//    of the stream, then those of the display's shape, then those nearest to its own size.
// 4. Of one size, the refresh is the nearest to a multiple of the stream's rate; for a stream of
//    unknown rate, that of the display's own mode.

// Ratios that differ by less than this count as equal: 1366x768 is 16:9.
constexpr double kSameShape = 0.05;
// Clocks are given in kHz, so that refresh rates are never exact: 59.973 Hz is as good as 60, and
// 59.94 is not.
constexpr double kSameRate = 0.0008;
// 60 Hz shows every picture of 60.1 a second, as far as a viewer can tell.
constexpr double kLossless = 0.99;

// Smaller is better, the first difference decides.
using ModeRank = std::array<double, 9>;

double refresh_of(const drmModeModeInfo &mode)
{
  return as_double(mode_refresh(mode));
}

double area_of(const drmModeModeInfo &mode)
{
  return std::max(1.0, static_cast<double>(mode.hdisplay) * mode.vdisplay);
}

double pixel_shape(const drmModeModeInfo &mode)
{
  return static_cast<double>(std::max<int>(1, mode.hdisplay)) / std::max<int>(1, mode.vdisplay);
}

// In steps of kSameShape.
double shape_distance(double a, double b)
{
  return std::round(std::abs(std::log(a / b)) / kSameShape);
}

// How unevenly pictures of the rate are shown: 0 where each stays for the same number of
// refreshes. Two and three by turns (23.976 pictures at 59.94 Hz) are the next best.
double unevenness(double refresh, double rate)
{
  constexpr double kByTurns = 0.02;
  const double ratio = refresh / rate;
  const auto distance = [ratio](double multiple) { return std::abs(ratio - multiple) / multiple; };
  const double even = distance(std::max(1.0, std::round(ratio)));
  const double by_turns = distance(std::max(1.0, std::floor(ratio)) + 0.5);
  return std::floor(std::min(even, by_turns + kByTurns) / kSameRate);
}

bool holds(const drmModeModeInfo &mode, const ModePicture &picture)
{
  return mode.hdisplay >= picture.width && mode.vdisplay >= picture.height;
}

bool is_of_request(const drmModeModeInfo &mode, const ModeRequest &request)
{
  if (request.kind != ModeRequest::Kind::Exact)
    return true;
  const bool interlaced = (mode.flags & DRM_MODE_FLAG_INTERLACE) != 0;
  return mode.hdisplay == request.width && mode.vdisplay == request.height &&
         interlaced == request.interlaced &&
         (request.refresh_hz == 0 ||
          std::abs(refresh_of(mode) - request.refresh_hz) <= request.refresh_tolerance);
}

ModeRank rank(const drmModeModeInfo &mode, const drmModeModeInfo &own, const ModeRequest &request,
              const ModePicture &picture)
{
  using Kind = ModeRequest::Kind;
  const bool is_preferred = (own.type & DRM_MODE_TYPE_PREFERRED) != 0;
  const double own_refresh = is_preferred && refresh_of(own) > 0 ? refresh_of(own) : 60;
  const bool is_known = picture.rate.numerator != 0 && picture.rate.denominator != 0;
  const double rate = is_known
                          ? static_cast<double>(picture.rate.numerator) / picture.rate.denominator
                          : own_refresh;
  // A display that prefers 30 Hz or less is short of bandwidth in that size alone, and streams of
  // unknown rate have up to 60 pictures a second.
  constexpr double kLeastUsual_hz = 48;
  const double usual_refresh = is_known || own_refresh >= kLeastUsual_hz ? own_refresh : 60;
  const double refresh = refresh_of(mode);
  const bool preferred = (mode.type & DRM_MODE_TYPE_PREFERRED) != 0;

  std::array<double, 4> size{}; // what decides before the refresh
  switch (request.kind) {
  case Kind::Exact:
    size = {request.refresh_hz > 0 ? std::abs(refresh - request.refresh_hz) : 0};
    break;
  case Kind::Match: // the picture's size, else the smallest that holds it, else the largest
    size = {holds(mode, picture) ? 0.0 : 1.0,
            mode.hdisplay == picture.width && mode.vdisplay == picture.height ? 0.0 : 1.0,
            shape_distance(pixel_shape(mode), pixel_shape(own)),
            holds(mode, picture) ? area_of(mode) : -area_of(mode)};
    break;
  case Kind::Preferred:
  case Kind::Auto:
  case Kind::Current: // of an output that is not joined
    size = {request.kind == Kind::Preferred && same_mode(mode, own) ? 0.0 : 1.0,
            refresh < rate * kLossless ? 1.0 : 0.0,
            shape_distance(pixel_shape(mode), pixel_shape(own)),
            std::abs(std::log(area_of(mode) / area_of(own)))};
    break;
  }
  return {
      size[0], size[1], size[2], size[3], (mode.flags & DRM_MODE_FLAG_INTERLACE) != 0 ? 1.0 : 0.0,
      // of one timing there may be several shapes
      shape_distance(picture_aspect(mode), picture.aspect > 0 ? picture.aspect : pixel_shape(mode)),
      unevenness(refresh, rate), preferred ? 0.0 : 1.0, std::abs(refresh - usual_refresh)};
}

std::string describe(const ModeRequest &request)
{
  std::string text = describe_size(request.width, request.height) + (request.interlaced ? "i" : "");
  if (request.refresh_hz > 0) {
    char refresh[32];
    std::snprintf(refresh, sizeof(refresh), "@%.6g", request.refresh_hz);
    text += refresh;
  }
  return text;
}

// The modes that are nearest to the request, as many as an error message holds: of each size one,
// unless the request names a rate.
std::string list_nearest(std::span<const drmModeModeInfo> modes, const ModeRequest &request)
{
  constexpr std::size_t kMost = 6;
  const auto distance = [&request](const drmModeModeInfo &mode) {
    const auto apart = [](double a, double b) {
      return std::abs(std::log(std::max(1.0, a) / std::max(1.0, b)));
    };
    const bool interlaced = (mode.flags & DRM_MODE_FLAG_INTERLACE) != 0;
    return std::array{apart(mode.hdisplay, request.width) + apart(mode.vdisplay, request.height),
                      interlaced == request.interlaced ? 0.0 : 1.0,
                      request.refresh_hz > 0 ? std::abs(refresh_of(mode) - request.refresh_hz) : 0};
  };
  std::vector<drmModeModeInfo> nearest(modes.begin(), modes.end());
  std::stable_sort(nearest.begin(), nearest.end(),
                   [&](const auto &a, const auto &b) { return distance(a) < distance(b); });
  std::vector<std::string> names;
  std::string last; // the size, or the whole name
  for (const drmModeModeInfo &mode : nearest) {
    const std::string name = describe_mode(mode);
    const std::string what = request.refresh_hz > 0 ? name : name.substr(0, name.find('@'));
    if (what != last)
      names.push_back(name);
    last = what;
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); i++)
    text += (i == 0 ? "" : " ") + names[i];
  return text;
}

Error too_large(const ModePicture &picture, const drmModeModeInfo &largest, const char *which)
{
  return Error{ErrorCode::Unsupported,
               "The picture of " + describe_size(picture.width, picture.height) +
                   " is larger than " + which + describe_mode(largest) +
                   "), and the display hardware does not scale it. Put videoscale before the sink.",
               0};
}

} // namespace

Result<std::vector<std::size_t>> order_modes(std::span<const drmModeModeInfo> modes,
                                             const ModeRequest &request, const ModePicture &picture)
{
  const std::optional<drmModeModeInfo> own = own_mode(modes);
  if (!own)
    return Error{ErrorCode::Unsupported, "There is no mode at all: is the display plugged in?", 0};
  std::vector<std::size_t> order;
  std::vector<ModeRank> ranks;
  const drmModeModeInfo *largest = nullptr;
  for (const drmModeModeInfo &mode : modes) {
    ranks.push_back(rank(mode, *own, request, picture));
    if (!is_of_request(mode, request))
      continue;
    if (!largest || area_of(mode) > area_of(*largest))
      largest = &mode;
    if (picture.scales_down || holds(mode, picture))
      order.push_back(ranks.size() - 1);
  }
  if (!largest)
    return Error{ErrorCode::Unsupported,
                 "There is no mode " + describe(request) + " among " +
                     std::to_string(modes.size()) + ". The nearest are " +
                     list_nearest(modes, request) +
                     ". Choose one with mode; /sys/class/drm/*/modes has the sizes of all.",
                 0};
  if (order.empty())
    return too_large(picture, *largest,
                     request.kind == ModeRequest::Kind::Exact ? "the mode that mode names ("
                                                              : "every mode (largest: ");
  std::stable_sort(order.begin(), order.end(),
                   [&ranks](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  return order;
}

Result<std::vector<ModeTry>> modes_to_try(const ModeRules &rules, const ModePicture &picture)
{
  using Kind = ModeRequest::Kind;
  std::vector<ModeTry> tries;
  if (rules.on_screen && (picture.scales_down || holds(*rules.on_screen, picture)))
    tries.push_back({*rules.on_screen, !rules.is_fixed && rules.request.kind == Kind::Match});
  if (rules.is_fixed && rules.on_screen) {
    if (tries.empty())
      return too_large(picture, *rules.on_screen, "the mode that stays (");
    return tries;
  }
  const Result<std::vector<std::size_t>> order = order_modes(rules.modes, rules.request, picture);
  if (!order && tries.empty())
    return order.error();
  if (order)
    for (const std::size_t index : *order)
      tries.push_back({rules.modes[index], false});
  return tries;
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
  if (request.kind == ModeRequest::Kind::Exact) {
    if (!modes.empty())
      sizes.emplace_back(request.width, request.height);
    return sizes;
  }
  if (const std::optional<drmModeModeInfo> own = own_mode(modes))
    add(*own);
  if (request.kind != ModeRequest::Kind::Preferred)
    for (const drmModeModeInfo &mode : modes)
      add(mode);
  return sizes;
}

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

// Removes a number from the front of the text. Returns 0 if there is no number, or it is out of
// range.
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

} // namespace gstdrm::kms

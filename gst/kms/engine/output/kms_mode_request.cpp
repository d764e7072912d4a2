// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses the mode that the user asks for.
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

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

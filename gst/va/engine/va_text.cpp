// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_text.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace gstdrm::va {
namespace {

constexpr std::size_t kMaxLine = 1000; // bytes

bool is_continuation(char byte)
{
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// Length in bytes of the UTF-8 character (RFC 3629) at the start of `text`; 0 if it is invalid or
// not allowed in a line.
std::size_t character(std::string_view text)
{
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80)
    return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length)
    return 0;
  std::uint32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i]))
      return 0;
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kFirstOfLength{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool control = code < 0xa0 || code == 0x2028 || code == 0x2029;
  return code < kFirstOfLength[length] || code > 0x10ffff || surrogate || control ? 0 : length;
}

} // namespace

bool is_one_line(std::string_view text)
{
  while (!text.empty()) {
    const auto length = character(text);
    if (length == 0)
      return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string one_line(std::string_view text)
{
  std::string line;
  while (!text.empty() && line.size() < kMaxLine) {
    const auto length = character(text);
    line += length > 0 ? text.substr(0, length) : "?";
    text.remove_prefix(length > 0 ? length : 1);
  }
  return line;
}

} // namespace gstdrm::va

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "format.hpp"

#include <array>
#include <cstdio>
#include <string>

namespace gstdrm {

namespace {

constexpr std::size_t kFourccLength = 4;
constexpr std::size_t kMaxHexDigits = 16;
constexpr std::string_view kBigEndianSuffix = "_BE";
constexpr std::string_view kHexDigits = "0123456789abcdef";

// Printable ASCII. A colon would make the text ambiguous, for it ends the fourcc.
constexpr bool is_fourcc_char(std::uint32_t c) noexcept
{
  return c >= 0x20 && c <= 0x7e && c != ':';
}

// Value of a hexadecimal digit, -1 for any other byte.
constexpr auto kHexValues = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (int i = 0; i < 10; ++i)
    values[static_cast<std::size_t>('0' + i)] = static_cast<std::int8_t>(i);
  for (int i = 0; i < 6; ++i) {
    values[static_cast<std::size_t>('a' + i)] = static_cast<std::int8_t>(10 + i);
    values[static_cast<std::size_t>('A' + i)] = static_cast<std::int8_t>(10 + i);
  }
  return values;
}();

constexpr int hex_digit(char c) noexcept
{
  return kHexValues[static_cast<unsigned char>(c)];
}

// Text from anywhere, made safe for a message and for GLib, which wants UTF-8.
std::string quoted(std::string_view text)
{
  constexpr std::size_t kLongest = 64;
  std::string out = "'";
  for (const char c : text.substr(0, kLongest)) {
    if (c >= 0x20 && c <= 0x7e) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += "\\x";
      out += kHexDigits[byte >> 4];
      out += kHexDigits[byte & 15];
    }
  }
  out += text.size() > kLongest ? "…'" : "'";
  return out;
}

Error refuse(std::string_view text, std::size_t position, std::string_view why)
{
  return Error{ErrorCode::Format,
               quoted(text) + " is no drm-format: " + std::string(why) + " (position " +
                   std::to_string(position) + ")",
               0};
}

// The modifier's text, from the colon on: always an explicit, non-linear one.
Result<std::uint64_t> parse_modifier(std::string_view text, std::size_t colon)
{
  std::size_t pos = colon + 1;
  // 0X as well, which upstream reads (g_ascii_strtoull())
  if (const std::string_view prefix = text.substr(pos, 2); prefix != "0x" && prefix != "0X")
    return refuse(text, pos,
                  "no '0x' after the colon; expected ':0x' and 1 to 16 hexadecimal digits, or no "
                  "colon for linear");
  pos += 2;
  if (pos == text.size())
    return refuse(text, pos, "nothing after '0x'; expected 1 to 16 hexadecimal digits");

  const std::size_t first = pos;
  std::uint64_t modifier = 0;
  for (; pos < text.size(); ++pos) {
    const int digit = hex_digit(text[pos]);
    if (digit < 0)
      return refuse(text, pos, "not a hexadecimal digit");
    if (pos - first == kMaxHexDigits)
      return refuse(text, pos, "more than 16 hexadecimal digits: a modifier has 64 bits");
    modifier = modifier << 4 | static_cast<std::uint64_t>(digit);
  }
  if (modifier == kModLinear)
    return refuse(text, first, "the linear modifier is written by leaving it out");
  if (modifier == kModImplicit)
    return refuse(text, first,
                  "0x00ffffffffffffff is DRM_FORMAT_MOD_INVALID; an implicit modifier has no "
                  "drm-format, use format=<GstVideoFormat> with memory:DMABuf instead");
  return modifier;
}

} // namespace

bool fourcc_is_valid(std::uint32_t fourcc) noexcept
{
  constexpr std::uint32_t kAllSpaces = 0x20202020;
  fourcc &= ~kFourccBigEndian;
  return is_fourcc_char(fourcc & 0xff) && is_fourcc_char(fourcc >> 8 & 0xff) &&
         is_fourcc_char(fourcc >> 16 & 0xff) && is_fourcc_char(fourcc >> 24) &&
         fourcc != kAllSpaces;
}

namespace {

// Reads the two forms that nearly all strings have, "NV12" and "NV12:0x0100000000000002". false:
// another form, which parse_any() reads or refuses.
bool parse_canonical(std::string_view text, Format &format) noexcept
{
  constexpr std::size_t kWithModifier = kFourccLength + 3 + kMaxHexDigits;
  if (text.size() != kFourccLength && text.size() != kWithModifier)
    return false;
  std::uint32_t fourcc = 0;
  for (unsigned i = 0; i < kFourccLength; ++i)
    fourcc |= std::uint32_t{static_cast<unsigned char>(text[i])} << (8 * i);
  if ((fourcc & kFourccBigEndian) != 0 || !fourcc_is_valid(fourcc))
    return false;
  format = {fourcc, kModLinear};
  if (text.size() == kFourccLength)
    return true;

  std::uint64_t modifier = 0;
  int invalid = 0; // negative after a character that is no digit
  for (std::size_t i = kWithModifier - kMaxHexDigits; i < kWithModifier; ++i) {
    const int digit = hex_digit(text[i]);
    invalid |= digit;
    modifier = modifier << 4 | static_cast<std::uint64_t>(digit & 15);
  }
  format.modifier = modifier;
  return text[4] == ':' && text[5] == '0' && text[6] == 'x' && invalid >= 0 &&
         modifier != kModLinear && modifier != kModImplicit;
}

// Reads any other form, and gives the reason of every refusal.
Result<Format> parse_any(std::string_view text)
{
  if (text.size() < kFourccLength)
    return refuse(text, text.size(), "a fourcc has 4 characters, trailing spaces included");

  Format format;
  for (std::size_t i = 0; i < kFourccLength; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == ':')
      return refuse(text, i, "a fourcc has 4 characters, trailing spaces included");
    if (!is_fourcc_char(c))
      return refuse(text, i, "a fourcc has printable ASCII characters only");
    format.fourcc |= std::uint32_t{c} << (8 * i);
  }
  if (!fourcc_is_valid(format.fourcc))
    return refuse(text, 0, "a fourcc of spaces only");

  std::size_t pos = kFourccLength;
  if (text.substr(pos, kBigEndianSuffix.size()) == kBigEndianSuffix) {
    format.fourcc |= kFourccBigEndian;
    pos += kBigEndianSuffix.size();
  }
  if (pos == text.size())
    return format;
  if (text[pos] != ':')
    return refuse(text, pos,
                  "trailing text after the fourcc; expected ':0x' and 1 to 16 hexadecimal digits, "
                  "or nothing for linear");
  const Result<std::uint64_t> modifier = parse_modifier(text, pos);
  if (!modifier)
    return modifier.error();
  format.modifier = *modifier;
  return format;
}

} // namespace

Result<Format> parse_format(std::string_view text)
{
  Format format;
  if (parse_canonical(text, format))
    return format;
  return parse_any(text);
}

FormatText format_to_text(Format format) noexcept
{
  FormatText text;
  if (!fourcc_is_valid(format.fourcc) || format.modifier == kModImplicit)
    return text;

  char *out = text.chars.data();
  for (unsigned shift = 0; shift < 32; shift += 8)
    *out++ = static_cast<char>((format.fourcc & ~kFourccBigEndian) >> shift & 0xff);
  if ((format.fourcc & kFourccBigEndian) != 0)
    out += kBigEndianSuffix.copy(out, kBigEndianSuffix.size());
  if (format.modifier != kModLinear) {
    *out++ = ':';
    *out++ = '0';
    *out++ = 'x';
    for (int shift = 60; shift >= 0; shift -= 4)
      *out++ = kHexDigits[format.modifier >> shift & 15];
  }
  text.length = static_cast<std::uint8_t>(out - text.chars.data());
  return text;
}

std::string fourcc_to_string(std::uint32_t fourcc)
{
  if (fourcc_is_valid(fourcc))
    return std::string(format_to_text({fourcc, kModLinear}).view());
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", fourcc);
  return text.data();
}

std::string describe_format(Format format)
{
  std::string text = fourcc_to_string(format.fourcc);
  if (format.modifier == kModImplicit)
    return text + " (implicit modifier)";
  if (format.modifier != kModLinear) {
    std::array<char, 24> hex{};
    std::snprintf(hex.data(), hex.size(), ":0x%016llx",
                  static_cast<unsigned long long>(format.modifier));
    text += hex.data();
  }
  return text + " (" + describe_modifier(format.modifier) + ")";
}

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "json_writer.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace gstdrm {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd"; // U+FFFD

bool continues(std::string_view text, std::size_t at) noexcept
{
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

// Bytes of the UTF-8 sequence at the start of `text`; 0 where there is none. Overlong forms,
// surrogates and values beyond U+10FFFF are none (RFC 3629, section 4).
std::size_t sequence_length(std::string_view text) noexcept
{
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80)
    return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4)
    return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (!continues(text, i))
      return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool beyond = (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f);
  return overlong || beyond ? 0 : length;
}

void append_control(std::string &text, unsigned char c)
{
  constexpr std::array<char, 16> kDigits = {'0', '1', '2', '3', '4', '5', '6', '7',
                                            '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
  text += "\\u00";
  text += kDigits[c >> 4];
  text += kDigits[c & 0xf];
}

} // namespace

void JsonWriter::separate()
{
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_members_.empty())
    return;
  if (has_members_.back())
    text_ += ',';
  has_members_.back() = true;
}

void JsonWriter::write_quoted(std::string_view text)
{
  text_ += '"';
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (length == 0)
      text_ += kReplacement;
    else if (c == '"' || c == '\\')
      (text_ += '\\') += text[0];
    else if (c < 0x20)
      append_control(text_, c);
    else
      text_ += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  text_ += '"';
}

JsonWriter &JsonWriter::begin_object()
{
  separate();
  text_ += '{';
  has_members_.push_back(false);
  return *this;
}

JsonWriter &JsonWriter::end_object()
{
  text_ += '}';
  has_members_.pop_back();
  return *this;
}

JsonWriter &JsonWriter::begin_array()
{
  separate();
  text_ += '[';
  has_members_.push_back(false);
  return *this;
}

JsonWriter &JsonWriter::end_array()
{
  text_ += ']';
  has_members_.pop_back();
  return *this;
}

JsonWriter &JsonWriter::key(std::string_view name)
{
  separate();
  write_quoted(name);
  text_ += ':';
  after_key_ = true;
  return *this;
}

JsonWriter &JsonWriter::string(std::string_view text)
{
  separate();
  write_quoted(text);
  return *this;
}

JsonWriter &JsonWriter::number(std::uint64_t value)
{
  separate();
  text_ += std::to_string(value);
  return *this;
}

JsonWriter &JsonWriter::real(float value)
{
  if (!std::isfinite(value))
    return null();
  separate();
  std::array<char, 32> digits; // as in std::to_string(), but with a point in every locale
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text_.append(digits.data(), end);
  return *this;
}

JsonWriter &JsonWriter::null()
{
  separate();
  text_ += "null";
  return *this;
}

} // namespace gstdrm

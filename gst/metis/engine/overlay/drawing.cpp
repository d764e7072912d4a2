// SPDX-License-Identifier: LGPL-2.1-or-later
#include "drawing.hpp"

#include <algorithm>

#include "font.hpp"

namespace gstdrm::metis {

namespace {

constexpr std::size_t kMostCharacters = 48;
constexpr int kAdvance = static_cast<int>(kGlyphWidth) + 1; // dots from letter to letter
constexpr int kRows = static_cast<int>(kGlyphHeight) + 2;   // dots, with a margin
constexpr Argb kBlack = 0xff000000, kWhite = 0xffffffff;

// Skips the bytes of UTF-8 that continue a character.
std::string in_ascii(const std::string &text)
{
  std::string ascii;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if ((byte & 0xc0) == 0x80)
      continue;
    if (ascii.size() == kMostCharacters)
      break;
    ascii += byte >= kFirstGlyph && byte <= kLastGlyph ? character : '?';
  }
  return ascii;
}

// Black on light grounds, white on dark ones (weights of BT.601).
Argb ink_on(Argb ground)
{
  const unsigned red = ground >> 16 & 0xff, green = ground >> 8 & 0xff, blue = ground & 0xff;
  return 299 * red + 587 * green + 114 * blue > 140000 ? kBlack : kWhite;
}

bool has_dot(const std::string &text, int column, int row)
{
  const int letter = (column - 1) / kAdvance, x = (column - 1) % kAdvance, y = row - 1;
  if (column < 1 || x >= static_cast<int>(kGlyphWidth) || y < 0 ||
      y >= static_cast<int>(kGlyphHeight) || letter >= static_cast<int>(text.size()))
    return false;
  const auto character = static_cast<unsigned char>(text[static_cast<std::size_t>(letter)]);
  const Glyph &glyph = kGlyphs[character - kFirstGlyph];
  return (glyph[static_cast<std::size_t>(y)] >> (kGlyphWidth - 1 - static_cast<unsigned>(x)) & 1) !=
         0;
}

} // namespace

Pen pen_for(int frame_height)
{
  return {std::clamp(frame_height / 360, 1, 4) * 2, std::clamp(frame_height / 270, 1, 8)};
}

std::vector<Area> outline(const Area &box, int line)
{
  if (box.width <= 0 || box.height <= 0)
    return {};
  if (box.width <= 2 * line || box.height <= 2 * line)
    return {box};
  const int inner = box.height - 2 * line;
  return {{box.x, box.y, box.width, line},
          {box.x, box.y + box.height - line, box.width, line},
          {box.x, box.y + line, line, inner},
          {box.x + box.width - line, box.y + line, line, inner}};
}

Area clipped(const Area &box, int frame_width, int frame_height)
{
  const auto cut = [](std::int64_t at, int most) {
    return static_cast<int>(std::clamp<std::int64_t>(at, 0, most));
  };
  const int left = cut(box.x, frame_width), top = cut(box.y, frame_height);
  const int right = cut(std::int64_t{box.x} + box.width, frame_width);
  const int bottom = cut(std::int64_t{box.y} + box.height, frame_height);
  return {left, top, std::max(right - left, 0), std::max(bottom - top, 0)};
}

Bitmap draw_label(const std::string &text, int letter, Argb ground)
{
  const std::string ascii = in_ascii(text);
  if (ascii.empty() || letter < 1)
    return {};
  const int columns = kAdvance * static_cast<int>(ascii.size()) + 1;
  Bitmap bitmap{columns * letter, kRows * letter, {}};
  bitmap.pixels.reserve(static_cast<std::size_t>(bitmap.width) *
                        static_cast<std::size_t>(bitmap.height));
  const Argb ink = ink_on(ground);
  const auto dot = static_cast<std::size_t>(letter); // pixels in each direction
  std::vector<Argb> line;
  for (int row = 0; row < kRows; row++) {
    line.clear();
    for (int column = 0; column < columns; column++)
      line.insert(line.end(), dot, has_dot(ascii, column, row) ? ink : ground);
    for (std::size_t i = 0; i < dot; i++)
      bitmap.pixels.insert(bitmap.pixels.end(), line.begin(), line.end());
  }
  return bitmap;
}

Area place_label(const Bitmap &label, const Area &box, int frame_width, int frame_height)
{
  const int above = box.y - label.height;
  return {std::max(std::min(box.x, frame_width - label.width), 0),
          above >= 0 ? above : std::max(std::min(box.y, frame_height - label.height), 0),
          label.width, label.height};
}

Argb colour_of(const std::string &name)
{
  static constexpr std::array<Argb, 8> colours{0xff2ecc40, 0xffff851b, 0xff0074d9, 0xffff4136,
                                               0xffffdc00, 0xffb10dc9, 0xff39cccc, 0xfff012be};
  std::uint32_t sum = 2166136261U; // FNV-1a
  for (const char character : name)
    sum = (sum ^ static_cast<unsigned char>(character)) * 16777619U;
  return colours[sum % colours.size()];
}

} // namespace gstdrm::metis

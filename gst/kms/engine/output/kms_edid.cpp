// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_edid.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace gstdrm::kms {

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t kBlock = 128; // bytes; of the base and of each extension
constexpr std::uint8_t kCtaTag = 0x02, kDisplayIdTag = 0x70; // of extensions

// The bytes of a block add up to 0 (E-EDID 3.1).
bool adds_up(Bytes block)
{
  std::uint8_t sum = 0;
  for (const std::uint8_t byte : block)
    sum = static_cast<std::uint8_t>(sum + byte);
  return sum == 0;
}

// CTA-861-G 7.5, table 56: data blocks of one byte with tag and length, and as many bytes of
// payload; tag 7 has a second tag in the first of them.
void read_data_blocks(Bytes blocks, DisplayColour &colour)
{
  constexpr std::uint8_t kExtended = 7, kColorimetry = 5, kStaticMetadata = 6;
  while (!blocks.empty()) {
    const std::size_t length = blocks[0] & 0x1f;
    if (length >= blocks.size())
      return; // cut off
    const Bytes payload = blocks.subspan(1, length);
    const bool extended = blocks[0] >> 5 == kExtended && length >= 2;
    if (extended && payload[0] == kColorimetry)
      colour.bt2020_rgb |= (payload[1] & 0x80) != 0;
    // the transfer functions, and the types of metadata, of which bit 0 is type 1
    if (extended && payload[0] == kStaticMetadata && length >= 3 && (payload[2] & 1) != 0)
      colour.transfers |= payload[1] & 0x3f;
    blocks = blocks.subspan(1 + length);
  }
}

// Data blocks end where the detailed timings begin; 0 if there are neither (CTA-861-G table 52).
void read_cta(Bytes block, DisplayColour &colour)
{
  constexpr std::size_t kFirst = 4;
  const std::size_t end = block[2];
  if (block[1] >= 3 && end > kFirst && end < kBlock)
    read_data_blocks(block.subspan(kFirst, end - kFirst), colour);
}

// A DisplayID section (2.0, 2.1): four bytes with the number of bytes in the second, and data
// blocks of a tag, a revision and a length. One of them holds data blocks of CTA-861 (0x81; of
// DisplayID 1.3 likewise).
void read_display_id(Bytes block, DisplayColour &colour)
{
  constexpr std::uint8_t kCtaBlocks = 0x81;
  constexpr std::size_t kHeader = 3;
  const Bytes section = block.subspan(1);
  Bytes blocks = section.subspan(4, std::min<std::size_t>(section[1], section.size() - 5));
  while (blocks.size() > kHeader) {
    const std::size_t length = blocks[2];
    if (length > blocks.size() - kHeader)
      return; // cut off
    if (blocks[0] == kCtaBlocks)
      read_data_blocks(blocks.subspan(kHeader, length), colour);
    blocks = blocks.subspan(kHeader + length);
  }
}

} // namespace

DisplayColour read_display_colour(Bytes edid)
{
  constexpr std::array<std::uint8_t, 8> kHeader = {0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0};
  DisplayColour colour;
  if (edid.size() < kBlock || !std::equal(kHeader.begin(), kHeader.end(), edid.begin()))
    return colour;
  for (std::size_t at = kBlock; at + kBlock <= edid.size(); at += kBlock) {
    const Bytes block = edid.subspan(at, kBlock);
    if (!adds_up(block))
      continue;
    if (block[0] == kCtaTag)
      read_cta(block, colour);
    else if (block[0] == kDisplayIdTag)
      read_display_id(block, colour);
  }
  return colour;
}

} // namespace gstdrm::kms

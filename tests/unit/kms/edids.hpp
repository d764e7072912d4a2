// SPDX-License-Identifier: LGPL-2.1-or-later
// EDIDs of displays that do not exist, made block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace gstdrm::test::edids {

using Bytes = std::vector<std::uint8_t>;

inline void add_up(Bytes &block)
{
  std::uint8_t sum = 0;
  for (std::size_t i = 0; i < 127; i++)
    sum = static_cast<std::uint8_t>(sum + block[i]);
  block[127] = static_cast<std::uint8_t>(0x100 - sum);
}

// A base block with so many extensions.
inline Bytes base(std::uint8_t extensions)
{
  Bytes block(128, 0);
  for (std::size_t i = 1; i < 7; i++)
    block[i] = 0xff;
  block[18] = 1; // version 1.4
  block[19] = 4;
  block[20] = 0xa0; // digital
  block[126] = extensions;
  add_up(block);
  return block;
}

// A CTA-861 extension with these data blocks.
inline Bytes cta(const Bytes &data_blocks)
{
  Bytes block(128, 0);
  block[0] = 0x02;
  block[1] = 3;
  block[2] = static_cast<std::uint8_t>(4 + data_blocks.size());
  for (std::size_t i = 0; i < data_blocks.size(); i++)
    block[4 + i] = data_blocks[i];
  add_up(block);
  return block;
}

// A DisplayID extension with a data block of CTA-861 blocks.
inline Bytes display_id(const Bytes &data_blocks)
{
  Bytes block(128, 0);
  const auto length = static_cast<std::uint8_t>(data_blocks.size());
  const Bytes head = {0x70, 0x20, static_cast<std::uint8_t>(3 + length), 0, 0, 0x81, 0, length};
  for (std::size_t i = 0; i < head.size(); i++)
    block[i] = head[i];
  for (std::size_t i = 0; i < data_blocks.size(); i++)
    block[head.size() + i] = data_blocks[i];
  add_up(block);
  return block;
}

inline Bytes joined(std::initializer_list<Bytes> blocks)
{
  Bytes all;
  for (const Bytes &block : blocks)
    all.insert(all.end(), block.begin(), block.end());
  return all;
}

// Data blocks: HDR static metadata with SDR, PQ and HLG, and colorimetry with BT.2020 in RGB and
// YCC.
inline const Bytes kHdr = {0xe6, 0x06, 0x0d, 0x01, 0x60, 0x50, 0x20};
inline const Bytes kBt2020 = {0xe3, 0x05, 0xc0, 0x00};

// Of a television with HDR10 and HLG.
inline Bytes television()
{
  return joined({base(1), cta(joined({{0x41, 0x10}, kBt2020, kHdr}))});
}

} // namespace gstdrm::test::edids

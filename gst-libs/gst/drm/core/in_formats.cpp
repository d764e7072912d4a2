// SPDX-License-Identifier: LGPL-2.1-or-later
#include "in_formats.hpp"

#include <cstring>
#include <string>
#include <vector>

#include <drm_mode.h>

namespace gstdrm {

namespace {

Error malformed(const std::string &what)
{
  return Error{ErrorCode::Device, "The driver's IN_FORMATS blob is malformed: " + what + "."};
}

// `count` items of `item_bytes` at `offset` lie inside `size` bytes
bool fits(std::uint64_t offset, std::uint64_t count, std::uint64_t item_bytes, std::uint64_t size)
{
  return offset <= size && count <= (size - offset) / item_bytes;
}

} // namespace

Result<FormatSet> parse_in_formats(std::span<const std::uint8_t> blob)
{
  drm_format_modifier_blob header{};
  if (blob.size() < sizeof(header))
    return malformed(std::to_string(blob.size()) + " bytes are too few for its header");
  std::memcpy(&header, blob.data(), sizeof(header));
  if (header.version != FORMAT_BLOB_CURRENT)
    return malformed("version " + std::to_string(header.version) + " is not known");
  if (!fits(header.formats_offset, header.count_formats, sizeof(std::uint32_t), blob.size()))
    return malformed(std::to_string(header.count_formats) + " formats at byte " +
                     std::to_string(header.formats_offset) + " of " + std::to_string(blob.size()));
  if (!fits(header.modifiers_offset, header.count_modifiers, sizeof(drm_format_modifier),
            blob.size()))
    return malformed(std::to_string(header.count_modifiers) + " modifiers at byte " +
                     std::to_string(header.modifiers_offset) + " of " +
                     std::to_string(blob.size()));

  std::vector<Format> pairs;
  for (std::uint32_t m = 0; m < header.count_modifiers; m++) {
    drm_format_modifier entry{};
    std::memcpy(&entry, blob.data() + header.modifiers_offset + std::size_t{m} * sizeof(entry),
                sizeof(entry));
    for (unsigned bit = 0; bit < 64; bit++) {
      const std::uint64_t index = std::uint64_t{entry.offset} + bit;
      if (!(entry.formats >> bit & 1) || index >= header.count_formats)
        continue;
      Format format;
      std::memcpy(&format.fourcc,
                  blob.data() + header.formats_offset + index * sizeof(std::uint32_t),
                  sizeof(format.fourcc));
      format.modifier = entry.modifier;
      pairs.push_back(format);
    }
  }
  return FormatSet::from_pairs(std::move(pairs));
}

FormatSet implicit_formats(std::span<const std::uint32_t> fourccs)
{
  std::vector<Format> pairs;
  pairs.reserve(fourccs.size());
  for (const std::uint32_t fourcc : fourccs)
    pairs.push_back(Format{fourcc, kModImplicit});
  return FormatSet::from_pairs(std::move(pairs));
}

} // namespace gstdrm

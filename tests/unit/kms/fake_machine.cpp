// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake_machine.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include <drm_fourcc.h>
#include <drm_mode.h>

#include "fake_drm.hpp"

namespace gstdrm::test::fakedrm {

namespace {

template <typename T> void append(std::vector<std::uint8_t> &bytes, const T &value)
{
  const auto *first = reinterpret_cast<const std::uint8_t *>(&value);
  bytes.insert(bytes.end(), first, first + sizeof(value));
}

// As drm_plane.c's create_in_format_blob() writes it; each entry has the bits of 64 formats.
std::vector<std::uint8_t> in_formats(const std::vector<Format> &pairs)
{
  std::vector<std::uint32_t> fourccs;
  for (const Format &pair : pairs)
    if (std::find(fourccs.begin(), fourccs.end(), pair.fourcc) == fourccs.end())
      fourccs.push_back(pair.fourcc);
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> bits; // by modifier and offset
  for (const Format &pair : pairs) {
    const auto index = static_cast<std::uint32_t>(
        std::find(fourccs.begin(), fourccs.end(), pair.fourcc) - fourccs.begin());
    bits[{pair.modifier, index / 64 * 64}] |= std::uint64_t{1} << index % 64;
  }
  std::vector<std::uint8_t> blob;
  const auto count = static_cast<std::uint32_t>(fourccs.size());
  constexpr std::uint32_t kHeader = sizeof(drm_format_modifier_blob);
  const std::uint32_t modifiers = (kHeader + 4 * count + 7) / 8 * 8;
  append(blob, drm_format_modifier_blob{FORMAT_BLOB_CURRENT, 0, count, kHeader,
                                        static_cast<std::uint32_t>(bits.size()), modifiers});
  for (const std::uint32_t fourcc : fourccs)
    append(blob, fourcc);
  blob.resize(modifiers);
  for (const auto &[key, mask] : bits)
    append(blob, drm_format_modifier{mask, key.second, 0, key.first});
  return blob;
}

const SavedSource *find_plane(const std::vector<SavedSource> &machine, const std::string &card,
                              const char *type)
{
  const auto it = std::find_if(machine.begin(), machine.end(), [&](const SavedSource &source) {
    return source.name.starts_with("kms:" + card + ":") && source.description == type;
  });
  return it == machine.end() ? nullptr : &*it;
}

void play_plane(std::uint32_t plane, const SavedSource *saved)
{
  const std::uint32_t blob = 900 + plane; // an id that the fake does not use
  std::vector<Format> pairs = saved ? saved->formats : std::vector<Format>{};
  std::erase_if(pairs, [](const Format &pair) { return pair.modifier == kModImplicit; });
  const bool implicit = saved && pairs.empty() && !saved->formats.empty();
  device().found[{plane, "IN_FORMATS"}] = implicit ? 0 : blob;
  if (!implicit)
    device().foreign_blobs[blob] = in_formats(pairs);
}

} // namespace

bool play_machine(const std::vector<SavedSource> &machine, const std::string &card)
{
  const SavedSource *primary = find_plane(machine, card, "primary plane");
  if (!primary)
    return false;
  play_plane(kPrimary, primary);
  play_plane(kOverlay, find_plane(machine, card, "overlay plane"));
  return true;
}

} // namespace gstdrm::test::fakedrm

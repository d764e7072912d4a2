// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tiling.hpp"

#include "drm_facts.hpp"

namespace gstdrm {

namespace {

struct Known {
  std::uint64_t modifier;
  Tiling tiling;
};

// Tile heights as drm_fourcc.h gives them.
constexpr Known kKnown[] = {
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 1), {{8, 8}}},     // X: 512 bytes x 8
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 2), {{32, 32}}},   // Y: 128 bytes x 32
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 9), {{32, 32}}},   // 4: 128 bytes x 32
    {make_modifier(DRM_FORMAT_MOD_VENDOR_NVIDIA, 1), {{16, 16}}},  // Tegra: 16 bytes x 16
    {make_modifier(DRM_FORMAT_MOD_VENDOR_SAMSUNG, 1), {{32, 32}}}, // 64 x 32, in each plane
    {make_modifier(DRM_FORMAT_MOD_VENDOR_SAMSUNG, 2), {{16, 8}}},  // chroma of a 16 x 16 luma block
    {make_modifier(DRM_FORMAT_MOD_VENDOR_VIVANTE, 1), {{4, 4}}},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_VIVANTE, 2), {{64, 64}}},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_ALLWINNER, 1), {{32, 32}}},
    {kModMtk16L32S, {{32, 16}}}, // 16 x 32, chroma 16 x 16
};

// Uncompressed block linear: GOBs of 64 bytes x 8 rows (4 before Fermi), 2^height of them in a
// block. The size is as nouveau_check_bl_size() of nouveau_display.c computes it.
std::optional<Tiling> nvidia_block_linear(std::uint64_t modifier) noexcept
{
  constexpr std::uint64_t kReservedOrCompressed = 0x00ffffffff800fe0ULL;
  constexpr std::uint32_t kMaxHeightLog2 = 5; // 32 GOBs
  const auto height_log2 = static_cast<std::uint32_t>(modifier & 0xf);
  if (modifier_vendor(modifier) != DRM_FORMAT_MOD_VENDOR_NVIDIA || (modifier & 0x10) == 0 ||
      (modifier & kReservedOrCompressed) != 0 || height_log2 > kMaxHeightLog2)
    return std::nullopt;
  const std::uint32_t gob_rows = (modifier >> 20 & 3) == 1 ? 4 : 8;
  const std::uint32_t rows = gob_rows << height_log2;
  return Tiling{{rows, rows}};
}

} // namespace

std::optional<Tiling> known_tiling(std::uint64_t modifier) noexcept
{
  for (const Known &known : kKnown) {
    if (known.modifier == modifier)
      return known.tiling;
  }
  return nvidia_block_linear(modifier);
}

} // namespace gstdrm

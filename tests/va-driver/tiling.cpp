// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tiling.hpp"

#include <drm_fourcc.h>

namespace gstdrm::test::vadriver {
namespace {

constexpr std::uint32_t kXTileBytes = 512;
constexpr std::uint32_t kXTileRows = 8;
constexpr std::uint32_t kYTileBytes = 128;
constexpr std::uint32_t kYTileRows = 32;
constexpr std::uint32_t kYColumnBytes = 16;
constexpr std::uint32_t kVivanteTile = 4; // pixels, both ways
constexpr std::uint32_t kSamsungBytes = 64;
constexpr std::uint32_t kSamsungRows = 32;

struct Tile {
  std::uint32_t width_bytes;
  std::uint32_t rows;
};

Tile tile_of(Tiling tiling, std::uint32_t pixel_bytes)
{
  switch (tiling) {
  case Tiling::X:
    return {kXTileBytes, kXTileRows};
  case Tiling::Y:
    return {kYTileBytes, kYTileRows};
  case Tiling::Vivante:
    return {kVivanteTile * pixel_bytes, kVivanteTile};
  case Tiling::Samsung:
    return {kSamsungBytes, kSamsungRows};
  case Tiling::Linear:
    break;
  }
  return {1, 1};
}

std::uint64_t samsung_index(std::uint32_t column, std::uint32_t row, std::uint32_t columns,
                            std::uint32_t rows)
{
  if (row + 1 == rows && rows % 2 == 1)
    return static_cast<std::uint64_t>(row) * columns + column;
  const auto pair = static_cast<std::uint64_t>(row & ~1U) * columns;
  // Upper row: 0 1 6 7 8 9 14 15; lower row: 2 3 4 5 10 11 12 13.
  const auto inside = row % 2 == 0 ? (column + 2) & ~3U : (column & ~3U) + 2;
  return pair + column + inside;
}

} // namespace

Tiling tiling_of(std::uint64_t modifier)
{
  switch (modifier) {
  case I915_FORMAT_MOD_X_TILED:
    return Tiling::X;
  case I915_FORMAT_MOD_Y_TILED:
    return Tiling::Y;
  case DRM_FORMAT_MOD_VIVANTE_TILED:
    return Tiling::Vivante;
  case DRM_FORMAT_MOD_SAMSUNG_64_32_TILE:
    return Tiling::Samsung;
  default:
    return Tiling::Linear;
  }
}

TileAlign tile_align(Tiling tiling, std::uint32_t pixel_bytes)
{
  const auto tile = tile_of(tiling, pixel_bytes);
  // drm_fourcc.h asks for a multiple of 128 pixels for Samsung's: two macroblocks
  return {tiling == Tiling::Samsung ? 2 * tile.width_bytes : tile.width_bytes, tile.rows};
}

TiledRun tiled_run(const TiledPlane &plane, std::uint32_t x_bytes, std::uint32_t y)
{
  if (plane.tiling == Tiling::Linear)
    return {static_cast<std::uint64_t>(y) * plane.stride_bytes + x_bytes,
            plane.stride_bytes - x_bytes};
  const auto tile = tile_of(plane.tiling, plane.pixel_bytes);
  const auto columns = plane.stride_bytes / tile.width_bytes;
  const auto column = x_bytes / tile.width_bytes;
  const auto row = y / tile.rows;
  const auto index = plane.tiling == Tiling::Samsung
                         ? samsung_index(column, row, columns, plane.rows / tile.rows)
                         : static_cast<std::uint64_t>(row) * columns + column;
  const auto inside_x = x_bytes % tile.width_bytes;
  if (plane.tiling == Tiling::Y) {
    const auto inside_column = inside_x % kYColumnBytes;
    return {index * kYTileBytes * kYTileRows +
                inside_x / kYColumnBytes * kYColumnBytes * kYTileRows +
                y % kYTileRows * kYColumnBytes + inside_column,
            kYColumnBytes - inside_column};
  }
  const auto offset =
      index * tile.width_bytes * tile.rows + (y % tile.rows) * tile.width_bytes + inside_x;
  return {offset, tile.width_bytes - inside_x};
}

} // namespace gstdrm::test::vadriver

// SPDX-License-Identifier: LGPL-2.1-or-later
// The software tiler: where a byte of a picture lies in memory, as drm_fourcc.h describes each
// layout. Without GLib, libva or the driver around it, so that tests can use it to read a tiled
// frame.
//
//   linear    rows one after the other
//   x-tiled   I915_FORMAT_MOD_X_TILED: tiles of 512 bytes x 8 rows (4 KiB), tiles in row-major
//   order, bytes in
//             a tile row-major; no bit-6 swizzling (gen 8 and later)
//   y-tiled   I915_FORMAT_MOD_Y_TILED: tiles of 128 bytes x 32 rows (4 KiB), tiles in row-major
//             order; a tile is 8 columns of 16 bytes x 32 rows, one column after the other
//   vivante   DRM_FORMAT_MOD_VIVANTE_TILED: tiles of 4 x 4 pixels, both in row-major order
//   samsung   DRM_FORMAT_MOD_SAMSUNG_64_32_TILE: macroblocks of 64 bytes x 32 rows (2 KiB),
//   row-major inside;
//             the macroblocks of two rows in a Z and a flipped Z in turn (V4L2's NV12MT):
//                 0 1 6 7  8  9 14 15
//                 2 3 4 5 10 11 12 13
//             and a last odd row in linear order
#pragma once

#include <cstdint>

namespace gstdrm::test::vadriver {

enum class Tiling { Linear, X, Y, Vivante, Samsung };

// A modifier that is none of the above is a label only: its pixels lie linear.
Tiling tiling_of(std::uint64_t modifier);

// What stride and number of rows of a plane must be multiples of.
struct TileAlign {
  std::uint32_t stride_bytes;
  std::uint32_t rows;
};
TileAlign tile_align(Tiling tiling, std::uint32_t pixel_bytes);

struct TiledPlane {
  Tiling tiling = Tiling::Linear;
  std::uint32_t stride_bytes = 0; // a multiple of tile_align()
  std::uint32_t rows = 0;         // allocated rows, a multiple of tile_align()
  std::uint32_t pixel_bytes = 1;
};

struct TiledRun {
  std::uint64_t offset_bytes; // from the start of the plane
  std::uint32_t length_bytes; // that many bytes of this row follow one another in memory
};
// Where byte `x_bytes` of row `y` lies.
TiledRun tiled_run(const TiledPlane &plane, std::uint32_t x_bytes, std::uint32_t y);

} // namespace gstdrm::test::vadriver

// SPDX-License-Identifier: LGPL-2.1-or-later
// The test driver's software tiler against addresses worked out by hand from drm_fourcc.h.
#include <cstdint>
#include <vector>

#include <drm_fourcc.h>
#include <gtest/gtest.h>

#include "va-driver/tiling.hpp"

namespace {

using namespace gstdrm::test;
using vadriver::TiledPlane;
using vadriver::Tiling;

struct Row {
  const char *name;
  TiledPlane plane;
  std::uint32_t x_bytes;
  std::uint32_t y;
  std::uint64_t offset;
  std::uint32_t run;
};

const Row kRows[] = {
    {"linear_origin", {Tiling::Linear, 100, 10, 1}, 0, 0, 0, 100},
    {"linear_inside", {Tiling::Linear, 100, 10, 1}, 7, 3, 307, 93},
    {"x_origin", {Tiling::X, 1024, 16, 4}, 0, 0, 0, 512},
    {"x_second_row_of_tile", {Tiling::X, 1024, 16, 4}, 0, 1, 512, 512},
    {"x_second_tile", {Tiling::X, 1024, 16, 4}, 512, 0, 4096, 512},
    {"x_inside_second_tile", {Tiling::X, 1024, 16, 4}, 515, 7, 4096 + 7 * 512 + 3, 509},
    {"x_second_row_of_tiles", {Tiling::X, 1024, 16, 4}, 0, 8, 8192, 512},
    {"y_origin", {Tiling::Y, 256, 64, 4}, 0, 0, 0, 16},
    {"y_second_row_of_tile", {Tiling::Y, 256, 64, 4}, 0, 1, 16, 16},
    {"y_second_column", {Tiling::Y, 256, 64, 4}, 16, 0, 512, 16},
    {"y_inside_second_column", {Tiling::Y, 256, 64, 4}, 19, 2, 512 + 2 * 16 + 3, 13},
    {"y_second_tile", {Tiling::Y, 256, 64, 4}, 128, 0, 4096, 16},
    {"y_second_row_of_tiles", {Tiling::Y, 256, 64, 4}, 0, 32, 8192, 16},
    {"vivante_second_pixel", {Tiling::Vivante, 64, 8, 4}, 4, 0, 4, 12},
    {"vivante_second_row", {Tiling::Vivante, 64, 8, 4}, 0, 1, 16, 16},
    {"vivante_second_tile", {Tiling::Vivante, 64, 8, 4}, 16, 0, 64, 16},
    {"vivante_second_row_of_tiles", {Tiling::Vivante, 64, 8, 4}, 0, 4, 256, 16},
    {"samsung_0", {Tiling::Samsung, 256, 96, 1}, 0, 0, 0, 64},
    {"samsung_1", {Tiling::Samsung, 256, 96, 1}, 64, 0, 1 * 2048, 64},
    {"samsung_2_is_below_0", {Tiling::Samsung, 256, 96, 1}, 0, 32, 2 * 2048, 64},
    {"samsung_3", {Tiling::Samsung, 256, 96, 1}, 64, 32, 3 * 2048, 64},
    {"samsung_4_starts_the_flipped_Z", {Tiling::Samsung, 256, 96, 1}, 128, 32, 4 * 2048, 64},
    {"samsung_5", {Tiling::Samsung, 256, 96, 1}, 192, 32, 5 * 2048, 64},
    {"samsung_6_is_above_4", {Tiling::Samsung, 256, 96, 1}, 128, 0, 6 * 2048, 64},
    {"samsung_7", {Tiling::Samsung, 256, 96, 1}, 192, 0, 7 * 2048, 64},
    {"samsung_last_odd_row_is_linear", {Tiling::Samsung, 256, 96, 1}, 128, 64, 10 * 2048, 64},
    {"samsung_inside", {Tiling::Samsung, 256, 96, 1}, 70, 33, 3 * 2048 + 64 + 6, 58},
};

class Tiler : public testing::TestWithParam<Row> {};

TEST_P(Tiler, Address)
{
  const auto &row = GetParam();
  const auto run = vadriver::tiled_run(row.plane, row.x_bytes, row.y);
  EXPECT_EQ(run.offset_bytes, row.offset);
  EXPECT_EQ(run.length_bytes, row.run);
}
INSTANTIATE_TEST_SUITE_P(Rows, Tiler, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

// Every byte of the plane is used once, and none outside.
class Bijection : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Bijection, EveryByteOnce)
{
  TiledPlane plane{vadriver::tiling_of(GetParam()), 1024, 96, 4};
  std::vector<bool> seen(static_cast<std::size_t>(plane.stride_bytes) * plane.rows);
  for (std::uint32_t y = 0; y < plane.rows; ++y) {
    for (std::uint32_t x = 0; x < plane.stride_bytes; ++x) {
      const auto offset = vadriver::tiled_run(plane, x, y).offset_bytes;
      ASSERT_LT(offset, seen.size()) << x << "," << y;
      ASSERT_FALSE(seen[offset]) << x << "," << y;
      seen[offset] = true;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Layouts, Bijection,
                         testing::Values(DRM_FORMAT_MOD_LINEAR, I915_FORMAT_MOD_X_TILED, I915_FORMAT_MOD_Y_TILED, DRM_FORMAT_MOD_VIVANTE_TILED,
                                         DRM_FORMAT_MOD_SAMSUNG_64_32_TILE));

} // namespace

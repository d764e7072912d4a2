// SPDX-License-Identifier: LGPL-2.1-or-later
// What can be drawn into, and the numbers of the conversion to YUV.
#include "engine/gl_draw.hpp"

#include <array>
#include <cmath>

#include <drm_fourcc.h>
#include <gtest/gtest.h>

#include "engine/gl_program.hpp"
#include "fake_egl.hpp"
#include "support/gpu_table.hpp"

namespace gstdrm::egl {
namespace {

using test::FakeEgl;

constexpr std::uint64_t kXTiled = I915_FORMAT_MOD_X_TILED;
constexpr std::uint64_t kCompressed = I915_FORMAT_MOD_Y_TILED_CCS;

// --- formats -------------------------------------------------------------------------------------

struct FormatsRow {
  const char *name;
  std::vector<Format> texture_2d;
  std::vector<Format> external_only;
  std::vector<Format> drawable;
};

const FormatsRow kFormats[] = {
    {"nothing listed", {}, {}, {}},
    {"RGB as listed, with every modifier",
     {{DRM_FORMAT_XRGB8888, 0}, {DRM_FORMAT_XRGB8888, kXTiled}, {DRM_FORMAT_RGB565, 0}},
     {},
     {{DRM_FORMAT_XRGB8888, 0}, {DRM_FORMAT_XRGB8888, kXTiled}, {DRM_FORMAT_RGB565, 0}}},
    {"compressed RGB is one image", // its second plane is the driver's
     {{DRM_FORMAT_XRGB8888, kCompressed}},
     {},
     {{DRM_FORMAT_XRGB8888, kCompressed}}},
    {"external alone is never drawn into",
     {},
     {{DRM_FORMAT_XRGB8888, 0}, {DRM_FORMAT_NV12, 0}},
     {}},
    {"R8 alone makes three planes",
     {{DRM_FORMAT_R8, 0}},
     {},
     {{DRM_FORMAT_YUV420, 0},
      {DRM_FORMAT_YVU420, 0},
      {DRM_FORMAT_YUV422, 0},
      {DRM_FORMAT_YUV444, 0},
      {DRM_FORMAT_YVU444, 0}}},
    {"16 bits of one component alone", {{DRM_FORMAT_R16, 0}}, {}, {}},
    {"16 bits",
     {{DRM_FORMAT_R16, 0}, {DRM_FORMAT_GR1616, 0}},
     {{DRM_FORMAT_P010, 0}},
     {{DRM_FORMAT_P010, 0}, {DRM_FORMAT_P012, 0}, {DRM_FORMAT_P016, 0}}},
    {"planes of other modifiers", {{DRM_FORMAT_R16, 0}, {DRM_FORMAT_GR1616, kXTiled}}, {}, {}},
    {"YUYV shares bytes between pixels", {{DRM_FORMAT_YUYV, 0}}, {}, {}},
};

TEST(DrawableFormats, OfWhatIsListed)
{
  for (const FormatsRow &row : kFormats) {
    const DisplayFormats listed{FormatSet::from_pairs(row.texture_2d),
                                FormatSet::from_pairs(row.external_only)};
    EXPECT_EQ(drawable_formats(listed), FormatSet::from_pairs(row.drawable)) << row.name;
  }
}

// Each vendor's own list: NV12 where the planes are listed, and nothing that is external alone.
TEST(DrawableFormats, OfVendors)
{
  for (const char *table : {"amd-navi31", "llvmpipe", "freedreno-a660", "nouveau-nv162", "nvidia-gh100"}) {
    FakeEgl driver;
    driver.load_table(table);
    const auto listed = query_formats(driver.calls().egl, driver.display());
    ASSERT_TRUE(listed) << table;
    const FormatSet drawable = drawable_formats(*listed);
    EXPECT_TRUE(drawable.contains_fourcc(DRM_FORMAT_XRGB8888)) << table;
    EXPECT_EQ(drawable.contains({DRM_FORMAT_NV12, kModLinear}),
              listed->texture_2d.contains({DRM_FORMAT_R8, kModLinear}) &&
                  listed->texture_2d.contains({DRM_FORMAT_GR88, kModLinear}))
        << table;
    for (const Format format : drawable.pairs()) {
      EXPECT_TRUE(fourcc_is_yuv(format.fourcc) || listed->texture_2d.contains(format))
          << table << describe_format(format);
    }
  }
}

// --- numbers -------------------------------------------------------------------------------------

struct ColourRow {
  const char *name;
  YuvMatrix matrix;
  YuvRange range;
  SampleDepth depth;
  std::array<double, 3> rgb;
  std::array<int, 3> yuv; // words
};

constexpr SampleDepth k8{8, 8};
constexpr SampleDepth k10{10, 16};

// Computed by hand from the equations of the recommendations.
const ColourRow kColours[] = {
    {"black, limited", YuvMatrix::Bt601, YuvRange::Limited, k8, {0, 0, 0}, {16, 128, 128}},
    {"white, limited", YuvMatrix::Bt709, YuvRange::Limited, k8, {1, 1, 1}, {235, 128, 128}},
    {"red, BT.601", YuvMatrix::Bt601, YuvRange::Limited, k8, {1, 0, 0}, {81, 90, 240}},
    {"green, BT.601", YuvMatrix::Bt601, YuvRange::Limited, k8, {0, 1, 0}, {145, 54, 34}},
    {"blue, BT.601", YuvMatrix::Bt601, YuvRange::Limited, k8, {0, 0, 1}, {41, 240, 110}},
    {"red, BT.709", YuvMatrix::Bt709, YuvRange::Limited, k8, {1, 0, 0}, {63, 102, 240}},
    {"green, BT.709", YuvMatrix::Bt709, YuvRange::Limited, k8, {0, 1, 0}, {173, 42, 26}},
    {"red, BT.2020", YuvMatrix::Bt2020, YuvRange::Limited, k8, {1, 0, 0}, {74, 97, 240}},
    {"black, full", YuvMatrix::Bt709, YuvRange::Full, k8, {0, 0, 0}, {0, 128, 128}},
    {"white, full", YuvMatrix::Bt601, YuvRange::Full, k8, {1, 1, 1}, {255, 128, 128}},
    {"red, BT.601, full", YuvMatrix::Bt601, YuvRange::Full, k8, {1, 0, 0}, {76, 85, 255}},
    {"white, 10 bits",
     YuvMatrix::Bt2020,
     YuvRange::Limited,
     k10,
     {1, 1, 1},
     {940 << 6, 512 << 6, 512 << 6}},
    {"black, 10 bits",
     YuvMatrix::Bt709,
     YuvRange::Limited,
     k10,
     {0, 0, 0},
     {64 << 6, 512 << 6, 512 << 6}},
};

TEST(YuvRows, AsTheRecommendationsSay)
{
  for (const ColourRow &row : kColours) {
    const YuvRows rows = yuv_rows(row.matrix, row.range, row.depth);
    const double most = row.depth.word_bits == 16 ? 65535 : 255;
    const double step = rows.step > 0 ? rows.step * most : 1;
    const YuvRow *const all[] = {&rows.y, &rows.cb, &rows.cr};
    for (std::size_t i = 0; i < 3; i++) {
      const YuvRow &one = *all[i];
      const double sample =
          one[0] * row.rgb[0] + one[1] * row.rgb[1] + one[2] * row.rgb[2] + one[3];
      // what GL does with a value beyond the range of the plane
      const double stored = std::min(std::round(sample * most / step) * step, most);
      EXPECT_NEAR(stored, row.yuv[i], 0.5) << row.name << ", component " << i;
    }
  }
}

TEST(ChromaWeights, AddUpToOne)
{
  for (const Siting siting : {Siting::Cosited, Siting::Centred})
    for (const unsigned subsampling : {1U, 2U}) {
      const auto weights = chroma_weights(siting, subsampling);
      EXPECT_FLOAT_EQ(weights[0] + weights[1] + weights[2], 1.0F);
    }
  EXPECT_EQ(chroma_weights(Siting::Cosited, 1), (std::array<float, 3>{0, 1, 0}));
  EXPECT_EQ(chroma_weights(Siting::Centred, 2), (std::array<float, 3>{0, 0.5F, 0.5F}));
  EXPECT_EQ(chroma_weights(Siting::Cosited, 2), (std::array<float, 3>{0.25F, 0.5F, 0.25F}));
}

} // namespace
} // namespace gstdrm::egl

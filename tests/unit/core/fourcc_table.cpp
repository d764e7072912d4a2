// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>

#include <gtest/gtest.h>

#include "core/drm_facts.hpp"
#include "core/format.hpp"
#include "core/fourcc_cursor.hpp"
#include "support/gpu_table.hpp"

namespace gstdrm {
namespace {

struct LayoutRow {
  const char *fourcc;
  std::uint32_t width;
  std::uint32_t height;
  std::vector<std::uint32_t> row_bytes; // per plane
  std::vector<std::uint32_t> rows;
  bool is_yuv;
};

void PrintTo(const LayoutRow &row, std::ostream *out)
{
  *out << row.fourcc;
}

class Layout : public testing::TestWithParam<LayoutRow> {};

TEST_P(Layout, RowsAndBytes)
{
  const LayoutRow &row = GetParam();
  const std::uint32_t fourcc = test::fourcc_of(row.fourcc);
  const FourccInfo *info = fourcc_info(fourcc);
  ASSERT_NE(info, nullptr) << row.fourcc;
  ASSERT_EQ(info->n_planes, row.row_bytes.size());
  EXPECT_EQ(fourcc_is_yuv(fourcc), row.is_yuv);
  EXPECT_EQ(memory_plane_count({fourcc, kModLinear}), row.row_bytes.size());
  for (std::size_t i = 0; i < row.row_bytes.size(); ++i) {
    EXPECT_EQ(plane_row_bytes(info->planes[i], row.width), row.row_bytes[i]) << "plane " << i;
    EXPECT_EQ(plane_rows(info->planes[i], row.height), row.rows[i]) << "plane " << i;
  }
}

// Bytes by the bit layouts in drm_fourcc.h.
const LayoutRow kLayouts[] = {
    {"XR24", 1920, 1080, {7680}, {1080}, false},
    {"AR24", 1, 1, {4}, {1}, false},
    {"RG24", 641, 3, {1923}, {3}, false},
    {"RG16", 641, 3, {1282}, {3}, false},
    {"XR30", 10, 1, {40}, {1}, false},
    {"AB48", 10, 1, {80}, {1}, false},
    {"AB4H", 10, 1, {80}, {1}, false},
    {"BG48", 10, 1, {60}, {1}, false},
    {"BGRF", 10, 1, {120}, {1}, false},
    {"AB8F", 10, 1, {160}, {1}, false},
    {"R8  ", 10, 2, {10}, {2}, false},
    {"R1  ", 17, 2, {3}, {2}, false},
    {"R4  ", 17, 2, {9}, {2}, false},
    {"C8  ", 17, 2, {17}, {2}, false},
    {"GR88", 10, 2, {20}, {2}, false},
    {"XRA8", 10, 2, {40, 10}, {2, 2}, false},
    {"YUYV", 640, 480, {1280}, {480}, true},
    {"YUYV", 641, 480, {1284}, {480}, true},
    {"AYUV", 10, 1, {40}, {1}, true},
    {"VU24", 10, 1, {30}, {1}, true},
    {"Y210", 641, 1, {2568}, {1}, true},
    {"Y410", 10, 1, {40}, {1}, true},
    {"Y416", 10, 1, {80}, {1}, true},
    {"X0L0", 641, 481, {2568}, {241}, true},
    {"GREY", 10, 1, {10}, {1}, true},
    {"YPA4", 10, 1, {16}, {1}, true},
    {"NV12", 1920, 1080, {1920, 1920}, {1080, 540}, true},
    {"NV12", 641, 481, {641, 642}, {481, 241}, true},
    {"NV16", 641, 481, {641, 642}, {481, 481}, true},
    {"NV24", 641, 481, {641, 1282}, {481, 481}, true},
    {"NV42", 641, 481, {641, 1282}, {481, 481}, true},
    {"P010", 640, 480, {1280, 1280}, {480, 240}, true},
    {"P210", 640, 480, {1280, 1280}, {480, 480}, true},
    {"NV15", 640, 480, {800, 800}, {480, 240}, true},
    {"NV20", 640, 480, {800, 800}, {480, 480}, true},
    {"NV30", 640, 480, {800, 1600}, {480, 480}, true},
    {"P030", 640, 480, {856, 856}, {480, 240}, true},
    {"P230", 640, 480, {856, 856}, {480, 480}, true},
    {"T430", 640, 480, {856, 856, 856}, {480, 480, 480}, true},
    {"YU12", 641, 481, {641, 321, 321}, {481, 241, 241}, true},
    {"YVU9", 641, 481, {641, 161, 161}, {481, 121, 121}, true},
    {"YU11", 641, 481, {641, 161, 161}, {481, 481, 481}, true},
    {"YU16", 641, 481, {641, 321, 321}, {481, 481, 481}, true},
    {"YU24", 641, 481, {641, 641, 641}, {481, 481, 481}, true},
    {"S010", 640, 480, {1280, 640, 640}, {480, 240, 240}, true},
    {"S416", 640, 480, {1280, 1280, 1280}, {480, 480, 480}, true},
    {"Q410", 640, 480, {1280, 1280, 1280}, {480, 480, 480}, true},
};

INSTANTIATE_TEST_SUITE_P(Fourcc, Layout, testing::ValuesIn(kLayouts), [](const auto &info) {
  std::string name = std::string(info.param.fourcc) + "_" + std::to_string(info.param.width);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

TEST(FourccTable, SortedWithoutDuplicates)
{
  const auto all = known_fourccs();
  ASSERT_GT(all.size(), 100U);
  for (std::size_t i = 1; i < all.size(); ++i)
    EXPECT_LT(all[i - 1].fourcc, all[i].fourcc) << fourcc_to_string(all[i].fourcc);
}

TEST(FourccTable, EveryEntryIsSound)
{
  for (const FourccInfo &info : known_fourccs()) {
    SCOPED_TRACE(fourcc_to_string(info.fourcc));
    EXPECT_TRUE(fourcc_is_valid(info.fourcc));
    EXPECT_EQ(fourcc_info(info.fourcc), &info);
    EXPECT_EQ(fourcc_info(info.fourcc | kFourccBigEndian), &info);
    for (std::size_t i = 0; i < kMaxPlanes; ++i) {
      const PlaneInfo &plane = info.planes[i];
      EXPECT_EQ(plane.block_bytes > 0, i < info.n_planes);
      EXPECT_GE(plane.hsub, 1);
      EXPECT_GE(plane.vsub, 1);
      EXPECT_GE(plane.block_width, 1);
      EXPECT_GE(plane.block_height, 1);
    }
  }
}

TEST(FourccTable, DoesNotKnowWhatHasNoLinearLayout)
{
  for (const char *fourcc : {"YU08", "YU10", "VU30"}) {
    EXPECT_EQ(fourcc_info(test::fourcc_of(fourcc)), nullptr) << fourcc;
    EXPECT_TRUE(fourcc_is_yuv(test::fourcc_of(fourcc))) << fourcc;
  }
  EXPECT_EQ(fourcc_info(0), nullptr);
  EXPECT_EQ(fourcc_info(0xffffffff), nullptr);
  EXPECT_FALSE(fourcc_is_yuv(0));
}

// In order, with steps over fourccs that are not known, and back.
TEST(FourccTable, CursorFindsWhatASearchFinds)
{
  std::vector<std::uint32_t> fourccs = {0, UINT32_MAX};
  for (const FourccInfo &info : known_fourccs())
    for (const std::uint32_t fourcc :
         {info.fourcc - 1, info.fourcc, info.fourcc + 1, info.fourcc | DRM_FORMAT_BIG_ENDIAN})
      fourccs.push_back(fourcc);
  const auto check = [&fourccs] {
    FourccCursor cursor;
    for (const std::uint32_t fourcc : fourccs)
      EXPECT_EQ(cursor.find(fourcc), fourcc_info(fourcc)) << std::hex << fourcc;
  };
  check();
  std::sort(fourccs.begin(), fourccs.end());
  check();
  std::reverse(fourccs.begin(), fourccs.end());
  check();
}

TEST(FourccTable, ShapeIsThatOfThePlanes)
{
  const auto planes = [](const FourccInfo &info) {
    std::vector<int> numbers = {info.n_planes};
    for (std::size_t i = 0; i < info.n_planes; ++i) {
      const PlaneInfo &plane = info.planes[i];
      numbers.insert(numbers.end(), {plane.block_bytes, plane.block_width, plane.block_height,
                                     plane.hsub, plane.vsub});
    }
    return numbers;
  };
  for (const FourccInfo &a : known_fourccs()) {
    EXPECT_LT(fourcc_shape(a), kMaxShapes);
    for (const FourccInfo &b : known_fourccs())
      EXPECT_EQ(fourcc_shape(a) == fourcc_shape(b), planes(a) == planes(b))
          << std::hex << a.fourcc << " " << b.fourcc;
  }
}

TEST(FourccTable, RowOverflowIsZero)
{
  const FourccInfo *info = fourcc_info(test::fourcc_of("XR24"));
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(plane_row_bytes(info->planes[0], 0x3fffffff), 0xfffffffcU);
  EXPECT_EQ(plane_row_bytes(info->planes[0], 0x40000000), 0U);
  EXPECT_EQ(plane_row_bytes(info->planes[0], 0xffffffff), 0U);
}

class RealTable : public testing::TestWithParam<std::string> {};

// Numbers of NVIDIA's own, which drm_fourcc.h has not.
bool is_private(std::uint32_t fourcc)
{
  for (const char *name : {"R100", "R101", "B100", "B101", "HD01", "UHD0"})
    if (fourcc == test::fourcc_of(name))
      return true;
  return false;
}

TEST_P(RealTable, EveryLinearFormatIsKnown)
{
  for (const Format &pair : test::load_gpu_table(GetParam())) {
    const bool has_linear_layout =
        pair.fourcc != DRM_FORMAT_YUV420_8BIT && pair.fourcc != DRM_FORMAT_YUV420_10BIT;
    if (!has_linear_layout)
      continue;
    EXPECT_EQ(fourcc_info(pair.fourcc) == nullptr, is_private(pair.fourcc))
        << describe_format(pair);
  }
}

INSTANTIATE_TEST_SUITE_P(Fourcc, RealTable, testing::ValuesIn(test::gpu_table_names()),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

struct PlanesRow {
  const char *name;
  const char *fourcc;
  std::uint64_t modifier;
  unsigned planes;
};

void PrintTo(const PlanesRow &row, std::ostream *out)
{
  *out << row.name;
}

class MemoryPlanes : public testing::TestWithParam<PlanesRow> {};

TEST_P(MemoryPlanes, Count)
{
  EXPECT_EQ(memory_plane_count({test::fourcc_of(GetParam().fourcc), GetParam().modifier}),
            GetParam().planes);
}

constexpr PlanesRow kPlanes[] = {
    {"LinearUnknownFourcc", "ZZZZ", 0, 0},
    {"LinearUndefined", "YU08", 0, 1},
    {"Vuy101010OnlyWithAModifier", "VU30", 0x0800000000000041, 1},
    {"VivanteTileStatusTopBit", "XR24", 0x0608000000000001, 0},
    {"ImplicitNv12", "NV12", kModImplicit, 2},
    {"IntelX", "XR24", 0x0100000000000001, 1},
    {"IntelYNv12", "NV12", 0x0100000000000002, 2},
    {"IntelYCcs", "XR24", 0x0100000000000004, 2},
    {"IntelYCcsNv12DoesNotExist", "NV12", 0x0100000000000004, 0},
    {"IntelYfCcs", "AR24", 0x0100000000000005, 2},
    {"IntelGen12Rc", "XR24", 0x0100000000000006, 2},
    {"IntelGen12McNv12", "NV12", 0x0100000000000007, 4},
    {"IntelGen12McYuyv", "YUYV", 0x0100000000000007, 2},
    {"IntelGen12RcCc", "XR24", 0x0100000000000008, 3},
    {"Intel4Tiled", "NV12", 0x0100000000000009, 2},
    {"IntelDg2Rc", "XR24", 0x010000000000000a, 1},
    {"IntelDg2McNv12", "NV12", 0x010000000000000b, 2},
    {"IntelDg2RcCc", "XR24", 0x010000000000000c, 2},
    {"IntelMtlRc", "XR24", 0x010000000000000d, 2},
    {"IntelMtlMcP010", "P010", 0x010000000000000e, 4},
    {"IntelMtlRcCc", "XR24", 0x010000000000000f, 3},
    {"IntelLnl", "NV12", 0x0100000000000010, 2},
    {"IntelBmg", "XR24", 0x0100000000000011, 1},
    {"IntelUnknown", "XR24", 0x01000000000000ff, 0},
    {"AmdGfx9Plain", "XR24", 0x0200000000000901, 1},
    {"AmdGfx11Plain", "NV12", 0x0200000028a01f04, 2},
    {"AmdGfx11Dcc", "XR24", 0x0200000028a6bf04, 2},
    {"AmdGfx10DccRetile", "XR24", 0x0200000010437b04, 3},
    {"AmdDccNv12NotSure", "NV12", 0x0200000028a6bf04, 0},
    {"AmdGfx12DccHasNoPlane", "XR24", 0x0200000000082405, 1},
    {"NvidiaBlockLinear", "NV12", 0x03000000004fe015, 2},
    {"Samsung", "NV12", 0x0400000000000001, 2},
    {"QcomCompressed", "NV12", 0x0500000000000001, 2},
    {"VivanteTiled", "XR24", 0x0600000000000001, 1},
    {"VivanteWithTileStatus", "XR24", 0x0601000000000001, 0},
    {"BroadcomSand", "NV12", 0x0700000000043204, 2},
    {"AfbcRgb", "XR24", 0x0800000000000041, 1},
    {"AfbcYuv420", "YU08", 0x0800000000000041, 1},
    {"AfbcNv12NotSure", "NV12", 0x0800000000000041, 0},
    {"AfrcNv12", "NV12", 0x0820000000000011, 2},
    {"Allwinner", "NV12", 0x0900000000000001, 2},
    {"AmlogicFbc", "YU10", 0x0a00000000000101, 1},
    {"Mtk", "NV12", 0x0b00000000000001, 2},
    {"Apple", "XR24", 0x0c00000000000002, 1},
    {"UnknownVendor", "XR24", 0x7f00000000000001, 0},
    {"VendorNone", "XR24", 0x0000000000000001, 0},
};

INSTANTIATE_TEST_SUITE_P(Fourcc, MemoryPlanes, testing::ValuesIn(kPlanes),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace gstdrm

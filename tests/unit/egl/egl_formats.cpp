// SPDX-License-Identifier: LGPL-2.1-or-later
// The lists of a display as sets: every vendor's real table, and drivers that lie.
#include "engine/egl_formats.hpp"

#include <gtest/gtest.h>

#include "core/drm_facts.hpp"
#include "fake_egl.hpp"
#include "support/gpu_table.hpp"

namespace gstdrm::egl {
namespace {

using test::FakeEgl;
using test::FakeFormat;

constexpr std::uint64_t kYTiled = I915_FORMAT_MOD_Y_TILED;
constexpr std::uint64_t kXTiled = I915_FORMAT_MOD_X_TILED;
constexpr std::uint32_t kXr24 = DRM_FORMAT_XRGB8888;
constexpr std::uint32_t kNv12 = DRM_FORMAT_NV12;

DisplayFormats query(const FakeEgl &driver)
{
  const Result<DisplayFormats> formats = query_formats(driver.calls().egl, driver.display());
  if (!formats) {
    ADD_FAILURE() << formats.error().message;
    return {};
  }
  return *formats;
}

std::string text(const FormatSet &set)
{
  std::string all;
  for (const Format format : set.pairs())
    all += describe_format(format) + "; ";
  return all;
}

class Table : public testing::TestWithParam<std::string> {};

// Each pair with the flag that its GPU gave it, and no other pair.
TEST_P(Table, PairByPair)
{
  FakeEgl driver;
  driver.load_table(GetParam());
  const DisplayFormats formats = query(driver);
  FormatSet texture_2d;
  FormatSet external_only;
  for (const test::GpuRow &row : test::load_gpu_rows(GetParam())) {
    // lists without modifiers say nothing of targets: YUV is external
    const bool is_external =
        row.format.modifier == kModImplicit ? fourcc_is_yuv(row.format.fourcc) : row.external_only;
    ASSERT_TRUE((is_external ? external_only : texture_2d).add(row.format))
        << describe_format(row.format) << " twice in the table";
  }
  ASSERT_GT(texture_2d.size(), 0U);
  EXPECT_EQ(text(formats.texture_2d), text(texture_2d));
  EXPECT_EQ(text(formats.external_only), text(external_only));
  EXPECT_EQ(formats.all().size(), texture_2d.size() + external_only.size());
  // once each: a list of the formats costs two calls, and so does each format
  EXPECT_EQ(driver.calls_of("eglQueryDmaBufFormatsEXT"), 2U);
  EXPECT_LE(driver.calls_of("eglQueryDmaBufModifiersEXT"), 2 * driver.formats.size());
}

INSTANTIATE_TEST_SUITE_P(Vendors, Table, testing::ValuesIn(test::gpu_table_names()),
                         [](const auto &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = c == '-' ? '_' : c;
                           return name;
                         });

struct OddRow {
  const char *name;
  std::vector<FakeFormat> formats;
  std::vector<EGLint> format_count_errors;
  std::vector<EGLint> modifier_count_errors;
  std::vector<Format> texture_2d;
  std::vector<Format> external_only;
};

void PrintTo(const OddRow &row, std::ostream *out)
{
  *out << row.name;
}

class Odd : public testing::TestWithParam<OddRow> {};

TEST_P(Odd, Driver)
{
  const OddRow &row = GetParam();
  FakeEgl driver;
  driver.formats = row.formats;
  driver.format_count_errors = row.format_count_errors;
  driver.modifier_count_errors = row.modifier_count_errors;
  const DisplayFormats formats = query(driver);
  EXPECT_EQ(text(formats.texture_2d), text(FormatSet::from_pairs(row.texture_2d)));
  EXPECT_EQ(text(formats.external_only), text(FormatSet::from_pairs(row.external_only)));
}

const FakeFormat kXr24Linear{kXr24, {{kModLinear, false}}};
const FakeFormat kNv12Linear{kNv12, {{kModLinear, true}}};

const OddRow kOdd[] = {
    {"nothing_listed", {}, {}, {}, {}, {}},
    {"no_modifiers_rgb", {{kXr24, {}}}, {}, {}, {{kXr24, kModImplicit}}, {}},
    {"no_modifiers_yuv", {{kNv12, {}}}, {}, {}, {}, {{kNv12, kModImplicit}}},
    {"invalid_alone", {{kXr24, {{kModImplicit, false}}}}, {}, {}, {{kXr24, kModImplicit}}, {}},
    {"invalid_beside_explicit",
     {{kXr24, {{kModImplicit, false}, {kYTiled, false}}}},
     {},
     {},
     {{kXr24, kYTiled}},
     {}},
    {"format_twice",
     {kXr24Linear, kNv12Linear, kXr24Linear},
     {},
     {},
     {{kXr24, kModLinear}},
     {{kNv12, kModLinear}}},
    {"modifier_twice",
     {{kXr24, {{kXTiled, false}, {kXTiled, false}}}},
     {},
     {},
     {{kXr24, kXTiled}},
     {}},
    {"both_flags_for_one_pair",
     {{kXr24, {{kXTiled, false}, {kXTiled, true}, {kModLinear, false}}}},
     {},
     {},
     {{kXr24, kModLinear}},
     {{kXr24, kXTiled}}},
    {"no_fourcc",
     {{0, {}}, {0x01020304, {{kModLinear, false}}}, {0x20202020, {}}, kXr24Linear},
     {},
     {},
     {{kXr24, kModLinear}},
     {}},
    {"largest_modifier",
     {{kXr24, {{0xffffffffffffffffULL, false}}}},
     {},
     {},
     {{kXr24, 0xffffffffffffffffULL}},
     {}},
    // the second call has one format more than the first: it is asked again
    {"list_grows",
     {kXr24Linear, kNv12Linear},
     {-1},
     {},
     {{kXr24, kModLinear}},
     {{kNv12, kModLinear}}},
    // it has one less: what was not written is no format
    {"list_shrinks", {kXr24Linear}, {2}, {}, {{kXr24, kModLinear}}, {}},
    {"list_says_more_than_it_wrote", {kXr24Linear}, {2, 2}, {}, {{kXr24, kModLinear}}, {}},
    {"list_never_stops_growing", {kXr24Linear}, {1, 2, 3, 4, 5, 6}, {}, {{kXr24, kModLinear}}, {}},
    {"negative_count_of_formats", {kXr24Linear}, {-8}, {}, {}, {}},
    {"negative_count_at_last", {kXr24Linear}, {0, -8}, {}, {}, {}},
    {"enormous_count_of_formats", {kXr24Linear}, {2147483000}, {}, {{kXr24, kModLinear}}, {}},
    {"modifiers_grow",
     {{kXr24, {{kXTiled, false}, {kYTiled, true}}}},
     {},
     {-1},
     {{kXr24, kXTiled}},
     {{kXr24, kYTiled}}},
    {"modifiers_shrink", {{kXr24, {{kXTiled, false}}}}, {}, {3}, {{kXr24, kXTiled}}, {}},
    {"more_modifiers_said_than_written",
     {{kXr24, {{kXTiled, false}}}},
     {},
     {3, 3},
     {{kXr24, kXTiled}},
     {}},
    {"negative_count_of_modifiers",
     {{kXr24, {{kXTiled, false}}}},
     {},
     {-8},
     {{kXr24, kModImplicit}},
     {}},
    {"enormous_count_of_modifiers",
     {{kXr24, {{kXTiled, false}}}},
     {},
     {2147483000},
     {{kXr24, kXTiled}},
     {}},
};

INSTANTIATE_TEST_SUITE_P(Rows, Odd, testing::ValuesIn(kOdd),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(DisplayFormats, NoExtension)
{
  FakeEgl driver;
  driver.load_table("llvmpipe");
  driver.egl_extensions = "EGL_KHR_image_base EGL_EXT_image_dma_buf_import_modifiers";
  const auto formats = query_formats(driver.calls().egl, driver.display());
  ASSERT_FALSE(formats);
  EXPECT_EQ(formats.error().code, ErrorCode::Unsupported);
  EXPECT_NE(formats.error().message.find("EGL_EXT_image_dma_buf_import"), std::string::npos);
  EXPECT_EQ(driver.calls_of("eglQueryDmaBufFormatsEXT"), 0U);
}

// Before modifiers: what drivers took is not listed anywhere.
TEST(DisplayFormats, NoListOfModifiers)
{
  FakeEgl driver;
  driver.load_table("llvmpipe");
  driver.egl_extensions = "EGL_KHR_image_base EGL_EXT_image_dma_buf_import";
  const DisplayFormats formats = query(driver);
  EXPECT_EQ(driver.calls_of("eglQueryDmaBufFormatsEXT"), 0U);
  EXPECT_TRUE(formats.texture_2d.contains({kXr24, kModImplicit}));
  EXPECT_TRUE(formats.external_only.contains({kNv12, kModImplicit}));
  EXPECT_EQ(formats.texture_2d.size(), 7U) << text(formats.texture_2d);
  EXPECT_EQ(formats.external_only.size(), 2U) << text(formats.external_only);
}

// The functions may be missing although the extension is there.
TEST(DisplayFormats, ExtensionWithoutItsFunctions)
{
  FakeEgl driver;
  driver.load_table("llvmpipe");
  driver.missing = {"eglQueryDmaBufModifiersEXT"};
  EXPECT_EQ(query(driver).all().size(), 9U);
}

TEST(DisplayFormats, ListRefused)
{
  for (const unsigned nth : {1U, 2U}) {
    FakeEgl driver;
    driver.load_table("llvmpipe");
    driver.fail("eglQueryDmaBufFormatsEXT", nth, EGL_BAD_DISPLAY);
    const auto formats = query_formats(driver.calls().egl, driver.display());
    ASSERT_FALSE(formats) << "call " << nth;
    EXPECT_EQ(formats.error().code, ErrorCode::Device);
    EXPECT_NE(formats.error().message.find("EGL_BAD_DISPLAY (0x3008)"), std::string::npos)
        << formats.error().message;
  }
}

// One format whose modifiers are refused is left out, and the others stay.
TEST(DisplayFormats, ModifiersOfOneFormatRefused)
{
  for (unsigned nth = 1; nth <= 4; ++nth) {
    FakeEgl driver;
    driver.formats = {kXr24Linear, kNv12Linear};
    driver.fail("eglQueryDmaBufModifiersEXT", nth, EGL_BAD_PARAMETER);
    const DisplayFormats formats = query(driver);
    EXPECT_EQ(formats.all().size(), 1U) << "call " << nth << ": " << text(formats.all());
    EXPECT_EQ(formats.texture_2d.empty(), nth <= 2) << "call " << nth;
  }
}

} // namespace
} // namespace gstdrm::egl

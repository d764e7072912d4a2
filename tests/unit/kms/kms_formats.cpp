// SPDX-License-Identifier: LGPL-2.1-or-later

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include <drm_fourcc.h>
#include <drm_mode.h>
#include <gst/drm/core/in_formats.hpp>
#include <gtest/gtest.h>

namespace {

using gstdrm::Format;
using gstdrm::FormatSet;

constexpr std::uint64_t kYTiled = I915_FORMAT_MOD_Y_TILED;

struct Modifier {
  std::uint64_t formats;
  std::uint32_t offset;
  std::uint64_t modifier;
};

// As drm_plane.c's create_in_format_blob() writes it: formats right after the header, modifiers after
// them, 8-byte aligned.
std::vector<std::uint8_t> make_blob(const std::vector<std::uint32_t> &formats,
                                    const std::vector<Modifier> &modifiers)
{
  drm_format_modifier_blob header{FORMAT_BLOB_CURRENT,
                                  0,
                                  static_cast<std::uint32_t>(formats.size()),
                                  sizeof(drm_format_modifier_blob),
                                  static_cast<std::uint32_t>(modifiers.size()),
                                  0};
  header.modifiers_offset = static_cast<std::uint32_t>((sizeof(header) + formats.size() * 4 + 7) / 8 * 8);
  std::vector<std::uint8_t> blob(header.modifiers_offset + modifiers.size() * sizeof(drm_format_modifier));
  std::memcpy(blob.data(), &header, sizeof(header));
  if (!formats.empty())
    std::memcpy(blob.data() + sizeof(header), formats.data(), formats.size() * 4);
  for (std::size_t i = 0; i < modifiers.size(); i++) {
    const drm_format_modifier entry{modifiers[i].formats, modifiers[i].offset, 0, modifiers[i].modifier};
    std::memcpy(blob.data() + header.modifiers_offset + i * sizeof(entry), &entry, sizeof(entry));
  }
  return blob;
}

struct Row {
  const char *name;
  std::vector<std::uint8_t> blob;
  std::vector<Format> expected;
};

std::vector<std::uint32_t> many_formats()
{
  std::vector<std::uint32_t> formats(70, DRM_FORMAT_XRGB8888);
  formats[66] = DRM_FORMAT_NV12;
  return formats;
}

std::vector<std::uint32_t> last_of_64_formats()
{
  std::vector<std::uint32_t> formats(64, DRM_FORMAT_XRGB8888);
  formats[63] = DRM_FORMAT_NV12;
  return formats;
}

const Row kRows[] = {
    {"one_linear", make_blob({DRM_FORMAT_XRGB8888}, {{1, 0, 0}}), {{DRM_FORMAT_XRGB8888, 0}}},
    {"bits_choose_formats",
     make_blob({DRM_FORMAT_XRGB8888, DRM_FORMAT_NV12, DRM_FORMAT_ARGB8888}, {{5, 0, kYTiled}, {2, 0, 0}}),
     {{DRM_FORMAT_XRGB8888, kYTiled}, {DRM_FORMAT_ARGB8888, kYTiled}, {DRM_FORMAT_NV12, 0}}},
    {"window_beyond_64_formats", make_blob(many_formats(), {{4, 64, kYTiled}}), {{DRM_FORMAT_NV12, kYTiled}}},
    {"bits_past_the_last_format", make_blob({DRM_FORMAT_NV12}, {{~std::uint64_t{0}, 0, 0}}), {{DRM_FORMAT_NV12, 0}}},
    // what lies behind the formats would pass for another one: the low half of the entry's bits, "GGGG"
    {"bits_one_past_the_last_format",
     make_blob({DRM_FORMAT_XRGB8888, DRM_FORMAT_NV12}, {{0x47474747, 0, 0}}),
     {{DRM_FORMAT_XRGB8888, 0}, {DRM_FORMAT_NV12, 0}}},
    {"the_last_bit_of_a_window", make_blob(last_of_64_formats(), {{std::uint64_t{1} << 63, 0, 0}}), {{DRM_FORMAT_NV12, 0}}},
    {"window_past_the_last_format", make_blob({DRM_FORMAT_NV12}, {{1, 0xffffffff, 0}}), {}},
    {"duplicates",
     make_blob({DRM_FORMAT_NV12, DRM_FORMAT_NV12}, {{3, 0, 0}, {3, 0, 0}}),
     {{DRM_FORMAT_NV12, 0}}},
    {"a_fourcc_that_is_no_text", make_blob({0, DRM_FORMAT_NV12}, {{3, 0, 0}}), {{DRM_FORMAT_NV12, 0}}},
    {"invalid_modifier_is_implicit",
     make_blob({DRM_FORMAT_NV12}, {{1, 0, DRM_FORMAT_MOD_INVALID}}),
     {{DRM_FORMAT_NV12, gstdrm::kModImplicit}}},
    {"extreme_modifier",
     make_blob({DRM_FORMAT_NV12}, {{1, 0, 0xfffffffffffffffe}}),
     {{DRM_FORMAT_NV12, 0xfffffffffffffffe}}},
    {"no_modifiers", make_blob({DRM_FORMAT_NV12}, {}), {}},
    {"no_formats", make_blob({}, {{1, 0, 0}}), {}},
};

class InFormats : public testing::TestWithParam<Row> {};

TEST_P(InFormats, parses)
{
  const auto set = gstdrm::parse_in_formats(GetParam().blob);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(*set, FormatSet::from_pairs(GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(Rows, InFormats, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

struct BadRow {
  const char *name;
  std::size_t at; // a 32-bit field of the header
  std::uint32_t value;
};

const BadRow kBadRows[] = {
    {"unknown_version", 0, 2},           {"too_many_formats", 8, 1000},
    {"format_count_overflows", 8, ~0U},  {"formats_outside", 12, 4000},
    {"formats_offset_overflows", 12, ~0U}, {"too_many_modifiers", 16, 3},
    {"modifier_count_overflows", 16, ~0U}, {"modifiers_outside", 20, 4000},
};

class BadInFormats : public testing::TestWithParam<BadRow> {};

TEST_P(BadInFormats, is_an_error)
{
  auto blob = make_blob({DRM_FORMAT_XRGB8888, DRM_FORMAT_NV12}, {{3, 0, 0}, {3, 0, kYTiled}});
  ASSERT_TRUE(gstdrm::parse_in_formats(blob));
  std::memcpy(blob.data() + GetParam().at, &GetParam().value, 4);
  const auto set = gstdrm::parse_in_formats(blob);
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().message.find("IN_FORMATS"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Rows, BadInFormats, testing::ValuesIn(kBadRows),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(InFormatsBlob, cut_anywhere_never_reads_past_the_end)
{
  const auto blob = make_blob({DRM_FORMAT_XRGB8888, DRM_FORMAT_NV12}, {{3, 0, 0}, {3, 0, kYTiled}});
  for (std::size_t size = 0; size < blob.size(); size++) {
    const std::vector<std::uint8_t> cut(blob.begin(), blob.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(gstdrm::parse_in_formats(cut)) << size;
  }
}

// Blobs that drivers wrote. The text beside each one lists its pairs, as modetest decoded them.
class RealInFormats : public testing::TestWithParam<const char *> {};

TEST_P(RealInFormats, parses)
{
  const std::string path = std::string(std::getenv("GST_DRM_TEST_DATA")) + "/machines/in-formats/" + GetParam();
  std::ifstream file(path + ".bin", std::ios::binary);
  const std::vector<std::uint8_t> blob((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<Format> expected;
  std::ifstream table(path + ".txt");
  for (std::string line; std::getline(table, line);) {
    const std::string fourcc = line.substr(line.find(' ') + 1);
    ASSERT_EQ(fourcc.size(), 4U) << line;
    expected.push_back({static_cast<std::uint32_t>(fourcc_code(fourcc[0], fourcc[1], fourcc[2], fourcc[3])), std::stoull(line, nullptr, 16)});
  }
  ASSERT_FALSE(expected.empty());
  const auto set = gstdrm::parse_in_formats(blob);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(*set, FormatSet::from_pairs(expected));
}

INSTANTIATE_TEST_SUITE_P(Drivers, RealInFormats, testing::Values("i915-primary-plane", "rockchip-vop-primary-plane", "vc4-bcm2711-overlay-plane"),
                         [](const auto &test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(ImplicitFormats, every_fourcc_once)
{
  const std::uint32_t fourccs[] = {DRM_FORMAT_NV12, DRM_FORMAT_XRGB8888, DRM_FORMAT_NV12};
  const FormatSet set = gstdrm::implicit_formats(fourccs);
  EXPECT_EQ(set.size(), 2U);
  EXPECT_TRUE(set.contains({DRM_FORMAT_NV12, gstdrm::kModImplicit}));
}

} // namespace

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/format.hpp"

#include <algorithm>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "core/drm_facts.hpp"
#include "support/gpu_table.hpp"

namespace gstdrm {
namespace {

constexpr std::uint32_t kNv12 = make_fourcc('N', 'V', '1', '2');
constexpr std::uint32_t kXr24 = make_fourcc('X', 'R', '2', '4');
constexpr std::uint32_t kR8 = make_fourcc('R', '8', ' ', ' ');

struct GoodRow {
  const char *name;
  const char *text;
  Format format;
  const char *canonical;
};

void PrintTo(const GoodRow &row, std::ostream *out)
{
  *out << row.name;
}

class Accepted : public testing::TestWithParam<GoodRow> {};

TEST_P(Accepted, ReadsAndWritesBack)
{
  const GoodRow &row = GetParam();
  const Result<Format> format = parse_format(row.text);
  ASSERT_TRUE(format) << row.text << ": " << format.error().message;
  EXPECT_EQ(format->fourcc, row.format.fourcc) << row.text;
  EXPECT_EQ(format->modifier, row.format.modifier) << row.text;
  EXPECT_EQ(format_to_text(*format).view(), row.canonical);
}

constexpr GoodRow kGood[] = {
    {"Linear", "NV12", {kNv12, 0}, "NV12"},
    {"IntelYTiled", "NV12:0x0100000000000002", {kNv12, 0x0100000000000002}, "NV12:0x0100000000000002"},
    {"TrailingSpaces", "R8  ", {kR8, 0}, "R8  "},
    {"TrailingSpacesWithModifier", "R8  :0x0200000018601b04", {kR8, 0x0200000018601b04}, "R8  :0x0200000018601b04"},
    {"InnerSpaces", "R  F", {make_fourcc('R', ' ', ' ', 'F'), 0}, "R  F"},
    {"BigEndian", "XR24_BE", {kXr24 | kFourccBigEndian, 0}, "XR24_BE"},
    {"BigEndianWithModifier", "RG16_BE:0x0100000000000001",
     {make_fourcc('R', 'G', '1', '6') | kFourccBigEndian, 0x0100000000000001}, "RG16_BE:0x0100000000000001"},
    {"BigEndianWithSpaces", "R16 _BE", {make_fourcc('R', '1', '6', ' ') | kFourccBigEndian, 0}, "R16 _BE"},
    {"UpperCasePrefix", "NV12:0X0100000000000002", {kNv12, 0x0100000000000002}, "NV12:0x0100000000000002"},
    {"UpperCasePrefixShort", "NV12:0X1", {kNv12, 1}, "NV12:0x0000000000000001"},
    {"UpperCaseDigits", "XR24:0x0200000028A6BF04", {kXr24, 0x0200000028a6bf04}, "XR24:0x0200000028a6bf04"},
    {"MixedCaseDigits", "XR24:0x0200000028A6bf04", {kXr24, 0x0200000028a6bf04}, "XR24:0x0200000028a6bf04"},
    {"FifteenDigits", "NV12:0x100000000000002", {kNv12, 0x0100000000000002}, "NV12:0x0100000000000002"},
    {"OneDigit", "NV12:0x1", {kNv12, 1}, "NV12:0x0000000000000001"},
    {"AllBits", "NV12:0xffffffffffffffff", {kNv12, 0xffffffffffffffff}, "NV12:0xffffffffffffffff"},
    {"TopBit", "NV12:0x8000000000000000", {kNv12, 0x8000000000000000}, "NV12:0x8000000000000000"},
    {"InvalidPlusOne", "NV12:0x0100000000000000", {kNv12, 0x0100000000000000}, "NV12:0x0100000000000000"},
    {"InvalidMinusOne", "NV12:0x00fffffffffffffe", {kNv12, 0x00fffffffffffffe}, "NV12:0x00fffffffffffffe"},
    {"LowerCaseFourcc", "nv12", {make_fourcc('n', 'v', '1', '2'), 0}, "nv12"},
    {"Punctuation", "~!@_", {make_fourcc('~', '!', '@', '_'), 0}, "~!@_"},
};

INSTANTIATE_TEST_SUITE_P(Format, Accepted, testing::ValuesIn(kGood),
                         [](const auto &info) { return std::string(info.param.name); });

struct BadRow {
  const char *name;
  std::string_view text;
  const char *why;
  std::size_t position;
};

void PrintTo(const BadRow &row, std::ostream *out)
{
  *out << row.name;
}

class Refused : public testing::TestWithParam<BadRow> {};

TEST_P(Refused, SaysWhyAndWhere)
{
  const BadRow &row = GetParam();
  const Result<Format> format = parse_format(row.text);
  ASSERT_FALSE(format) << row.text << " was read as " << describe_format(*format);
  EXPECT_EQ(format.error().code, ErrorCode::Format);
  EXPECT_NE(format.error().message.find(row.why), std::string::npos) << format.error().message;
  const std::string position = "(position " + std::to_string(row.position) + ")";
  EXPECT_NE(format.error().message.find(position), std::string::npos) << format.error().message;
}

constexpr const char *kFourChars = "a fourcc has 4 characters";
constexpr const char *kPrintable = "printable ASCII";
constexpr const char *kLinear = "the linear modifier is written by leaving it out";
constexpr const char *kInvalid = "DRM_FORMAT_MOD_INVALID";
constexpr const char *kNo0x = "no '0x'";
constexpr const char *kNothing = "nothing after '0x'";
constexpr const char *kNotHex = "not a hexadecimal digit";
constexpr const char *kTooLong = "more than 16 hexadecimal digits";
constexpr const char *kTrailing = "trailing text";

using namespace std::string_view_literals;

constexpr BadRow kBad[] = {
    {"Empty", ""sv, kFourChars, 0},
    {"OneCharacter", "N"sv, kFourChars, 1},
    {"SpacesCut", "R8"sv, kFourChars, 2},
    {"SpacesCutBeforeModifier", "R8:0x0100000000000001"sv, kFourChars, 2},
    {"ThreeCharactersAndColon", "NV1:"sv, kFourChars, 3},
    {"ColonFirst", ":0x1"sv, kFourChars, 0},
    {"FiveCharacters", "NV123"sv, kTrailing, 4},
    {"OnlySpaces", "    "sv, "spaces only", 0},
    {"ControlCharacter", "NV\t2"sv, kPrintable, 2},
    {"Utf8", "N\xc3\xa9""12"sv, kPrintable, 1},
    {"Delete", "NV1\x7f"sv, kPrintable, 3},
    {"NulInside", "NV\0""2"sv, kPrintable, 2},
    {"NulAfter", "NV12\0"sv, kTrailing, 4},
    {"WrittenLinear", "NV12:0x0000000000000000"sv, kLinear, 7},
    {"WrittenLinearShort", "NV12:0x0"sv, kLinear, 7},
    {"Invalid", "NV12:0x00ffffffffffffff"sv, kInvalid, 7},
    {"InvalidUpperCase", "NV12:0x00FFFFFFFFFFFFFF"sv, kInvalid, 7},
    {"InvalidShort", "NV12:0xffffffffffffff"sv, kInvalid, 7},
    {"ColonOnly", "NV12:"sv, kNo0x, 5},
    {"ZeroOnly", "NV12:0"sv, kNo0x, 5},
    {"NoPrefix", "NV12:0100000000000002"sv, kNo0x, 5},
    {"UpperCasePrefixAlone", "NV12:0X"sv, kNothing, 7},
    {"UpperCasePrefixOfLinear", "NV12:0X0"sv, kLinear, 7},
    {"UpperCasePrefixTwice", "NV12:0X0X1"sv, kNotHex, 8},
    {"SpaceBeforePrefix", "NV12: 0x0100000000000002"sv, kNo0x, 5},
    {"NothingAfterPrefix", "NV12:0x"sv, kNothing, 7},
    {"NoHex", "NV12:0xg"sv, kNotHex, 7},
    {"NoHexLater", "NV12:0x010000000000000z"sv, kNotHex, 22},
    {"TrailingSpace", "NV12:0x0100000000000002 "sv, kNotHex, 23},
    {"TrailingColon", "NV12:0x1:"sv, kNotHex, 8},
    {"Minus", "NV12:0x-1"sv, kNotHex, 7},
    {"PrefixTwice", "NV12:0x0x1"sv, kNotHex, 8},
    {"SeventeenDigits", "NV12:0x01000000000000021"sv, kTooLong, 23},
    {"SeventeenZeros", "NV12:0x00000000000000000"sv, kTooLong, 23},
    {"TrailingText", "NV12 0x0100000000000002"sv, kTrailing, 4},
    {"BigEndianLowerCase", "XR24_be"sv, kTrailing, 4},
    {"BigEndianCut", "XR24_B"sv, kTrailing, 4},
    {"BigEndianTwice", "XR24_BE_BE"sv, kTrailing, 7},
    {"BigEndianAfterModifier", "XR24:0x0100000000000001_BE"sv, kNotHex, 23},
    {"List", "{ NV12, NV21 }"sv, kTrailing, 4},
};

INSTANTIATE_TEST_SUITE_P(Format, Refused, testing::ValuesIn(kBad),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(FormatText, LongInputIsCutInTheMessage)
{
  const Result<Format> format = parse_format(std::string(100000, 'x'));
  ASSERT_FALSE(format);
  EXPECT_LT(format.error().message.size(), 300U);
}

TEST(FormatText, MessagesAreAscii)
{
  const Result<Format> format = parse_format("\xff\xfe\x01\x80");
  ASSERT_FALSE(format);
  EXPECT_NE(format.error().message.find("\\xff\\xfe\\x01\\x80"), std::string::npos) << format.error().message;
}

struct NoTextRow {
  const char *name;
  Format format;
};

void PrintTo(const NoTextRow &row, std::ostream *out)
{
  *out << row.name;
}

class NoText : public testing::TestWithParam<NoTextRow> {};

TEST_P(NoText, HasNoString)
{
  EXPECT_EQ(format_to_text(GetParam().format).length, 0);
  EXPECT_FALSE(describe_format(GetParam().format).empty());
}

constexpr NoTextRow kNoText[] = {
    {"Implicit", {kNv12, kModImplicit}},
    {"NoFourcc", {0, kModLinear}},
    {"BinaryFourcc", {0x01020304, kModLinear}},
    {"SpacesOnly", {0x20202020, kModLinear}},
    {"ColonInFourcc", {make_fourcc('N', ':', '1', '2'), kModLinear}},
    {"AllOnes", {0xffffffff, kModLinear}},
};

INSTANTIATE_TEST_SUITE_P(Format, NoText, testing::ValuesIn(kNoText),
                         [](const auto &info) { return std::string(info.param.name); });

class RealTable : public testing::TestWithParam<std::string> {};

TEST_P(RealTable, EveryPairRoundTrips)
{
  const std::vector<Format> pairs = test::load_gpu_table(GetParam());
  ASSERT_FALSE(pairs.empty());
  std::set<std::string> texts;
  for (const Format &pair : pairs) {
    const std::string text(format_to_text(pair).view());
    ASSERT_FALSE(text.empty()) << describe_format(pair);
    const Result<Format> again = parse_format(text);
    ASSERT_TRUE(again) << text;
    EXPECT_EQ(*again, pair) << text;
    texts.insert(text);
  }
  EXPECT_EQ(texts.size(), pairs.size());
}

TEST_P(RealTable, EveryModifierHasAName)
{
  const std::regex number("0x[0-9a-f]{10}"); // what is not known is written as one
  for (const Format &pair : test::load_gpu_table(GetParam())) {
    const std::string name = describe_modifier(pair.modifier);
    EXPECT_FALSE(std::regex_search(name, number)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Format, RealTable, testing::ValuesIn(test::gpu_table_names()), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Describe, Pairs)
{
  EXPECT_EQ(describe_format({kNv12, 0}), "NV12 (LINEAR)");
  EXPECT_EQ(describe_format({kNv12, 0x0100000000000002}), "NV12:0x0100000000000002 (INTEL_Y_TILED)");
  EXPECT_EQ(describe_format({kNv12, kModImplicit}), "NV12 (implicit modifier)");
  EXPECT_EQ(describe_format({0x01020304, 0}), "0x01020304 (LINEAR)");
  EXPECT_EQ(fourcc_to_string(kXr24 | kFourccBigEndian), "XR24_BE");
}

} // namespace
} // namespace gstdrm

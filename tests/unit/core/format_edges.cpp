// SPDX-License-Identifier: LGPL-2.1-or-later
// drm-format text at the edges of what its two readers, the quick one and the thorough one, take.
#include <string>

#include <gtest/gtest.h>

#include "core/format.hpp"

namespace gstdrm {
namespace {

struct Row {
  const char *name;
  std::string text;
  const char *why; // part of the message
};

const Row kRows[] = {
    // the big-endian bit is the top one of the fourth character: it is written _BE
    {"FourthCharacterNotAscii", "NV1\xb2", "printable ASCII"},
    {"FourthCharacterNotAsciiWithModifier", "NV1\xb2:0x0100000000000001", "printable ASCII"},
    {"FirstCharacterNotAscii", "\xceV12", "printable ASCII"},
    {"Delete", "NV1\x7f", "'NV1\\x7f'"},
    {"Tab", "NV1\t", "'NV1\\x09'"},
    {"NoColon", "NV12;0x0100000000000001", "position 4"},
    {"NoZero", "NV12:1x0100000000000001", "no '0x'"},
    {"NoX", "NV12:0y0100000000000001", "no '0x'"},
    {"LinearIn16Digits", "NV12:0x0000000000000000", "leaving it out"},
    {"ImplicitIn16Digits", "NV12:0x00ffffffffffffff", "DRM_FORMAT_MOD_INVALID"},
    {"LastDigitIsNone", "NV12:0x010000000000000g", "position 22"},
    {"FirstDigitIsNone", "NV12:0xg100000000000000", "position 7"},
    {"SeventeenDigits", "NV12:0x01000000000000010", "more than 16"},
    {"SpacesOnly", "    ", "spaces only"},
    {"SpacesOnlyWithModifier", "    :0x0100000000000001", "spaces only"},
};

class RefusedText : public testing::TestWithParam<Row> {};

TEST_P(RefusedText, SaysWhy)
{
  const Result<Format> format = parse_format(GetParam().text);
  ASSERT_FALSE(format);
  EXPECT_NE(format.error().message.find(GetParam().why), std::string::npos)
      << format.error().message;
}

INSTANTIATE_TEST_SUITE_P(FormatEdges, RefusedText, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

// 64 characters of a text are repeated in the message, and that there is more only where there is.
TEST(FormatEdges, LongTextsAreCutBehindThe64thCharacter)
{
  const Result<Format> whole = parse_format(std::string(64, 'x'));
  const Result<Format> cut = parse_format(std::string(65, 'x'));
  ASSERT_FALSE(whole);
  ASSERT_FALSE(cut);
  EXPECT_NE(whole.error().message.find("'" + std::string(64, 'x') + "'"), std::string::npos)
      << whole.error().message;
  EXPECT_NE(cut.error().message.find("'" + std::string(64, 'x') + "…'"), std::string::npos)
      << cut.error().message;
}

} // namespace
} // namespace gstdrm

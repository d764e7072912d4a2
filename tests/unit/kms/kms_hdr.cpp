// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gst/kms/engine/commit/kms_request.hpp"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace gstdrm::kms;

struct Row {
  const char *name;
  HdrMetadata metadata;
  std::vector<std::uint8_t> bytes; // of the blob, little-endian, from its first byte
};

// BT.2020 primaries and D65 in units of 0.00002: 0.708 is 35400 = 0x8a48.
constexpr std::array<Chromaticity, 3> kBt2020 = {{{35400, 14600}, {8500, 39850}, {6550, 2300}}};
constexpr Chromaticity kD65{15635, 16450};

const Row kRows[] = {
    {"pq_mastered_at_1000_nits",
     {TransferFunction::Pq, kBt2020, kD65, 10'000'000, 50, 1000, 400},
     {0, 0, 0, 0,                                     // metadata_type
      2, 0,                                           // EOTF, static metadata type 1
      0x48, 0x8a, 0x08, 0x39,                         // red
      0x34, 0x21, 0xaa, 0x9b,                         // green
      0x96, 0x19, 0xfc, 0x08,                         // blue
      0x13, 0x3d, 0x42, 0x40,                         // white
      0xe8, 0x03, 0x32, 0x00, 0xe8, 0x03, 0x90, 0x01, // 1000 cd/m2, 0.0050 cd/m2, MaxCLL, MaxFALL
      0, 0}},                                         // padding
    {"hlg_says_nothing_more", {TransferFunction::Hlg, {}, {}, 0, 0, 0, 0}, {0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
                                                                            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                                                            0, 0, 0, 0, 0, 0, 0, 0}},
    {"half_a_candela_rounds_up",
     {TransferFunction::Pq, {}, {}, 5'000, 0, 0, 0},
     {0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"a_little_more_than_16_bits_saturates", // 7 cd/m2 are 70 000 of the minimum's units
     {TransferFunction::Pq, {}, {}, 700'000'000, 70'000, 65'536, 70'001},
     {0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
      0, 0}},
    {"more_than_16_bits_saturates",
     {TransferFunction::Pq, {}, {}, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
     {0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
      0, 0}},
};

class HdrBlob : public testing::TestWithParam<Row> {};

TEST_P(HdrBlob, has_these_bytes)
{
  const hdr_output_metadata blob = to_blob(GetParam().metadata);
  std::vector<std::uint8_t> bytes(sizeof(blob));
  std::memcpy(bytes.data(), &blob, sizeof(blob));
  EXPECT_EQ(bytes, GetParam().bytes);
}

INSTANTIATE_TEST_SUITE_P(Rows, HdrBlob, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace

// SPDX-License-Identifier: LGPL-2.1-or-later
// What EDIDs say of colours: made by the tests, whole and broken.
#include "gst/kms/engine/output/kms_output.hpp"

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "edids.hpp"

namespace {

using namespace gstdrm::kms;
using namespace gstdrm::test::edids;

constexpr std::uint8_t kSdrPqHlg = 0x0d;

Bytes changed(Bytes edid, std::size_t at, std::uint8_t value, bool adds_up = true)
{
  edid.at(at) = value;
  if (!adds_up)
    return edid;
  const std::size_t start = at / 128 * 128;
  Bytes block(edid.begin() + static_cast<std::ptrdiff_t>(start), edid.begin() + static_cast<std::ptrdiff_t>(start + 128));
  add_up(block);
  edid.at(start + 127) = block[127];
  return edid;
}

Bytes cut(Bytes edid, std::size_t size)
{
  edid.resize(size);
  return edid;
}

struct Row {
  const char *name;
  Bytes edid;
  std::uint8_t transfers;
  bool bt2020;
};

const Row kRows[] = {
    {"nothing", {}, 0, false},
    {"no extension", base(0), 0, false},
    {"a television", television(), kSdrPqHlg, true},
    {"metadata without BT.2020", joined({base(1), cta(kHdr)}), kSdrPqHlg, false},
    {"BT.2020 without metadata", joined({base(1), cta(kBt2020)}), 0, true},
    {"BT.2020 in YCC alone", joined({base(1), cta({0xe3, 0x05, 0x40, 0x00})}), 0, false},
    {"SDR alone", joined({base(1), cta({0xe3, 0x06, 0x01, 0x01})}), 1, false},
    {"no metadata of type 1", joined({base(1), cta({0xe3, 0x06, 0x0d, 0x00})}), 0, false},
    {"without luminances", joined({base(1), cta({0xe3, 0x06, 0x05, 0x01})}), 5, false},
    {"too short for the types", joined({base(1), cta({0xe2, 0x06, 0x0d})}), 0, false},
    {"in the second extension", joined({base(2), cta({0x41, 0x10}), cta(kHdr)}), kSdrPqHlg, false},
    {"in a DisplayID extension", joined({base(1), display_id(joined({kBt2020, kHdr}))}), kSdrPqHlg, true},
    {"an extension of another kind", joined({base(1), changed(cta(kHdr), 0, 0x10)}), 0, false},
    {"revision 1, which has no data blocks", changed(television(), 128 + 1, 1), 0, false},
    {"no data blocks", changed(television(), 128 + 2, 0), 0, false},
    {"the timings begin before the data blocks", changed(television(), 128 + 2, 3), 0, false},
    {"the timings begin after the block", changed(television(), 128 + 2, 200), 0, false},
    {"the block is cut off by the timings", joined({base(1), changed(cta(kHdr), 2, 4 + 6)}), 0, false},
    {"a length over the end", joined({base(1), cta({0x5f, 0xe3, 0x06, 0x0d, 0x01})}), 0, false},
    {"a wrong checksum", changed(television(), 128 + 5, 0x11, false), 0, false},
    {"no header", changed(television(), 1, 0), 0, false},
    {"half an extension", cut(television(), 200), 0, false},
    {"half a base block", cut(base(0), 64), 0, false},
    {"a DisplayID section longer than its block", changed(joined({base(1), display_id(kHdr)}), 128 + 2, 255), kSdrPqHlg, false},
    {"a DisplayID block longer than its section", changed(joined({base(1), display_id(kHdr)}), 128 + 7, 200), 0, false},
};

class Edids : public testing::TestWithParam<Row> {};

TEST_P(Edids, tell_what_the_display_takes)
{
  const Row &row = GetParam();
  const DisplayColour colour = read_display_colour(row.edid);
  EXPECT_EQ(colour.transfers, row.transfers) << row.name;
  EXPECT_EQ(colour.bt2020_rgb, row.bt2020) << row.name;
}

INSTANTIATE_TEST_SUITE_P(Rows, Edids, testing::ValuesIn(kRows));

// ASan finds a byte that is read behind the end.
TEST(Edids, of_any_bytes_are_read)
{
  std::minstd_rand random(1);
  for (int i = 0; i < 20'000; i++) {
    Bytes edid = i % 2 ? television() : joined({base(1), display_id(joined({kBt2020, kHdr}))});
    for (int changes = 0; changes < 4; changes++)
      edid = changed(std::move(edid), 128 + random() % 32, static_cast<std::uint8_t>(random()));
    edid.resize(random() % 4 ? edid.size() : random() % edid.size());
    edid.shrink_to_fit();
    const DisplayColour colour = read_display_colour(edid);
    ASSERT_EQ(colour.transfers & 0xc0, 0);
  }
}

} // namespace

// SPDX-License-Identifier: LGPL-2.1-or-later
// Driver list x downstream list -> drm-format, on tables of real GPUs. The driver of a row prefers modifiers in the
// order of its own table, as the test driver does; a fourcc restricts downstream, as a capsfilter would.
#include <algorithm>
#include <string>

#include <drm_fourcc.h>
#include <gst/drm/core/format_choice.hpp>
#include <gtest/gtest.h>

#include "support/gpu_table.hpp"

namespace {

using namespace gstdrm;

struct Row {
  const char *driver;
  const char *downstream;
  const char *fourcc; // "": all that downstream has
  const char *expected; // "": nothing in common
};

#include "format_choice_rows.inc"

std::vector<Format> restricted(const char *table, const char *fourcc)
{
  auto pairs = test::load_gpu_table(table);
  if (*fourcc != '\0')
    std::erase_if(pairs, [fourcc](const Format &pair) { return pair.fourcc != test::fourcc_of(fourcc); });
  return pairs;
}

// The first of the driver's own list that it was given.
std::uint64_t drivers_choice(const std::vector<Format> &driver, const Candidate &candidate)
{
  for (const auto &pair : driver) {
    const auto &given = candidate.modifiers;
    if (pair.fourcc == candidate.fourcc && std::find(given.begin(), given.end(), pair.modifier) != given.end())
      return pair.modifier;
  }
  return kModImplicit;
}

class Choice : public testing::TestWithParam<Row> {};

TEST_P(Choice, OnRealTables)
{
  const auto &row = GetParam();
  const auto driver = test::load_gpu_table(row.driver);
  const auto downstream = restricted(row.downstream, row.fourcc);
  const auto candidates = rank_candidates(FormatSet::from_pairs(driver), FormatList(FormatSet::from_pairs(downstream)));
  if (*row.expected == '\0') {
    EXPECT_TRUE(candidates.empty());
    return;
  }
  ASSERT_FALSE(candidates.empty());
  const auto &best = candidates.front();
  // Every common modifier goes to the driver, none is dropped.
  for (const auto &pair : downstream) {
    const bool common = pair.fourcc == best.fourcc && std::find(driver.begin(), driver.end(), pair) != driver.end();
    const bool given = std::find(best.modifiers.begin(), best.modifiers.end(), pair.modifier) != best.modifiers.end();
    EXPECT_TRUE(!common || given) << describe_format(pair);
  }
  EXPECT_EQ(format_to_text({best.fourcc, drivers_choice(driver, best)}).view(), row.expected);
}

std::string row_name(const testing::TestParamInfo<Row> &info)
{
  std::string name = std::string(info.param.driver) + "_to_" + info.param.downstream + "_" + info.param.fourcc;
  std::replace_if(name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(RealTables, Choice, testing::ValuesIn(kRows), row_name);

std::string fourccs_of(const std::vector<Candidate> &candidates)
{
  std::string text;
  for (const auto &candidate : candidates)
    text += (text.empty() ? "" : " ") + fourcc_to_string(candidate.fourcc);
  return text;
}

TEST(Choice, OrderOfConsumersWithoutOne)
{
  const auto set = FormatSet::from_pairs({{DRM_FORMAT_ARGB16161616, 0}, {DRM_FORMAT_R8, 0}, {DRM_FORMAT_XRGB2101010, 0},
                                          {DRM_FORMAT_YUYV, 0}, {DRM_FORMAT_P010, 0}, {DRM_FORMAT_XRGB8888, 0},
                                          {DRM_FORMAT_NV12, 0}, {DRM_FORMAT_RGB332, 0}});
  EXPECT_EQ(fourccs_of(rank_candidates(set, FormatList(set))), "NV12 XR24 YUYV RGB8 P010 XR30 AR48 R8  ");
}

TEST(Choice, OrderOfTheConsumer)
{
  const auto device = FormatSet::from_pairs({{DRM_FORMAT_NV12, 0}, {DRM_FORMAT_XRGB8888, 0}, {DRM_FORMAT_XRGB8888, 5},
                                             {DRM_FORMAT_ARGB16161616, 0}});
  const auto consumer = FormatList::in_order({{DRM_FORMAT_XRGB8888, 5}, {DRM_FORMAT_YUYV, 0}, {DRM_FORMAT_ARGB16161616, 0},
                                              {DRM_FORMAT_XRGB8888, 0}, {DRM_FORMAT_NV12, 0}, {DRM_FORMAT_NV12, 0}});
  const auto candidates = rank_candidates(device, consumer);
  EXPECT_EQ(fourccs_of(candidates), "XR24 AR48 NV12");
  EXPECT_EQ(candidates[0].modifiers, (std::vector<std::uint64_t>{0, 5}));
}

TEST(Choice, ImplicitMeetsImplicitOnly)
{
  const auto implicit = FormatSet::from_pairs({{DRM_FORMAT_NV12, kModImplicit}});
  const auto linear = FormatSet::from_pairs({{DRM_FORMAT_NV12, kModLinear}});
  EXPECT_TRUE(rank_candidates(implicit, FormatList(linear)).empty());
  ASSERT_EQ(rank_candidates(implicit, FormatList(implicit)).size(), 1U);
}

} // namespace

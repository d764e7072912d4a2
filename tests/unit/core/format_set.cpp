// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/format_set.hpp"

#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "core/drm_facts.hpp"
#include "support/gpu_table.hpp"

namespace gstdrm {
namespace {

constexpr std::uint32_t kNv12 = make_fourcc('N', 'V', '1', '2');
constexpr std::uint32_t kXr24 = make_fourcc('X', 'R', '2', '4');
constexpr std::uint32_t kAr24 = make_fourcc('A', 'R', '2', '4');
constexpr std::uint64_t kX = 0x0100000000000001;
constexpr std::uint64_t kY = 0x0100000000000002;
// As BCM2711's HEVC decoder and its users write them: the column height in rows, chroma included, of each frame.
constexpr std::uint64_t kSand128 = DRM_FORMAT_MOD_BROADCOM_SAND128;
constexpr std::uint64_t kSand128Of1088 = DRM_FORMAT_MOD_BROADCOM_SAND128_COL_HEIGHT(1632);
constexpr std::uint64_t kSand128Of720 = DRM_FORMAT_MOD_BROADCOM_SAND128_COL_HEIGHT(1080);
constexpr std::uint64_t kSand256Of1088 = DRM_FORMAT_MOD_BROADCOM_SAND256_COL_HEIGHT(1632);

using Pairs = std::vector<Format>;

FormatSet set_of(Pairs pairs)
{
  return FormatSet::from_pairs(std::move(pairs));
}

Pairs pairs_of(const FormatSet &set)
{
  return {set.pairs().begin(), set.pairs().end()};
}

// The same operations by std::set, which cannot be wrong in the same way.
Pairs slow_intersect(const Pairs &a, const Pairs &b)
{
  const std::set<Format> in_a(a.begin(), a.end());
  std::set<Format> both;
  for (const Format &pair : b) {
    if (in_a.count(pair) != 0)
      both.insert(pair);
  }
  return {both.begin(), both.end()};
}

struct IntersectRow {
  const char *name;
  Pairs a;
  Pairs b;
  Pairs strict;
  Pairs legacy;
};

void PrintTo(const IntersectRow &row, std::ostream *out)
{
  *out << row.name;
}

class Intersect : public testing::TestWithParam<IntersectRow> {};

TEST_P(Intersect, BothRulesAndBothWays)
{
  const IntersectRow &row = GetParam();
  const FormatSet a = set_of(row.a);
  const FormatSet b = set_of(row.b);
  EXPECT_EQ(pairs_of(FormatSet::intersect(a, b)), row.strict);
  EXPECT_EQ(pairs_of(FormatSet::intersect(b, a)), row.strict);
  EXPECT_EQ(pairs_of(FormatSet::intersect(a, b, ImplicitRule::LinearForLegacy)), row.legacy);
  EXPECT_EQ(pairs_of(FormatSet::intersect(b, a, ImplicitRule::LinearForLegacy)), row.legacy);
}

const IntersectRow kIntersect[] = {
    {"BothEmpty", {}, {}, {}, {}},
    {"OneEmpty", {{kNv12, 0}, {kNv12, kX}}, {}, {}, {}},
    {"Same", {{kNv12, 0}, {kNv12, kX}}, {{kNv12, kX}, {kNv12, 0}}, {{kNv12, 0}, {kNv12, kX}}, {{kNv12, 0}, {kNv12, kX}}},
    {"SameModifierOtherFourcc", {{kNv12, kX}}, {{kXr24, kX}}, {}, {}},
    {"SameFourccOtherModifier", {{kNv12, kX}}, {{kNv12, kY}}, {}, {}},
    {"LinearOnlyAgainstImplicitOnly", {{kNv12, 0}}, {{kNv12, kModImplicit}}, {}, {{kNv12, 0}}},
    {"TiledAndLinearAgainstImplicitOnly", {{kNv12, 0}, {kNv12, kX}}, {{kNv12, kModImplicit}}, {}, {{kNv12, 0}}},
    {"TiledOnlyAgainstImplicitOnly", {{kNv12, kX}}, {{kNv12, kModImplicit}}, {}, {}},
    {"ImplicitMeetsImplicit", {{kNv12, kModImplicit}}, {{kNv12, kModImplicit}}, {{kNv12, kModImplicit}}, {{kNv12, kModImplicit}}},
    {"LinearAndImplicitAgainstImplicitOnly", {{kNv12, 0}, {kNv12, kModImplicit}}, {{kNv12, kModImplicit}},
     {{kNv12, kModImplicit}}, {{kNv12, 0}, {kNv12, kModImplicit}}},
    {"ImplicitBesideExplicitIsNotLegacy", {{kNv12, kX}, {kNv12, kModImplicit}}, {{kNv12, 0}}, {}, {}},
    {"LegacyInOneFourccOnly", {{kNv12, kModImplicit}, {kXr24, kX}}, {{kNv12, 0}, {kXr24, 0}, {kXr24, kX}},
     {{kXr24, kX}}, {{kNv12, 0}, {kXr24, kX}}},
    {"ImplicitOnlyOfAnotherFourcc", {{kNv12, kModImplicit}}, {{kXr24, 0}}, {}, {}},
    {"SixtyFourBitExtremes", {{kXr24, 0xffffffffffffffff}, {kXr24, 0x8000000000000000}, {kXr24, 1}},
     {{kXr24, 0xffffffffffffffff}, {kXr24, 0x7fffffffffffffff}, {kXr24, 1}},
     {{kXr24, 1}, {kXr24, 0xffffffffffffffff}}, {{kXr24, 1}, {kXr24, 0xffffffffffffffff}}},
    {"SandOfAnyHeightMeetsAFramesOwn", {{kNv12, 0}, {kNv12, kSand128}, {kXr24, 0}}, {{kNv12, kSand128Of1088}, {kNv12, kSand256Of1088}, {kXr24, kSand128Of1088}},
     {{kNv12, kSand128Of1088}}, {{kNv12, kSand128Of1088}}},
    {"SandOfBothKinds", {{kNv12, kSand128}, {kNv12, kSand128Of1088}}, {{kNv12, kSand128}},
     {{kNv12, kSand128}, {kNv12, kSand128Of1088}}, {{kNv12, kSand128}, {kNv12, kSand128Of1088}}},
    {"SandOfTwoHeights", {{kNv12, kSand128Of1088}}, {{kNv12, kSand128Of720}}, {}, {}},
    {"BigEndianIsAnotherFourcc", {{kXr24 | kFourccBigEndian, 0}}, {{kXr24, 0}}, {}, {}},
};

INSTANTIATE_TEST_SUITE_P(FormatSet, Intersect, testing::ValuesIn(kIntersect),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(FormatSet, SortedLinearFirstAndWithoutDuplicates)
{
  const FormatSet set = set_of({{kXr24, kY}, {kNv12, kModImplicit}, {kXr24, 0}, {kNv12, kX}, {kXr24, kY}, {kNv12, 0}});
  const Pairs expected = {{kNv12, 0}, {kNv12, kModImplicit}, {kNv12, kX}, {kXr24, 0}, {kXr24, kY}};
  EXPECT_EQ(pairs_of(set), expected);
}

TEST(FormatSet, LeavesOutInvalidPairs)
{
  const FormatSet set = set_of({{0, 0}, {kNv12, 0}, {0x00000001, kX}, {0x20202020, 0}});
  EXPECT_EQ(pairs_of(set), (Pairs{{kNv12, 0}}));
  FormatSet added;
  EXPECT_FALSE(added.add({0, 0}));
  EXPECT_FALSE(added.add({0x01020304, kX}));
  EXPECT_TRUE(added.empty());
}

TEST(FormatSet, AddReportsDuplicates)
{
  FormatSet set;
  EXPECT_TRUE(set.add({kXr24, kX}));
  EXPECT_FALSE(set.add({kXr24, kX}));
  EXPECT_TRUE(set.add({kNv12, 0}));
  EXPECT_TRUE(set.add({kNv12, kModImplicit}));
  EXPECT_FALSE(set.add({kNv12, 0}));
  EXPECT_EQ(set.size(), 3U);
}

TEST(FormatSet, AddInAnyOrderEqualsFromPairs)
{
  Pairs pairs = test::load_gpu_table("amd-navi31");
  std::mt19937 random(1);
  for (int round = 0; round < 4; ++round) {
    FormatSet set;
    for (const Format &pair : pairs)
      EXPECT_TRUE(set.add(pair));
    EXPECT_EQ(set, set_of(pairs));
    std::shuffle(pairs.begin(), pairs.end(), random);
  }
}

TEST(FormatSet, TakesASandTilingOfEachColumnHeight)
{
  const FormatSet listed = set_of({{kNv12, kSand128}});
  EXPECT_TRUE(listed.contains({kNv12, kSand128Of1088}));
  EXPECT_FALSE(listed.contains({kNv12, kSand256Of1088}));
  EXPECT_FALSE(listed.contains({kXr24, kSand128Of1088}));
  EXPECT_TRUE(set_of({{kNv12, kSand128Of1088}}).is_subset_of(listed));
  EXPECT_FALSE(listed.is_subset_of(set_of({{kNv12, kSand128Of1088}})));
  const FormatSet both = set_of({{kNv12, 0}, {kNv12, kSand128}, {kNv12, kSand128Of720}});
  EXPECT_EQ(pairs_of(FormatSet::subtract(both, set_of({{kNv12, kSand128Of1088}}))),
            (Pairs{{kNv12, 0}, {kNv12, kSand128Of720}}));
  EXPECT_EQ(pairs_of(FormatSet::subtract(both, listed)), (Pairs{{kNv12, 0}}));
}

TEST(FormatSet, LooksUpFourccs)
{
  const FormatSet set = set_of({{kXr24, kY}, {kXr24, 0}, {kNv12, kX}});
  EXPECT_TRUE(set.contains({kXr24, kY}));
  EXPECT_FALSE(set.contains({kXr24, kX}));
  EXPECT_TRUE(set.contains_fourcc(kNv12));
  EXPECT_FALSE(set.contains_fourcc(kAr24));
  ASSERT_EQ(set.of_fourcc(kXr24).size(), 2U);
  EXPECT_EQ(set.of_fourcc(kXr24)[0].modifier, kModLinear);
  EXPECT_TRUE(set.of_fourcc(kAr24).empty());
  EXPECT_TRUE(FormatSet().of_fourcc(kAr24).empty());
}

// Laws, on the tables of real GPUs and on random sets in which most pairs collide.
struct Sample {
  std::string name;
  Pairs a;
  Pairs b;
  Pairs c;
};

Pairs random_pairs(std::mt19937 &random)
{
  constexpr std::uint32_t fourccs[] = {kNv12, kXr24, kAr24, kXr24 | kFourccBigEndian};
  constexpr std::uint64_t modifiers[] = {0, 1, kX, kY, kModImplicit, 0x8000000000000000, 0xffffffffffffffff};
  Pairs pairs(random() % 24);
  for (Format &pair : pairs)
    pair = {fourccs[random() % std::size(fourccs)], modifiers[random() % std::size(modifiers)]};
  return pairs;
}

std::vector<Sample> samples()
{
  std::vector<Sample> all;
  const auto &names = test::gpu_table_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string &b = names[(i + 1) % names.size()];
    const std::string &c = names[(i + 2) % names.size()];
    all.push_back({names[i], test::load_gpu_table(names[i]), test::load_gpu_table(b), test::load_gpu_table(c)});
  }
  std::mt19937 random(42);
  for (int i = 0; i < 200; ++i)
    all.push_back({"random" + std::to_string(i), random_pairs(random), random_pairs(random), random_pairs(random)});
  return all;
}

void PrintTo(const Sample &row, std::ostream *out)
{
  *out << row.name;
}

class Laws : public testing::TestWithParam<Sample> {
protected:
  FormatSet a = set_of(GetParam().a);
  FormatSet b = set_of(GetParam().b);
  FormatSet c = set_of(GetParam().c);
};

TEST_P(Laws, Hold)
{
  using S = FormatSet;
  const FormatSet both = S::intersect(a, b);
  EXPECT_EQ(pairs_of(both), slow_intersect(GetParam().a, GetParam().b));
  EXPECT_EQ(S::intersect(a, a), a);
  EXPECT_EQ(S::unite(a, a), a);
  EXPECT_TRUE(S::subtract(a, a).empty());
  EXPECT_EQ(both, S::intersect(b, a));
  EXPECT_EQ(S::unite(a, b), S::unite(b, a));
  EXPECT_EQ(S::intersect(both, c), S::intersect(a, S::intersect(b, c)));
  EXPECT_EQ(S::unite(S::unite(a, b), c), S::unite(a, S::unite(b, c)));
  EXPECT_TRUE(both.is_subset_of(a));
  EXPECT_TRUE(both.is_subset_of(b));
  EXPECT_TRUE(a.is_subset_of(S::unite(a, b)));
  EXPECT_EQ(S::unite(S::subtract(a, b), both), a);
  EXPECT_TRUE(S::intersect(S::subtract(a, b), b).empty());
  EXPECT_EQ(S::intersect(a, S::unite(b, c)), S::unite(both, S::intersect(a, c)));
  EXPECT_EQ(a.is_subset_of(b), S::subtract(a, b).empty());
  EXPECT_TRUE(std::is_sorted(both.pairs().begin(), both.pairs().end()));
}

TEST_P(Laws, LegacyRuleOnlyAddsLinear)
{
  const FormatSet strict = FormatSet::intersect(a, b);
  const FormatSet legacy = FormatSet::intersect(a, b, ImplicitRule::LinearForLegacy);
  EXPECT_EQ(legacy, FormatSet::intersect(b, a, ImplicitRule::LinearForLegacy));
  EXPECT_TRUE(strict.is_subset_of(legacy));
  const FormatSet added = FormatSet::subtract(legacy, strict);
  for (const Format &pair : added.pairs()) {
    EXPECT_EQ(pair.modifier, kModLinear);
    const auto of_a = a.of_fourcc(pair.fourcc);
    const auto of_b = b.of_fourcc(pair.fourcc);
    const bool a_legacy = of_a.size() == 1 && of_a[0].modifier == kModImplicit;
    const bool b_legacy = of_b.size() == 1 && of_b[0].modifier == kModImplicit;
    EXPECT_TRUE(a_legacy || b_legacy) << describe_format(pair);
  }
  EXPECT_TRUE(std::is_sorted(legacy.pairs().begin(), legacy.pairs().end()));
}

INSTANTIATE_TEST_SUITE_P(FormatSet, Laws, testing::ValuesIn(samples()), [](const auto &info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(FormatSet, KnownIntersectionsOfRealTables)
{
  const auto load = [](const char *name) { return set_of(test::load_gpu_table(name)); };
  EXPECT_EQ(FormatSet::intersect(load("amd-navi31"), load("amd-vangogh")).size(), 67U);
  EXPECT_EQ(FormatSet::intersect(load("amd-gfx1201"), load("amd-navi31")).size(), 129U);
  const FormatSet linear_only = FormatSet::intersect(load("nouveau-nv106"), load("amd-navi31"));
  EXPECT_EQ(linear_only.size(), 65U);
  for (const Format &pair : linear_only.pairs())
    EXPECT_EQ(pair.modifier, kModLinear);
}

} // namespace
} // namespace gstdrm

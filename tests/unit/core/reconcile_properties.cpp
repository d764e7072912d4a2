// SPDX-License-Identifier: LGPL-2.1-or-later
// What holds for all accessors: random ones, with values that contradict each other and themselves. The generator starts
// from fixed seeds, so a failure is found again.
#include <random>

#include <gtest/gtest.h>

#include "constraint_text.hpp"

namespace {

using namespace gstdrm;
using gstdrm::test::apply_change;
using gstdrm::test::outcome_of;
using gstdrm::test::reconcile_all;
using Key = ConstraintKey;

constexpr int kRounds = 3000;

class Random {
public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t end) { return engine_() % end; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

  std::uint64_t number(const ConstraintKeyFacts &facts)
  {
    constexpr std::uint64_t kOdd[] = {0, 1, 2, 3, 4095, 4096, 16385, UINT32_MAX, 1ULL << 32, 1ULL << 47, UINT64_MAX - 1, UINT64_MAX};
    if (one_in(25))
      return kOdd[below(std::size(kOdd))];
    if (facts.rule == MergeRule::Align)
      return 1ULL << below(13);
    if (facts.rule == MergeRule::Equal && facts.most > 10)
      return facts.most - below(2);
    return facts.most <= 10 ? below(facts.most + 1) : 1 + below(4096);
  }

  FormatSet formats()
  {
    static const char *const kFourccs[] = {"NV12", "XR24", "YU12", "P010", "ZZ99"};
    constexpr std::uint64_t kModifiers[] = {0, 0x0100000000000001, 0x0100000000000004, kModImplicit};
    FormatSet set;
    for (std::uint64_t n = below(12); n > 0; --n)
      set.add({parse_format(kFourccs[below(5)])->fourcc, kModifiers[below(4)]});
    if (!one_in(20))
      set.add({parse_format("XR24")->fourcc, 0});
    return set;
  }

  Constraints accessor(BufferType type)
  {
    Constraints one;
    one.name = one_in(10) ? "" : std::string(1, static_cast<char>('a' + below(26)));
    one.device = one_in(2) ? "" : std::string(1, static_cast<char>('0' + below(2)));
    for (const ConstraintKeyFacts &facts : constraint_keys()) {
      const bool belongs = (facts.types >> static_cast<unsigned>(type) & 1) != 0;
      if (!one_in(belongs ? 4 : 200))
        continue;
      if (facts.key == Key::BufferType) {
        one.set(facts.key, static_cast<std::uint64_t>(type));
      } else if (facts.key == Key::Formats) {
        one.formats = formats();
      } else if (facts.key == Key::Placement) {
        one.set_placement(static_cast<std::uint32_t>(one_in(20) ? 0 : kPlaceSystem | below(8)), one_in(2) ? std::vector<std::string>{"cma", "x"} : std::vector<std::string>{});
      } else if (facts.key == Key::TensorDims) {
        one.dims = std::vector<std::uint64_t>(below(4), 1 + below(2));
      } else if (facts.rule == MergeRule::Range && !one_in(5)) {
        one.set(facts.key, one_in(3) ? below(2000) : 0, one_in(3) ? UINT64_MAX : 1 + number(facts));
      } else {
        one.set(facts.key, number(facts));
      }
    }
    return one;
  }

  std::vector<Constraints> accessors()
  {
    const auto type = static_cast<BufferType>(below(kBufferTypes));
    std::vector<Constraints> all;
    for (std::uint64_t n = 1 + below(5); n > 0; --n)
      all.push_back(accessor(type));
    return all;
  }
  std::mt19937_64 &engine() { return engine_; }

private:
  std::mt19937_64 engine_;
};

bool is_missing_only(const Reconciliation &outcome)
{
  const auto *conflict = std::get_if<Conflict>(&outcome);
  return conflict && std::all_of(conflict->failures.begin(), conflict->failures.end(),
                                 [](const KeyConflict &failure) { return failure.reason == ConflictReason::Missing; });
}

// That the generator makes both outcomes, and often: else the properties below would hold of nothing.
TEST(ReconcileProperties, BothOutcomesAreCommon)
{
  Random random(1);
  int fits = 0;
  int laid_out = 0;
  for (int i = 0; i < kRounds; ++i) {
    const auto outcome = reconcile_all(random.accessors());
    if (const auto *done = std::get_if<Reconciled>(&outcome)) {
      ++fits;
      laid_out += done->layout ? 1 : 0;
    }
  }
  EXPECT_GT(fits, kRounds / 10);
  EXPECT_LT(fits, kRounds * 9 / 10);
  EXPECT_GT(laid_out, kRounds / 200);
}

TEST(ReconcileProperties, OrderDoesNotMatter)
{
  Random random(2);
  for (int i = 0; i < kRounds; ++i) {
    auto all = random.accessors();
    const auto before = reconcile_all(all);
    std::shuffle(all.begin(), all.end(), random.engine());
    const auto after = reconcile_all(all);
    ASSERT_EQ(outcome_of(before), outcome_of(after)) << "round " << i;
    if (const auto *done = std::get_if<Reconciled>(&before)) {
      ASSERT_EQ(done->merged, std::get<Reconciled>(after).merged) << "round " << i;
    }
  }
}

// Every value of the narrower constraints is one of the wider; needs only grow.
void expect_within(const Constraints &narrow, const Constraints &wide, int round)
{
  for (const ConstraintKeyFacts &facts : constraint_keys()) {
    if (!wide.has(facts.key))
      continue;
    ASSERT_TRUE(narrow.has(facts.key)) << facts.name << ", round " << round;
    if (facts.key == Key::Formats) {
      ASSERT_TRUE(narrow.formats->is_subset_of(*wide.formats)) << "round " << round;
    } else if (facts.key == Key::Placement) {
      ASSERT_EQ(narrow.placement->kinds & ~wide.placement->kinds, 0U) << "round " << round;
      ASSERT_TRUE(std::includes(wide.placement->heaps.begin(), wide.placement->heaps.end(), narrow.placement->heaps.begin(), narrow.placement->heaps.end()));
    } else if (facts.key == Key::TensorDims) {
      ASSERT_EQ(narrow.dims, wide.dims);
    } else if (facts.rule == MergeRule::Range || facts.rule == MergeRule::Equal) {
      ASSERT_GE(narrow.number(facts.key)->min, wide.number(facts.key)->min) << facts.name << ", round " << round;
      ASSERT_LE(narrow.number(facts.key)->max, wide.number(facts.key)->max) << facts.name << ", round " << round;
    } else {
      ASSERT_GE(narrow.number(facts.key)->min, wide.number(facts.key)->min) << facts.name << ", round " << round;
    }
  }
}

TEST(ReconcileProperties, AnAccessorNeverWidens)
{
  Random random(3);
  for (int i = 0; i < kRounds; ++i) {
    auto all = random.accessors();
    const Constraints last = all.back();
    all.pop_back();
    const auto before = reconcile_all(all);
    all.push_back(last);
    const auto after = reconcile_all(all);
    if (const auto *done = std::get_if<Reconciled>(&after)) {
      // a key that the type needs may come from the last one
      ASSERT_TRUE(std::holds_alternative<Reconciled>(before) || is_missing_only(before)) << "round " << i;
      if (const auto *first = std::get_if<Reconciled>(&before))
        expect_within(done->merged, first->merged, i);
    }
  }
}

TEST(ReconcileProperties, TheSameAccessorTwiceIsOne)
{
  Random random(4);
  for (int i = 0; i < kRounds; ++i) {
    auto all = random.accessors();
    for (Constraints &one : all)
      one.name += "named";
    const auto before = reconcile_all(all);
    all.push_back(all[random.below(all.size())]);
    ASSERT_EQ(outcome_of(before), outcome_of(reconcile_all(all))) << "round " << i;
  }
}

TEST(ReconcileProperties, ByStepsAsAtOnce)
{
  Random random(5);
  for (int i = 0; i < kRounds; ++i) {
    auto all = random.accessors();
    const auto at_once = reconcile_all(all);
    const Constraints last = all.back();
    all.pop_back();
    const auto first = reconcile_all(all);
    if (!std::holds_alternative<Reconciled>(first))
      continue;
    const auto then = reconcile_all({std::get<Reconciled>(first).merged, last});
    ASSERT_EQ(std::holds_alternative<Conflict>(then), std::holds_alternative<Conflict>(at_once)) << "round " << i;
  }
}

TEST(ReconcileProperties, NoFailureWithoutAConflictThatSaysWhy)
{
  Random random(6);
  for (int i = 0; i < kRounds; ++i) {
    const auto all = random.accessors();
    const auto outcome = reconcile_all(all);
    const auto *conflict = std::get_if<Conflict>(&outcome);
    if (!conflict)
      continue;
    ASSERT_FALSE(conflict->failures.empty());
    const std::string text = conflict_to_text(*conflict);
    for (const KeyConflict &failure : conflict->failures) {
      ASSERT_FALSE(failure.why.empty());
      ASSERT_NE(text.find("\n" + std::string(constraint_key_facts(failure.key).name) + ": " + failure.why), std::string::npos);
    }
    for (const Constraints &one : conflict->accessors)
      ASSERT_NE(text.find(describe_accessor(one)), std::string::npos);
  }
}

// Doing what is advised either ends in a buffer, or where there is no advice: too much to be counted.
TEST(ReconcileProperties, AdviceHelps)
{
  Random random(7);
  int helped = 0;
  int asked = 0;
  for (int i = 0; i < kRounds; ++i) {
    auto all = random.accessors();
    auto outcome = reconcile_all(all);
    if (std::holds_alternative<Reconciled>(outcome))
      continue;
    ++asked;
    bool advised = true;
    for (int round = 0; advised; ++round) {
      ASSERT_LT(round, 8) << conflict_to_text(std::get<Conflict>(outcome));
      auto conflict = std::get<Conflict>(std::move(outcome));
      advised = false;
      for (const KeyConflict &failure : conflict.failures) {
        for (const Change &change : failure.changes) {
          advised = true;
          apply_change(conflict.accessors[change.accessor], change);
        }
      }
      outcome = reconcile_all(conflict.accessors);
      if (std::holds_alternative<Reconciled>(outcome)) {
        ++helped;
        break;
      }
    }
  }
  EXPECT_GT(asked, kRounds / 10);
  EXPECT_GT(helped, asked * 8 / 10) << helped << " of " << asked;
}

} // namespace

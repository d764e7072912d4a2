// SPDX-License-Identifier: LGPL-2.1-or-later
// For how long a fence keeps a frame from the display, by rules and state of the fence; and what a
// picture to be written back goes through.
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "fake_fences.hpp"
#include "gst/kms/engine/commit/kms_fence_gate.hpp"

namespace {

using namespace gstdrm::kms;
using gstdrm::FenceState;
using gstdrm::UniqueFd;
using gstdrm::test::FakeFences;
using Verdict = FenceGate::Verdict;

UniqueFd open_null()
{
  return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

constexpr std::int64_t kNow = 1000, kLimit = 50;

struct Row {
  const char *name;
  bool has_fence;
  FenceRules rules;
  FenceState state;
  std::int64_t looked_at;
  Verdict expected;
};

const Row kRows[] = {
    {"no_fence", false, {true, kLimit}, FenceState::Failed, kNow, Verdict::Open},
    {"the_kernel_never_waits", true, {true, kNever}, FenceState::Pending, kNever - 1, Verdict::Shut},
    {"signalled", true, {true, kLimit}, FenceState::Signalled, kNow, Verdict::Open},
    {"signalled_after_the_limit", true, {true, kLimit}, FenceState::Signalled, kNow + kLimit, Verdict::Open},
    {"pending", true, {true, kLimit}, FenceState::Pending, kNow + kLimit - 1, Verdict::Shut},
    {"out_of_time", true, {true, kLimit}, FenceState::Pending, kNow + kLimit, Verdict::TimedOut},
    {"held_without_a_limit", true, {false, kNever}, FenceState::Pending, kNever - 1, Verdict::Shut},
    {"broken", true, {false, kNever}, FenceState::Failed, kNow, Verdict::Broken},
};

class Gate : public testing::TestWithParam<Row> {};

TEST_P(Gate, verdict)
{
  const Row &row = GetParam();
  FenceGate gate;
  gate.set_rules(row.rules);
  const FakeFences fences([&row](int) { return row.state; });
  const SharedFence fence = row.has_fence ? std::make_shared<UniqueFd>(open_null()) : nullptr;
  FenceGate::Hold hold = gate.hold(fence, kNow);
  EXPECT_EQ(gate.look(fence, hold, row.looked_at), row.expected);
  EXPECT_EQ(hold.open, row.expected == Verdict::Open);
}

INSTANTIATE_TEST_SUITE_P(Rows, Gate, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(FenceGateTest, a_wait_has_one_verdict)
{
  FenceGate gate;
  FenceState state = FenceState::Pending;
  gate.set_rules({true, kLimit});
  const FakeFences fences([&state](int) { return state; });
  const auto fence = std::make_shared<UniqueFd>(open_null());
  EXPECT_EQ(gate.begin_wait(fence, kNow), Verdict::Shut);
  EXPECT_EQ(gate.awaited(), fence);
  EXPECT_EQ(gate.awaited_until(), kNow + kLimit);
  EXPECT_FALSE(gate.check_wait(kNow));
  state = FenceState::Signalled;
  EXPECT_TRUE(gate.check_wait(kNow));
  EXPECT_FALSE(gate.check_wait(kNow)); // found already
  EXPECT_EQ(gate.awaited(), nullptr);
  EXPECT_EQ(gate.verdict(), Verdict::Open);
  gate.end_wait();
  EXPECT_FALSE(gate.verdict());
  EXPECT_EQ(gate.begin_wait(fence, kNow), Verdict::Open); // no wait
  EXPECT_EQ(gate.awaited(), nullptr);
}

TEST(FenceGateTest, a_kernel_that_refuses_fences_gets_none)
{
  FenceGate gate;
  EXPECT_TRUE(gate.kernel_gets_fences());
  gate.keep_fences_from_kernel();
  EXPECT_FALSE(gate.kernel_gets_fences());
  gate.set_rules({true, kLimit}); // another plane
  EXPECT_TRUE(gate.kernel_gets_fences());
}

} // namespace

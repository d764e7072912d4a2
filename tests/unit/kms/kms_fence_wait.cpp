// SPDX-License-Identifier: LGPL-2.1-or-later
// For how long a fence keeps a frame from the display, by rules and state of the fence; and what a
// picture to be written back goes through.
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "fake_fences.hpp"
#include "gst/kms/engine/commit/kms_fence_wait.hpp"

namespace {

using namespace gstdrm::kms;
using gstdrm::FenceState;
using gstdrm::UniqueFd;
using gstdrm::test::FakeFences;
using Verdict = FenceWait::Verdict;

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
    {"no_fence", false, {true, kLimit}, FenceState::Failed, kNow, Verdict::Signalled},
    {"the_kernel_never_waits", true, {true, kNever}, FenceState::Pending, kNever - 1, Verdict::Pending},
    {"signalled", true, {true, kLimit}, FenceState::Signalled, kNow, Verdict::Signalled},
    {"signalled_after_the_limit", true, {true, kLimit}, FenceState::Signalled, kNow + kLimit, Verdict::Signalled},
    {"pending", true, {true, kLimit}, FenceState::Pending, kNow + kLimit - 1, Verdict::Pending},
    {"out_of_time", true, {true, kLimit}, FenceState::Pending, kNow + kLimit, Verdict::TimedOut},
    {"held_without_a_limit", true, {false, kNever}, FenceState::Pending, kNever - 1, Verdict::Pending},
    {"broken", true, {false, kNever}, FenceState::Failed, kNow, Verdict::Broken},
};

class Gate : public testing::TestWithParam<Row> {};

TEST_P(Gate, verdict)
{
  const Row &row = GetParam();
  const FakeFences fences([&row](int) { return row.state; });
  FenceWait wait =
      row.rules.wait_for(row.has_fence ? std::make_shared<UniqueFd>(open_null()) : nullptr, kNow);
  EXPECT_EQ(wait.is_pending(), row.has_fence); // nobody has asked yet
  EXPECT_EQ(wait.look(row.looked_at), row.expected);
  EXPECT_EQ(wait.is_pending(), row.expected == Verdict::Pending);
}

INSTANTIATE_TEST_SUITE_P(Rows, Gate, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(FenceWaitTest, a_wait_has_one_verdict)
{
  FenceState state = FenceState::Pending;
  const FakeFences fences([&state](int) { return state; });
  FenceWait wait = FenceRules{true, kLimit}.wait_for(std::make_shared<UniqueFd>(open_null()), kNow);
  EXPECT_EQ(wait.give_up_at, kNow + kLimit);
  EXPECT_EQ(wait.look(kNow), Verdict::Pending);
  state = FenceState::Signalled;
  EXPECT_EQ(wait.look(kNow), Verdict::Signalled);
  state = FenceState::Failed;
  EXPECT_EQ(wait.look(kNow + kLimit), Verdict::Signalled); // found already
}

} // namespace

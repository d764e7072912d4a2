// SPDX-License-Identifier: LGPL-2.1-or-later
// Objects that are followed by their boxes: which id each gets, and where an object is expected in frames that the model
// does not see.
#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/decode/tracker.hpp"

namespace {

using namespace gstdrm::metis;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Detection box(float x, float y, float width, float height, std::uint32_t label = 0)
{
  Detection detection;
  detection.x = x;
  detection.y = y;
  detection.width = width;
  detection.height = height;
  detection.score = 1;
  detection.label = label;
  return detection;
}

// An object of 40x40 in the row at y = 100.
Detection at(float x, std::uint32_t label = 0)
{
  return box(x, 100, 40, 40, label);
}

struct Step {
  bool inferred;
  std::vector<Detection> found;
  std::vector<std::uint32_t> ids;
};

const Step kPassed{false, {}, {}};
Step frame(std::vector<Detection> found, std::vector<std::uint32_t> ids)
{
  return {true, std::move(found), std::move(ids)};
}

struct Row {
  const char *name;
  unsigned hold;
  std::vector<Step> frames;
};

std::ostream &operator<<(std::ostream &out, const Row &row)
{
  return out << row.name;
}

const Row kRows[] = {
    {"one that stands still", 0, {frame({at(0)}, {1}), frame({at(0)}, {1}), frame({at(0)}, {1})}},
    {"one that moves by a quarter of its side", 0, {frame({at(0)}, {1}), frame({at(10)}, {1}), frame({at(20)}, {1})}},
    // 40 - 21 of 40 + 21 overlap: 0.31; with 22 it is 0.29
    {"one that moves by half of its side is followed", 0, {frame({at(0)}, {1}), frame({at(21)}, {1})}},
    {"one that moves further is another one", 0, {frame({at(0)}, {1}), frame({at(22)}, {2})}},
    // its speed is known then: the box is expected where it comes
    {"one that gets faster moves by more than its side", 0, {frame({at(0)}, {1}), frame({at(20)}, {1}), frame({at(50)}, {1}), frame({at(95)}, {1})}},
    {"interval=3 with hold=2", 2, {frame({at(0)}, {1}), kPassed, kPassed, frame({at(12)}, {1}), kPassed, kPassed, frame({at(24)}, {1})}},
    {"interval=3 with a hold that is too short", 1, {frame({at(0)}, {1}), kPassed, kPassed, frame({at(0)}, {2})}},
    {"hidden for three frames, found where it was going", 3, {frame({at(0)}, {1}), frame({at(10)}, {1}), frame({at(20)}, {1}), frame({}, {}), frame({}, {}), frame({}, {}), frame({at(60)}, {1})}},
    {"hidden for longer than the hold", 2, {frame({at(0)}, {1}), frame({at(10)}, {1}), frame({at(20)}, {1}), frame({}, {}), frame({}, {}), frame({}, {}), frame({at(60)}, {2})}},
    {"two of a class cross, in any order", 0, {frame({at(0), at(60)}, {1, 2}), frame({at(10), at(50)}, {1, 2}), frame({at(40), at(20)}, {2, 1}), frame({at(30), at(30)}, {1, 2}), frame({at(40), at(20)}, {1, 2}), frame({at(10), at(50)}, {2, 1})}},
    {"two classes in one place", 0, {frame({at(0, 7), at(0, 8)}, {1, 2}), frame({at(1, 8), at(1, 7)}, {2, 1})}},
    {"another class in the place of the first", 3, {frame({at(0, 7)}, {1}), frame({at(0, 8)}, {2}), frame({at(0, 7)}, {1})}},
    {"the best pair goes first", 0, {frame({at(0), at(20)}, {1, 2}), frame({at(14), at(22)}, {1, 2})}},
    {"one box is one object", 0, {frame({at(0)}, {1}), frame({at(2), at(1)}, {2, 1})}},
    {"the camera jumps, and back", 1, {frame({at(0), at(60), at(120)}, {1, 2, 3}), frame({at(300), at(360), at(420)}, {4, 5, 6}), frame({at(0), at(60), at(120)}, {1, 2, 3})}},
    {"the camera jumps by one object's distance: the boxes cannot tell", 0, {frame({at(0), at(60)}, {1, 2}), frame({at(60), at(120)}, {2, 3})}},
    {"boxes that are none", 0, {frame({at(0), at(kNan), box(0, 100, kNan, 40), box(0, 100, kInf, 40), box(0, 100, 0, 40), box(0, 100, 40, -1)}, {1, 0, 0, 0, 0, 0}), frame({at(kNan), at(0)}, {0, 1})}},
    {"the largest numbers", 1, {frame({box(-3e38F, 0, 3e38F, 3e38F), box(3e38F, 3e38F, 3e38F, 3e38F)}, {1, 2}), kPassed, frame({at(0)}, {3})}},
};

class Tracks : public testing::TestWithParam<Row> {};
TEST_P(Tracks, KeepTheirIds)
{
  const Row &row = GetParam();
  Tracker tracker;
  std::size_t number = 0;
  for (const Step &step : row.frames) {
    SCOPED_TRACE("frame " + std::to_string(number));
    tracker.advance(row.hold);
    if (step.inferred) {
      const auto identities = tracker.match(step.found, number);
      ASSERT_EQ(identities.size(), step.ids.size());
      for (std::size_t i = 0; i < identities.size(); i++)
        EXPECT_EQ(identities[i].id, step.ids[i]) << "box " << i;
    }
    number++;
  }
}
INSTANTIATE_TEST_SUITE_P(Rows, Tracks, testing::ValuesIn(kRows));

// By hand: a box of 20 pixels is measured with a variance of 1, its speed has one of 100 at first and 1/64 more after
// each frame. Three frames later the place has 901.08, and 300.05 of it is the speed's: a shift by 6 pixels is a speed
// of 6 * 300.05 / (901.08 + 1) = 1.996 pixels a frame.
TEST(Tracker, ExpectsABoxWhereItGoes)
{
  Tracker tracker;
  const auto first = tracker.match({box(0, 50, 20, 20)}, 5);
  tracker.advance(9);
  EXPECT_EQ(tracker.expected(1)->x, 0) << "nothing is known of its speed yet";
  tracker.advance(9);
  tracker.advance(9);
  const auto second = tracker.match({box(6, 50, 20, 20)}, 8);
  EXPECT_EQ(second[0].id, first[0].id);
  EXPECT_EQ(second[0].first_seen, 5U);
  EXPECT_EQ(tracker.expected(1)->x, 6) << "it is where it was found";
  tracker.advance(9);
  EXPECT_NEAR(tracker.expected(1)->x, 6 + 1.9957, 1e-3);
  EXPECT_EQ(tracker.expected(1)->y, 50);
  EXPECT_EQ(tracker.expected(1)->width, 20);
  tracker.advance(9);
  EXPECT_NEAR(tracker.expected(1)->x, 6 + 2 * 1.9957, 1e-3);
  EXPECT_FALSE(tracker.expected(2));
}

// An object that leaves the frame to the left: its left edge stands still at 0, its right one goes on.
TEST(Tracker, FollowsABoxThatIsCut)
{
  Tracker tracker;
  for (const float width : {100.0F, 90.0F, 80.0F, 70.0F}) {
    tracker.advance(9);
    ASSERT_EQ(tracker.match({box(0, 0, width, 60)}, 0)[0].id, 1U);
  }
  tracker.advance(9);
  EXPECT_NEAR(tracker.expected(1)->x, 0, 0.5);
  EXPECT_NEAR(tracker.expected(1)->width, 60, 0.5);
  EXPECT_EQ(tracker.expected(1)->height, 60);
  for (int i = 0; i < 50; i++)
    tracker.advance(99);
  EXPECT_EQ(tracker.expected(1)->width, 35) << "half of what was found last";
}

TEST(Tracker, IdsGoOnWhenTheStreamGoesOnElsewhere)
{
  Tracker tracker;
  (void)tracker.match({at(0)}, 0);
  tracker.forget();
  EXPECT_FALSE(tracker.expected(1));
  tracker.advance(9);
  EXPECT_EQ(tracker.match({at(0)}, 0)[0].id, 2U);
}

// 10 000 boxes in each of 20 frames, all in one place: the best 500 are followed, and no more are remembered.
TEST(Tracker, TenThousandBoxes)
{
  Tracker tracker;
  const std::vector<Detection> boxes(10000, at(0));
  for (int frame = 0; frame < 20; frame++) {
    tracker.advance(1000);
    const auto identities = tracker.match(boxes, 0);
    for (std::size_t i = 0; i < identities.size(); i++)
      ASSERT_EQ(identities[i].id, i < Tracker::kMostTracks ? i + 1 : 0) << "frame " << frame;
  }
  for (int frame = 0; frame < 20; frame++) {
    tracker.advance(1000);
    (void)tracker.match({at(1000.0F * static_cast<float>(frame + 1))}, 0);
  }
  std::size_t remembered = 0;
  for (std::uint32_t id = 1; id <= 600; id++)
    remembered += tracker.expected(id).has_value();
  EXPECT_EQ(remembered, Tracker::kMostTracks);
  EXPECT_TRUE(tracker.expected(520)) << "those that were not found for the longest time are forgotten";
}

} // namespace

// SPDX-License-Identifier: LGPL-2.1-or-later
// What the streaming thread has to take up of displays that come and go.
#include "gst/kms/engine/display/kms_plug_state.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "support/threads.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;

drmModeModeInfo mode_of(std::uint16_t width)
{
  drmModeModeInfo mode{};
  mode.hdisplay = width;
  return mode;
}

Output output_of(std::uint16_t width)
{
  Output output{};
  output.connector.modes = {mode_of(width)};
  return output;
}

TEST(PlugState, is_unchanged_at_first)
{
  PlugState plug({{mode_of(640)}, {}});
  EXPECT_FALSE(plug.changed());
  EXPECT_FALSE(plug.differs({{mode_of(640)}, {}}));
  EXPECT_TRUE(plug.differs({{mode_of(800)}, {}}));
  EXPECT_TRUE(plug.differs({{mode_of(640), mode_of(800)}, {}}));
  EXPECT_TRUE(plug.differs({}));
}

// Two displays of one model have the same modes and different serial numbers.
TEST(PlugState, knows_a_display_by_its_edid)
{
  PlugState plug({{mode_of(640)}, {1, 2}});
  EXPECT_FALSE(plug.differs({{mode_of(640)}, {1, 2}}));
  EXPECT_TRUE(plug.differs({{mode_of(640)}, {1, 3}}));
  Output output = output_of(640);
  output.connector.edid = {1, 3};
  plug.plug(std::move(output));
  EXPECT_FALSE(plug.differs({{mode_of(640)}, {1, 3}}));
}

TEST(PlugState, asks_again_with_each_frame_while_nothing_is_connected)
{
  PlugState plug({{mode_of(640)}, {}});
  plug.unplug();
  EXPECT_FALSE(plug.differs({}));
  EXPECT_TRUE(plug.differs({{mode_of(640)}, {}})); // the same display is back
  for (int frame = 0; frame < 3; frame++) {
    ASSERT_TRUE(plug.changed());
    const PlugState::Change change = plug.take();
    EXPECT_FALSE(change.connected);
    EXPECT_FALSE(change.output);
  }
}

TEST(PlugState, hands_out_the_new_output_once)
{
  PlugState plug({{mode_of(640)}, {}});
  plug.unplug();
  plug.plug(output_of(800));
  ASSERT_TRUE(plug.changed());
  const PlugState::Change change = plug.take();
  EXPECT_TRUE(change.connected);
  ASSERT_TRUE(change.output);
  EXPECT_EQ(change.output->connector.modes.at(0).hdisplay, 800U);
  EXPECT_FALSE(plug.changed());
  EXPECT_FALSE(plug.take().output);
  EXPECT_FALSE(plug.differs({{mode_of(800)}, {}}));
}

TEST(PlugState, forgets_an_output_that_is_unplugged_before_it_was_taken)
{
  PlugState plug({{mode_of(640)}, {}});
  plug.plug(output_of(800));
  plug.unplug();
  const PlugState::Change change = plug.take();
  EXPECT_FALSE(change.connected);
  EXPECT_FALSE(change.output);
}

TEST(PlugState, a_lost_device_is_lost_whatever_is_connected)
{
  PlugState plug({{mode_of(640)}, {}});
  EXPECT_FALSE(plug.device_lost());
  plug.lose_device();
  plug.plug(output_of(800));
  EXPECT_TRUE(plug.device_lost());
}

TEST(PlugState, is_for_two_threads)
{
  constexpr int kTimes = 2000;
  PlugState plug({{mode_of(640)}, {}});
  test::at_once({[&] {
                   for (int i = 0; i < kTimes; i++) {
                     plug.unplug();
                     plug.plug(output_of(static_cast<std::uint16_t>(i)));
                   }
                 },
                 [&] {
                   for (int i = 0; i < kTimes; i++) {
                     if (plug.changed())
                       (void)plug.take();
                   }
                 }});
  EXPECT_TRUE(plug.take().connected);
}

} // namespace

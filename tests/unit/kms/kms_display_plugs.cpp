// SPDX-License-Identifier: LGPL-2.1-or-later
// The engine against a fake libdrm: what it makes of the connector, of its panel and its cable, and
// of another master.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "fake_clock.hpp"
#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

constexpr std::uint64_t kLeftSideUp = 2, kRightSideUp = 3;

bool is_mode_set(const fakedrm::Commit &commit)
{
  return (commit.flags & DRM_MODE_ATOMIC_ALLOW_MODESET) != 0;
}

class Showing : public DisplayTest {
protected:
  void start()
  {
    display = open();
    ASSERT_TRUE(display) << display.error().message;
    ASSERT_TRUE((*display)->start() && (*display)->configure(picture(1024, 768)));
    ASSERT_TRUE(show_one());
  }
  bool show_one()
  {
    return show(**display, xrgb(memory, 1024, 768)) && (*display)->drain(kLong_ns);
  }
  static void await_wakes(int times)
  {
    for (int ms = 0; ms < 60'000 && fakedrm::wakes() < times; ms++)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(fakedrm::wakes(), times);
  }
  static const fakedrm::Commit &last() { return fakedrm::device().commits.back(); }
  void TearDown() override { display = Error{}; }

  Result<std::shared_ptr<Display>> display = Error{};
};

TEST_F(Showing, a_lost_link_is_trained_by_a_mode_set)
{
  start();
  fakedrm::hotplug();
  EXPECT_EQ(listener.repaints, 0);
  fakedrm::device().found[{fakedrm::kConnector, "link-status"}] = DRM_MODE_LINK_STATUS_BAD;
  fakedrm::hotplug();
  EXPECT_EQ(listener.repaints, 1);
  EXPECT_EQ(listener.plugs, 0); // the same display
  ASSERT_TRUE(show_one());
  EXPECT_TRUE(is_mode_set(last()));
  EXPECT_EQ(value(last(), fakedrm::kConnector, "link-status"),
            std::uint64_t{DRM_MODE_LINK_STATUS_GOOD});
  fakedrm::device().found.clear();
  fakedrm::hotplug();
  ASSERT_TRUE(show_one());
  EXPECT_FALSE(is_mode_set(last()));
}

TEST_F(Showing, another_display_of_one_model_is_another)
{
  fakedrm::device().foreign_blobs = {{700, {1, 2, 3}}, {701, {1, 2, 3}}, {702, {1, 2, 4}}};
  fakedrm::device().found[{fakedrm::kConnector, "EDID"}] = 700;
  start();
  fakedrm::device().found[{fakedrm::kConnector, "EDID"}] = 701; // read again, and the same
  fakedrm::hotplug();
  EXPECT_EQ(listener.plugs, 0);
  fakedrm::device().found[{fakedrm::kConnector, "EDID"}] = 702;
  fakedrm::hotplug();
  EXPECT_EQ(listener.plugs, 1);
  ASSERT_TRUE(show_one());
  EXPECT_TRUE(is_mode_set(last()));
}

TEST_F(Showing, connectors_are_probed_once_for_each_event)
{
  const bool told_of_events = UeventSocket(0).fd() >= 0; // else whatever is read may be old
  start();
  const int probes = fakedrm::device().probes;
  EXPECT_GE(probes, 1);
  if (told_of_events) {
    EXPECT_EQ(probes, 1); // the display's; a writeback connector has no cable
  }
  ASSERT_TRUE((*display)->stop() && (*display)->start());
  display = Error{};
  start();
  if (told_of_events) {
    EXPECT_EQ(fakedrm::device().probes, 2 * probes); // by the device that was opened anew
  }
  const int before = fakedrm::device().probes;
  fakedrm::hotplug();
  EXPECT_EQ(fakedrm::device().probes, before + 1);
}

TEST_F(Showing, the_picture_is_painted_again_when_the_session_is_back)
{
  start();
  fakedrm::tick();
  fakedrm::device().master = false;
  fakedrm::tick();
  fakedrm::tick();
  EXPECT_EQ(listener.repaints, 0);
  fakedrm::device().master = true;
  fakedrm::tick();
  fakedrm::tick();
  EXPECT_EQ(listener.repaints, 1);
  ASSERT_TRUE(show_one());
  EXPECT_TRUE(is_mode_set(last())); // the other program may have set another mode
  EXPECT_NE(value(last(), fakedrm::kCrtc, "MODE_ID"), ~std::uint64_t{0});
  ASSERT_TRUE(show_one());
  EXPECT_FALSE(is_mode_set(last()));
}

// The kernel makes no probe for whoever is not master, and sends no event when that changes.
TEST_F(Showing, a_display_that_came_while_another_program_was_master_is_noticed)
{
  for (const bool frames_come : {false, true}) {
    replug();
    listener.plugs = listener.repaints = 0;
    start();
    fakedrm::tick();
    const auto lose = [&](bool lost) {
      fakedrm::device().master = !lost;
      fakedrm::device().error = EACCES;
      fakedrm::device().fail_call = lost ? "drmModeAtomicCommit" : "";
    };
    lose(true);
    if (frames_come) {
      const auto dropped = show(**display, xrgb(memory, 1024, 768));
      ASSERT_TRUE(dropped && *dropped == Shown::Dropped);
    }
    fakedrm::tick();
    fakedrm::tick();
    fakedrm::device().speed = 2; // another display
    fakedrm::hotplug();
    EXPECT_EQ(listener.plugs, 0);
    lose(false);
    const int wakes = fakedrm::wakes();
    if (frames_come) {
      ASSERT_TRUE(show_one());
      EXPECT_GT(fakedrm::wakes(), wakes);
    }
    fakedrm::tick();
    EXPECT_EQ(listener.plugs, 1);
    ASSERT_TRUE(show_one());
    EXPECT_TRUE(is_mode_set(last()));
    EXPECT_EQ((*display)->describe().find("@120") == std::string::npos, false) << (*display)->describe();
    display = Error{};
  }
}

// A hub that is plugged in again.
TEST_F(Showing, a_connector_with_another_number_is_found_by_its_path_or_name)
{
  for (const char *path : {"", "mst:77-1"}) {
    replug();
    listener.plugs = 0;
    fakedrm::device().path = path;
    start();
    fakedrm::device().connected = false;
    fakedrm::hotplug();
    ASSERT_TRUE(show(**display, xrgb(memory, 1024, 768))); // dropped
    fakedrm::device().connected = fakedrm::device().hub_is_new = true;
    fakedrm::hotplug();
    EXPECT_EQ(listener.plugs, 2);
    ASSERT_TRUE(show_one());
    EXPECT_EQ(value(last(), fakedrm::kOtherConnector, "CRTC_ID"), std::uint64_t{fakedrm::kCrtc});
    display = Error{};
  }
}

TEST_F(Showing, the_old_mode_is_not_set_on_another_display)
{
  for (const bool another : {false, true}) {
    replug();
    fakedrm::device().found = {{{fakedrm::kCrtc, "ACTIVE"}, 1}, {{fakedrm::kCrtc, "MODE_ID"}, 950}};
    drmModeModeInfo old{};
    {
      const drmModeConnectorPtr connector = drmModeGetConnectorCurrent(drm_fd.get(), fakedrm::kConnector);
      old = connector->modes[0];
      drmModeFreeConnector(connector);
    }
    old.type = 0; // as the kernel gives it back
    const auto *bytes = reinterpret_cast<const std::uint8_t *>(&old);
    fakedrm::device().foreign_blobs[950] = {bytes, bytes + sizeof(old)};
    start();
    if (another)
      fakedrm::device().speed = 2;
    fakedrm::hotplug();
    ASSERT_TRUE(show_one());
    ASSERT_TRUE((*display)->stop());
    EXPECT_EQ(value(last(), fakedrm::kCrtc, "ACTIVE"), another ? 0U : 1U);
    display = Error{};
  }
}

// A frame costs one ioctl, whatever the hotplug thread looks at.
TEST_F(Showing, nobody_asks_for_master_while_frames_come)
{
  start();
  const int before = fakedrm::device().master_questions;
  for (int i = 0; i < 3; i++) {
    ASSERT_TRUE(show_one());
    fakedrm::tick();
  }
  EXPECT_EQ(fakedrm::device().master_questions, before);
  fakedrm::tick();
  EXPECT_EQ(fakedrm::device().master_questions, before + 1);
}

constexpr std::chrono::milliseconds kLookedAfter{1000};

TEST_F(Showing, an_idle_display_looks_for_its_master_again_and_again)
{
  StoppedClock clock;
  start();
  const int before = fakedrm::wakes();
  for (int i = 1; i <= 3; i++) {
    clock.advance(kLookedAfter);
    fakedrm::send_foreign_event(); // the event thread sees how late it is
    await_wakes(before + i);
  }
}

// The thread that looks sleeps then, as each of its calls would be a call of some frame.
TEST_F(Showing, a_display_that_plays_wakes_nobody)
{
  StoppedClock clock;
  start();
  const int before = fakedrm::wakes();
  for (int i = 0; i < 20; i++) {
    clock.advance(kLookedAfter - std::chrono::milliseconds(1));
    ASSERT_TRUE(show_one());
  }
  EXPECT_EQ(fakedrm::wakes(), before);
  clock.advance(kLookedAfter);
  fakedrm::send_foreign_event();
  await_wakes(before + 1);
}

// What the device cannot do at the moment is no reason to blank the display.
TEST_F(Showing, a_busy_device_is_waited_for_before_a_mode_set)
{
  for (const int error : {EBUSY, ENOMEM}) {
    replug();
    start();
    Picture other = picture(1024, 768);
    other.format.fourcc = DRM_FORMAT_NV12;
    fakedrm::device().busy_error = error;
    for (const int times : {3, 1000}) {
      ASSERT_TRUE((*display)->configure(other));
      fakedrm::device().busy_commits = times;
      ASSERT_TRUE(show(**display, nv12(memory, memory, 1024, 768)) && (*display)->drain(kLong_ns));
      EXPECT_EQ(is_mode_set(last()), times == 1000) << times;
    }
    fakedrm::device().busy_commits = 0;
    display = Error{};
  }
}

// Neither when the mode on screen would be kept for a picture of another mode's size.
TEST_F(Showing, a_busy_device_is_waited_for_before_another_mode)
{
  for (const int times : {0, 3, 1000}) {
    replug();
    fakedrm::device().scales = true;
    start();
    ASSERT_TRUE((*display)->configure(picture(640, 480)));
    fakedrm::device().busy_commits = times;
    ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)) && (*display)->drain(kLong_ns));
    EXPECT_EQ(is_mode_set(last()), times == 1000) << times;
    fakedrm::device().busy_commits = 0;
    display = Error{};
  }
}

TEST_F(Showing, sizes_that_cover_the_screen_where_no_other_is_shown)
{
  fakedrm::device().all_cover = true;
  display = open();
  ASSERT_TRUE(display);
  EXPECT_TRUE(fakedrm::device().commits.empty()); // what was tried was a test
  EXPECT_TRUE(fakedrm::device().framebuffers.empty());
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> modes = {{1024, 768}, {640, 480}};
  EXPECT_EQ((*display)->limits().only, modes);
  ASSERT_TRUE((*display)->start() && (*display)->configure(picture(320, 240)));
  const auto refused = show(**display, xrgb(memory, 320, 240));
  ASSERT_FALSE(refused);
  const std::string &text = refused.error().message;
  EXPECT_NE(text.find("640x480"), std::string::npos) << text;
  EXPECT_LT(text.find("videoscale"), text.find("Plane 30")) << text; // the advice is first
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 13) << text;
  ASSERT_TRUE((*display)->configure(picture(640, 480)));
  EXPECT_TRUE(show(**display, xrgb(memory, 640, 480)));
}

TEST_F(Showing, any_size_where_planes_can_be_placed)
{
  display = open();
  ASSERT_TRUE(display);
  EXPECT_TRUE((*display)->limits().only.empty());
}

struct PanelRow {
  const char *name;
  std::uint64_t orientation;
  std::uint32_t rotation; // that the application asks for
  bool upright, can_turn;
  std::uint64_t expected;
};

const PanelRow kPanelRows[] = {
    {"normal", 0, DRM_MODE_ROTATE_0, true, true, DRM_MODE_ROTATE_0},
    {"left_side_up", kLeftSideUp, DRM_MODE_ROTATE_0, true, true, DRM_MODE_ROTATE_90},
    {"right_side_up", kRightSideUp, DRM_MODE_ROTATE_0, true, true, DRM_MODE_ROTATE_270},
    {"turned_by_the_user_too", kRightSideUp, DRM_MODE_ROTATE_180 | DRM_MODE_REFLECT_X, true, true,
     DRM_MODE_ROTATE_90 | DRM_MODE_REFLECT_X},
    {"not_wanted", kLeftSideUp, DRM_MODE_ROTATE_0, false, true, DRM_MODE_ROTATE_0},
    {"no_plane_turns", kLeftSideUp, DRM_MODE_ROTATE_0, true, false, DRM_MODE_ROTATE_0},
};

class Panels : public DisplayTest, public testing::WithParamInterface<PanelRow> {};

TEST_P(Panels, show_pictures_upright)
{
  const PanelRow &row = GetParam();
  fakedrm::device().found[{fakedrm::kConnector, "panel orientation"}] = row.orientation;
  fakedrm::device().rotations = {{"rotate-0", 0}, {"rotate-180", 2}};
  if (row.can_turn)
    fakedrm::device().rotations = {{"rotate-0", 0},   {"rotate-90", 1}, {"rotate-180", 2},
                                   {"rotate-270", 3}, {"reflect-x", 4}, {"reflect-y", 5}};
  auto display = open();
  ASSERT_TRUE(display) << display.error().message;
  View view;
  view.rotation = row.rotation;
  view.upright = row.upright;
  (*display)->set_view(view);
  const bool turned = (row.expected & (DRM_MODE_ROTATE_90 | DRM_MODE_ROTATE_270)) != 0;
  EXPECT_EQ((*display)->limits().max_height, turned ? 1024U : 768U);
  const std::uint32_t width = turned ? 480 : 640, height = turned ? 640 : 480;
  ASSERT_TRUE((*display)->start() && (*display)->configure(picture(width, height)));
  const auto shown = show(**display, xrgb(memory, width, height));
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "rotation"), row.expected);
  EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "CRTC_W"), 640U); // the mode is 640x480
}

// A turn that only the stream's tags ask for.
TEST_F(Showing, an_optional_turn_is_left_out_with_one_warning_where_no_plane_turns)
{
  fakedrm::device().rotations = {{"rotate-0", 0}};
  display = open();
  ASSERT_TRUE(display);
  View view;
  view.rotation = DRM_MODE_ROTATE_90;
  (*display)->set_view(view);
  ASSERT_TRUE((*display)->start() && (*display)->configure(picture(640, 480)));
  EXPECT_FALSE(show(**display, xrgb(memory, 640, 480))); // what the application asks for has to be
  view.rotation_is_optional = true;
  (*display)->set_view(view);
  for (const auto &[width, height] : {std::pair{640, 480}, {1024, 768}}) {
    ASSERT_TRUE((*display)->configure(picture(width, height))); // no mode is 768x1024
    ASSERT_TRUE(show(**display, xrgb(memory, width, height)) && (*display)->drain(kLong_ns));
    EXPECT_EQ(value(last(), fakedrm::kPrimary, "CRTC_W"), static_cast<unsigned>(width));
  }
  EXPECT_EQ(listener.turns_left_out, 1);
}

// Of two pictures behind each other, with a tag each: the first one's turn is none for the second.
TEST_F(Showing, an_optional_turn_that_is_refused_in_mid_stream_leaves_the_picture_unturned)
{
  fakedrm::device().rotations = {{"rotate-0", 0}, {"rotate-180", 2}};
  display = open();
  ASSERT_TRUE(display);
  View view;
  view.rotation = DRM_MODE_ROTATE_180;
  view.rotation_is_optional = true;
  (*display)->set_view(view);
  ASSERT_TRUE((*display)->start() && (*display)->configure(picture(1024, 768)));
  ASSERT_TRUE(show_one());
  EXPECT_EQ(value(last(), fakedrm::kPrimary, "rotation"), DRM_MODE_ROTATE_180);
  view.rotation = DRM_MODE_ROTATE_90;
  (*display)->set_view(view);
  ASSERT_TRUE(show_one());
  EXPECT_EQ(value(last(), fakedrm::kPrimary, "rotation"), DRM_MODE_ROTATE_0);
  EXPECT_FALSE(is_mode_set(last()));
  EXPECT_EQ(listener.turns_left_out, 1);
  EXPECT_EQ(listener.view_refusals, 0);
}

INSTANTIATE_TEST_SUITE_P(Rows, Panels, testing::ValuesIn(kPanelRows),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace

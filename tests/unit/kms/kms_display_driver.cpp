// SPDX-License-Identifier: LGPL-2.1-or-later
// What the application wants of the driver beside a picture: properties, variable refresh, tearing.
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>

#include "fake_fences.hpp"
#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

class DriverTest : public DisplayTest {
protected:
  Result<std::shared_ptr<Display>> open_with(const OutputRequest &output)
  {
    DeviceRequest device;
    device.fd = drm_fd.get();
    return Display::open(device, output, listener);
  }
  Result<Shown> show_one(Display &display)
  {
    Result<Shown> shown = show(display, xrgb(memory, 1024, 768));
    EXPECT_TRUE(display.drain(kLong_ns));
    return shown;
  }
};

TEST_F(DriverTest, properties_are_part_of_the_mode_set_and_come_back)
{
  fakedrm::device().found = {{{fakedrm::kConnector, "Broadcast RGB"}, 0},
                             {{fakedrm::kPrimary, "pixel blend mode"}, 2}};
  OutputRequest request;
  request.connector_properties = {{"Broadcast-RGB", std::string("Limited 16:235")}};
  request.plane_properties = {{"pixel blend mode", std::string("Coverage")}};
  const auto display = open_with(request);
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(1024, 768)))
      << display.error().message;
  ASSERT_TRUE(show_one(**display) && show_one(**display));
  EXPECT_EQ(value(commit(0), fakedrm::kConnector, "Broadcast RGB"),
            2U); // in the place of Automatic
  EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "pixel blend mode"), 1U);
  EXPECT_EQ(commit(1).values.size(), 1U); // a flip is a flip
  ASSERT_TRUE((*display)->stop());
  const fakedrm::Commit &last = fakedrm::device().commits.back();
  EXPECT_EQ(value(last, fakedrm::kConnector, "Broadcast RGB"), 0U);
  EXPECT_EQ(value(last, fakedrm::kPrimary, "pixel blend mode"), 2U);
}

TEST_F(DriverTest, variable_refresh_where_the_display_has_it)
{
  OutputRequest request;
  request.vrr = true;
  fakedrm::device().found = {{{fakedrm::kConnector, "vrr_capable"}, 1}};
  const auto display = open_with(request);
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(1024, 768)))
      << display.error().message;
  ASSERT_TRUE(show_one(**display));
  EXPECT_EQ(value(commit(0), fakedrm::kCrtc, "VRR_ENABLED"), 1U);
  ASSERT_TRUE((*display)->stop());
  EXPECT_EQ(value(fakedrm::device().commits.back(), fakedrm::kCrtc, "VRR_ENABLED"), 0U);
}

TEST_F(DriverTest, tearing_flips_are_asynchronous)
{
  OutputRequest request;
  request.tearing = true;
  const auto display = open_with(request);
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(1024, 768)))
      << display.error().message;
  ASSERT_TRUE(show_one(**display) && show_one(**display));
  constexpr std::uint32_t kFlip = DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT;
  EXPECT_FALSE(commit(0).flags & DRM_MODE_PAGE_FLIP_ASYNC); // of a mode set the kernel takes none
  EXPECT_EQ(commit(1).flags, kFlip | DRM_MODE_PAGE_FLIP_ASYNC);
  // a driver that makes none of this format: asked once, and the frame is shown
  fakedrm::device().refuses_tearing = true;
  ASSERT_TRUE(show_one(**display) && show_one(**display));
  EXPECT_EQ(commit(2).flags, kFlip);
  EXPECT_EQ(commit(3).flags, kFlip);
  EXPECT_EQ(fakedrm::device().refused_tearing, 1);
  EXPECT_EQ(listener.failures, 0);
}

// Linux 6.8 to 6.13 refuse an asynchronous flip with a fence.
TEST_F(DriverTest, tearing_flips_of_a_producer_with_fences)
{
  const FakeFences fences([](int) { return FenceState::Signalled; });
  OutputRequest request;
  request.tearing = true;
  const auto display = open_with(request);
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(1024, 768)));
  for (int i = 0; i < 3; i++) {
    Result<FramebufferCache::Import> import = (*display)->import(xrgb(memory, 1024, 768));
    ASSERT_TRUE(import);
    Frame frame;
    frame.framebuffer = import->imported;
    frame.acquire_fence = std::make_shared<UniqueFd>(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE((*display)->show(frame, FlipQueue::Overflow::Wait));
    ASSERT_TRUE((*display)->drain(kLong_ns));
  }
  EXPECT_TRUE(commit(1).flags & DRM_MODE_PAGE_FLIP_ASYNC);
  EXPECT_TRUE(commit(2).flags & DRM_MODE_PAGE_FLIP_ASYNC);
  EXPECT_EQ(fakedrm::device().refused_tearing, 0);
}

// The commit with the fence is made again without the cursor, and then again without the fence.
TEST_F(DriverTest, a_driver_that_refuses_fences_shows_the_cursor)
{
  const FakeFences fences([](int) { return FenceState::Signalled; });
  fakedrm::device().found[{fakedrm::kOverlay, "type"}] = DRM_PLANE_TYPE_CURSOR;
  fakedrm::device().refuses_fences = true;
  const auto display = open_with({});
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(1024, 768)));
  ASSERT_TRUE(show(**display, xrgb(memory, 1024, 768)) && (*display)->drain(kLong_ns));
  ASSERT_TRUE((*display)->set_cursor(CursorImage{64, 64, std::vector<std::uint8_t>(64 * 64 * 4, 0x80)}));
  Result<FramebufferCache::Import> import = (*display)->import(xrgb(memory, 1024, 768));
  ASSERT_TRUE(import);
  Frame frame;
  frame.framebuffer = import->imported;
  frame.acquire_fence = std::make_shared<UniqueFd>(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE((*display)->show(frame, FlipQueue::Overflow::Wait) && (*display)->drain(kLong_ns));
  EXPECT_EQ(last_value(fakedrm::kOverlay, "CRTC_W"), 64U);
}

struct OpenRow {
  const char *name;
  std::function<void(OutputRequest &)> change;
  std::vector<const char *> words;
};

const OpenRow kOpenRows[] = {
    {"no variable refresh",
     [](OutputRequest &r) { r.vrr = true; },
     {"vrr=true", "Virtual-1", "vrr_capable"}},
    {"no tearing",
     [](OutputRequest &r) {
       r.tearing = true;
       fakedrm::device().asynchronous = false;
     },
     {"tearing=true", "asynchronous"}},
    {"no such connector property",
     [](OutputRequest &r) {
       r.connector_properties = {{"no such", std::int64_t{1}}};
     },
     {"connector-properties", "Virtual-1 has no property no such"}},
    {"no plane has the property",
     [](OutputRequest &r) {
       r.plane_properties = {{"no such", std::int64_t{1}}};
     },
     {"plane-properties", "has no property no such"}},
    {"a mode, and no change of modes",
     [](OutputRequest &r) {
       r.mode.kind = ModeRequest::Kind::Preferred;
       r.mode_changes = ModeChanges::Never;
     },
     {"mode-changes=never", "mode"}},
};

TEST_F(DriverTest, what_cannot_be_had_is_named_before_any_commit)
{
  for (const OpenRow &row : kOpenRows) {
    OutputRequest request;
    row.change(request);
    const auto display = open_with(request);
    ASSERT_FALSE(display) << row.name;
    for (const char *word : row.words)
      EXPECT_NE(display.error().message.find(word), std::string::npos) << display.error().message;
    EXPECT_TRUE(fakedrm::device().commits.empty());
  }
}

TEST_F(DriverTest, the_size_is_that_of_the_mode)
{
  const auto display = open();
  ASSERT_TRUE(display);
  EXPECT_EQ((*display)->display_size().width, 1024U); // the display's own choice
  ASSERT_TRUE((*display)->start() && (*display)->configure(picture(640, 480)));
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)) && (*display)->drain(kLong_ns));
  EXPECT_EQ((*display)->display_size().width, 640U);
  EXPECT_EQ((*display)->display_size().height, 480U);
}

} // namespace

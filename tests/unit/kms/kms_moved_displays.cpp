// SPDX-License-Identifier: LGPL-2.1-or-later
// A connector whose only CRTC lights another display: that one moves, its picture with it, and
// comes back. On the fake libdrm.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;
using fakedrm::kConnector;
using fakedrm::kCrtc;
using fakedrm::kOtherConnector;
using fakedrm::kOtherCrtc;
using fakedrm::kOtherPrimary;
using fakedrm::kPrimary;

constexpr std::uint32_t kForeignMode = 900, kForeignGamma = 901, kForeignFramebuffer = 902;

// The console is on Virtual-2, by the CRTC that Virtual-1 needs.
class Moved : public DisplayTest {
protected:
  Moved()
  {
    fakedrm::Device &d = fakedrm::device();
    d.second_output = d.remembers = true;
    set(kOtherConnector, "CRTC_ID", kCrtc);
    set(kCrtc, "ACTIVE", 1);
    set(kCrtc, "MODE_ID", kForeignMode);
    set(kCrtc, "GAMMA_LUT", kForeignGamma);
    set(kPrimary, "CRTC_ID", kCrtc);
    set(kPrimary, "FB_ID", kForeignFramebuffer);
    set(kPrimary, "CRTC_W", 1024);
    set(kPrimary, "SRC_W", std::uint64_t{1024} << 16);
    d.foreign_framebuffers = {kForeignFramebuffer};
    d.foreign_blobs[kForeignMode] = std::vector<std::uint8_t>(sizeof(drmModeModeInfo), 1);
    d.foreign_blobs[kForeignGamma] = {1, 2, 3};
    console = d.found;
  }
  static void set(std::uint32_t object, const char *name, std::uint64_t value)
  {
    fakedrm::device().found[{object, name}] = value;
  }
  static std::uint64_t get(std::uint32_t object, const char *name)
  {
    const auto &found = fakedrm::device().found;
    const auto it = found.find({object, name});
    return it == found.end() ? 0 : it->second;
  }
  // The contents of one of the console's, or of a copy; empty: it is none.
  static std::vector<std::uint8_t> blob(std::uint64_t id)
  {
    for (const auto *blobs : {&fakedrm::device().foreign_blobs, &fakedrm::device().old_blobs})
      if (const auto it = blobs->find(static_cast<std::uint32_t>(id)); it != blobs->end())
        return it->second;
    return {static_cast<std::uint8_t>(id), 0, 0, 0};
  }
  Result<std::shared_ptr<Display>> open_on(const char *connector)
  {
    DeviceRequest device;
    device.fd = drm_fd.get();
    OutputRequest output;
    output.connector = connector;
    output.mode.kind = ModeRequest::Kind::Match;
    return Display::open(device, output, listener);
  }
  // What the console had is there again.
  void expect_console() const
  {
    for (const auto &[key, value] : console) {
      const std::uint64_t now = get(key.first, key.second.c_str());
      EXPECT_TRUE(now == value || blob(now) == blob(value)) << key.first << " " << key.second;
    }
    EXPECT_EQ(get(kOtherCrtc, "ACTIVE"), 0U);
    EXPECT_EQ(get(kOtherPrimary, "FB_ID"), 0U);
  }

  std::map<std::pair<std::uint32_t, std::string>, std::uint64_t> console;
};

TEST_F(Moved, the_picture_goes_on_elsewhere_and_comes_back)
{
  auto display = open_on("Virtual-1");
  ASSERT_TRUE(display) << display.error().message;
  ASSERT_EQ(fakedrm::device().commits.size(), 1U);
  EXPECT_EQ(get(kOtherConnector, "CRTC_ID"), kOtherCrtc);
  EXPECT_EQ(get(kOtherCrtc, "MODE_ID"), kForeignMode);
  EXPECT_EQ(get(kOtherCrtc, "ACTIVE"), 1U);
  EXPECT_EQ(get(kOtherCrtc, "GAMMA_LUT"), kForeignGamma);
  EXPECT_EQ(get(kOtherPrimary, "CRTC_ID"), kOtherCrtc);
  EXPECT_EQ(get(kOtherPrimary, "FB_ID"), kForeignFramebuffer);
  EXPECT_EQ(get(kOtherPrimary, "SRC_W"), std::uint64_t{1024} << 16);
  EXPECT_EQ(get(kCrtc, "ACTIVE"), 0U);
  EXPECT_EQ(get(kPrimary, "FB_ID"), 0U);
  ASSERT_TRUE((*display)->start() && (*display)->configure(picture(640, 480)));
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  EXPECT_EQ(get(kConnector, "CRTC_ID"), kCrtc);
  EXPECT_EQ(get(kOtherPrimary, "FB_ID"), kForeignFramebuffer);
  ASSERT_TRUE((*display)->stop());
  display = Error{};
  expect_console();
}

// A second sink takes the display that was moved: its picture is that sink's to put back.
TEST_F(Moved, stays_where_a_sink_has_taken_the_display)
{
  auto display = open_on("Virtual-1");
  ASSERT_TRUE(display);
  auto other = open_on("Virtual-2");
  ASSERT_TRUE(other) << other.error().message;
  display = Error{};
  EXPECT_EQ(get(kOtherConnector, "CRTC_ID"), kOtherCrtc);
}

// A display that could have either CRTC leaves the one that another display needs.
TEST_F(Moved, a_lit_display_makes_room_for_one_that_waits)
{
  auto display = open_on("Virtual-2");
  ASSERT_TRUE(display);
  EXPECT_EQ(get(kOtherConnector, "CRTC_ID"), kOtherCrtc);
  auto other = open_on("Virtual-1");
  ASSERT_TRUE(other) << other.error().message;
  for (Display *each : {display->get(), other->get()}) {
    ASSERT_TRUE(each->start() && each->configure(picture(640, 480)));
    ASSERT_TRUE(show(*each, xrgb(memory, 640, 480)));
  }
  EXPECT_EQ(get(kConnector, "CRTC_ID"), kCrtc);
  EXPECT_EQ(get(kOtherConnector, "CRTC_ID"), kOtherCrtc);
  other = Error{};
  display = Error{};
  expect_console();
}

// And what the error says then is what it says where nothing can be moved at all.
TEST_F(Moved, nothing_moves_where_it_cannot)
{
  const auto expect_none = [this](const char *why) {
    const auto display = open_on("Virtual-1");
    ASSERT_FALSE(display) << why;
    EXPECT_NE(display.error().message.find("No CRTC of"), std::string::npos)
        << why << ": " << display.error().message;
    expect_console();
  };
  fakedrm::device().has_lessees = true;
  expect_none("a lessee may show it");
  fakedrm::device().has_lessees = false;
  set(fakedrm::kOverlay, "CRTC_ID", kCrtc);
  expect_none("the other CRTC has no overlay plane");
  set(fakedrm::kOverlay, "CRTC_ID", 0);
  fakedrm::device().fail_call = "drmModeAtomicCommit";
  expect_none("the driver refuses");
  fakedrm::device().fail_call.clear();
}

// A sink that shows beside the console keeps it where it is.
TEST_F(Moved, a_display_that_was_joined_stays)
{
  set(kPrimary, "CRTC_ID", kCrtc);
  fakedrm::device().out_fences = true;
  DeviceRequest device;
  device.fd = drm_fd.get();
  OutputRequest beside;
  beside.connector = "Virtual-2";
  beside.mode.kind = ModeRequest::Kind::Current;
  auto joined = Display::open(device, beside, listener);
  ASSERT_TRUE(joined) << joined.error().message;
  set(fakedrm::kOverlay, "CRTC_ID", kCrtc); // it shows
  EXPECT_FALSE(open_on("Virtual-1"));
  set(fakedrm::kOverlay, "CRTC_ID", 0);
  joined = Error{};
  expect_console();
}

} // namespace

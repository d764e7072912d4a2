// SPDX-License-Identifier: LGPL-2.1-or-later
// Which connector, CRTC and planes a sink gets, alone and where several sinks share a device.
#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fake_drm.hpp"
#include "gst/kms/engine/output/kms_choice.hpp"
#include "gst/kms/engine/output/kms_registry.hpp"
#include "kms_values.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

// Two outputs: a connector that each CRTC can drive, planes of each CRTC, and one plane for both.
Resources two_outputs()
{
  Resources resources;
  resources.connectors = {values::connector(20, "DP-1", DRM_MODE_DISCONNECTED, 3),
                          values::connector(21, "VGA-1", DRM_MODE_UNKNOWNCONNECTION, 3),
                          values::connector(22, "HDMI-A-1", DRM_MODE_CONNECTED, 3), values::writeback(23, 3)};
  resources.crtcs = {values::crtc(10, 0), values::crtc(11, 1)};
  resources.planes = {values::plane(32, PlaneType::Cursor, 1), values::plane(31, PlaneType::Overlay, 3),
                      values::plane(30, PlaneType::Primary, 1), values::plane(33, PlaneType::Primary, 2)};
  return resources;
}

std::vector<std::uint32_t> ids(const std::vector<Plane> &planes)
{
  std::vector<std::uint32_t> list;
  for (const Plane &plane : planes)
    list.push_back(plane.id);
  return list;
}

TEST(ChooseOutput, takes_the_first_that_is_connected)
{
  const auto output = choose_output(two_outputs(), {}, "card");
  ASSERT_TRUE(output);
  EXPECT_EQ(output->connector.name, "HDMI-A-1"); // before one whose state nobody knows
  EXPECT_EQ(output->crtc.id, 10U);
  EXPECT_EQ(ids(output->planes), (std::vector<std::uint32_t>{30, 31})); // no cursor plane
  EXPECT_EQ(ids(output->crtc_planes), (std::vector<std::uint32_t>{30, 31, 32}));
  ASSERT_TRUE(output->writeback);
  EXPECT_EQ(output->writeback->id, 23U);
}

TEST(ChooseOutput, takes_what_the_driver_cannot_tell_where_nothing_is_connected)
{
  Resources resources = two_outputs();
  resources.connectors[2] = values::connector(22, "HDMI-A-1", DRM_MODE_DISCONNECTED, 3);
  const auto output = choose_output(resources, {}, "card");
  ASSERT_TRUE(output);
  EXPECT_EQ(output->connector.name, "VGA-1");
}

TEST(ChooseOutput, takes_a_connector_by_name_or_number)
{
  for (const char *name : {"VGA-1", "21"}) {
    const auto output = choose_output(two_outputs(), {name, 0, {}}, "card");
    ASSERT_TRUE(output) << name;
    EXPECT_EQ(output->connector.id, 21U);
  }
}

TEST(ChooseOutput, keeps_the_crtc_that_drives_the_connector)
{
  Resources resources = two_outputs();
  resources.connectors[2] = values::connector(22, "HDMI-A-1", DRM_MODE_CONNECTED, 3, 11);
  const auto output = choose_output(resources, {}, "card");
  ASSERT_TRUE(output);
  EXPECT_EQ(output->crtc.id, 11U);
  EXPECT_EQ(ids(output->planes), (std::vector<std::uint32_t>{33, 31}));
}

TEST(ChooseOutput, leaves_the_crtc_of_another_connector_alone)
{
  Resources resources = two_outputs();
  resources.connectors[1] = values::connector(21, "VGA-1", DRM_MODE_UNKNOWNCONNECTION, 3, 10);
  const auto output = choose_output(resources, {}, "card");
  ASSERT_TRUE(output);
  EXPECT_EQ(output->crtc.id, 11U);
  resources.crtcs.pop_back();
  EXPECT_EQ(choose_output(resources, {}, "card").error().sys_errno, EBUSY);
}

// The first connector could take either CRTC, the second only the first.
TEST(ChooseOutput, leaves_a_crtc_for_the_display_that_has_no_other)
{
  Resources resources = two_outputs();
  resources.connectors = {values::connector(20, "DP-1", DRM_MODE_CONNECTED, 3),
                          values::connector(21, "DSI-1", DRM_MODE_CONNECTED, 1)};
  EXPECT_EQ(choose_output(resources, {"DP-1", 0, {}}, "card")->crtc.id, 11U);
  EXPECT_EQ(choose_output(resources, {"DSI-1", 0, {}}, "card")->crtc.id, 10U);
  // three displays, of which each one's first choice is another one's only one
  resources.crtcs.push_back(values::crtc(12, 2));
  resources.planes.push_back(values::plane(34, PlaneType::Primary, 4));
  resources.connectors = {values::connector(20, "DP-1", DRM_MODE_CONNECTED, 7),
                          values::connector(21, "DP-2", DRM_MODE_CONNECTED, 3),
                          values::connector(22, "DP-3", DRM_MODE_CONNECTED, 1)};
  EXPECT_EQ(choose_output(resources, {"DP-1", 0, {}}, "card")->crtc.id, 12U);
  EXPECT_EQ(choose_output(resources, {"DP-2", 0, {}}, "card")->crtc.id, 11U);
  // one that shows something already has its CRTC, and one that is not connected needs none
  resources.connectors[1] = values::connector(21, "DP-2", DRM_MODE_CONNECTED, 3, 12);
  EXPECT_EQ(choose_output(resources, {"DP-1", 0, {}}, "card")->crtc.id, 11U);
  resources.connectors[2] = values::connector(22, "DP-3", DRM_MODE_DISCONNECTED, 1);
  EXPECT_EQ(choose_output(resources, {"DP-1", 0, {}}, "card")->crtc.id, 10U);
}

TEST(ChooseOutput, shows_nothing_on_a_headset_that_is_not_named)
{
  Resources resources = two_outputs();
  Connector &headset = resources.connectors[2];
  headset.properties["non-desktop"].value = 1;
  EXPECT_EQ(choose_output(resources, {}, "card")->connector.name, "VGA-1");
  EXPECT_EQ(choose_output(resources, {"HDMI-A-1", 0, {}}, "card")->connector.name, "HDMI-A-1");
  resources.connectors.erase(resources.connectors.begin(), resources.connectors.begin() + 2);
  const auto none = choose_output(resources, {}, "card");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("HDMI-A-1 (22, no desktop: name it)"), std::string::npos)
      << none.error().message;
}

TEST(ChooseOutput, does_not_take_a_plane_that_another_crtc_uses)
{
  Resources resources = two_outputs();
  resources.planes[1] = values::plane(31, PlaneType::Overlay, 3, 11);
  const auto output = choose_output(resources, {}, "card");
  ASSERT_TRUE(output);
  EXPECT_EQ(ids(output->planes), (std::vector<std::uint32_t>{30}));
  const auto named = choose_output(resources, {"", 31, {}}, "card");
  ASSERT_TRUE(named); // asked for by number
  EXPECT_EQ(ids(named->planes), (std::vector<std::uint32_t>{31}));
}

struct Refused {
  const char *name;
  OutputRequest request;
  int sys_errno;
  std::vector<const char *> says;
};

TEST(ChooseOutput, says_what_there_is)
{
  const Refused rows[] = {
      {"no such connector", {"DP-9", 0, {}}, ENODEV, {"card has no connector DP-9", "HDMI-A-1", "VGA-1"}},
      {"a writeback connector", {"Writeback-1", 0, {}}, ENODEV, {"no connector Writeback-1"}},
      {"unplugged", {"DP-1", 0, {}}, ENODEV, {"DP-1 of card has no modes"}},
      {"no such plane", {"", 99, {}}, EINVAL, {"Plane 99 of card", "30, 31, 32", "plane-id"}},
      {"a plane of the other CRTC", {"", 33, {}}, EINVAL, {"Plane 33 of card", "30, 31, 32"}},
  };
  for (const Refused &row : rows) {
    const auto output = choose_output(two_outputs(), row.request, "card");
    ASSERT_FALSE(output) << row.name;
    EXPECT_EQ(output.error().sys_errno, row.sys_errno) << row.name;
    for (const char *part : row.says)
      EXPECT_NE(output.error().message.find(part), std::string::npos) << row.name << ": " << output.error().message;
  }
  EXPECT_NE(choose_output({}, {}, "card").error().message.find("No output of card is connected"), std::string::npos);
}

// A program without master reads what the kernel knows, and may be the first to ask.
TEST(ChooseOutput, says_why_a_named_connector_cannot_be_lit)
{
  struct Row {
    const char *name;
    void (*change)(Resources &resources);
    int sys_errno;
    std::vector<const char *> says;
  };
  const Row rows[] = {
      {"never probed", [](Resources &r) { r.connectors[1].modes.clear(); }, ENODEV,
       {"Connector VGA-1 of card has no modes", "nobody has looked", "master", "VGA-1/status"}},
      {"no CRTC at all", [](Resources &r) { r.connectors[1].possible_crtcs = 0; }, ENODEV,
       {"Connector VGA-1 of card has no CRTC", "another connector"}},
      {"no CRTC left",
       [](Resources &r) {
         r.connectors[1].possible_crtcs = 1;
         r.connectors[2] = values::connector(22, "HDMI-A-1", DRM_MODE_CONNECTED, 3, 10);
         r.crtcs.pop_back();
       }, EBUSY,
       {"No CRTC of card is free for connector VGA-1", "Turn another output off"}},
  };
  for (const Row &row : rows) {
    Resources resources = two_outputs();
    row.change(resources);
    const auto output = choose_output(resources, {"VGA-1", 0, {}}, "card");
    ASSERT_FALSE(output) << row.name;
    EXPECT_EQ(output.error().sys_errno, row.sys_errno) << row.name;
    for (const char *part : row.says)
      EXPECT_NE(output.error().message.find(part), std::string::npos) << row.name << ": " << output.error().message;
  }
}

class ReserveOutput : public testing::Test {
protected:
  ReserveOutput() : fd(fakedrm::plug())
  {
    DeviceRequest request;
    request.fd = fd.get();
    auto opened = Registry::get().open(request);
    EXPECT_TRUE(opened);
    device = *opened;
  }
  ~ReserveOutput() override
  {
    device.reset();
    EXPECT_EQ(fakedrm::alive(), 0);
  }
  UniqueFd fd;
  std::shared_ptr<Device> device;
};

TEST_F(ReserveOutput, takes_every_object_of_the_output_until_it_is_given_up)
{
  {
    auto choice = reserve_output(*device, {});
    ASSERT_TRUE(choice);
    EXPECT_FALSE(choice->is_shared);
    EXPECT_EQ(choice->output.connector.id, fakedrm::kConnector);
    for (const bool taken : {false, true}) {
      if (taken) {
        ASSERT_TRUE(take_output(*device, choice->reservation, choice->output));
      }
      for (const std::uint32_t id : {fakedrm::kConnector, fakedrm::kCrtc, fakedrm::kPrimary,
                                     fakedrm::kOverlay, fakedrm::kWriteback}) {
        EXPECT_TRUE(device->reservations().contains(id)) << id;
        EXPECT_EQ(device->reservations().is_taken(id), taken) << id;
        EXPECT_TRUE(choice->reservation.owns(id)) << id;
      }
    }
    choice->reservation.give_up();
    EXPECT_TRUE(device->reservations().contains(fakedrm::kCrtc));
    EXPECT_FALSE(device->reservations().is_taken(fakedrm::kCrtc));
  }
  EXPECT_FALSE(device->reservations().contains(fakedrm::kCrtc));
  EXPECT_TRUE(reserve_output(*device, {}));
}

// Any number of sinks choose the only display; who has a frame first takes it.
TEST_F(ReserveOutput, waits_for_what_another_sink_shows_on)
{
  auto first = reserve_output(*device, {});
  ASSERT_TRUE(first);
  ASSERT_TRUE(take_output(*device, first->reservation, first->output));
  const OutputRequest rows[] = {{}, {"Virtual-1", 0, {}}, {"", fakedrm::kOverlay, {}}};
  for (const OutputRequest &row : rows) {
    auto second = reserve_output(*device, row);
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_TRUE(second->is_shared);
    const auto taken = take_output(*device, second->reservation, second->output);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().sys_errno, EBUSY);
    for (const char *part : {"Connector Virtual-1", "another sink of this process", "Stop that sink"})
      EXPECT_NE(taken.error().message.find(part), std::string::npos) << taken.error().message;
    first->reservation.give_up();
    EXPECT_TRUE(take_output(*device, second->reservation, second->output));
    EXPECT_FALSE(take_output(*device, first->reservation, first->output));
    second->reservation.give_up();
    EXPECT_TRUE(take_output(*device, first->reservation, first->output));
  }
}

TEST_F(ReserveOutput, prefers_what_no_sink_has_chosen_and_then_what_none_shows_on)
{
  fakedrm::device().second_output = true;
  auto first = reserve_output(*device, {});
  const auto second = reserve_output(*device, {});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->output.connector.id, fakedrm::kConnector);
  EXPECT_EQ(second->output.connector.id, fakedrm::kOtherConnector);
  EXPECT_FALSE(second->is_shared);
  ASSERT_TRUE(take_output(*device, first->reservation, first->output));
  auto third = reserve_output(*device, {});
  ASSERT_TRUE(third);
  EXPECT_EQ(third->output.connector.id, fakedrm::kOtherConnector);
  EXPECT_TRUE(third->is_shared);
  EXPECT_TRUE(take_output(*device, third->reservation, third->output));
}

TEST_F(ReserveOutput, reserves_nothing_when_it_fails)
{
  EXPECT_FALSE(reserve_output(*device, {"DP-9", 0, {}}));
  EXPECT_FALSE(device->reservations().contains(fakedrm::kCrtc));
  fakedrm::device().fail_call = "drmModeGetPlaneResources";
  EXPECT_FALSE(reserve_output(*device, {}));
  fakedrm::device().fail_call.clear();
  EXPECT_TRUE(reserve_output(*device, {}));
}

TEST_F(ReserveOutput, passes_by_a_connector_that_went_while_it_read_the_list)
{
  fakedrm::device().second_output = true;
  for (const auto &[gone, left] : {std::pair{fakedrm::kOtherConnector, fakedrm::kConnector}, std::pair{fakedrm::kConnector, fakedrm::kOtherConnector},
                                   std::pair{fakedrm::kWriteback, fakedrm::kConnector}}) {
    fakedrm::device().gone_connector = gone;
    const auto choice = reserve_output(*device, {});
    ASSERT_TRUE(choice) << gone << ": " << choice.error().message;
    EXPECT_EQ(choice->output.connector.id, left) << gone;
  }
  fakedrm::device().gone_connector = 0;
}

TEST_F(ReserveOutput, reads_its_own_output_again)
{
  const auto choice = reserve_output(*device, {});
  ASSERT_TRUE(choice);
  const auto again = read_output_again(*device, choice->reservation, {"Virtual-1", 0, {}});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->crtc.id, choice->output.crtc.id);
  EXPECT_EQ(ids(again->planes), ids(choice->output.planes));
  fakedrm::device().connected = false;
  EXPECT_EQ(read_output_again(*device, choice->reservation, {"Virtual-1", 0, {}}).error().sys_errno, ENODEV);
}

} // namespace

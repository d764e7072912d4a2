// SPDX-License-Identifier: LGPL-2.1-or-later
// Which plans a picture has and what their commits say, as values: there is no device here, not even a fake one.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gst/kms/engine/commit/kms_plan.hpp"
#include "kms_values.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

constexpr Format kXrgb{DRM_FORMAT_XRGB8888, kModLinear};
constexpr PlanObjects kObjects{900, 901, 902, 903};

Output an_output()
{
  Output output;
  output.connector = values::connector(20, "HDMI-A-1", DRM_MODE_CONNECTED);
  output.crtc = values::crtc(10, 0);
  output.crtc_planes = {values::plane(30, PlaneType::Primary), values::plane(31, PlaneType::Overlay),
                        values::plane(32, PlaneType::Cursor)};
  output.planes = {output.crtc_planes[0], output.crtc_planes[1]};
  return output;
}

Picture a_picture(std::uint32_t width, std::uint32_t height)
{
  Picture picture;
  picture.format = kXrgb;
  picture.width = width;
  picture.height = height;
  picture.rate = {60, 1};
  return picture;
}

struct FixRow {
  const char *name;
  std::uint32_t wanted;
  std::vector<std::uint32_t> offered;
  const char *says;
};

const FixRow kFixRows[] = {
    {"a film of 10 bits on a display with P010", DRM_FORMAT_NV15, {DRM_FORMAT_XRGB8888, DRM_FORMAT_NV12, DRM_FORMAT_P010}, "Convert to P010 "},
    {"a film of 10 bits on a display with XR30", DRM_FORMAT_P010, {DRM_FORMAT_XRGB8888, DRM_FORMAT_XRGB2101010}, "Convert to XR30 "},
    {"a film of 10 bits on a display of 8", DRM_FORMAT_P010, {DRM_FORMAT_XRGB8888, DRM_FORMAT_NV12}, "Convert to NV12 "},
    {"NV21 of a camera", DRM_FORMAT_NV21, {DRM_FORMAT_XRGB8888, DRM_FORMAT_NV12, DRM_FORMAT_P010}, "Convert to NV12 "},
    {"YUY2 of a webcam", DRM_FORMAT_YUYV, {DRM_FORMAT_XRGB8888, DRM_FORMAT_NV12}, "Convert to XR24 "},
    {"Y210 on a display with P010", DRM_FORMAT_Y210, {DRM_FORMAT_XRGB8888, DRM_FORMAT_NV12, DRM_FORMAT_P010}, "Convert to P010 "},
    {"Y410 on a display with XR30", DRM_FORMAT_Y410, {DRM_FORMAT_XRGB8888, DRM_FORMAT_XRGB2101010}, "Convert to XR30 "},
    {"Y410 on a display of 8 bits", DRM_FORMAT_Y410, {DRM_FORMAT_XRGB8888, DRM_FORMAT_NV12}, "Convert to XR24 "},
    {"AR30 on a display with XB30", DRM_FORMAT_ARGB2101010, {DRM_FORMAT_XRGB8888, DRM_FORMAT_XBGR2101010, DRM_FORMAT_P010}, "Convert to XB30 "},
    {"64 bits on a display with XR30", DRM_FORMAT_ABGR16161616, {DRM_FORMAT_XRGB8888, DRM_FORMAT_XRGB2101010, DRM_FORMAT_P010}, "Convert to XR30 "},
    {"64 bits on a display with P010", DRM_FORMAT_ARGB16161616, {DRM_FORMAT_XRGB8888, DRM_FORMAT_P010}, "Convert to P010 "},
    {"nothing that converters make", DRM_FORMAT_NV12, {DRM_FORMAT_C8}, "plane-id"},
};

TEST(NearestFix, keeps_what_it_can_of_the_picture)
{
  for (const FixRow &row : kFixRows) {
    FormatSet set;
    for (const std::uint32_t fourcc : row.offered)
      set.add({fourcc, kModLinear});
    const std::string fix = nearest_fix(set, {row.wanted, kModLinear});
    EXPECT_NE(fix.find(row.says), std::string::npos) << row.name << ": " << fix;
  }
}

// rockchip's primary plane has XR30 in AFBC alone, which videoconvert does not make.
TEST(NearestFix, names_no_tiles)
{
  FormatSet set;
  set.add({DRM_FORMAT_XRGB2101010, 0x0800000000000001});
  set.add({DRM_FORMAT_NV12, kModLinear});
  const std::string fix = nearest_fix(set, {DRM_FORMAT_P010, kModLinear});
  EXPECT_NE(fix.find("Convert to NV12 "), std::string::npos) << fix;
}

using Values = std::map<std::pair<std::uint32_t, std::string>, std::uint64_t>;
Values values_of(const Request &request)
{
  Values all;
  for (const Request::Assignment &set : request.assignments())
    EXPECT_TRUE(all.emplace(std::pair(set.object_id, set.name), set.value).second) << set.object_id << set.name;
  return all;
}

struct Shape {
  std::uint32_t plane_id;
  bool background, scaled;
  friend bool operator==(const Shape &, const Shape &) = default;
};
std::vector<Shape> shapes(const std::vector<Plan> &plans)
{
  std::vector<Shape> list;
  for (const Plan &plan : plans)
    list.push_back({plan.plane->id, plan.background != nullptr, plan.scaled});
  return list;
}

TEST(Plan, prefers_the_primary_plane_and_no_background)
{
  const Output output = an_output();
  const auto plans = candidate_plans(output, {}, a_picture(1024, 768), values::mode(1024, 768), nullptr);
  EXPECT_EQ(shapes(plans), (std::vector<Shape>{{30, false, false}, {31, false, false}, {31, true, false}}));
}

TEST(Plan, tries_scaled_before_unscaled)
{
  Output output = an_output();
  output.planes.pop_back();
  const auto plans = candidate_plans(output, {}, a_picture(640, 480), values::mode(1024, 768), nullptr);
  EXPECT_EQ(shapes(plans), (std::vector<Shape>{{30, false, true}, {30, false, false}}));
}

TEST(Plan, fills_the_mode_where_the_area_is_outside)
{
  View view;
  view.area = Rectangle{5000, 0, 10, 10};
  const Output output = an_output();
  const auto plans = candidate_plans(output, view, a_picture(1024, 768), values::mode(1024, 768), nullptr);
  ASSERT_FALSE(plans.empty());
  EXPECT_EQ(plans.front().rectangle.destination.width, 1024U);
  EXPECT_EQ(plans.front().rectangle.destination.height, 768U);
}

TEST(Plan, keeps_to_the_plane_in_use_but_does_not_scale_less_for_it)
{
  const Output output = an_output();
  const drmModeModeInfo mode = values::mode(1024, 768);
  const Plan shown = candidate_plans(output, {}, a_picture(1024, 768), mode, nullptr)[1];
  const auto plans = shapes(candidate_plans(output, {}, a_picture(640, 480), mode, &shown));
  ASSERT_GE(plans.size(), 2U);
  EXPECT_EQ(plans[0], (Shape{31, false, true}));
  EXPECT_EQ(plans[1], (Shape{30, false, true}));
}

TEST(Plan, prefers_a_plane_that_blends_straight_alpha)
{
  constexpr Format kArgb{DRM_FORMAT_ARGB8888, kModLinear};
  Output output = an_output();
  for (Plane &plane : output.planes)
    plane.formats = FormatSet::from_pairs({kArgb});
  Property blending;
  blending.enums = {{"Pre-multiplied", 0}, {"Coverage", 1}};
  output.planes[1].properties.emplace("pixel blend mode", blending);
  Picture picture = a_picture(1024, 768);
  picture.format = kArgb;
  for (const auto &[alpha, plane_id] : {std::pair(Alpha::Straight, 31U), std::pair(Alpha::Premultiplied, 30U)}) {
    picture.alpha = alpha;
    const auto plans = candidate_plans(output, {}, picture, values::mode(1024, 768), nullptr);
    EXPECT_EQ(plans.front().plane->id, plane_id);
  }
}

TEST(Plan, takes_every_zpos_of_the_range)
{
  Output output = an_output();
  Property zpos;
  zpos.range = {1, 7};
  output.planes[0].properties.emplace("zpos", zpos);
  View view;
  for (const int fit : {1, 7}) {
    view.zpos = fit;
    EXPECT_EQ(why_unfit(view, output.planes[0], kXrgb), "") << fit;
  }
  for (const int unfit : {0, 8}) {
    view.zpos = unfit;
    EXPECT_EQ(why_unfit(view, output.planes[0], kXrgb), "takes zpos 1 to 7") << unfit;
  }
}

// With the same zpos, the plane with the larger id is over the other (drm_blend.c).
TEST(Plan, stacks_planes_of_one_zpos_by_their_ids)
{
  const auto with_zpos = [](std::uint32_t id, std::uint64_t value, std::uint32_t flags) {
    Plane plane = values::plane(id, PlaneType::Overlay);
    Property zpos;
    zpos.flags = flags;
    zpos.value = value;
    zpos.range = {0, 7};
    plane.properties.emplace("zpos", zpos);
    return plane;
  };
  constexpr std::uint32_t kFixed = DRM_MODE_PROP_IMMUTABLE;
  const Plane low = with_zpos(30, 2, kFixed);
  EXPECT_EQ(zpos_over(with_zpos(31, 2, kFixed), low, -1), -1);
  EXPECT_EQ(zpos_over(low, with_zpos(31, 2, kFixed), -1), std::nullopt);
  EXPECT_EQ(zpos_over(with_zpos(31, 2, 0), low, -1), 2); // as it is
  EXPECT_EQ(zpos_over(with_zpos(29, 2, 0), low, -1), 3);
  EXPECT_EQ(zpos_over(with_zpos(29, 3, kFixed), low, -1), -1);
  EXPECT_EQ(zpos_over(with_zpos(31, 1, kFixed), low, -1), std::nullopt);
}

TEST(Plan, begins_with_what_is_on_screen)
{
  const Output output = an_output();
  const drmModeModeInfo mode = values::mode(1024, 768);
  const Plan shown = candidate_plans(output, {}, a_picture(1024, 768), mode, nullptr).back();
  Picture other = a_picture(1024, 768);
  other.format.fourcc = DRM_FORMAT_NV12;
  const auto plans = candidate_plans(output, {}, other, mode, &shown);
  EXPECT_EQ(shapes(plans).front(), (Shape{31, true, false}));
  EXPECT_FALSE(needs_mode_set(output, plans.front(), &shown));
}

TEST(Plan, leaves_out_planes_that_cannot)
{
  Output output = an_output();
  output.planes[0].formats = FormatSet::from_pairs({{DRM_FORMAT_NV12, kModLinear}});
  const auto plans = candidate_plans(output, {}, a_picture(1024, 768), values::mode(1024, 768), nullptr);
  EXPECT_TRUE(std::none_of(plans.begin(), plans.end(), [](const Plan &plan) { return plan.plane->id == 30; }));
  EXPECT_NE(why_unfit({}, output.planes[0], kXrgb).find("does not list"), std::string::npos);
  EXPECT_EQ(why_unfit({}, output.planes[1], kXrgb), "");
  View turned;
  turned.rotation = DRM_MODE_ROTATE_90;
  EXPECT_EQ(why_unfit(turned, output.planes[1], kXrgb), "cannot turn or reflect a picture");
  View raised;
  raised.zpos = 2;
  EXPECT_EQ(why_unfit(raised, output.planes[1], kXrgb), "has no zpos");
}

TEST(Plan, needs_a_mode_set_for_another_mode)
{
  const Output output = an_output();
  const Plan shown = candidate_plans(output, {}, a_picture(640, 480), values::mode(640, 480), nullptr).front();
  EXPECT_TRUE(needs_mode_set(output, shown, nullptr));
  EXPECT_FALSE(needs_mode_set(output, shown, &shown));
  Plan other = shown;
  other.mode = values::mode(1024, 768);
  EXPECT_TRUE(needs_mode_set(output, other, &shown));
  other = shown;
  other.plane = &output.planes[1];
  EXPECT_FALSE(needs_mode_set(output, other, &shown));
}

TEST(PlanCommit, of_a_mode_set_says_everything)
{
  const Output output = an_output();
  const Plan plan = candidate_plans(output, {}, a_picture(1024, 768), values::mode(1024, 768), nullptr).front();
  const Values set = values_of(plan_commit(output, plan, nullptr, kObjects, true));
  EXPECT_EQ(set.at({20, "CRTC_ID"}), 10U);
  EXPECT_EQ(set.at({10, "MODE_ID"}), kObjects.mode_blob);
  EXPECT_EQ(set.at({10, "ACTIVE"}), 1U);
  EXPECT_EQ(set.at({30, "FB_ID"}), kObjects.framebuffer);
  EXPECT_EQ(set.at({30, "CRTC_ID"}), 10U);
  EXPECT_EQ(set.at({30, "SRC_W"}), std::uint64_t{1024} << 16);
  EXPECT_EQ(set.at({30, "CRTC_H"}), 768U);
  for (const std::uint32_t unneeded : {31, 32}) {
    EXPECT_EQ(set.at({unneeded, "FB_ID"}), 0U);
    EXPECT_EQ(set.at({unneeded, "CRTC_ID"}), 0U);
  }
}

TEST(PlanCommit, of_a_mode_set_leaves_the_planes_of_another_crtc)
{
  Output output = an_output();
  output.crtc_planes[1] = values::plane(31, PlaneType::Overlay, 3, 11);
  output.planes.pop_back();
  const Plan plan = candidate_plans(output, {}, a_picture(1024, 768), values::mode(1024, 768), nullptr).front();
  EXPECT_FALSE(values_of(plan_commit(output, plan, nullptr, kObjects, true)).count({31, "FB_ID"}));
}

TEST(PlanCommit, without_a_mode_set_turns_off_only_what_was_shown)
{
  const Output output = an_output();
  const auto plans = candidate_plans(output, {}, a_picture(1024, 768), values::mode(1024, 768), nullptr);
  const Plan &primary = plans[0], &overlay = plans[1];
  const Values set = values_of(plan_commit(output, overlay, &primary, kObjects, false));
  EXPECT_FALSE(set.count({10, "MODE_ID"}));
  EXPECT_FALSE(set.count({20, "CRTC_ID"}));
  EXPECT_EQ(set.at({30, "FB_ID"}), 0U);
  EXPECT_EQ(set.at({31, "FB_ID"}), kObjects.framebuffer);
  EXPECT_FALSE(set.count({32, "FB_ID"})); // the application's, perhaps
}

TEST(PlanCommit, puts_black_under_an_overlay)
{
  const Output output = an_output();
  Picture small = a_picture(320, 240);
  View none;
  none.fit = Fit::None;
  const auto plans = candidate_plans(output, none, small, values::mode(1024, 768), nullptr);
  const auto with_background =
      std::find_if(plans.begin(), plans.end(), [](const Plan &plan) { return plan.background != nullptr; });
  ASSERT_NE(with_background, plans.end());
  const Values set = values_of(plan_commit(output, *with_background, nullptr, kObjects, true));
  EXPECT_EQ(set.at({30, "FB_ID"}), kObjects.background_framebuffer);
  EXPECT_EQ(set.at({30, "CRTC_W"}), 1024U);
  EXPECT_EQ(set.at({31, "FB_ID"}), kObjects.framebuffer);
  EXPECT_EQ(set.at({31, "CRTC_X"}), 352U); // (1024 - 320) / 2
}

TEST(PlanCommit, names_the_hdr_blob_where_it_changes)
{
  Output output = an_output();
  output.connector.properties = values::properties(20, {{"CRTC_ID", 0}, {"HDR_OUTPUT_METADATA", 0}});
  output.connector.colour.transfers = 1 << static_cast<unsigned>(TransferFunction::Pq);
  Picture picture = a_picture(1024, 768);
  picture.hdr = HdrMetadata{};
  const Plan plan = candidate_plans(output, {}, picture, values::mode(1024, 768), nullptr).front();
  ASSERT_TRUE(plan.hdr);
  EXPECT_EQ(values_of(plan_commit(output, plan, nullptr, kObjects, true)).at({20, "HDR_OUTPUT_METADATA"}),
            kObjects.hdr_blob);
  EXPECT_FALSE(values_of(plan_commit(output, plan, &plan, kObjects, false)).count({20, "HDR_OUTPUT_METADATA"}));
  Plan plain = plan;
  plain.hdr.reset();
  EXPECT_EQ(values_of(plan_commit(output, plain, &plan, kObjects, false)).at({20, "HDR_OUTPUT_METADATA"}), 0U);
}

struct HdrRow {
  const char *name;
  std::uint8_t transfers; // what the display says: bits of PQ and HLG
  bool bt2020, joined;
  bool told, left_out;
  std::uint64_t colorspace;
};

// What a display is told of a picture in PQ.
TEST(PlanCommit, tells_of_hdr_where_the_display_takes_it)
{
  const HdrRow rows[] = {
      {"HDR10", 4, true, false, true, false, 9},
      {"PQ without BT.2020", 4, false, false, true, false, 0},
      {"HLG alone", 8, true, false, false, true, 0},
      {"SDR", 1, false, false, false, true, 0},
      {"no EDID", 0, false, false, false, true, 0},
      {"another program's output", 4, true, true, false, false, 0},
  };
  for (const HdrRow &row : rows) {
    Output output = an_output();
    output.connector.properties =
        values::properties(20, {{"CRTC_ID", 0}, {"HDR_OUTPUT_METADATA", 0}, {"Colorspace", 0}});
    output.connector.properties.at("Colorspace").enums = {{"Default", 0}, {"BT2020_RGB", 9}};
    output.connector.colour = {row.transfers, row.bt2020};
    if (row.joined)
      output.joined = values::mode(1024, 768);
    Picture picture = a_picture(1024, 768);
    picture.hdr = HdrMetadata{};
    const Plan plan = candidate_plans(output, {}, picture, values::mode(1024, 768), nullptr).front();
    EXPECT_EQ(plan.hdr.has_value(), row.told) << row.name;
    EXPECT_EQ(plan.hdr_left_out, row.left_out) << row.name;
    if (row.joined)
      continue;
    const auto set = values_of(plan_commit(output, plan, nullptr, kObjects, true));
    EXPECT_EQ(set.at({20, "HDR_OUTPUT_METADATA"}), row.told ? kObjects.hdr_blob : 0U) << row.name;
    EXPECT_EQ(set.at({20, "Colorspace"}), row.colorspace) << row.name;
  }
}

// A flip of a deeper picture is no reason to set what the application has set.
TEST(PlanCommit, leaves_the_bits_that_the_application_wants)
{
  Output output = an_output();
  output.connector.properties = values::properties(20, {{"CRTC_ID", 0}, {"max bpc", 8}});
  output.connector.properties.at("max bpc").range = {8, 16};
  const drmModeModeInfo mode = values::mode(1024, 768);
  const Plan plan = candidate_plans(output, {}, a_picture(1024, 768), mode, nullptr).front();
  Plan deep = plan;
  deep.bits = 10;
  EXPECT_EQ(values_of(plan_commit(output, deep, &plan, kObjects, false)).at({20, "max bpc"}), 10U);
  output.connector.settings = {{output.connector.properties.at("max bpc").id, "max bpc", 8}};
  EXPECT_FALSE(values_of(plan_commit(output, deep, &plan, kObjects, false)).count({20, "max bpc"}));
  EXPECT_EQ(values_of(plan_commit(output, deep, &plan, kObjects, true)).at({20, "max bpc"}), 8U);
}

TEST(PlanCommit, leaves_no_fewer_bits_than_it_found)
{
  Output output = an_output();
  output.connector.properties = values::properties(20, {{"CRTC_ID", 0}, {"max bpc", 12}});
  output.connector.properties.at("max bpc").range = {8, 16};
  const Plan plan = candidate_plans(output, {}, a_picture(1024, 768), values::mode(1024, 768), nullptr).front();
  EXPECT_EQ(values_of(plan_commit(output, plan, nullptr, kObjects, true)).at({20, "max bpc"}), 12U);
}

TEST(PlanCommit, knows_the_properties_of_a_flip)
{
  Output output = an_output();
  const Plan plan = candidate_plans(output, {}, a_picture(1024, 768), values::mode(1024, 768), nullptr).front();
  const FlipProperties ids = flip_properties(output, plan);
  EXPECT_EQ(ids.framebuffer, property_id(plan.plane->properties, "FB_ID"));
  EXPECT_NE(ids.in_fence, 0U);
  EXPECT_NE(ids.out_fence, 0U);
  EXPECT_EQ(ids.writeback_framebuffer, 0U); // there is no such connector
  output.writeback = values::writeback(21);
  EXPECT_NE(flip_properties(output, plan).writeback_fence, 0U);
}

TEST(ModesFor, says_which_formats_there_are)
{
  const Output output = an_output();
  Picture picture = a_picture(640, 480);
  const auto modes = modes_for(output, picture, false, "card");
  ASSERT_TRUE(modes);
  EXPECT_EQ(modes->front().mode.hdisplay, 640U);
  picture.format.fourcc = DRM_FORMAT_YUYV;
  const auto refused = modes_for(output, picture, false, "card");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  EXPECT_NE(refused.error().message.find("Planes 30, 31 show"), std::string::npos) << refused.error().message;
}

TEST(ModesFor, takes_a_larger_picture_where_planes_scale)
{
  const Output output = an_output();
  const Picture picture = a_picture(4096, 2160);
  EXPECT_EQ(modes_for(output, picture, false, "card").error().code, ErrorCode::Caps);
  const auto modes = modes_for(output, picture, true, "card");
  ASSERT_TRUE(modes);
  EXPECT_EQ(modes->front().mode.hdisplay, 1024U);
}

} // namespace

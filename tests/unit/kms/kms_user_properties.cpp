// SPDX-License-Identifier: LGPL-2.1-or-later
// Properties that the application wants: what is refused before any commit, and why.
#include "gst/kms/engine/output/kms_user_properties.hpp"

#include <string>
#include <vector>

#include <drm_mode.h>
#include <gtest/gtest.h>

namespace {

using namespace gstdrm::kms;

using Value = decltype(UserProperty::value);

PropertySet a_plane()
{
  PropertySet set;
  std::uint32_t id = 0;
  const auto add = [&](const char *name, std::uint32_t flags) -> Property & {
    Property &property = set[name];
    property.id = ++id;
    property.flags = flags;
    return property;
  };
  add("alpha", DRM_MODE_PROP_RANGE).range = {0, 0xffff};
  add("max bpc", DRM_MODE_PROP_RANGE).range = {8, 12};
  add("hue", DRM_MODE_PROP_SIGNED_RANGE).range = {static_cast<std::uint64_t>(std::int64_t{-10}),
                                                  10};
  add("pixel blend mode", DRM_MODE_PROP_ENUM).enums = {
      {"None", 2}, {"Pre-multiplied", 0}, {"Coverage", 1}};
  add("SCALING_FILTERS", DRM_MODE_PROP_BITMASK).enums = {{"near", 0}, {"far", 3}};
  add("rotation", DRM_MODE_PROP_BITMASK).enums = {{"rotate-0", 0}};
  add("GAMMA_LUT", DRM_MODE_PROP_BLOB);
  add("OTHER", DRM_MODE_PROP_OBJECT);
  add("type", DRM_MODE_PROP_ENUM | DRM_MODE_PROP_IMMUTABLE).enums = {{"Overlay", 0}};
  add("FB_ID", DRM_MODE_PROP_OBJECT);
  return set;
}

struct TakenRow {
  const char *name;
  Value value;
  const char *property;
  std::uint64_t expected;
};

const TakenRow kTaken[] = {
    {"alpha", std::int64_t{0}, "alpha", 0},
    {"alpha", std::uint64_t{0xffff}, "alpha", 0xffff},
    {"max bpc", std::int64_t{12}, "max bpc", 12},
    {"max-bpc", std::int64_t{8}, "max bpc", 8},
    {"max_bpc", std::uint64_t{8}, "max bpc", 8},
    {"hue", std::int64_t{-10}, "hue", ~std::uint64_t{9}},
    {"hue", std::uint64_t{10}, "hue", 10},
    {"pixel-blend-mode", std::string("Coverage"), "pixel blend mode", 1},
    {"pixel blend mode", std::int64_t{2}, "pixel blend mode", 2},
    {"pixel blend mode", std::uint64_t{0}, "pixel blend mode", 0},
    {"SCALING_FILTERS", std::string("far"), "SCALING_FILTERS", 8},
    {"SCALING_FILTERS", std::string("near+far"), "SCALING_FILTERS", 9},
};

TEST(UserProperties, are_taken)
{
  const PropertySet plane = a_plane();
  for (const TakenRow &row : kTaken) {
    const auto settings =
        check_user_properties({{row.name, row.value}}, PropertyTarget::Plane, plane, "plane 31");
    ASSERT_TRUE(settings && settings->size() == 1) << row.name << ": " << settings.error().message;
    EXPECT_EQ(settings->front().name, row.property);
    EXPECT_EQ(settings->front().id, plane.at(row.property).id);
    EXPECT_EQ(settings->front().value, row.expected) << row.name;
  }
  EXPECT_TRUE(check_user_properties({}, PropertyTarget::Plane, {}, "plane 31")->empty());
}

struct RefusedRow {
  const char *name;
  Value value;
  PropertyTarget target;
  std::vector<const char *> words;
};

const RefusedRow kRefused[] = {
    {"colour",
     std::int64_t{0},
     PropertyTarget::Plane,
     {"plane 31 has no property colour", "alpha, hue, max bpc"}},
    {"", std::int64_t{0}, PropertyTarget::Plane, {"no property"}},
    {"max bpc", std::int64_t{7}, PropertyTarget::Plane, {"max bpc of plane 31 cannot be 7", "8 to 12"}},
    {"max bpc", std::int64_t{13}, PropertyTarget::Plane, {"cannot be 13"}},
    {"max bpc", std::int64_t{-1}, PropertyTarget::Plane, {"cannot be -1"}},
    {"max bpc", std::uint64_t{~0ULL}, PropertyTarget::Plane, {"cannot be 18446744073709551615"}},
    {"max bpc", std::string("8"), PropertyTarget::Plane, {"cannot be 8"}},
    {"hue", std::int64_t{-11}, PropertyTarget::Plane, {"cannot be -11", "-10 to 10"}},
    {"hue", std::uint64_t{11}, PropertyTarget::Plane, {"cannot be 11"}},
    {"hue", std::uint64_t{~9ULL}, PropertyTarget::Plane, {"cannot be 18446744073709551606"}},
    {"pixel blend mode",
     std::string("Add"),
     PropertyTarget::Plane,
     {"cannot be Add", "None, Pre-multiplied, Coverage"}},
    {"pixel blend mode", std::string(""), PropertyTarget::Plane, {"cannot be "}},
    {"pixel blend mode", std::int64_t{3}, PropertyTarget::Plane, {"cannot be 3"}},
    {"pixel blend mode", std::int64_t{-1}, PropertyTarget::Plane, {"cannot be -1"}},
    {"SCALING_FILTERS", std::string("near+"), PropertyTarget::Plane, {"cannot be near+"}},
    {"SCALING_FILTERS", std::string("wide"), PropertyTarget::Plane, {"near, far"}},
    {"SCALING_FILTERS", std::int64_t{1}, PropertyTarget::Plane, {"cannot be 1"}},
    {"GAMMA_LUT", std::int64_t{1}, PropertyTarget::Plane, {"a blob"}},
    {"OTHER", std::int64_t{1}, PropertyTarget::Plane, {"an object"}},
    {"type", std::string("Overlay"), PropertyTarget::Plane, {"read only"}},
    {"FB_ID", std::int64_t{1}, PropertyTarget::Plane, {"FB_ID is set by the sink itself"}},
    {"rotation", std::string("rotate-0"), PropertyTarget::Plane, {"plane-properties", "use rotation"}},
    {"zpos", std::int64_t{1}, PropertyTarget::Plane, {"use zpos"}}, // also where the plane has none
    {"CRTC_ID",
     std::int64_t{1},
     PropertyTarget::Connector,
     {"connector-properties", "choose the connector"}},
    {"Colorspace", std::string("Default"), PropertyTarget::Connector, {"colorimetry"}},
    {"link-status", std::int64_t{0}, PropertyTarget::Connector, {"set by the sink"}},
};

TEST(UserProperties, are_refused)
{
  const PropertySet plane = a_plane();
  for (const RefusedRow &row : kRefused) {
    const auto settings = check_user_properties({{"alpha", std::int64_t{1}}, {row.name, row.value}},
                                       row.target, plane, "plane 31");
    ASSERT_FALSE(settings) << row.name;
    for (const char *word : row.words)
      EXPECT_NE(settings.error().message.find(word), std::string::npos) << settings.error().message;
  }
}

} // namespace

// SPDX-License-Identifier: LGPL-2.1-or-later
// Overlays as values: which plane they go to, where, and what the drawn pixels are.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gst/kms/engine/commit/kms_overlay.hpp"
#include "gst/kms/engine/commit/kms_plan.hpp"
#include "kms_values.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

struct MapRow {
  const char *name;
  Rectangle place, from, to, expected;
};

const MapRow kMapRows[] = {
    {"as_it_lies", {10, 20, 30, 40}, {0, 0, 640, 480}, {0, 0, 640, 480}, {10, 20, 30, 40}},
    {"moved", {10, 20, 30, 40}, {0, 0, 640, 480}, {100, 50, 640, 480}, {110, 70, 30, 40}},
    {"cropped", {100, 20, 30, 40}, {80, 10, 480, 460}, {0, 0, 480, 460}, {20, 10, 30, 40}},
    {"enlarged", {10, 20, 30, 40}, {0, 0, 320, 240}, {0, 0, 640, 480}, {20, 40, 60, 80}},
    {"shrunk_to_the_next_edge", {1, 1, 3, 3}, {0, 0, 640, 480}, {0, 0, 320, 240}, {1, 1, 1, 1}},
    {"a_third", {10, 10, 10, 10}, {0, 0, 90, 90}, {0, 0, 30, 30}, {3, 3, 4, 4}},
    {"before_the_picture", {-10, -3, 5, 2}, {0, 0, 100, 100}, {50, 50, 50, 50}, {45, 49, 3, 1}},
    {"far_away", {-2147483647, 0, 4294967295U, 1}, {0, 0, 1, 1}, {0, 0, 8192, 1}, {-(1 << 28), 0, 1U << 29, 1}},
    {"of_nothing", {0, 0, 10, 10}, {0, 0, 0, 0}, {0, 0, 10, 10}, {}},
};

class MapPlace : public testing::TestWithParam<MapRow> {};
TEST_P(MapPlace, rounds_each_edge)
{
  const MapRow &row = GetParam();
  EXPECT_EQ(describe_rectangle(map_place(row.place, row.from, row.to)), describe_rectangle(row.expected));
}
INSTANTIATE_TEST_SUITE_P(Rows, MapPlace, testing::ValuesIn(kMapRows),
                         [](const auto &info) { return std::string(info.param.name); });

// However a picture is scaled, rectangles that touch in it touch on screen.
TEST(MapPlaces, neighbours_stay_neighbours)
{
  const Rectangle from{3, 5, 641, 479};
  for (std::uint32_t width = 100; width < 1500; width += 7) {
    const Rectangle to{11, 13, width, width};
    const Rectangle a = map_place({20, 0, 33, 10}, from, to), b = map_place({53, 0, 21, 10}, from, to);
    ASSERT_EQ(a.x + static_cast<std::int32_t>(a.width), b.x) << width;
  }
}

// A canvas of 8x4 pixels at 100,50 of the screen.
struct Sheet {
  std::array<std::uint32_t, 32> pixels{};
  Canvas canvas{reinterpret_cast<std::uint8_t *>(pixels.data()), 32, 100, 50};
  std::uint32_t at(int x, int y) { return pixels[static_cast<std::size_t>(y * 8 + x)]; }
  long long drawn() { return std::count_if(pixels.begin(), pixels.end(), [](auto pixel) { return pixel != 0; }); }
};

OverlayImage image_of(const std::vector<std::uint32_t> &pixels, std::uint32_t width)
{
  OverlayImage image;
  image.pixels = reinterpret_cast<const std::uint8_t *>(pixels.data());
  image.width = width;
  image.height = static_cast<std::uint32_t>(pixels.size()) / width;
  image.stride_bytes = width * 4;
  return image;
}

TEST(DrawImage, draws_the_visible_part_alone)
{
  Sheet sheet;
  const std::vector<std::uint32_t> pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  draw_image(sheet.canvas, image_of(pixels, 3), {99, 50, 3, 3}, {100, 51, 2, 1}, Over::Nothing);
  EXPECT_EQ(sheet.at(0, 1), 5U);
  EXPECT_EQ(sheet.at(1, 1), 6U);
  EXPECT_EQ(sheet.drawn(), 2);
  clear_area({sheet.canvas.pixels, 32, 0, 0}, {0, 1, 1, 1});
  EXPECT_EQ(sheet.drawn(), 1);
}

TEST(DrawImage, blends_over_another)
{
  Sheet sheet;
  const std::vector<std::uint32_t> below = {0xff00ff00, 0x80008000, 0, 0xffffffff};
  const std::vector<std::uint32_t> above = {0x80800000, 0x80800000, 0x80800000, 0x80ff0000}; // the last is no colour
  draw_image(sheet.canvas, image_of(below, 4), {100, 50, 4, 1}, {100, 50, 4, 1}, Over::Nothing);
  draw_image(sheet.canvas, image_of(above, 4), {100, 50, 4, 1}, {100, 50, 4, 1}, Over::Image);
  EXPECT_EQ(sheet.at(0, 0), 0xff807f00U);
  EXPECT_EQ(sheet.at(1, 0), 0xc0804000U);
  EXPECT_EQ(sheet.at(2, 0), 0x80800000U);
  EXPECT_EQ(sheet.at(3, 0), 0xffff7f7fU); // does not wrap
}

TEST(DrawImage, scales_between_the_middles)
{
  Sheet sheet;
  const std::vector<std::uint32_t> pixels = {0xff000000, 0xff0000ff};
  draw_image(sheet.canvas, image_of(pixels, 2), {100, 50, 8, 2}, {100, 50, 8, 2}, Over::Nothing);
  for (int y = 0; y < 2; y++) {
    EXPECT_EQ(sheet.at(0, y), 0xff000000U);
    EXPECT_EQ(sheet.at(7, y), 0xff0000ffU);
    for (int x = 1; x < 8; x++)
      EXPECT_GE(sheet.at(x, y), sheet.at(x - 1, y));
    EXPECT_NEAR(sheet.at(3, y) & 255, 96, 2); // 3/8 of the way
  }
  EXPECT_EQ(sheet.drawn(), 16);
}

// The result of a part is that part of the whole result.
TEST(DrawImage, scales_a_part_as_the_whole)
{
  std::vector<std::uint32_t> pixels(5 * 3);
  for (std::size_t i = 0; i < pixels.size(); i++)
    pixels[i] = 0xff000000U | static_cast<std::uint32_t>(i * 0x0f1511);
  Sheet whole, part;
  draw_image(whole.canvas, image_of(pixels, 5), {100, 50, 8, 4}, {100, 50, 8, 4}, Over::Nothing);
  draw_image(part.canvas, image_of(pixels, 5), {100, 50, 8, 4}, {103, 51, 4, 2}, Over::Nothing);
  for (int y = 1; y < 3; y++)
    for (int x = 3; x < 7; x++)
      EXPECT_EQ(part.at(x, y), whole.at(x, y));
  EXPECT_EQ(part.drawn(), 8);
}

Plane an_overlay(std::uint32_t id, std::uint64_t crtc_id = 0)
{
  Plane plane = values::plane(id, PlaneType::Overlay, 1, crtc_id);
  plane.formats = FormatSet::from_pairs({{DRM_FORMAT_ARGB8888, kModLinear}, {DRM_FORMAT_XRGB8888, kModLinear}});
  return plane;
}

Property a_zpos(const Plane &plane, std::uint64_t value, bool is_mutable)
{
  Property property;
  property.id = plane.id * 1000 + 99;
  property.value = value;
  property.flags = is_mutable ? 0U : unsigned{DRM_MODE_PROP_IMMUTABLE};
  property.range = {0, 7};
  return property;
}

struct SlotRow {
  const char *name;
  void (*change)(Output &output, Plan &plan);
  std::vector<std::pair<std::uint32_t, int>> expected; // planes with their zpos
};

void set_zpos(Output &output, std::size_t plane, std::uint64_t value, bool is_mutable)
{
  Plane &changed = output.crtc_planes[plane];
  changed.properties["zpos"] = a_zpos(changed, value, is_mutable);
}

// planes: 30 primary, which shows the picture, 31 and 33 overlays, 32 cursor
const SlotRow kSlotRows[] = {
    {"overlays_over_the_primary", [](Output &, Plan &) {}, {{31, -1}, {33, -1}}},
    {"not_the_plane_of_the_picture", [](Output &o, Plan &p) { p.plane = &o.crtc_planes[1]; }, {{33, -1}}},
    {"not_under_the_picture", [](Output &o, Plan &p) { p.plane = &o.crtc_planes[3]; }, {}},
    {"not_the_background", [](Output &o, Plan &p) { p.background = &o.crtc_planes[1]; }, {{33, -1}}},
    {"not_what_another_crtc_uses",
     [](Output &o, Plan &) { o.crtc_planes[1] = an_overlay(31, 11); }, {{33, -1}}},
    {"what_this_crtc_shows_at_present",
     [](Output &o, Plan &) { o.crtc_planes[1] = an_overlay(31, 10); }, {{31, -1}, {33, -1}}},
    {"not_without_alpha",
     [](Output &o, Plan &) { o.crtc_planes[1].formats = FormatSet::from_pairs({{DRM_FORMAT_XRGB8888, kModLinear}}); },
     {{33, -1}}},
    {"implicit_modifiers",
     [](Output &o, Plan &) { o.crtc_planes[3].formats = FormatSet::from_pairs({{DRM_FORMAT_ARGB8888, kModImplicit}}); },
     {{31, -1}, {33, -1}}},
    {"none_where_a_plane_was_named", [](Output &o, Plan &) { o.plane_named = true; }, {}},
    {"none_over_a_turned_picture", [](Output &, Plan &p) { p.rectangle.rotation = DRM_MODE_ROTATE_180; }, {}},
    {"fixed_zpos",
     [](Output &o, Plan &) { set_zpos(o, 0, 1, false), set_zpos(o, 1, 0, false), set_zpos(o, 3, 2, false); },
     {{33, -1}}},
    {"the_same_fixed_zpos", [](Output &o, Plan &) { set_zpos(o, 0, 1, false), set_zpos(o, 1, 1, false); },
     {{31, -1}, {33, -1}}},
    {"raised_over_the_picture",
     [](Output &o, Plan &p) { p.rectangle.zpos = 4; set_zpos(o, 0, 0, true), set_zpos(o, 1, 1, true), set_zpos(o, 3, 6, true); },
     {{31, 5}, {33, 6}}},
    {"no_room_over_the_picture",
     [](Output &o, Plan &p) { p.rectangle.zpos = 7; set_zpos(o, 0, 0, true), set_zpos(o, 1, 1, true); },
     {{33, -1}}},
};

class Slots : public testing::TestWithParam<SlotRow> {};
TEST_P(Slots, are_free_planes_over_the_picture)
{
  Output output;
  output.crtc = values::crtc(10, 0);
  output.crtc_planes = {values::plane(30, PlaneType::Primary), an_overlay(31), values::plane(32, PlaneType::Cursor),
                        an_overlay(33)};
  Plan plan;
  plan.plane = output.crtc_planes.data();
  plan.mode = values::mode(1024, 768);
  GetParam().change(output, plan);
  std::vector<std::pair<std::uint32_t, int>> got;
  for (const OverlaySlot &slot : overlay_slots(output, plan))
    got.emplace_back(slot.plane->id, slot.zpos);
  EXPECT_EQ(got, GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(Rows, Slots, testing::ValuesIn(kSlotRows),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace

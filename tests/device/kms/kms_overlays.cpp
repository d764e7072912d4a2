// SPDX-License-Identifier: LGPL-2.1-or-later
// GstVideoOverlayComposition beside the frames, by the display's pixels: on a plane over the picture
// where there is one, without a copy and in the frames' own commits; else on a copy, counted.
#include "kms_overlays.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gst/video/videooverlay.h>

#include "configfs_support.hpp"
#include "kms_image.hpp"
#include "kms_ioctls.hpp"

using namespace gstdrm::test;

namespace {

constexpr int kWidth = 640, kHeight = 480;
// rounding: once here, once in the display
constexpr int kTolerance = 2;

guint32 premultiplied(guint32 colour)
{
  const guint32 alpha = colour >> 24;
  const auto part = [&](int shift) { return ((colour >> shift & 255) * alpha + 127) / 255 << shift; };
  return alpha << 24 | part(16) | part(8) | part(0);
}

GstVideoOverlayRectangle *make_rectangle(const Box &box)
{
  const int width = box.pixels_width ? box.pixels_width : box.width;
  const int height = box.pixels_height ? box.pixels_height : box.height;
  const std::vector<guint32> pixels(static_cast<std::size_t>(width) * static_cast<std::size_t>(height),
                                    box.premultiplied ? premultiplied(box.colour) : box.colour);
  const auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new_memdup(pixels.data(), pixels.size() * 4));
  gst_buffer_add_video_meta(buffer.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB,
                            static_cast<guint>(width), static_cast<guint>(height));
  GstVideoOverlayRectangle *rectangle = gst_video_overlay_rectangle_new_raw(
      buffer.get(), box.x, box.y, static_cast<guint>(box.width), static_cast<guint>(box.height),
      box.premultiplied ? GST_VIDEO_OVERLAY_FORMAT_FLAG_PREMULTIPLIED_ALPHA : GST_VIDEO_OVERLAY_FORMAT_FLAG_NONE);
  if (box.alpha < 1)
    gst_video_overlay_rectangle_set_global_alpha(rectangle, box.alpha);
  return rectangle;
}

} // namespace

Composition gstdrm::test::compose(const std::vector<Box> &boxes)
{
  Composition composition;
  for (const Box &box : boxes) {
    GstVideoOverlayRectangle *rectangle = make_rectangle(box);
    if (composition)
      gst_video_overlay_composition_add_rectangle(composition.get(), rectangle);
    else
      composition.reset(gst_video_overlay_composition_new(rectangle));
    gst_video_overlay_rectangle_unref(rectangle);
  }
  return composition;
}

namespace {

// The screen with boxes over it, which are cut off at the picture's edges. `scale` and the offset
// place the picture.
Image with_boxes(Image screen, const std::vector<Box> &boxes, const GstVideoRectangle &picture, double scale = 1)
{
  for (const Box &box : boxes) {
    const double alpha = (box.colour >> 24) * static_cast<double>(box.alpha) / 255;
    for (int y = 0; y < static_cast<int>(box.height * scale); y++)
      for (int x = 0; x < static_cast<int>(box.width * scale); x++) {
        const int left = picture.x + static_cast<int>(box.x * scale) + x;
        const int top = picture.y + static_cast<int>(box.y * scale) + y;
        if (left < std::max(picture.x, 0) || left >= std::min(picture.x + picture.w, screen.width) ||
            top < std::max(picture.y, 0) || top >= std::min(picture.y + picture.h, screen.height))
          continue;
        guint32 mixed = 0;
        for (const int shift : {16, 8, 0}) {
          const double below = screen.at(left, top) >> shift & 255, above = box.colour >> shift & 255;
          mixed |= static_cast<guint32>(above * alpha + below * (1 - alpha) + 0.5) << shift;
        }
        screen.at(left, top) = mixed;
      }
  }
  return screen;
}

void compare_near(const char *row, const Image &got, const Image &expected, int tolerance = kTolerance)
{
  ck_assert_int_eq(got.width, expected.width);
  ck_assert_int_eq(got.height, expected.height);
  for (int y = 0; y < got.height; y++)
    for (int x = 0; x < got.width; x++)
      for (const int shift : {16, 8, 0}) {
        const int a = got.at(x, y) >> shift & 255, b = expected.at(x, y) >> shift & 255;
        if (std::abs(a - b) > tolerance)
          ck_abort_msg("%s at %d,%d: %06x, not %06x", row, x, y, got.at(x, y), expected.at(x, y));
      }
}

struct Composed : Show {
  explicit Composed(const char *properties = "", int width = kWidth, int height = kHeight)
      : Show(properties, width, height)
  {
  }
  void push(GstVideoOverlayComposition *composition)
  {
    GstBuffer *buffer = to_dmabuf(info, noise.get(), Shape::Tight).release();
    if (composition)
      gst_buffer_add_video_overlay_composition_meta(buffer, composition);
    ck_assert_int_eq(sink.push(buffer), GST_FLOW_OK);
  }
  void begin()
  {
    ck_assert(sink.set_caps(dma_drm_caps("XR24", GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info))));
  }
  // What an upstream element hears.
  bool is_announced()
  {
    const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.element(), "sink"));
    const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(pad.get()));
    const auto query = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps.get(), FALSE));
    ck_assert(gst_pad_query(pad.get(), query.get()));
    const bool by_query = gst_query_find_allocation_meta(query.get(), GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, nullptr);
    auto featured = GstPtr<GstCaps>::adopt(gst_caps_copy(caps.get()));
    gst_caps_features_add(gst_caps_get_features(featured.get(), 0), GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION);
    const auto offered = GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), featured.get()));
    const bool by_caps = !gst_caps_is_empty(offered.get());
    ck_assert_int_eq(by_query, by_caps);
    return by_query;
  }
  std::string warning()
  {
    return sink.next_message(static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING));
  }
};

struct Row {
  const char *name;
  const char *properties;
  int width, height;         // of the picture
  GstVideoRectangle picture; // where it is on the screen of 640x480
  std::vector<Box> boxes;
};

const GstVideoRectangle kWhole{0, 0, kWidth, kHeight};
const Row kRows[] = {
    {"opaque", "", kWidth, kHeight, kWhole, {{100, 50, 30, 20, 0xffff8040}}},
    {"half transparent", "", kWidth, kHeight, kWhole, {{101, 51, 33, 21, 0x80ff8040}}},
    {"premultiplied", "", kWidth, kHeight, kWhole, {{100, 50, 30, 20, 0x80ff8040, 0, 0, true}}},
    {"transparent as a whole", "", kWidth, kHeight, kWhole, {{100, 50, 30, 20, 0xff2080ff, 0, 0, false, 0.5F}}},
    {"several, one over another", "", kWidth, kHeight, kWhole,
     {{10, 10, 100, 100, 0xff102030}, {60, 60, 100, 100, 0x80f0e0d0}, {600, 400, 8, 8, 0xffffffff},
      {70, 70, 10, 10, 0x40ff0000}}},
    {"one pixel", "", kWidth, kHeight, kWhole, {{301, 203, 1, 1, 0xffffffff}}},
    {"in the last corner", "", kWidth, kHeight, kWhole, {{kWidth - 1, kHeight - 1, 1, 1, 0xffffffff}}},
    {"over every edge", "", kWidth, kHeight, kWhole,
     {{-5, -9, 20, 20, 0xff00ff00}, {kWidth - 4, kHeight - 11, 20, 20, 0x8000ff00}}},
    {"outside", "", kWidth, kHeight, kWhole, {{kWidth + 10, 0, 20, 20, 0xff00ff00}, {0, -20, 20, 20, 0xff00ff00}}},
    {"all of it", "", kWidth, kHeight, kWhole, {{0, 0, kWidth, kHeight, 0x40ffffff}}},
    {"fewer pixels than it covers", "", kWidth, kHeight, kWhole, {{100, 50, 60, 40, 0x80ff8040, 3, 2}}},
    {"more pixels than it covers", "", kWidth, kHeight, kWhole, {{100, 50, 6, 4, 0xffff8040, 60, 40}}},
    {"a small picture in the middle", "mode=640x480 fit=none", 320, 240, {160, 120, 320, 240},
     {{10, 10, 20, 20, 0xffff0000}, {310, 230, 20, 20, 0xff0000ff}}},
    {"a large picture, cropped", "mode=640x480 fit=none", 800, 600, {-80, -60, 800, 600},
     {{70, 50, 20, 20, 0xffff0000}, {400, 300, 40, 40, 0x800000ff}}},
    {"cover", "mode=640x480 fit=cover", 800, 480, {-80, 0, 800, 480}, {{80, 0, 20, 20, 0xffff0000}}},
    {"render rectangle", "mode=640x480 fit=none render-rectangle=<100,50,320,240>", 320, 240, {100, 50, 320, 240},
     {{0, 0, 20, 20, 0x80ff0000}, {300, 220, 40, 40, 0xff0000ff}}},
};

} // namespace

GST_START_TEST(test_overlay_pixels)
{
  const Row &row = kRows[__i__];
  g_print("# %s\n", row.name);
  Composed show(row.properties, row.width, row.height);
  show.begin();
  const Composition composition = compose(row.boxes);
  const Image picture = row.picture.x >= 0 && row.picture.y >= 0
                            ? on_black(kWidth, kHeight, show.picture, row.picture.x, row.picture.y)
                            : cut(show.picture, -row.picture.x, -row.picture.y, kWidth, kHeight);
  const Image expected = with_boxes(picture, row.boxes, row.picture);
  show.push(composition.get()); // with the mode set
  compare_near(row.name, show.screen(row.name), expected);
  show.push(composition.get()); // with a flip
  compare_near(row.name, show.screen(row.name), expected);
  ck_assert_uint_eq(show.sink.stat("copies"), 0);
  ck_assert_uint_eq(show.sink.stat("overlays"), std::string(row.name) == "outside" ? 0 : 2);
  ck_assert_uint_eq(show.sink.stat("overlays-left-out"), 0);
  ck_assert(show.is_announced());
  const std::string warning = show.warning();
  ck_assert_msg(warning.empty(), "%s", warning.c_str());
}
GST_END_TEST

// Appears, moves, grows, changes in place and vanishes between frames, over a change of caps, of the
// view and of the mode, and after a restart.
GST_START_TEST(test_overlay_changes)
{
  Composed show("mode=640x480 fit=none");
  show.begin();
  const auto step = [&](const char *name, const std::vector<Box> &boxes, const GstVideoRectangle &place = kWhole) {
    const Composition composition = boxes.empty() ? Composition() : compose(boxes);
    show.push(composition.get());
    compare_near(name, show.screen(name),
                 with_boxes(on_black(kWidth, kHeight, show.picture, place.x, place.y), boxes, place));
  };
  step("nothing", {});
  for (int i = 0; i < 12; i++) // more often than there are buffers
    step("moves and grows", {{10 + 30 * i, 20 + 7 * i, 20 + 11 * i, 10 + 9 * i, 0x80ff0000U + static_cast<guint>(i)}});
  step("vanishes", {});
  step("is back", {{10, 20, 20, 10, 0xffffffff}});
  ck_assert(show.sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight, ", pixel-aspect-ratio=1/1")));
  step("after caps", {{10, 20, 20, 10, 0xff00ffff}});
  gst_video_overlay_set_render_rectangle(GST_VIDEO_OVERLAY(show.sink.element()), 100, 40, kWidth - 200, kHeight - 80);
  const Composition composition = compose({{110, 50, 20, 10, 0xff00ffff}});
  show.push(composition.get());
  compare_near("in a render rectangle", show.screen("in a render rectangle"),
               with_boxes(on_black(kWidth, kHeight, cut(show.picture, 100, 40, kWidth - 200, kHeight - 80), 100, 40),
                          {{110, 50, 20, 10, 0xff00ffff}}, kWhole));
  gst_video_overlay_set_render_rectangle(GST_VIDEO_OVERLAY(show.sink.element()), 0, 0, -1, -1);
  ck_assert(show.sink.set_state(GST_STATE_NULL));
  show.begin();
  step("after a restart", {{11, 21, 20, 10, 0xff00ff00}});
  ck_assert_uint_eq(show.sink.stat("copies"), 0);
  ck_assert(show.warning().empty());
}
GST_END_TEST

// The last frame again: its overlay goes where the picture goes.
GST_START_TEST(test_overlay_expose)
{
  Composed show("mode=640x480 fit=none", 320, 240);
  show.begin();
  const std::vector<Box> boxes = {{10, 10, 30, 30, 0xffff0000}};
  const Composition composition = compose(boxes);
  show.push(composition.get());
  auto *overlay = GST_VIDEO_OVERLAY(show.sink.element());
  gst_video_overlay_set_render_rectangle(overlay, 5, 6, 320, 240);
  gst_video_overlay_expose(overlay);
  compare_near("exposed", show.screen("exposed"),
               with_boxes(on_black(kWidth, kHeight, show.picture, 5, 6), boxes, {5, 6, 320, 240}));
  // the copy that a DRAIN query leaves on screen
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(show.sink.element(), "sink"));
  const auto query = GstPtr<GstQuery>::adopt(gst_query_new_drain());
  ck_assert(gst_pad_query(pad.get(), query.get()));
  ck_assert_uint_eq(show.sink.stat("copies"), 1);
  compare_near("drained", show.screen("drained"),
               with_boxes(on_black(kWidth, kHeight, show.picture, 5, 6), boxes, {5, 6, 320, 240}));
  gst_video_overlay_set_render_rectangle(overlay, 15, 26, 320, 240);
  gst_video_overlay_expose(overlay);
  compare_near("exposed again", show.screen("exposed again"),
               with_boxes(on_black(kWidth, kHeight, show.picture, 15, 26), boxes, {15, 26, 320, 240}));
  ck_assert_uint_eq(show.sink.stat("copies"), 1);
}
GST_END_TEST

// Of a frame that is larger than the picture, from the first one on.
GST_START_TEST(test_overlay_beside_a_crop)
{
  const GstVideoInfo whole = video_info(plain_caps("BGRx", 704, 544));
  const GstPtr<GstBuffer> noise = make_noise(whole, 5);
  const Image picture = cut(image_of(whole, noise.get()), 32, 17, kWidth, kHeight);
  const std::vector<Box> boxes = {{10, 10, 30, 30, 0xffff0000}, {600, 440, 30, 30, 0x800000ff}};
  const Composition composition = compose(boxes);
  Composed show;
  show.begin();
  for (const char *name : {"the first frame", "the second"}) {
    GstPtr<GstBuffer> frame = to_dmabuf(whole, noise.get(), Shape::Tight);
    GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta(frame.get());
    crop->x = 32;
    crop->y = 17;
    crop->width = kWidth;
    crop->height = kHeight;
    gst_buffer_add_video_overlay_composition_meta(frame.get(), composition.get());
    ck_assert_int_eq(show.sink.push(frame.release()), GST_FLOW_OK);
    compare_near(name, show.screen(name), with_boxes(picture, boxes, kWhole));
  }
  ck_assert_uint_eq(show.sink.stat("copies"), 0);
  ck_assert_uint_eq(show.sink.stat("overlays"), 2);
}
GST_END_TEST

// A GstVideoCropMeta of a part of the caps' size: the composition is laid out for that size, so that it lies over the same
// pixels. By a plane, and drawn on a copy.
GST_START_TEST(test_overlay_over_a_part)
{
  // opaque, as below: at both ends of the part, and outside of it
  const std::vector<Box> boxes = {{20, 30, 30, 30, 0xffff0000}, {340, 240, 30, 30, 0xff0000ff}, {400, 300, 30, 30, 0xff00ff00}};
  const std::vector<Box> seen = {{20 - 32, 30 - 18, 30, 30, 0xffff0000}, {340 - 32, 240 - 18, 30, 30, 0xff0000ff}};
  const GstVideoRectangle place{(kWidth - 320) / 2, (kHeight - 240) / 2, 320, 240};
  const Composition composition = compose(boxes);
  for (const bool by_plane : {true, false}) {
    const char *name = by_plane ? "by a plane" : "on a copy";
    Composed show(by_plane ? "mode=640x480" : "mode=640x480 rotation=rotate-180");
    show.begin();
    const Image upright = with_boxes(on_black(kWidth, kHeight, cut(show.picture, 32, 18, 320, 240), place.x, place.y), seen, place);
    const Image expected = by_plane ? upright : turned(upright, 2);
    for (int i = 0; i < 2; i++) {
      GstPtr<GstBuffer> frame = to_dmabuf(show.info, show.noise.get(), Shape::Tight);
      GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta(frame.get());
      crop->x = 32;
      crop->y = 18;
      crop->width = 320;
      crop->height = 240;
      gst_buffer_add_video_overlay_composition_meta(frame.get(), composition.get());
      ck_assert_int_eq(show.sink.push(frame.release()), GST_FLOW_OK);
      compare_near(name, show.screen(name), expected);
    }
    ck_assert_uint_eq(show.sink.stat(by_plane ? "overlays" : "overlays-blended"), 2);
    // the same frame again, and the copy that a DRAIN query leaves on screen
    gst_video_overlay_expose(GST_VIDEO_OVERLAY(show.sink.element()));
    compare_near(name, show.screen("exposed"), expected);
    const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(show.sink.element(), "sink"));
    const auto query = GstPtr<GstQuery>::adopt(gst_query_new_drain());
    ck_assert(gst_pad_query(pad.get(), query.get()));
    compare_near(name, show.screen("drained"), expected);
    // without a part, where it was laid out
    show.push(composition.get());
    const Image whole = with_boxes(show.picture, boxes, kWhole);
    compare_near(name, show.screen("whole"), by_plane ? whole : turned(whole, 2));
  }
}
GST_END_TEST

// Where no plane shows it, it is drawn on a copy of the frame, and upstream hears so.
GST_START_TEST(test_overlay_without_a_plane)
{
  const ConfigfsDevice device("bare", {{0, true, true}});
  // opaque: GStreamer takes the unused byte of the picture's noise for alpha
  const std::vector<Box> boxes = {{10, 10, 30, 30, 0xffff0000}, {100, 100, 20, 20, 0xff0000ff}};
  const Composition composition = compose(boxes);
  for (const std::string &properties : {"device=" + device.path(), std::string("rotation=rotate-180")}) {
    Composed show(properties.c_str());
    show.begin();
    ck_assert(!show.is_announced());
    show.push(composition.get());
    Image expected = with_boxes(show.picture, boxes, kWhole);
    if (properties[0] == 'r')
      expected = turned(expected, 2);
    compare_near(properties.c_str(), show.screen(properties.c_str()), expected);
    ck_assert_uint_eq(show.sink.stat("copies"), 1);
    ck_assert_uint_eq(show.sink.stat("overlays-blended"), 1);
    ck_assert_uint_eq(show.sink.stat("overlays"), 0);
  }
  Composed strict("zero-copy=require rotation=rotate-180");
  strict.begin();
  strict.push(composition.get());
  strict.push(composition.get());
  compare_near("left out", strict.screen("left out"), turned(strict.picture, 2), 0);
  ck_assert_uint_eq(strict.sink.stat("overlays-left-out"), 2);
  ck_assert(strict.warning().find("without their overlay") != std::string::npos);
  ck_assert(strict.warning().empty()); // once
}
GST_END_TEST

// The driver takes the overlay no longer: the frame is shown without, and the next ones have it blended.
GST_START_TEST(test_overlay_refused)
{
  const std::vector<Box> boxes = {{10, 10, 30, 30, 0xffff0000}};
  const Composition composition = compose(boxes);
  Composed show;
  show.begin();
  show.push(composition.get());
  show.push(composition.get());
  compare_near("before", show.screen("before"), with_boxes(show.picture, boxes, kWhole));
  // of the import of a new buffer PRIME and ADDFB2 come first
  fail_drm_ioctl(3, EINVAL);
  show.push(composition.get());
  compare_near("refused", show.screen("refused"), show.picture, 0);
  ck_assert_int_eq(failed_drm_ioctl(), static_cast<int>(kAtomic));
  fail_drm_ioctl(0, 0);
  ck_assert_uint_eq(show.sink.stat("overlay-refusals"), 1);
  ck_assert_uint_eq(show.sink.stat("copies"), 0);
  show.push(composition.get());
  compare_near("blended", show.screen("blended"), with_boxes(show.picture, boxes, kWhole));
  ck_assert(!show.is_announced());
  ck_assert_uint_eq(show.sink.stat("overlays-blended"), 1);
  ck_assert_uint_eq(show.sink.stat("dropped"), 0);
  ck_assert(show.warning().find("overlay") != std::string::npos);
  // another start is another chance
  ck_assert(show.sink.set_state(GST_STATE_NULL));
  show.begin();
  ck_assert_uint_eq(show.sink.stat("overlays-blended"), 0);
  ck_assert(show.is_announced());
  show.push(composition.get());
  compare_near("again", show.screen("again"), with_boxes(show.picture, boxes, kWhole));
}
GST_END_TEST

// Pixels that are not where the rectangle's meta says are left out; the rest is shown.
GST_START_TEST(test_overlay_hostile_pixels)
{
  const Box good{10, 10, 30, 30, 0xffff0000};
  Composition composition = compose({good, {100, 100, 20, 20, 0xff0000ff}, {140, 100, 20, 20, 0xff00ff00}});
  const auto meta_of = [&](guint n) {
    return gst_buffer_get_video_meta(gst_video_overlay_rectangle_get_pixels_unscaled_raw(
        gst_video_overlay_composition_get_rectangle(composition.get(), n), GST_VIDEO_OVERLAY_FORMAT_FLAG_NONE));
  };
  meta_of(1)->height = 20'000;
  meta_of(2)->stride[0] = 0;
  Composed show;
  show.begin();
  show.push(composition.get());
  compare_near("hostile", show.screen("hostile"), with_boxes(show.picture, {good}, kWhole));
}
GST_END_TEST

// The same composition costs nothing: each frame is one commit, as without. One that changes costs no
// ioctl once every buffer is made.
GST_START_TEST(test_overlay_ioctls)
{
  Composed show;
  show.begin();
  const GstPtr<GstBuffer> frame = to_dmabuf(show.info, show.noise.get(), Shape::Tight);
  const auto push = [&](GstVideoOverlayComposition *composition) {
    GstBuffer *buffer = gst_buffer_copy(frame.get());
    if (composition)
      gst_buffer_add_video_overlay_composition_meta(buffer, composition);
    ck_assert_int_eq(show.sink.push(buffer), GST_FLOW_OK);
  };
  const auto settle = [&] {
    while (show.sink.stat("held") != 1)
      g_usleep(1000);
  };
  const auto count = [&](const std::function<void(int)> &push_one) {
    settle();
    const unsigned before = count_drm_ioctls();
    for (int i = 0; i < 30; i++)
      push_one(i);
    settle();
    return count_drm_ioctls() - before;
  };
  const auto moving = [&](int i) { push(compose({{10 + i, 20, 30, 40, 0xffff0000}}).get()); };
  const Composition still = compose({{10, 20, 30, 40, 0xff00ff00}});
  push(still.get());
  push(still.get());
  ck_assert_uint_eq(count([&](int) { push(still.get()); }), 30);
  ck_assert_uint_eq(count([&](int) { push(nullptr); }), 30);
  count(moving);
  ck_assert_uint_eq(count(moving), 30);
  ck_assert_uint_eq(show.sink.stat("copies"), 0);
}
GST_END_TEST

void gstdrm::test::add_overlay_cases(TCase *tc)
{
  tcase_add_loop_test(tc, test_overlay_pixels, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tc, test_overlay_changes);
  tcase_add_test(tc, test_overlay_expose);
  tcase_add_test(tc, test_overlay_beside_a_crop);
  tcase_add_test(tc, test_overlay_over_a_part);
  tcase_add_test(tc, test_overlay_without_a_plane);
  tcase_add_test(tc, test_overlay_refused);
  tcase_add_test(tc, test_overlay_hostile_pixels);
  add_overlay_element_cases(tc);
}

void gstdrm::test::add_overlay_cases_on_virtual_time(TCase *tc)
{
  tcase_add_test(tc, test_overlay_ioctls);
}

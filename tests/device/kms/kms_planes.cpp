// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the picture goes and how: modes, planes, fit, rotation, render rectangle, each shown by the pixels that
// vkms scanned out. How it scales is in kms_scaling.cpp.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kms_image.hpp"

#include <gst/video/videooverlay.h>

using namespace gstdrm::test;

namespace {

struct Row {
  const char *name;
  const char *properties;
  int width, height;
  std::function<Image(const Image &picture)> screen;
};

const Row kRows[] = {
    {"match: the mode of the picture", "", 800, 600, [](const Image &p) { return p; }},
    {"match: the smallest that contains it", "mode=match", 1000, 700,
     [](const Image &p) { return on_black(1024, 768, p, 12, 34); }},
    {"preferred", "mode=preferred", 640, 480, [](const Image &p) { return on_black(1024, 768, p, 192, 144); }},
    {"a mode by size", "mode=800x600", 640, 480, [](const Image &p) { return on_black(800, 600, p, 80, 60); }},
    {"a mode by size and rate", "mode=1280x720@60", 640, 480,
     [](const Image &p) { return on_black(1280, 720, p, 320, 120); }},
    {"larger than the mode: the middle", "mode=640x480 fit=none", 800, 600,
     [](const Image &p) { return cut(p, 80, 60, 640, 480); }},
    {"cover crops the sides", "mode=640x480 fit=cover", 800, 480,
     [](const Image &p) { return cut(p, 80, 0, 640, 480); }},
    {"cover crops top and bottom", "mode=640x480 fit=cover", 640, 600,
     [](const Image &p) { return cut(p, 0, 60, 640, 480); }},
    {"render rectangle", "mode=640x480 render-rectangle=<100,50,320,240>", 320, 240,
     [](const Image &p) { return on_black(640, 480, p, 100, 50); }},
    {"render rectangle, larger than the picture", "mode=640x480 fit=none render-rectangle=<100,50,400,300>", 320, 240,
     [](const Image &p) { return on_black(640, 480, p, 140, 80); }},
    {"render rectangle, smaller than the picture", "mode=640x480 fit=none render-rectangle=<10,20,100,80>", 320, 240,
     [](const Image &p) { return on_black(640, 480, cut(p, 110, 80, 100, 80), 10, 20); }},
    {"render rectangle over the edge", "mode=640x480 fit=cover render-rectangle=<-100,-50,420,290>", 320, 240,
     [](const Image &p) { return on_black(640, 480, p, 0, 0); }},
    {"render rectangle outside", "mode=640x480 render-rectangle=<700,0,10,10>", 640, 480,
     [](const Image &p) { return p; }},
    {"rotate-90", "mode=640x480 rotation=rotate-90", 320, 240,
     [](const Image &p) { return on_black(640, 480, turned(p, 1), 200, 80); }},
    {"match: the mode of the turned picture", "rotation=rotate-90", 600, 800,
     [](const Image &p) { return turned(p, 1); }},
    {"rotate-180", "rotation=rotate-180", 640, 480, [](const Image &p) { return turned(p, 2); }},
    {"rotate-270", "mode=640x480 rotation=rotate-270", 320, 240,
     [](const Image &p) { return on_black(640, 480, turned(p, 3), 200, 80); }},
    {"reflect-x", "rotation=reflect-x", 640, 480, [](const Image &p) { return mirrored(p, true, false); }},
    {"reflect-y", "rotation=reflect-y", 640, 480, [](const Image &p) { return mirrored(p, false, true); }},
    {"reflect-x and rotate-90", "mode=640x480 rotation=reflect-x+rotate-90", 320, 240,
     [](const Image &p) { return on_black(640, 480, turned(mirrored(p, true, false), 1), 200, 80); }},
    {"rotate-90, cropped", "mode=640x480 fit=none rotation=rotate-90", 800, 600,
     [](const Image &p) { return on_black(640, 480, turned(cut(p, 160, 0, 480, 600), 1), 20, 0); }},
};

} // namespace

GST_START_TEST(test_pixels)
{
  const Row &row = kRows[__i__];
  g_print("# %s\n", row.name);
  Show show(row.properties, row.width, row.height);
  show.start();
  compare(row.name, show.screen(row.name), row.screen(show.picture));
  ck_assert(show.sink.next_message(static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING)).empty());
}
GST_END_TEST

struct CropRow {
  const char *name;
  const char *format;
  bool dmabuf;
  bool has_crop;
  guint x, y; // of the visible 640x480 in a frame of 704x544
};

const CropRow kCropRows[] = {
    {"a decoder's padding", "NV12", true, true, 0, 0},
    {"padding without a GstVideoCropMeta", "NV12", true, false, 0, 0},
    {"the middle of NV12", "NV12", true, true, 32, 30},
    {"the middle of RGB, at an odd pixel", "BGRx", true, true, 31, 33},
    {"among pixels that share chroma", "NV12", true, true, 31, 33},
    {"in system memory", "BGRx", false, true, 31, 33},
};

// The frame is larger than the caps: GstVideoMeta has its size, GstVideoCropMeta the visible part.
GST_START_TEST(test_crop)
{
  const CropRow &row = kCropRows[__i__];
  constexpr int kWidth = 640, kHeight = 480, kWholeWidth = 704, kWholeHeight = 544;
  const GstVideoInfo whole = video_info(plain_caps(row.format, kWholeWidth, kWholeHeight));
  const auto noise = make_noise(whole, 5);
  auto frame = row.dmabuf ? to_dmabuf(whole, noise.get(), Shape::PaddedStrides)
                          : GstPtr<GstBuffer>::adopt(gst_buffer_copy_deep(noise.get()));
  if (!gst_buffer_get_video_meta(frame.get()))
    gst_buffer_add_video_meta(frame.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&whole),
                              kWholeWidth, kWholeHeight);
  if (row.has_crop) {
    GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta(frame.get());
    crop->x = row.x;
    crop->y = row.y;
    crop->width = kWidth;
    crop->height = kHeight;
  }
  const std::vector<std::uint8_t> all = reference(whole, noise.get(), kWholeWidth, kWholeHeight);
  std::vector<std::uint8_t> expected;
  for (guint y = 0; y < kHeight; y++) {
    const auto from = all.begin() + 4 * ((row.y + y) * kWholeWidth + row.x);
    expected.insert(expected.end(), from, from + 4 * kWidth);
  }
  Sink sink(row.dmabuf ? "zero-copy=require" : "");
  ck_assert(sink.set_caps(row.dmabuf ? dma_drm_caps(row.format[0] == 'N' ? "NV12" : "XR24", kWidth, kHeight)
                                     : plain_caps(row.format, kWidth, kHeight)));
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(sink.push(gst_buffer_ref(frame.get())), GST_FLOW_OK);
  const auto snapshot = sink.snapshot();
  ck_assert(snapshot);
  const int difference = largest_difference(snapshot.get(), expected);
  ck_assert_msg(difference >= 0 && difference <= 1, "%s: %d", row.name, difference);
  ck_assert_uint_eq(sink.stat("imports"), row.dmabuf ? 1 : 2);
  ck_assert_uint_eq(sink.stat("copies"), row.dmabuf ? 0 : 2);
}
GST_END_TEST

// A part that moves over a picture, as a camera that is panned: one framebuffer is enough, and each
// flip shows its own part.
GST_START_TEST(test_moving_crop)
{
  constexpr guint kWidth = 640, kHeight = 480, kWholeWidth = 704, kWholeHeight = 544, kSteps = 32;
  const GstVideoInfo whole = video_info(plain_caps("BGRx", kWholeWidth, kWholeHeight));
  const auto noise = make_noise(whole, 6);
  const std::vector<std::uint8_t> all = reference(whole, noise.get(), kWholeWidth, kWholeHeight);
  const auto frame = to_dmabuf(whole, noise.get(), Shape::Tight);
  Sink sink("zero-copy=require");
  ck_assert(sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight)));
  for (guint i = 1; i <= kSteps; i++) {
    auto part = GstPtr<GstBuffer>::adopt(gst_buffer_copy(frame.get()));
    GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta(part.get());
    crop->x = 2 * i - 1;
    crop->y = kWholeHeight - kHeight - i;
    crop->width = kWidth;
    crop->height = kHeight;
    ck_assert_int_eq(sink.push(part.release()), GST_FLOW_OK);
    if (i % 16 != 0)
      continue;
    std::vector<std::uint8_t> expected;
    for (guint y = 0; y < kHeight; y++) {
      const auto from = all.begin() + 4 * ((kWholeHeight - kHeight - i + y) * kWholeWidth + 2 * i - 1);
      expected.insert(expected.end(), from, from + 4 * kWidth);
    }
    const auto snapshot = sink.snapshot();
    ck_assert(snapshot);
    ck_assert_int_eq(largest_difference(snapshot.get(), expected), 0);
  }
  ck_assert_uint_eq(sink.stat("imports"), 1);
  ck_assert(sink.next_message(GST_MESSAGE_ERROR).empty());
}
GST_END_TEST

// NV12 shares chroma between pixels: the CPU does not copy a picture that begins in the middle of
// them.
GST_START_TEST(test_crop_refused)
{
  const GstVideoInfo whole = video_info(plain_caps("NV12", 704, 544));
  auto frame = GstPtr<GstBuffer>::adopt(gst_buffer_copy_deep(make_noise(whole, 5).get()));
  gst_buffer_add_video_meta(frame.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 704, 544);
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta(frame.get());
  crop->x = 1;
  crop->y = 0;
  crop->width = 640;
  crop->height = 480;
  Sink sink;
  ck_assert(sink.set_caps(plain_caps("NV12", 640, 480)));
  ck_assert_int_eq(sink.push(frame.release()), GST_FLOW_ERROR);
  const std::string error = sink.next_message(GST_MESSAGE_ERROR);
  ck_assert_msg(error.find("Crop at even pixels") != std::string::npos, "%s", error.c_str());
}
GST_END_TEST

struct PartRow {
  const char *name;
  bool dmabuf;
  bool has_video_meta;
  guint x, y, width, height;
  const char *error; // "": it is shown
};

const PartRow kPartRows[] = {
    {"a part", true, true, 31, 33, 320, 240, ""},
    {"a part at the first pixel", true, true, 0, 0, 200, 100, ""},
    {"in system memory", false, true, 32, 30, 320, 240, ""},
    {"in GStreamer's default layout", false, false, 300, 20, 340, 460, ""},
    {"the whole frame", true, true, 0, 0, 640, 480, ""},
    {"beyond the frame", true, true, 400, 0, 320, 240, "of a frame of 640x480"},
    {"nothing", true, true, 0, 0, 0, 0, "shows 0x0"},
};

// A GstVideoCropMeta on a frame of the caps' own size shows that part, and the next frame without one is shown whole.
GST_START_TEST(test_crop_of_the_caps_size)
{
  const PartRow &row = kPartRows[__i__];
  Show show("mode=640x480", 640, 480);
  ck_assert(show.sink.set_caps(row.dmabuf ? dma_drm_caps("XR24", 640, 480) : plain_caps("BGRx", 640, 480)));
  const auto frame = [&] {
    auto made = row.dmabuf ? to_dmabuf(show.info, show.noise.get(), Shape::Tight)
                           : GstPtr<GstBuffer>::adopt(gst_buffer_copy_deep(show.noise.get()));
    if (row.has_video_meta && !gst_buffer_get_video_meta(made.get()))
      gst_buffer_add_video_meta(made.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_BGRx, 640, 480);
    return made;
  };
  auto part = frame();
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta(part.get());
  crop->x = row.x;
  crop->y = row.y;
  crop->width = row.width;
  crop->height = row.height;
  const GstFlowReturn ret = show.sink.push(part.release());
  const std::string error = show.sink.next_message(GST_MESSAGE_ERROR);
  ck_assert_msg((ret == GST_FLOW_OK) == (*row.error == '\0') && error.find(row.error) != std::string::npos, "%s: %s",
                row.name, error.c_str());
  if (ret != GST_FLOW_OK)
    return;
  const auto [x, y, width, height] = std::array{row.x, row.y, row.width, row.height};
  compare(row.name, show.screen(row.name),
          on_black(640, 480, cut(show.picture, x, y, width, height), (640 - width) / 2, (480 - height) / 2));
  ck_assert_int_eq(show.sink.push(frame().release()), GST_FLOW_OK);
  compare("the next frame", show.screen(row.name), show.picture);
}
GST_END_TEST

// Everything that may change while frames are shown: from the next one on, with no mode set. A mode set would turn the
// writeback connector off and on, and start the vblank counter anew.
GST_START_TEST(test_changes_while_playing)
{
  Show show("mode=640x480 fit=none", 320, 240);
  show.start();
  struct Step {
    const char *name;
    std::function<void(GObject *)> set;
    Image screen;
  };
  const Image &p = show.picture;
  const auto overlay = [](GObject *sink) { return GST_VIDEO_OVERLAY(sink); };
  const Step steps[] = {
      {"as it was", [](GObject *) {}, on_black(640, 480, p, 160, 120)},
      {"render rectangle",
       [&](GObject *s) { gst_video_overlay_set_render_rectangle(overlay(s), 300, 200, 320, 240); },
       on_black(640, 480, p, 300, 200)},
      {"reflected", [](GObject *s) { gst_util_set_object_arg(s, "rotation", "reflect-x"); },
       on_black(640, 480, mirrored(p, true, false), 300, 200)},
      {"no render rectangle", [&](GObject *s) { gst_video_overlay_set_render_rectangle(overlay(s), 0, 0, -1, -1); },
       on_black(640, 480, mirrored(p, true, false), 160, 120)},
      {"as it lies", [](GObject *s) { gst_util_set_object_arg(s, "rotation", "rotate-0"); },
       on_black(640, 480, p, 160, 120)},
  };
  guint64 sequence = 0;
  for (const Step &step : steps) {
    step.set(G_OBJECT(show.sink.element()));
    show.push();
    compare(step.name, show.screen(step.name), step.screen);
    const guint64 now = show.sink.stat("last-flip-sequence");
    ck_assert_msg(now > sequence, "%s: vblank %u after %u", step.name, static_cast<guint>(now),
                  static_cast<guint>(sequence));
    sequence = now;
  }
  ck_assert_uint_eq(show.sink.stat("dropped"), 0);
  ck_assert(show.sink.next_message(static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING)).empty());
}
GST_END_TEST

// Without a new frame: expose shows the last one where it belongs now.
GST_START_TEST(test_expose)
{
  Show show("mode=640x480 fit=none", 320, 240);
  show.start();
  auto *overlay = GST_VIDEO_OVERLAY(show.sink.element());
  gst_video_overlay_set_window_handle(overlay, 42); // there are no windows
  gst_video_overlay_set_render_rectangle(overlay, 5, 6, 320, 240);
  gst_video_overlay_expose(overlay);
  compare("exposed", show.screen("exposed"), on_black(640, 480, show.picture, 5, 6));
  ck_assert_uint_eq(show.sink.stat("frames"), 2);
  show.sink.set_state(GST_STATE_READY);
  gst_video_overlay_expose(overlay); // nothing to show, and nothing happens
  ck_assert_uint_eq(show.sink.stat("held"), 0);
}
GST_END_TEST

// What the hardware does not do while frames are shown is said once, and the picture stays as it was.
GST_START_TEST(test_refused_change)
{
  Show show("", 640, 480);
  show.start();
  g_object_set(show.sink.element(), "zpos", 3, nullptr);
  show.push();
  const std::string warning = show.sink.next_message(GST_MESSAGE_WARNING);
  gstdrm::test::say(warning);
  ck_assert(warning.find("has no zpos") != std::string::npos);
  show.push();
  compare("as it was", show.screen("as it was"), show.picture);
  ck_assert_uint_eq(show.sink.stat("dropped"), 0);
  ck_assert(show.sink.next_message(static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING)).empty());
}
GST_END_TEST

namespace {

// Numbers of the planes that an error lists, by type: "Planes 34, 36 (overlay): ...".
std::vector<guint> planes_in(const std::string &text, const char *type)
{
  std::vector<guint> ids;
  const std::string end = std::string(" (") + type + "):";
  for (std::size_t at = 0; (at = text.find("\nPlane", at)) != std::string::npos; at++) {
    std::vector<guint> line;
    const char *rest = text.c_str() + at + std::strlen("\nPlane") + (text[at + 6] == 's');
    for (char *after = nullptr; *rest == ' ' && g_ascii_isdigit(rest[1]); rest = *after == ',' ? after + 1 : after)
      line.push_back(static_cast<guint>(std::strtoul(rest, &after, 10)));
    if (std::strncmp(rest, end.c_str(), end.size()) == 0)
      ids.insert(ids.end(), line.begin(), line.end());
  }
  return ids;
}

} // namespace

// No plane does it: one line for each says why. Then the planes named there are used one by one.
GST_START_TEST(test_planes_by_number)
{
  std::string error;
  {
    Show show("", 640, 480);
    ck_assert(show.sink.set_state(GST_STATE_READY)); // which a zpos that no plane has fails
    g_object_set(show.sink.element(), "zpos", 1, nullptr);
    ck_assert(show.sink.set_caps(dma_drm_caps("XR24", 640, 480)));
    show.sink.push(to_dmabuf(show.info, show.noise.get(), Shape::Tight).release());
    for (guint i = 0; i < 70 && error.empty(); i++) {
      show.sink.push(to_dmabuf(show.info, show.noise.get(), Shape::Tight).release());
      error = show.sink.next_message(GST_MESSAGE_ERROR);
    }
  }
  gstdrm::test::say(error);
  const std::vector<guint> primary = planes_in(error, "primary"), overlays = planes_in(error, "overlay");
  ck_assert_uint_eq(primary.size(), 1);
  ck_assert_uint_ge(overlays.size(), 1);
  ck_assert_uint_eq(planes_in(error, "cursor").size(), 1);
  ck_assert(error.find("(primary): has no zpos.") != std::string::npos);
  ck_assert(error.find("(cursor): for cursors.") != std::string::npos);
  for (const guint id : {primary[0], overlays.front(), overlays.back()}) {
    Show show(("mode=match plane-id=" + std::to_string(id)).c_str(), 640, 480);
    show.start();
    const std::string name = "plane " + std::to_string(id);
    compare(name.c_str(), show.screen(name.c_str()), show.picture);
  }
}
GST_END_TEST

namespace {

struct BadRow {
  const char *name;
  const char *properties;
  std::vector<std::string> words;
};

const BadRow kBadRows[] = {
    {"mode that is no text of a mode", "mode=1080p", {"mode=1080p", "1920x1080@60", "preferred"}},
    {"mode that the connector lacks", "mode=1234x567", {"1234x567", "Virtual-1", "1280x720@60"}},
    {"rate that the connector lacks", "mode=1024x768@23.98", {"1024x768@23.98", "1024x768@60"}},
    {"interlaced mode that the connector lacks", "mode=1920x1080i@50", {"1920x1080i@50", "1920x1080@60"}},
};

} // namespace

GST_START_TEST(test_bad_modes)
{
  const BadRow &row = kBadRows[__i__];
  g_print("# %s\n", row.name);
  Sink sink(row.properties);
  ck_assert(!sink.set_state(GST_STATE_READY));
  const std::string error = sink.next_message(GST_MESSAGE_ERROR);
  for (const std::string &word : row.words)
    ck_assert_msg(error.find(word) != std::string::npos, "\"%s\" is not in \"%s\"", word.c_str(), error.c_str());
}
GST_END_TEST

// Metadata for a display that cannot be told: shown all the same.
GST_START_TEST(test_hdr_without_the_properties)
{
  Show show("", 640, 480);
  ck_assert(show.sink.set_caps(
      dma_drm_caps("XR24", 640, 480,
                   ", colorimetry=(string)1:1:14:7, content-light-level=(string)1000:400, mastering-display-info=(string)"
                   "\"35400:14600:8500:39850:6550:2300:15635:16450:10000000:50\"")));
  show.push();
  show.push();
  compare("PQ", show.screen("PQ"), show.picture);
  ck_assert(show.sink.next_message(static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING)).empty());
}
GST_END_TEST

GST_START_TEST(test_properties)
{
  Sink sink;
  GObject *object = G_OBJECT(sink.element());
  gint fit = -1, zpos = 0;
  guint rotation = 0;
  g_object_get(object, "fit", &fit, "zpos", &zpos, "rotation", &rotation, nullptr);
  ck_assert_int_eq(fit, 0);
  ck_assert_int_eq(zpos, -1);
  ck_assert_uint_eq(rotation, 1);
  gst_util_set_object_arg(object, "rotation", "rotate-180+reflect-y");
  g_object_get(object, "rotation", &rotation, nullptr);
  ck_assert_uint_eq(rotation, 4 | 32);
  // turned twice is refused, and what was before stays
  gst_util_set_object_arg(object, "rotation", "rotate-90+rotate-180");
  g_object_get(object, "rotation", &rotation, nullptr);
  ck_assert_uint_eq(rotation, 4 | 32);
  ck_assert(sink.next_message(GST_MESSAGE_WARNING).find("rotation") != std::string::npos);
}
GST_END_TEST

static Suite *kms_planes_suite(void)
{
  Suite *s = suite_create("kms-planes");
  TCase *tc = tcase_create("planes");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, test_pixels, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tc, test_crop, 0, G_N_ELEMENTS(kCropRows));
  tcase_add_test(tc, test_moving_crop);
  tcase_add_test(tc, test_crop_refused);
  tcase_add_loop_test(tc, test_crop_of_the_caps_size, 0, G_N_ELEMENTS(kPartRows));
  tcase_add_test(tc, test_changes_while_playing);
  tcase_add_test(tc, test_expose);
  tcase_add_test(tc, test_refused_change);
  tcase_add_test(tc, test_planes_by_number);
  tcase_add_loop_test(tc, test_bad_modes, 0, G_N_ELEMENTS(kBadRows));
  tcase_add_test(tc, test_hdr_without_the_properties);
  tcase_add_test(tc, test_properties);
  return s;
}

GST_DRM_CHECK_MAIN(kms_planes)

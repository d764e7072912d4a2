// SPDX-License-Identifier: LGPL-2.1-or-later
// The hardware cursor, by the display's pixels: place, shape, transparency, edges; in the frames'
// own commits while they come, in one of its own while they do not.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "configfs_support.hpp"
#include "kms_ioctls.hpp"
#include "kms_overlays.hpp"
#include "kms_support.hpp"
#include "support/box_time.hpp"

using namespace gstdrm::test;

namespace {

constexpr int kWidth = 640, kHeight = 480;
constexpr int kCursor = 16; // pixels, square
// numbers of <drm.h>: MODE_ATOMIC, MODE_CURSOR, MODE_CURSOR2
constexpr unsigned kCommitIoctl = 0xbc, kCursorIoctl = 0xa3, kCursor2Ioctl = 0xbb;

// Every pixel another colour, with `alpha`; in the byte order of `format`.
GstPtr<GstSample> make_cursor(const char *format, unsigned alpha, int size = kCursor)
{
  const GstVideoInfo info = video_info(plain_caps(format, size, size));
  GstBuffer *buffer = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr);
  GstVideoFrame frame;
  ck_assert(gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE));
  for (int y = 0; y < size; y++)
    for (int x = 0; x < size; x++) {
      const std::array<unsigned, 4> rgba = {unsigned(x * 15), unsigned(y * 15), 200, alpha};
      for (guint c = 0; c < 4; c++)
        static_cast<guint8 *>(GST_VIDEO_FRAME_COMP_DATA(
            &frame, c))[y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c) + x * 4] =
            static_cast<guint8>(rgba[c]);
    }
  gst_video_frame_unmap(&frame);
  GstCaps *caps = gst_video_info_to_caps(const_cast<GstVideoInfo *>(&info));
  auto sample = GstPtr<GstSample>::adopt(gst_sample_new(buffer, caps, nullptr, nullptr));
  gst_caps_unref(caps);
  gst_buffer_unref(buffer);
  return sample;
}

void set_cursor(Sink &sink, GstSample *image, int x, int y)
{
  g_object_set(sink.element(), "cursor-image", image, "cursor-x", x, "cursor-y", y, nullptr);
}

// The picture with that cursor over it.
std::vector<std::uint8_t> expected(GstBuffer *picture, int left, int top, unsigned alpha,
                                   int width = kWidth, int height = kHeight)
{
  const GstVideoInfo info = video_info(plain_caps("BGRx", width, height));
  std::vector<std::uint8_t> display = reference(info, picture, width, height);
  for (int y = 0; y < kCursor; y++)
    for (int x = 0; x < kCursor; x++) {
      if (left + x < 0 || left + x >= width || top + y < 0 || top + y >= height)
        continue;
      const std::array<unsigned, 3> bgr = {200, unsigned(y * 15), unsigned(x * 15)};
      for (std::size_t c = 0; c < 3; c++) {
        auto &value = display[static_cast<std::size_t>((top + y) * width + left + x) * 4 + c];
        value = static_cast<std::uint8_t>((bgr[c] * alpha + value * (255 - alpha) + 127) / 255);
      }
    }
  return display;
}

void expect_display(Sink &sink, const std::vector<std::uint8_t> &pixels, int tolerance,
                    const char *row)
{
  const GstPtr<GstSample> sample = sink.snapshot();
  ck_assert_msg(sample, "%s: %s", row, sink.next_message(GST_MESSAGE_WARNING).c_str());
  const int difference = largest_difference(sample.get(), pixels);
  ck_assert_msg(difference >= 0 && difference <= tolerance, "%s: off by %d", row, difference);
}

struct Playing {
  const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
  const GstPtr<GstBuffer> picture = make_noise(info, 3);
  Sink sink;
  explicit Playing(const char *properties = "") : sink(properties)
  {
    ck_assert(sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight)));
    push();
  }
  void push()
  {
    ck_assert_int_eq(sink.push(to_dmabuf(info, picture.get(), Shape::Tight).release()),
                     GST_FLOW_OK);
  }
};

struct Row {
  const char *name;
  const char *format;
  int x, y;
  unsigned alpha;
};

const Row kRows[] = {
    {"opaque", "BGRA", 100, 50, 255},
    {"half transparent", "BGRA", 100, 50, 128},
    {"invisible", "BGRA", 100, 50, 0},
    {"another byte order", "ARGB", 7, 301, 255},
    {"yet another", "RGBA", 0, 0, 200},
    {"over the left and top edge", "BGRA", -5, -9, 255},
    {"over the right and bottom edge", "BGRA", kWidth - 4, kHeight - 11, 255},
    {"outside", "BGRA", kWidth + 100, 10, 255},
};

} // namespace

GST_START_TEST(test_places_and_shapes)
{
  const Row &row = kRows[__i__];
  g_print("# %s\n", row.name);
  Playing playing;
  const GstPtr<GstSample> cursor = make_cursor(row.format, row.alpha);
  set_cursor(playing.sink, cursor.get(), row.x, row.y);
  // rounding: once here, once in the display
  expect_display(playing.sink, expected(playing.picture.get(), row.x, row.y, row.alpha),
                 row.alpha == 255 || row.alpha == 0 ? 0 : 2, row.name);
  ck_assert(playing.sink.next_message(static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING))
                .empty());
}
GST_END_TEST

// Moved, changed and hidden while no frame comes, and with frames.
GST_START_TEST(test_moves)
{
  Playing playing;
  Sink &sink = playing.sink;
  const GstPtr<GstSample> cursor = make_cursor("BGRA", 255);
  set_cursor(sink, cursor.get(), 10, 10);
  expect_display(sink, expected(playing.picture.get(), 10, 10, 255), 0, "set");
  for (int step = 1; step <= 5; step++) {
    g_object_set(sink.element(), "cursor-x", 10 + step * 40, nullptr);
    if (step % 2)
      playing.push();
    expect_display(sink, expected(playing.picture.get(), 10 + step * 40, 10, 255), 0, "moved");
  }
  // stays over a change of caps
  ck_assert(sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight, ", pixel-aspect-ratio=1/1")));
  playing.push();
  playing.push();
  expect_display(sink, expected(playing.picture.get(), 210, 10, 255), 0, "after caps");
  g_object_set(sink.element(), "cursor-image", nullptr, nullptr);
  expect_display(sink, expected(playing.picture.get(), 0, 0, 0), 0, "hidden");
  // comes back with the next start
  g_object_set(sink.element(), "cursor-image", cursor.get(), nullptr);
  ck_assert(sink.set_state(GST_STATE_NULL));
  ck_assert(sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight)));
  playing.push();
  playing.push();
  expect_display(sink, expected(playing.picture.get(), 210, 10, 255), 0, "after a restart");
}
GST_END_TEST

// A mode set takes every plane off: the cursor comes back with the next commit, unasked.
GST_START_TEST(test_another_mode)
{
  constexpr int kLargeWidth = 1024, kLargeHeight = 768;
  Playing playing;
  Sink &sink = playing.sink;
  const GstPtr<GstSample> cursor = make_cursor("BGRA", 255);
  set_cursor(sink, cursor.get(), 40, 30);
  expect_display(sink, expected(playing.picture.get(), 40, 30, 255), 0, "first mode");
  const GstVideoInfo info = video_info(plain_caps("BGRx", kLargeWidth, kLargeHeight));
  const GstPtr<GstBuffer> picture = make_noise(info, 5);
  ck_assert(sink.set_caps(dma_drm_caps("XR24", kLargeWidth, kLargeHeight)));
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(sink.push(to_dmabuf(info, picture.get(), Shape::Tight).release()), GST_FLOW_OK);
  expect_display(sink, expected(picture.get(), 40, 30, 255, kLargeWidth, kLargeHeight), 0, "second mode");
  ck_assert(sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight)));
  playing.push();
  playing.push();
  expect_display(sink, expected(playing.picture.get(), 40, 30, 255), 0, "first mode again");
}
GST_END_TEST

// Nothing in flight, nothing waiting: one picture is held, on screen.
void settle(const Sink &sink)
{
  while (sink.stat("held") != 1)
    g_usleep(1000);
}

// No ioctl but the frames' own: one commit each, the cursor moved before every one. And without frames, one
// for a move. On virtual time alone: a machine that stalls for a frame time between move and frame makes the
// cursor go by itself, as it should.
GST_START_TEST(test_no_commit_of_its_own)
{
  Playing playing;
  Sink &sink = playing.sink;
  const GstPtr<GstSample> cursor = make_cursor("BGRA", 255);
  set_cursor(sink, cursor.get(), 0, 0);
  const GstPtr<GstBuffer> buffer = to_dmabuf(playing.info, playing.picture.get(), Shape::Tight);
  const auto push = [&] { ck_assert_int_eq(sink.push(gst_buffer_ref(buffer.get())), GST_FLOW_OK); };
  push();
  push();
  settle(sink);
  std::uint64_t commits = sink.stat("commits");
  const std::uint64_t imports = sink.stat("imports");
  const unsigned ioctls = count_drm_ioctls(), of_commits = count_drm_ioctls(kCommitIoctl);
  constexpr unsigned kMoves = 30;
  for (unsigned i = 1; i <= kMoves; i++) {
    g_object_set(sink.element(), "cursor-x", static_cast<int>(i) * 3, nullptr);
    push();
  }
  settle(sink);
  ck_assert_uint_eq(sink.stat("commits") - commits, kMoves);
  ck_assert_uint_eq(count_drm_ioctls(kCommitIoctl) - of_commits, kMoves);
  ck_assert_uint_eq(count_drm_ioctls() - ioctls, kMoves); // nothing is imported twice
  ck_assert_uint_eq(sink.stat("imports"), imports);

  commits = sink.stat("commits");
  g_object_set(sink.element(), "cursor-x", 200, nullptr);
  g_object_set(sink.element(), "cursor-y", 100, nullptr);
  for (int i = 0; i < 100; i++)
    g_usleep(10'000); // a second, for a commit too many
  ck_assert_uint_eq(sink.stat("commits") - commits, 1);
  expect_display(sink, expected(playing.picture.get(), 200, 100, 255), 0, "moved alone");
  ck_assert_uint_eq(count_drm_ioctls(kCursorIoctl) + count_drm_ioctls(kCursor2Ioctl), 0);
}
GST_END_TEST

GST_START_TEST(test_refusals)
{
  const ConfigfsDevice device("none", {{0, false, true}}); // no cursor plane
  Playing without(("device=" + device.path()).c_str());
  const GstPtr<GstSample> cursor = make_cursor("BGRA", 255);
  set_cursor(without.sink, cursor.get(), 0, 0);
  const std::string none = without.sink.next_message(GST_MESSAGE_WARNING);
  ck_assert_msg(none.find("cursor plane") != std::string::npos, "%s", none.c_str());
  without.push();
  expect_display(without.sink, expected(without.picture.get(), 0, 0, 0), 0, "without a plane");

  Playing playing;
  const GstPtr<GstSample> large = make_cursor("BGRA", 255, 600);
  set_cursor(playing.sink, large.get(), 0, 0);
  const std::string too_large = playing.sink.next_message(GST_MESSAGE_WARNING);
  ck_assert_msg(too_large.find("600x600") != std::string::npos, "%s", too_large.c_str());
  const GstPtr<GstSample> wrong = make_cursor("BGRx", 255);
  set_cursor(playing.sink, wrong.get(), 0, 0);
  const std::string format = playing.sink.next_message(GST_MESSAGE_WARNING);
  ck_assert_msg(format.find("alpha") != std::string::npos, "%s", format.c_str());
  const GstPtr<GstSample> beyond = make_cursor("BGRA", 255); // its rows end behind its memory
  gsize offsets[GST_VIDEO_MAX_PLANES] = {0}; // GStreamer 1.22 has no const here
  gint strides[GST_VIDEO_MAX_PLANES] = {1 << 20};
  gst_buffer_add_video_meta_full(gst_sample_get_buffer(beyond.get()), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_BGRA, kCursor, kCursor, 1,
                                 offsets, strides);
  set_cursor(playing.sink, beyond.get(), 0, 0);
  const std::string end = playing.sink.next_message(GST_MESSAGE_WARNING);
  ck_assert_msg(end.find("cursor-image") != std::string::npos && end.find("ends at byte") != std::string::npos, "%s", end.c_str());
  playing.push();
  expect_display(playing.sink, expected(playing.picture.get(), 0, 0, 0), 0, "refused");
}
GST_END_TEST

static Suite *kms_cursor_suite(void)
{
  Suite *s = suite_create("kms-cursor");
  TCase *tc = tcase_create("cursor");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 60);
  if (on_virtual_time()) {
    tcase_add_test(tc, test_no_commit_of_its_own);
    add_overlay_cases_on_virtual_time(tc);
    add_plane_choice_cases(s);
    return s;
  }
  tcase_add_loop_test(tc, test_places_and_shapes, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tc, test_moves);
  tcase_add_test(tc, test_another_mode);
  tcase_add_test(tc, test_refusals);
  add_overlay_cases(tc);
  return s;
}

GST_DRM_CHECK_MAIN(kms_cursor)

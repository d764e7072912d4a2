// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc ! vadmabufconvert ! kmsdmabufsink: the pixels that vkms scanned out (writeback).
#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "va_support.hpp"

namespace {

using namespace gstdrm::test;

constexpr int kWidth = 1024;
constexpr int kHeight = 768;

struct Row {
  const char *driver;
  const char *in; // drm-format of the source
  int width;      // of the source
  int height;
  const char *properties;
  const char *out;
  bool tiled; // needs vkms.tiled=1
};
const Row kRows[] = {
    {"", "NV12", 1024, 768, "", "XR24", false},                                 // converted
    {"", "XR24", 512, 384, "", "XR24", false},                                  // scaled
    {"", "NV12", 512, 384, "", "XR24", false},                                  // both
    {"", "XR24", 768, 1024, "video-direction=90r", "XR24", false},              // turned
    {"", "XR24", 1024, 768, "video-direction=180", "XR24", false},
    {"modifiers=x-tiled:linear", "XR24:0x0100000000000001", 1024, 768, "", "XR24", false}, // to linear
    {"modifiers=samsung:linear", "NV12:0x0400000000000001", 1024, 768, "", "XR24", false},
    {"profile=ihd", "NV12:0x0100000000000002", 512, 384, "", "XR24", false},
    {"profile=i965", "NV12:0x0100000000000002", 512, 384, "", "XR24", false},
    {"profile=radeonsi", "NV12", 512, 384, "", "XR24", false},
    {"profile=radeonsi26", "NV12:0x0200000018801b03", 512, 384, "", "XR24", false},
    {"profile=nouveau", "P010", 512, 384, "", "XR24", false},
    {"modifiers=x-tiled:linear", "XR24", 512, 384, "", "XR24:0x0100000000000001", true}, // to tiled
    {"modifiers=x-tiled:linear", "NV12", 1024, 768, "", "XR24:0x0100000000000001", true},
};

bool wants_tiled()
{
  return g_getenv("GST_DRM_TEST_TILED") != nullptr;
}

// The display shows four quarters: the source's checkers are too fine, so its bars are looked at.
// SMPTE bars at 75 %; the same rule as the pattern's. `along` counts pixels from where they begin.
guint32 bar_colour(int along, int length)
{
  static const guint32 bars[] = {0xbfbfbf, 0xbfbf00, 0x00bfbf, 0x00bf00, 0xbf00bf, 0xbf0000, 0x0000bf};
  return bars[MIN(6, (along & ~1) * 7 / length)];
}

int difference(guint32 a, guint32 b)
{
  int largest = 0;
  for (int shift = 0; shift < 24; shift += 8)
    largest = MAX(largest, std::abs(static_cast<int>(a >> shift & 0xff) - static_cast<int>(b >> shift & 0xff)));
  return largest;
}

// The colour of the source's picture that belongs to a pixel of the display; -1: below the bars.
gint64 expected_at(const Row &row, int x, int y)
{
  const std::string turn = row.properties;
  int u = x * row.width / kWidth;
  int v = y * row.height / kHeight;
  if (turn == "video-direction=90r") {
    u = y * row.width / kHeight;
    v = row.height - 1 - x * row.height / kWidth;
  } else if (turn == "video-direction=180") {
    u = row.width - 1 - u;
    v = row.height - 1 - v;
  }
  return v < row.height * 2 / 3 - 2 ? static_cast<gint64>(bar_colour(u, row.width)) : -1;
}

void check_bars(GstSample *sample, const Row &row)
{
  GstVideoInfo info;
  GstVideoFrame frame;
  fail_unless(gst_video_info_from_caps(&info, gst_sample_get_caps(sample)));
  fail_unless(gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ));
  const int left = (GST_VIDEO_INFO_WIDTH(&info) - kWidth) / 2;
  const int top = (GST_VIDEO_INFO_HEIGHT(&info) - kHeight) / 2;
  fail_unless(left >= 0 && top >= 0, "the mode is %dx%d", GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info));
  const int tolerance = row.in[0] == 'X' ? 0 : 3; // YUV is rounded twice
  const auto step = GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, 0);
  int seen = 0;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const gint64 expected = expected_at(row, x, y);
      if (expected < 0)
        continue;
      guint32 got = 0;
      for (guint component = 0; component < 3; ++component) {
        const auto *data = static_cast<const guint8 *>(GST_VIDEO_FRAME_COMP_DATA(&frame, component));
        got = got << 8 | data[(top + y) * GST_VIDEO_FRAME_COMP_STRIDE(&frame, component) + (left + x) * step];
      }
      if (difference(got, static_cast<guint32>(expected)) > tolerance)
        ck_abort_msg("%s %s at %d,%d: got %06x, expected %06x", row.driver, row.in, x, y, got, static_cast<guint32>(expected));
      seen++;
    }
  }
  fail_unless(seen > kWidth * kHeight / 2);
  gst_video_frame_unmap(&frame);
}

GST_START_TEST(test_pixels)
{
  const auto &row = kRows[__i__];
  fail_unless_equals_int(row.tiled, wants_tiled());
  set_driver(row.driver);
  Pipeline pipeline(source("pattern=smpte is-live=true num-surfaces=8", dma_caps(row.in, row.width, row.height) +
                               (row.in[0] == 'X' ? "" : ",colorimetry=bt601"),
                           std::string("vadmabufconvert name=convert ") + row.properties + " ! " +
                               dma_caps(row.out, kWidth, kHeight) + " ! kmsdmabufsink name=sink mode=match driver-name=vkms"));
  fail_unless(pipeline.play(), "%s: %s", row.driver, pipeline.message(GST_MESSAGE_ERROR).c_str());
  fail_unless(gst_element_get_state(GST_ELEMENT(GST_OBJECT_PARENT(pipeline.get("src"))), nullptr, nullptr,
                                    20 * GST_SECOND) != GST_STATE_CHANGE_FAILURE,
              "%s: %s", row.driver, pipeline.message(GST_MESSAGE_ERROR).c_str());
  GstSample *sample = nullptr;
  for (int i = 0; i < 3; ++i) { // the first may still be the console's
    g_clear_pointer(&sample, gst_sample_unref);
    g_signal_emit_by_name(pipeline.get("sink"), "snapshot", &sample);
    fail_unless(sample != nullptr, "%s %s: %s", row.driver, row.in, pipeline.message(GST_MESSAGE_ERROR).c_str());
  }
  check_bars(sample, row);
  gst_sample_unref(sample);
}
GST_END_TEST

Suite *va_convert_kms_suite()
{
  Suite *suite = suite_create("vadmabufconvert on a display");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  const auto *tiled = std::find_if(std::begin(kRows), std::end(kRows), [](const Row &row) { return row.tiled; });
  const int first_tiled = static_cast<int>(tiled - kRows);
  if (wants_tiled())
    tcase_add_loop_test(tcase, test_pixels, first_tiled, G_N_ELEMENTS(kRows));
  else
    tcase_add_loop_test(tcase, test_pixels, 0, first_tiled);
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_convert_kms)

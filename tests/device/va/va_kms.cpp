// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc ! kmsdmabufsink: the pixels that vkms scanned out (writeback), for every layout.
#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "va_support.hpp"

namespace {

using namespace gstdrm::test;

struct Row {
  const char *driver;
  const char *drm_format;
  bool tiled; // needs vkms.tiled=1
};
const Row kRows[] = {
    {"objects=1", "NV12", false},
    {"objects=2", "NV12", false},
    {"objects=2,layers=separate", "NV12", false},
    {"stride-align=512,height-pad=16", "NV12", false},
    {"objects=1", "P010", false},
    {"objects=2,stride-align=1024", "P010", false},
    {"objects=1", "XR24", false},
    {"stride-align=4096", "XR24", false},
    {"objects=1", "AR24", false},
    {"stride-align=256,height-pad=8", "AR24", false},
    {"modifiers=x-tiled:linear", "XR24:0x0100000000000001", true},
    {"modifiers=x-tiled:linear", "AR24:0x0100000000000001", true},
    {"modifiers=x-tiled:linear", "NV12:0x0100000000000001", true},
    {"modifiers=x-tiled,objects=2", "NV12:0x0100000000000001", true},
    {"modifiers=samsung", "NV12:0x0400000000000001", true},
    {"modifiers=samsung,objects=2", "NV12:0x0400000000000001", true},
};

constexpr int kWidth = 1024; // fits every tiling of the display
constexpr int kHeight = 768;

// The box was started with vkms.tiled=1.
bool wants_tiled()
{
  return g_getenv("GST_DRM_TEST_TILED") != nullptr;
}

bool vkms_is_tiled()
{
  g_autofree gchar *text = nullptr;
  // param_get_bool() of params.c writes Y or N
  return g_file_get_contents("/sys/module/vkms/parameters/tiled", &text, nullptr, nullptr) && text[0] == 'Y';
}

// SMPTE bars at 75 %, in the display's R, G, B; the same rule as the pattern's.
guint32 bar_colour(int x)
{
  static const guint32 bars[] = {0xbfbfbf, 0xbfbf00, 0x00bfbf, 0x00bf00, 0xbf00bf, 0xbf0000, 0x0000bf};
  return bars[MIN(6, (x & ~1) * 7 / kWidth)];
}

int difference(guint32 a, guint32 b)
{
  int largest = 0;
  for (int shift = 0; shift < 24; shift += 8)
    largest = MAX(largest, std::abs(static_cast<int>(a >> shift & 0xff) - static_cast<int>(b >> shift & 0xff)));
  return largest;
}

// Every pixel of the upper two thirds, right of the frame counter.
void check_bars(GstSample *sample, const Row &row)
{
  GstVideoInfo info;
  GstVideoFrame frame;
  fail_unless(gst_video_info_from_caps(&info, gst_sample_get_caps(sample)));
  fail_unless(gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ));
  const int left = (GST_VIDEO_INFO_WIDTH(&info) - kWidth) / 2; // a smaller picture is centred
  const int top = (GST_VIDEO_INFO_HEIGHT(&info) - kHeight) / 2;
  fail_unless(left >= 0 && top >= 0, "the mode is %dx%d", GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info));
  // Exact in RGB; YUV is rounded twice, by the pattern and by the display.
  const int tolerance = row.drm_format[0] == 'X' || row.drm_format[0] == 'A' ? 0 : 3;
  const auto step = GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, 0);
  for (int y = 0; y < kHeight * 2 / 3 - 2; ++y) {
    const auto pixel = [&](int x, guint component) {
      const auto *data = static_cast<const guint8 *>(GST_VIDEO_FRAME_COMP_DATA(&frame, component));
      return static_cast<guint32>(data[(top + y) * GST_VIDEO_FRAME_COMP_STRIDE(&frame, component) + (left + x) * step]);
    };
    for (int x = y < 13 * 8 ? 64 : 0; x < kWidth; ++x) {
      const auto got = pixel(x, 0) << 16 | pixel(x, 1) << 8 | pixel(x, 2);
      if (difference(got, bar_colour(x)) > tolerance)
        ck_abort_msg("%s %s at %d,%d: got %06x, expected %06x", row.driver, row.drm_format, x, y, got, bar_colour(x));
    }
  }
  gst_video_frame_unmap(&frame);
}

GST_START_TEST(test_pixels)
{
  const auto &row = kRows[__i__];
  fail_unless_equals_int(row.tiled, wants_tiled());
  fail_unless_equals_int(vkms_is_tiled(), wants_tiled()); // the kernel took its argument
  set_driver(row.driver);
  Pipeline pipeline(source("pattern=frame-counter is-live=true num-surfaces=8", dma_caps(row.drm_format, kWidth, kHeight),
                           "kmsdmabufsink name=sink mode=match driver-name=vkms"));
  fail_unless(pipeline.play(), "%s: %s", row.driver, pipeline.message(GST_MESSAGE_ERROR).c_str());
  // Once it has prerolled, a frame is on the display.
  fail_unless(gst_element_get_state(GST_ELEMENT(GST_OBJECT_PARENT(pipeline.get("src"))), nullptr, nullptr,
                                    10 * GST_SECOND) != GST_STATE_CHANGE_FAILURE,
              "%s: %s", row.driver, pipeline.message(GST_MESSAGE_ERROR).c_str());
  GstSample *sample = nullptr;
  for (int i = 0; i < 3; ++i) { // the first may still be the console's
    g_clear_pointer(&sample, gst_sample_unref);
    g_signal_emit_by_name(pipeline.get("sink"), "snapshot", &sample);
    fail_unless(sample != nullptr, "%s %s: %s", row.driver, row.drm_format,
                pipeline.message(static_cast<GstMessageType>(GST_MESSAGE_ERROR)).c_str());
  }
  check_bars(sample, row);
  gst_sample_unref(sample);
  fail_unless_equals_uint64(pipeline.stat("copies"), 0);
}
GST_END_TEST

// vgem's surfaces on vkms: it works, and it is named.
GST_START_TEST(test_other_device_is_named)
{
  set_driver("formats=NV12");
  Pipeline pipeline(source("num-buffers=10", dma_caps("NV12", 320, 240),
                           "kmsdmabufsink name=sink mode=match driver-name=vkms sync=false"));
  fail_unless(pipeline.play());
  fail_unless(pipeline.wait_for_end() == "eos");
  const auto warnings = pipeline.warnings();
  fail_unless_equals_int(static_cast<int>(warnings.size()), 1);
  fail_unless(warnings[0].find("/dev/dri/renderD128") != std::string::npos, "'%s'",
              warnings[0].c_str());
  fail_unless(warnings[0].find("/dev/dri/card1") != std::string::npos, "'%s'", warnings[0].c_str());
  fail_unless_equals_uint64(pipeline.stat("frames"), 10);
}
GST_END_TEST

Suite *va_kms_suite()
{
  Suite *suite = suite_create("vadmabufsrc on a display");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  const auto *tiled = std::find_if(std::begin(kRows), std::end(kRows), [](const Row &row) { return row.tiled; });
  const int first_tiled = static_cast<int>(tiled - kRows);
  if (wants_tiled()) {
    tcase_add_loop_test(tcase, test_pixels, first_tiled, G_N_ELEMENTS(kRows));
  } else {
    tcase_add_loop_test(tcase, test_pixels, 0, first_tiled);
    tcase_add_test(tcase, test_other_device_is_named);
  }
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_kms)

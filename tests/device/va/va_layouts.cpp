// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc on the test driver: every layout, read back through the tiler.
#include "va_support.hpp"

namespace {

using namespace gstdrm::test;

struct LayoutRow {
  const char *driver;
  const char *drm_format; // asked for
};
const LayoutRow kLayouts[] = {
    {"objects=1", "NV12"},
    {"objects=2", "NV12"},
    {"objects=2,layers=separate", "NV12"},
    {"layers=separate", "NV12"},
    {"stride-align=512", "NV12"},
    {"stride-align=2,stride-extra=38", "NV12"},
    {"height-pad=16", "NV12"},
    {"objects=1", "P010"},
    {"objects=2,stride-align=1024", "P010"},
    {"objects=1", "XR24"},
    {"stride-align=4,stride-extra=12", "XR24"},
    {"objects=1", "AR24"},
    {"objects=1", "XB24"},
    {"objects=1", "BX24"},
    {"objects=1", "YUYV"},
    {"objects=1", "UYVY"},
    {"objects=3", "YU12"},
    {"objects=1", "YV12"},
    {"modifiers=x-tiled", "NV12:0x0100000000000001"},
    {"modifiers=x-tiled,objects=2", "NV12:0x0100000000000001"},
    {"modifiers=x-tiled", "P010:0x0100000000000001"},
    {"modifiers=x-tiled", "XR24:0x0100000000000001"},
    {"modifiers=x-tiled,derive=0", "AR24:0x0100000000000001"},
    {"modifiers=vivante", "XR24:0x0600000000000001"},
    {"modifiers=samsung", "NV12:0x0400000000000001"},
    {"modifiers=samsung,objects=2,memory=dma-heap", "NV12:0x0400000000000001"},
    // real drivers (va-driver/profiles.cpp): names of their own, linear by descriptor, own tilings
    {"profile=ihd", "XR24"},
    {"profile=ihd", "AR24"},
    {"profile=ihd", "XB24"},
    {"profile=ihd", "AB24"},
    {"profile=ihd", "NV12"},
    {"profile=ihd", "YUYV"},
    {"profile=ihd", "NV12:0x0100000000000002"},
    {"profile=i965", "NV12"},
    {"profile=i965", "XR24"},
    {"profile=i965", "NV12:0x0100000000000002"},
    {"profile=i965,async=1", "XB24:0x0100000000000002"},
    {"profile=radeonsi", "NV12"},
    {"profile=radeonsi", "NV12:0x0200000018801b03"},
    {"profile=radeonsi", "YU12"},
    {"profile=radeonsi,async=1", "XR24:0x0200000018801b03"},
    {"profile=radeonsi26", "NV12:0x0200000018801b03"},
    {"profile=radeonsi26", "BA24"},
    {"profile=radeonsi26,async=1", "YU12"},
    {"profile=nouveau", "XR24"},
    {"profile=nouveau", "P010:0x03000000004fe014"},
    {"profile=nouveau", "XB24:0x03000000004fe014"},
};

GST_START_TEST(test_layout)
{
  const auto &row = kLayouts[__i__];
  set_driver(row.driver);
  Pipeline pipeline(source("pattern=frame-counter num-buffers=8", dma_caps(row.drm_format, 300, 212)));
  fail_unless(pipeline.play(), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
  for (std::uint64_t i = 0; i < 8; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s: %s", row.driver, pipeline.message(GST_MESSAGE_ERROR).c_str());
    const auto frame = read_frame(sample);
    const auto counter = read_counter(frame);
    fail_unless(counter.valid, "%s %s frame %d", row.driver, row.drm_format, static_cast<int>(i));
    fail_unless_equals_uint64(counter.frame, i);
    fail_unless_equals_uint64(counter.timestamp_ns, GST_BUFFER_PTS(gst_sample_get_buffer(sample)));
    const auto *meta = gst_buffer_get_video_meta(gst_sample_get_buffer(sample));
    fail_unless_equals_int(static_cast<int>(meta->width), 300);
    fail_unless_equals_int(static_cast<int>(meta->height), 212);
    // The bars under the counter: the first is light grey, the last is blue, the bottom row is black but for one.
    fail_unless(brightness(frame, 90, 20) > brightness(frame, 290, 20), "bars");
    if (frame.layout.n_planes == 2) { // U and V of the grey bar, and of the blue one
      const auto bytes = frame.row_bytes[1] / 150;
      const auto *chroma = frame.planes[1].data() + static_cast<std::size_t>(frame.row_bytes[1]) * 55;
      const auto at = [&](guint x, guint v) { return static_cast<int>(chroma[x / 2 * bytes + bytes / 2 * v + bytes / 2 - 1]); };
      fail_unless(at(10, 0) == 128 && at(10, 1) == 128, "%s %s: grey has U %d, V %d", row.driver, row.drm_format, at(10, 0), at(10, 1));
      fail_unless(at(290, 0) > 200 && at(290, 1) < 128, "%s %s: blue has U %d, V %d", row.driver, row.drm_format, at(290, 0), at(290, 1));
    }
    fail_unless(brightness(frame, 70, 205) > 200 && brightness(frame, 200, 205) < 30, "white and black");
  }
  fail_unless_equals_uint64(pipeline.stat("copies"), 0);
}
GST_END_TEST

Suite *va_layouts_suite()
{
  Suite *suite = suite_create("vadmabufsrc layouts");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_layout, 0, G_N_ELEMENTS(kLayouts));
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_layouts)

// SPDX-License-Identifier: LGPL-2.1-or-later
// From a decoder's surfaces through a GL effect to the display: no copy anywhere, imports that
// stay, and the picture as the display scanned it out.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <gst/video/video.h>

#include "device/va/va_support.hpp"
#include "egl_pipeline.hpp"

namespace gstdrm::test {
namespace {

constexpr int kWidth = 1024; // the display's mode
constexpr int kHeight = 768;
constexpr int kFrames = 30;
constexpr unsigned kSurfaces = 4;
// How many of egldmabufdownload's buffers are under way at a time depends on the threads: one that
// is drawn, and up to 3 for the display, the one on its way to it, the next, and the one on it.
constexpr unsigned kTargets = 6;

struct Row {
  const char *into;    // drm-format that vadmabufsrc sends
  const char *filters; // in between
  const char *out;     // that the display gets
  int tolerance;       // YUV is rounded by the pattern and by each conversion
};
const Row kRows[] = {
    {"XR24", "gleffects_mirror", "XR24", 0},
    {"NV12", "glcolorconvert ! gleffects_mirror", "XR24", 3},
    {"XR24", "gleffects_mirror", "NV12", 3},
};

std::string drm(const char *drm_format)
{
  return std::string("video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=(string)") + drm_format;
}

std::string chain(const Row &row)
{
  return "vadmabufsrc name=src pattern=frame-counter num-surfaces=" + std::to_string(kSurfaces) +
         " num-buffers=" + std::to_string(kFrames) + " ! " + drm(row.into) +
         ",width=" + std::to_string(kWidth) + ",height=" + std::to_string(kHeight) +
         " ! egldmabufupload name=u zero-copy=require ! " + row.filters +
         " ! "
         "egldmabufdownload name=d zero-copy=require ! " +
         drm(row.out) + " ! kmsdmabufsink name=sink mode=match driver-name=vkms zero-copy=require sync=false";
}

// SMPTE bars at 75 %, as R, G, B; the same rule as the pattern's.
std::array<int, 3> bar_colour(int x)
{
  constexpr std::array<guint32, 7> kBars{0xbfbfbf, 0xbfbf00, 0x00bfbf, 0x00bf00,
                                         0xbf00bf, 0xbf0000, 0x0000bf};
  const guint32 bar = kBars[static_cast<std::size_t>(std::min(6, (x & ~1) * 7 / kWidth))];
  return {static_cast<int>(bar >> 16), static_cast<int>(bar >> 8 & 0xff),
          static_cast<int>(bar & 0xff)};
}

// gleffects_mirror shows the right half and its mirror image. The counter is in the left one; the
// upper two thirds are bars. Filters for chroma reach two pixels over their edges.
void check_mirrored(GstSample *sample, const Row &row)
{
  GstVideoInfo info;
  GstVideoFrame frame;
  fail_unless(gst_video_info_from_caps(&info, gst_sample_get_caps(sample)));
  fail_unless_equals_int(GST_VIDEO_INFO_WIDTH(&info), kWidth);
  fail_unless_equals_int(GST_VIDEO_INFO_HEIGHT(&info), kHeight);
  fail_unless(gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ));
  const int step = GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, 0);
  int compared = 0;
  for (int y = 0; y < kHeight * 2 / 3 - 4; y++) {
    for (int x = 0; x < kWidth; x++) {
      const int from = std::max(x, kWidth - 1 - x);
      const std::array<int, 3> expected = bar_colour(from);
      if (row.tolerance > 0 && (expected != bar_colour(std::max(from - 4, 0)) ||
                                expected != bar_colour(std::min(from + 4, kWidth - 1))))
        continue;
      for (guint c = 0; c < 3; c++, compared++) {
        const auto *data = static_cast<const guint8 *>(GST_VIDEO_FRAME_COMP_DATA(&frame, c));
        const int got = data[y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c) + x * step];
        if (std::abs(got - expected[c]) > row.tolerance)
          ck_abort_msg("%s to %s at %d,%d: component %u is %d, not %d", row.into, row.out, x, y, c,
                       got, expected[c]);
      }
    }
  }
  gst_video_frame_unmap(&frame);
  fail_unless(compared > kWidth * kHeight);
}

} // namespace

GST_START_TEST(test_chain)
{
  const Row &row = kRows[__i__];
  set_driver("modifiers=linear");
  EglPipeline stream(chain(row));
  stream.play();
  const std::string said = stream.outcome();
  if (!imports_here()) {
    fail_unless(contains(said, "u (egldmabufupload): ") && contains(said, "imports no dma-buf"), "%s", said.c_str());
    return;
  }
  fail_unless_equals_string(said.c_str(), "end of stream");
  for (const char *name : {"u", "d", "sink"})
    fail_unless_equals_uint64(stream.stat("copies", name), 0);
  for (const auto &[name, most] : {std::pair{"u", kSurfaces}, std::pair{"d", kTargets}}) {
    const std::uint64_t imports = stream.stat("imports", name);
    fail_unless(imports >= 1 && imports <= most, "%s: %u imports", name,
                static_cast<unsigned>(imports));
    fail_unless_equals_uint64(stream.stat("frames", name), kFrames);
    if (name[0] == 'u') // the other one proves a buffer before the first frame
      fail_unless_equals_uint64(stream.stat("import-hits", name), kFrames - imports);
  }
  fail_unless_equals_uint64(stream.stat("fallbacks", "u"), 0);
  GstSample *taken = nullptr;
  g_signal_emit_by_name(stream.element("sink").get(), "snapshot", &taken);
  const auto sample = GstPtr<GstSample>::adopt(taken);
  fail_unless(sample, "no snapshot");
  check_mirrored(sample.get(), row);
}
GST_END_TEST

void add_chain(Suite *suite)
{
  for (const char *name : {"vadmabufsrc", "kmsdmabufsink", "gleffects_mirror"}) {
    GstElementFactory *factory = gst_element_factory_find(name);
    if (!factory) {
      g_print("# no chain: there is no %s here\n", name);
      return;
    }
    gst_object_unref(factory);
  }
  TCase *tcase = add_case(suite, "to the display");
  tcase_add_loop_test(tcase, test_chain, 0, G_N_ELEMENTS(kRows));
}

} // namespace gstdrm::test

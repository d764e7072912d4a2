// SPDX-License-Identifier: LGPL-2.1-or-later
// RGBA that the element draws of planes, and that the driver makes: where the samples of chroma
// are, odd sizes, and filters that take nothing else.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <drm_fourcc.h>

#include <gst/video/video.h>

#include "egl_pipeline.hpp"
#include "egl_refusing.hpp"
#include "egl_write_plane.hpp"

namespace gstdrm::test {
namespace {

constexpr int kSize = 16;
constexpr int kChroma = kSize / 2;

// --- chroma siting -------------------------------------------------------------------------------

struct SitingRow {
  const char *site; // of the caps; nullptr: none, which is GStreamer's default up to 576 rows, jpeg
  bool is_cosited;  // with the first pixel of two
  bool is_down;     // along the column instead of the row
};
const SitingRow kSitings[] = {
    {"mpeg2", true, false},  {"mpeg2", false, true},   {"jpeg", false, false},
    {"jpeg", false, true},   {"cosited", true, false}, {"cosited", true, true},
    {nullptr, false, false}, {nullptr, false, true},
};

constexpr double kMiddle = 512; // of 10 bits
// Red along the row or the column; far from the bounds of RGB.
constexpr std::array<double, kChroma> kRed{560, 430, 480, 590, 440, 600, 450, 520};

// Between the two samples around it; the edge's own beyond the edge.
double red_at(int pixel, bool is_cosited)
{
  const double place = is_cosited ? pixel / 2.0 : (pixel - 0.5) / 2;
  const double first = std::floor(place);
  const auto sample = [](double index) {
    return kRed[static_cast<std::size_t>(std::clamp(index, 0.0, kChroma - 1.0))];
  };
  return sample(first) + (place - first) * (sample(first + 1) - sample(first));
}

} // namespace

GST_START_TEST(test_chroma_siting)
{
  const SitingRow &row = kSitings[__i__];
  if (!imports_here())
    return;
  const PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, DRM_FORMAT_P010, kSize, kSize, {});
  write_plane(frame.layout().planes[0], kSize, kSize, [](int, int) { return kMiddle; });
  write_plane(frame.layout().planes[1], kChroma, kSize, [&](int i, int y) {
    return i % 2 ? kRed[static_cast<std::size_t>(row.is_down ? y : i / 2)] : kMiddle;
  });
  EglPipeline stream(drawn("", ",texture-target=2D"));
  stream.play();
  const std::string site = row.site ? std::string(",chroma-site=(string)") + row.site : "";
  const auto sample =
      stream.pass(frame, dma_drm_caps("P010", kSize, kSize, ",colorimetry=bt601" + site));
  fail_unless_equals_uint64(stream.stat("draws"), 1);
  GstVideoInfo info;
  GstVideoFrame mapped;
  fail_unless(gst_video_info_from_caps(&info, gst_sample_get_caps(sample.get())));
  fail_unless(
      gst_video_frame_map(&mapped, &info, gst_sample_get_buffer(sample.get()), GST_MAP_READ));
  const double luma = (kMiddle - 64) * 255 / 876; // ITU-R BT.601, of 10 bits
  double worst = 0;
  for (int y = 0; y < kSize; y++)
    for (int x = 0; x < kSize; x++) {
      const auto *pixel =
          static_cast<const std::uint8_t *>(GST_VIDEO_FRAME_PLANE_DATA(&mapped, 0)) +
          y * GST_VIDEO_FRAME_PLANE_STRIDE(&mapped, 0) + 4 * x;
      const double red =
          luma + 1.402 * (red_at(row.is_down ? y : x, row.is_cosited) - kMiddle) * 255 / 896;
      worst = std::max(worst, std::abs(pixel[0] - red));
    }
  gst_video_frame_unmap(&mapped);
  fail_unless(worst <= 1, "%s: %g", row.site ? row.site : "none", worst);
}
GST_END_TEST

namespace {

struct OddRow {
  std::uint32_t fourcc;
  const char *drm_format;
  std::uint32_t width, height;
  const char *gl; // between the element and the appsink
};
constexpr const char *kFilter = "gleffects_identity";
const OddRow kOdd[] = {
    {DRM_FORMAT_NV12, "NV12", 67, 51, kFilter},        {DRM_FORMAT_YUV420, "YU12", 67, 51, kFilter},
    {DRM_FORMAT_YUYV, "YUYV", 67, 51, kFilter},        {DRM_FORMAT_UYVY, "UYVY", 67, 51, kFilter},
    {DRM_FORMAT_P010, "P010", 67, 51, kFilter},        {DRM_FORMAT_NV12, "NV12", 1, 1, kFilter},
    {DRM_FORMAT_YUYV, "YUYV", 1, 1, kFilter},          {DRM_FORMAT_YUV420, "YU12", 3, 33, kFilter},
    {DRM_FORMAT_NV12, "NV12", 67, 51, "glcolorscale"},
};

} // namespace

// What every filter of GStreamer takes: textures of RGBA, 2D.
GST_START_TEST(test_drawn_for_filters)
{
  const OddRow &row = kOdd[__i__];
  if (!imports_here())
    return;
  PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, row.fourcc, row.width, row.height,
                     {.stride_align = 64});
  EglPipeline stream(std::string("appsrc name=in format=time ! egldmabufupload name=u ! ") +
                     row.gl +
                     " ! video/x-raw(memory:GLMemory),format=RGBA,texture-target=2D ! gldownload ! "
                     "video/x-raw,format=RGBA ! appsink name=out sync=false");
  stream.play();
  const std::string caps = dma_drm_caps(row.drm_format, static_cast<int>(row.width),
                                        static_cast<int>(row.height), ",colorimetry=bt709");
  for (unsigned i = 1; i <= 3; i++) {
    frame.fill(i);
    const double distance =
        rgba_distance(stream.pass(frame, caps).get(), frame, {0.2126, 0.0722, false});
    fail_unless(distance <= 1, "%s %ux%u: %g", row.drm_format, row.width, row.height, distance);
  }
  fail_unless_equals_uint64(stream.stat("draws"), 3);
  fail_unless_equals_uint64(stream.stat("imports"), 1);
  fail_unless_equals_uint64(stream.stat("copies"), 0);
  fail_unless_equals_uint64(stream.stat("fallbacks"), 0);
}
GST_END_TEST

namespace {

struct HintRow {
  const char *site;
  int across, down;
};
const HintRow kHints[] = {
    {"mpeg2", EGL_YUV_CHROMA_SITING_0_EXT, EGL_YUV_CHROMA_SITING_0_5_EXT},
    {"jpeg", EGL_YUV_CHROMA_SITING_0_5_EXT, EGL_YUV_CHROMA_SITING_0_5_EXT},
    {"cosited", EGL_YUV_CHROMA_SITING_0_EXT, EGL_YUV_CHROMA_SITING_0_EXT},
};

} // namespace

// Where the driver converts, it is told. The pixels of the other cases do not show it.
GST_START_TEST(test_chroma_siting_hints)
{
  const HintRow &row = kHints[__i__];
  if (!imports_here())
    return;
  PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, DRM_FORMAT_NV12, 64, 48, {});
  frame.fill(1);
  std::atomic<unsigned> asked{0};
  std::atomic<unsigned> told{0};
  const Refusing watching([&](const ImageRequest &request) {
    asked += request.fourcc == DRM_FORMAT_NV12;
    told += request.fourcc == DRM_FORMAT_NV12 && request.siting[0] == row.across &&
            request.siting[1] == row.down;
    return false;
  });
  EglPipeline stream(drawn("zero-copy=require", ",texture-target=external-oes"));
  stream.play();
  (void)stream.pass(
      frame, dma_drm_caps("NV12", 64, 48,
                          std::string(",colorimetry=bt601,chroma-site=(string)") + row.site));
  fail_unless(asked == 2 && told == 2, "%s: %u of %u", row.site, told.load(), // proof and frame
              asked.load());
}
GST_END_TEST

void add_drawn(Suite *suite)
{
  TCase *tcase = add_case(suite, "drawn");
  tcase_add_loop_test(tcase, test_chroma_siting, 0, G_N_ELEMENTS(kSitings));
  tcase_add_loop_test(tcase, test_drawn_for_filters, 0, G_N_ELEMENTS(kOdd));
  tcase_add_loop_test(tcase, test_chroma_siting_hints, 0, G_N_ELEMENTS(kHints));
}

} // namespace gstdrm::test

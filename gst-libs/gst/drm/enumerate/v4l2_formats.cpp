// SPDX-License-Identifier: LGPL-2.1-or-later
#include "v4l2_formats.hpp"

#include <algorithm>
#include <array>

#include <drm_fourcc.h>
#include <linux/videodev2.h>

#include "../core/drm_facts.hpp"

namespace gstdrm {

namespace {

struct Name {
  std::uint32_t v4l2;
  Format format;
};

// <linux/videodev2.h> of newer kernels than those that this is built on
constexpr std::uint32_t kP012 = v4l2_fourcc('P', '0', '1', '2');
constexpr std::uint32_t kY210 = v4l2_fourcc('Y', '2', '1', '0');
constexpr std::uint32_t kY212 = v4l2_fourcc('Y', '2', '1', '2');
constexpr std::uint32_t kY216 = v4l2_fourcc('Y', '2', '1', '6');
constexpr std::uint32_t kNv15 = v4l2_fourcc('N', 'V', '1', '5');
constexpr std::uint32_t kNv20 = v4l2_fourcc('N', 'V', '2', '0');
constexpr std::uint32_t kNv12Tiles4x4 = v4l2_fourcc('V', 'T', '1', '2');
constexpr std::uint32_t kNv15Tiles4x4 = v4l2_fourcc('V', 'T', '1', '5');
constexpr std::uint32_t kSunxiTiledNv12 = v4l2_fourcc('S', 'T', '1', '2');
constexpr std::uint32_t kMm21 = v4l2_fourcc('M', 'M', '2', '1');
constexpr std::uint32_t kMt2110T = v4l2_fourcc('M', 'T', '2', 'T');
constexpr std::uint32_t kMt2110R = v4l2_fourcc('M', 'T', '2', 'R');
constexpr std::uint32_t kQc08c = v4l2_fourcc('Q', '0', '8', 'C');

// By the bytes in memory (Documentation/userspace-api/media/v4l/pixfmt-*.rst, and drm_fourcc.h).
// The M variants have one memory plane per colour plane and the same pixels.
constexpr std::array kNames = {
    Name{V4L2_PIX_FMT_NV12, {DRM_FORMAT_NV12, 0}},
    Name{V4L2_PIX_FMT_NV12M, {DRM_FORMAT_NV12, 0}},
    Name{V4L2_PIX_FMT_NV21, {DRM_FORMAT_NV21, 0}},
    Name{V4L2_PIX_FMT_NV21M, {DRM_FORMAT_NV21, 0}},
    Name{V4L2_PIX_FMT_NV16, {DRM_FORMAT_NV16, 0}},
    Name{V4L2_PIX_FMT_NV16M, {DRM_FORMAT_NV16, 0}},
    Name{V4L2_PIX_FMT_NV61, {DRM_FORMAT_NV61, 0}},
    Name{V4L2_PIX_FMT_NV61M, {DRM_FORMAT_NV61, 0}},
    Name{V4L2_PIX_FMT_NV24, {DRM_FORMAT_NV24, 0}},
    Name{V4L2_PIX_FMT_NV42, {DRM_FORMAT_NV42, 0}},
    Name{V4L2_PIX_FMT_P010, {DRM_FORMAT_P010, 0}},
    Name{kP012, {DRM_FORMAT_P012, 0}},
    Name{kNv15, {DRM_FORMAT_NV15, 0}},
    Name{kNv20, {kFourccNv20, 0}},
    Name{V4L2_PIX_FMT_YUV410, {DRM_FORMAT_YUV410, 0}},
    Name{V4L2_PIX_FMT_YVU410, {DRM_FORMAT_YVU410, 0}},
    Name{V4L2_PIX_FMT_YUV411P, {DRM_FORMAT_YUV411, 0}},
    Name{V4L2_PIX_FMT_YUV420, {DRM_FORMAT_YUV420, 0}},
    Name{V4L2_PIX_FMT_YUV420M, {DRM_FORMAT_YUV420, 0}},
    Name{V4L2_PIX_FMT_YVU420, {DRM_FORMAT_YVU420, 0}},
    Name{V4L2_PIX_FMT_YVU420M, {DRM_FORMAT_YVU420, 0}},
    Name{V4L2_PIX_FMT_YUV422P, {DRM_FORMAT_YUV422, 0}},
    Name{V4L2_PIX_FMT_YUV422M, {DRM_FORMAT_YUV422, 0}},
    Name{V4L2_PIX_FMT_YVU422M, {DRM_FORMAT_YVU422, 0}},
    Name{V4L2_PIX_FMT_YUV444M, {DRM_FORMAT_YUV444, 0}},
    Name{V4L2_PIX_FMT_YVU444M, {DRM_FORMAT_YVU444, 0}},
    Name{V4L2_PIX_FMT_YUYV, {DRM_FORMAT_YUYV, 0}},
    Name{V4L2_PIX_FMT_YVYU, {DRM_FORMAT_YVYU, 0}},
    Name{V4L2_PIX_FMT_UYVY, {DRM_FORMAT_UYVY, 0}},
    Name{V4L2_PIX_FMT_VYUY, {DRM_FORMAT_VYUY, 0}},
    Name{kY210, {DRM_FORMAT_Y210, 0}},
    Name{kY212, {DRM_FORMAT_Y212, 0}},
    Name{kY216, {DRM_FORMAT_Y216, 0}},
    Name{V4L2_PIX_FMT_GREY, {DRM_FORMAT_R8, 0}},
    Name{V4L2_PIX_FMT_Y10, {DRM_FORMAT_R10, 0}},
    Name{V4L2_PIX_FMT_Y12, {DRM_FORMAT_R12, 0}},
    Name{V4L2_PIX_FMT_Y16, {DRM_FORMAT_R16, 0}},
    // pixfmt-rgb.rst: those of 16 bits are little-endian words in V4L2, too
    Name{V4L2_PIX_FMT_RGB565, {DRM_FORMAT_RGB565, 0}},
    Name{V4L2_PIX_FMT_ARGB444, {DRM_FORMAT_ARGB4444, 0}},
    Name{V4L2_PIX_FMT_XRGB444, {DRM_FORMAT_XRGB4444, 0}},
    Name{V4L2_PIX_FMT_RGBA444, {DRM_FORMAT_RGBA4444, 0}},
    Name{V4L2_PIX_FMT_RGBX444, {DRM_FORMAT_RGBX4444, 0}},
    Name{V4L2_PIX_FMT_ABGR444, {DRM_FORMAT_ABGR4444, 0}},
    Name{V4L2_PIX_FMT_XBGR444, {DRM_FORMAT_XBGR4444, 0}},
    Name{V4L2_PIX_FMT_BGRA444, {DRM_FORMAT_BGRA4444, 0}},
    Name{V4L2_PIX_FMT_BGRX444, {DRM_FORMAT_BGRX4444, 0}},
    Name{V4L2_PIX_FMT_ARGB555, {DRM_FORMAT_ARGB1555, 0}},
    Name{V4L2_PIX_FMT_XRGB555, {DRM_FORMAT_XRGB1555, 0}},
    Name{V4L2_PIX_FMT_RGBA555, {DRM_FORMAT_RGBA5551, 0}},
    Name{V4L2_PIX_FMT_RGBX555, {DRM_FORMAT_RGBX5551, 0}},
    Name{V4L2_PIX_FMT_ABGR555, {DRM_FORMAT_ABGR1555, 0}},
    Name{V4L2_PIX_FMT_XBGR555, {DRM_FORMAT_XBGR1555, 0}},
    Name{V4L2_PIX_FMT_BGRA555, {DRM_FORMAT_BGRA5551, 0}},
    Name{V4L2_PIX_FMT_BGRX555, {DRM_FORMAT_BGRX5551, 0}},
    // of the others V4L2 names the bytes in memory, DRM the bits of a little-endian word
    Name{V4L2_PIX_FMT_RGB24, {DRM_FORMAT_BGR888, 0}},
    Name{V4L2_PIX_FMT_BGR24, {DRM_FORMAT_RGB888, 0}},
    Name{V4L2_PIX_FMT_XBGR32, {DRM_FORMAT_XRGB8888, 0}},
    Name{V4L2_PIX_FMT_ABGR32, {DRM_FORMAT_ARGB8888, 0}},
    Name{V4L2_PIX_FMT_RGBX32, {DRM_FORMAT_XBGR8888, 0}},
    Name{V4L2_PIX_FMT_RGBA32, {DRM_FORMAT_ABGR8888, 0}},
    Name{V4L2_PIX_FMT_XRGB32, {DRM_FORMAT_BGRX8888, 0}},
    Name{V4L2_PIX_FMT_ARGB32, {DRM_FORMAT_BGRA8888, 0}},
    Name{V4L2_PIX_FMT_BGRX32, {DRM_FORMAT_RGBX8888, 0}},
    Name{V4L2_PIX_FMT_BGRA32, {DRM_FORMAT_RGBA8888, 0}},
    Name{V4L2_PIX_FMT_VUYA32, {DRM_FORMAT_AYUV, 0}},
    Name{V4L2_PIX_FMT_VUYX32, {DRM_FORMAT_XYUV8888, 0}},
    // Layouts that have one modifier, from what drm_fourcc.h, pixfmt-yuv-planar.rst and
    // pixfmt-reserved.rst say of them. The columns of the Raspberry Pi (NC12) need a height that
    // V4L2's name does not have; DRM has no name for the 8 by 128 of Amphion, HM12 and MT21, and
    // QC10C does not say which 10-bit format it compresses.
    Name{V4L2_PIX_FMT_NV12MT, {DRM_FORMAT_NV12, DRM_FORMAT_MOD_SAMSUNG_64_32_TILE}},
    Name{V4L2_PIX_FMT_NV12MT_16X16, {DRM_FORMAT_NV12, DRM_FORMAT_MOD_SAMSUNG_16_16_TILE}},
    Name{kNv12Tiles4x4, {DRM_FORMAT_NV12, DRM_FORMAT_MOD_VIVANTE_TILED}},
    Name{kNv15Tiles4x4, {DRM_FORMAT_NV15, DRM_FORMAT_MOD_VIVANTE_TILED}},
    Name{kSunxiTiledNv12, {DRM_FORMAT_NV12, DRM_FORMAT_MOD_ALLWINNER_TILED}},
    Name{kMm21, {DRM_FORMAT_NV12, kModMtk16L32S}},
    Name{kMt2110T, {DRM_FORMAT_NV15, kModMtk16L32SLsbTiled}},
    Name{kMt2110R, {DRM_FORMAT_NV15, kModMtk16L32SLsbRaster}},
    Name{kQc08c, {DRM_FORMAT_NV12, DRM_FORMAT_MOD_QCOM_COMPRESSED}},
};

} // namespace

std::optional<Format> format_of_v4l2(std::uint32_t pixelformat) noexcept
{
  const auto *it = std::find_if(kNames.begin(), kNames.end(), [pixelformat](const Name &name) {
    return name.v4l2 == pixelformat;
  });
  if (it == kNames.end())
    return std::nullopt;
  return it->format;
}

} // namespace gstdrm

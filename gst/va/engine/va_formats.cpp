// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_formats.hpp"

#include <algorithm>
#include <array>

#include <drm_fourcc.h>

namespace gstdrm::va {
namespace {

// VA names RGB by its bytes in memory, DRM by its bits in a little-endian word.
constexpr std::array kFormats = {
    PixelFormat{VA_FOURCC_NV12, DRM_FORMAT_NV12, VA_RT_FORMAT_YUV420, Model::Yuv},
    PixelFormat{VA_FOURCC_P010, DRM_FORMAT_P010, VA_RT_FORMAT_YUV420_10, Model::Yuv},
    PixelFormat{VA_FOURCC_P012, DRM_FORMAT_P012, VA_RT_FORMAT_YUV420_12, Model::Yuv},
    PixelFormat{VA_FOURCC_NV21, DRM_FORMAT_NV21, VA_RT_FORMAT_YUV420, Model::Yuv},
    PixelFormat{VA_FOURCC_I420, DRM_FORMAT_YUV420, VA_RT_FORMAT_YUV420, Model::Yuv},
    PixelFormat{VA_FOURCC_YV12, DRM_FORMAT_YVU420, VA_RT_FORMAT_YUV420, Model::Yuv},
    PixelFormat{VA_FOURCC_YUY2, DRM_FORMAT_YUYV, VA_RT_FORMAT_YUV422, Model::Yuv},
    PixelFormat{VA_FOURCC_UYVY, DRM_FORMAT_UYVY, VA_RT_FORMAT_YUV422, Model::Yuv},
    PixelFormat{VA_FOURCC_Y210, DRM_FORMAT_Y210, VA_RT_FORMAT_YUV422_10, Model::Yuv},
    PixelFormat{VA_FOURCC_AYUV, DRM_FORMAT_AYUV, VA_RT_FORMAT_YUV444, Model::Yuv},
    PixelFormat{VA_FOURCC_XYUV, DRM_FORMAT_XYUV8888, VA_RT_FORMAT_YUV444, Model::Yuv},
    PixelFormat{VA_FOURCC_Y410, DRM_FORMAT_Y410, VA_RT_FORMAT_YUV444_10, Model::Yuv},
    PixelFormat{VA_FOURCC_BGRX, DRM_FORMAT_XRGB8888, VA_RT_FORMAT_RGB32, Model::Rgb},
    PixelFormat{VA_FOURCC_BGRA, DRM_FORMAT_ARGB8888, VA_RT_FORMAT_RGB32, Model::Rgb},
    PixelFormat{VA_FOURCC_RGBX, DRM_FORMAT_XBGR8888, VA_RT_FORMAT_RGB32, Model::Rgb},
    PixelFormat{VA_FOURCC_RGBA, DRM_FORMAT_ABGR8888, VA_RT_FORMAT_RGB32, Model::Rgb},
    PixelFormat{VA_FOURCC_XRGB, DRM_FORMAT_BGRX8888, VA_RT_FORMAT_RGB32, Model::Rgb},
    PixelFormat{VA_FOURCC_ARGB, DRM_FORMAT_BGRA8888, VA_RT_FORMAT_RGB32, Model::Rgb},
    PixelFormat{VA_FOURCC_X2R10G10B10, DRM_FORMAT_XRGB2101010, VA_RT_FORMAT_RGB32_10, Model::Rgb},
    PixelFormat{VA_FOURCC_A2R10G10B10, DRM_FORMAT_ARGB2101010, VA_RT_FORMAT_RGB32_10, Model::Rgb},
};

// Other VA fourccs that drivers report for the same bytes. For 32-bit RGB, the names on the left
// are bytes in memory for every driver; those on the right are bytes for some and bits of a word
// for others, so they are accepted from drivers but never passed to them.
struct Alias {
  std::uint32_t asked;
  std::uint32_t answered;
};
constexpr std::uint32_t kYuyv = VA_FOURCC('Y', 'U', 'Y', 'V');
constexpr std::array kAliases = {
    // intel/media-driver 24.1, media_libva.cpp, DdiMedia_MediaFormatToOsFormat()
    Alias{VA_FOURCC_BGRX, VA_FOURCC_XRGB},
    Alias{VA_FOURCC_BGRA, VA_FOURCC_ARGB},
    Alias{VA_FOURCC_RGBX, VA_FOURCC_XBGR},
    Alias{VA_FOURCC_RGBA, VA_FOURCC_ABGR},
    Alias{VA_FOURCC_I420, VA_FOURCC_IYUV},
    // Mesa before 23, src/gallium/frontends/va/va_private.h, PipeFormatToVaFourcc()
    Alias{VA_FOURCC_YUY2, kYuyv},
};

// The DRM fourcc that has the same letters as the VA one; its bytes are in the opposite order.
std::uint32_t same_letters(std::uint32_t va_fourcc)
{
  switch (va_fourcc) {
  case VA_FOURCC_BGRX:
    return DRM_FORMAT_BGRX8888;
  case VA_FOURCC_BGRA:
    return DRM_FORMAT_BGRA8888;
  case VA_FOURCC_RGBX:
    return DRM_FORMAT_RGBX8888;
  case VA_FOURCC_RGBA:
    return DRM_FORMAT_RGBA8888;
  default:
    return 0;
  }
}

} // namespace

const PixelFormat *format_by_va(std::uint32_t va_fourcc)
{
  const auto it = std::find_if(kFormats.begin(), kFormats.end(), [va_fourcc](const auto &format) {
    return format.va_fourcc == va_fourcc;
  });
  return it == kFormats.end() ? nullptr : &*it;
}

const PixelFormat *format_by_drm(std::uint32_t drm_fourcc)
{
  const auto it = std::find_if(kFormats.begin(), kFormats.end(), [drm_fourcc](const auto &format) {
    return format.drm_fourcc == drm_fourcc;
  });
  return it == kFormats.end() ? nullptr : &*it;
}

bool is_name_of(const PixelFormat &format, std::uint32_t va_fourcc)
{
  return format.va_fourcc == va_fourcc ||
         std::any_of(kAliases.begin(), kAliases.end(), [&](const auto &alias) {
           return alias.asked == format.va_fourcc && alias.answered == va_fourcc;
         });
}

bool is_layer_of(const PixelFormat &format, std::uint32_t va_fourcc, std::uint32_t layer)
{
  if (layer == format.drm_fourcc)
    return true;
  return va_fourcc == format.va_fourcc && layer != 0 && layer == same_letters(va_fourcc);
}

} // namespace gstdrm::va

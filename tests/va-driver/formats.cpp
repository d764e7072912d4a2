// SPDX-License-Identifier: LGPL-2.1-or-later
#include "formats.hpp"

#include <drm_fourcc.h>

namespace gstdrm::test::vadriver {
namespace {

using Order = std::array<std::uint8_t, 4>;

constexpr PixelFormat rgb32(std::uint32_t va, std::uint32_t drm, Order order, bool alpha)
{
  return {va,    drm, VA_RT_FORMAT_RGB32, Model::Rgb, Packing::Rgb32, 8, order,
          alpha, 1,   {{{drm, 4, 1, 1}}}};
}

// `order` counts fields of 10 bits from the lowest bit on.
constexpr PixelFormat rgb10(std::uint32_t va, std::uint32_t drm, Order order, bool alpha)
{
  return {va,    drm, VA_RT_FORMAT_RGB32_10, Model::Rgb, Packing::Rgb10, 10, order,
          alpha, 1,   {{{drm, 4, 1, 1}}}};
}

constexpr PixelFormat semi_planar(std::uint32_t va, std::uint32_t drm, std::uint8_t depth)
{
  const auto bytes = static_cast<std::uint8_t>(depth > 8 ? 2 : 1);
  const std::uint32_t rt = depth > 8 ? VA_RT_FORMAT_YUV420_10 : VA_RT_FORMAT_YUV420;
  return {va,
          drm,
          rt,
          Model::Yuv,
          Packing::SemiPlanar,
          depth,
          {},
          false,
          2,
          {{{depth > 8 ? DRM_FORMAT_R16 : DRM_FORMAT_R8, bytes, 1, 1},
            {depth > 8 ? DRM_FORMAT_GR1616 : DRM_FORMAT_GR88, static_cast<std::uint8_t>(2 * bytes),
             2, 2}}}};
}

constexpr PixelFormat planar(std::uint32_t va, std::uint32_t drm, Order order)
{
  return {va,
          drm,
          VA_RT_FORMAT_YUV420,
          Model::Yuv,
          Packing::Planar,
          8,
          order,
          false,
          3,
          {{{DRM_FORMAT_R8, 1, 1, 1}, {DRM_FORMAT_R8, 1, 2, 2}, {DRM_FORMAT_R8, 1, 2, 2}}}};
}

constexpr PixelFormat packed422(std::uint32_t va, std::uint32_t drm, Order order)
{
  return {va,    drm, VA_RT_FORMAT_YUV422, Model::Yuv, Packing::Packed422, 8, order,
          false, 1,   {{{drm, 4, 2, 1}}}};
}

// VA names RGB by bytes in memory order, DRM by bits from the highest of a little-endian word.
constexpr std::array kFormats = {
    semi_planar(VA_FOURCC_NV12, DRM_FORMAT_NV12, 8),
    semi_planar(VA_FOURCC_P010, DRM_FORMAT_P010, 10),
    rgb32(VA_FOURCC_BGRX, DRM_FORMAT_XRGB8888, {2, 1, 0, 3}, false),
    rgb32(VA_FOURCC_BGRA, DRM_FORMAT_ARGB8888, {2, 1, 0, 3}, true),
    rgb32(VA_FOURCC_RGBX, DRM_FORMAT_XBGR8888, {0, 1, 2, 3}, false),
    rgb32(VA_FOURCC_RGBA, DRM_FORMAT_ABGR8888, {0, 1, 2, 3}, true),
    rgb32(VA_FOURCC_XRGB, DRM_FORMAT_BGRX8888, {1, 2, 3, 0}, false),
    rgb32(VA_FOURCC_ARGB, DRM_FORMAT_BGRA8888, {1, 2, 3, 0}, true),
    packed422(VA_FOURCC_YUY2, DRM_FORMAT_YUYV, {0, 1, 2, 3}),
    packed422(VA_FOURCC_UYVY, DRM_FORMAT_UYVY, {1, 0, 3, 2}),
    planar(VA_FOURCC_I420, DRM_FORMAT_YUV420, {0, 1, 2, 0}),
    planar(VA_FOURCC_YV12, DRM_FORMAT_YVU420, {0, 2, 1, 0}),
    rgb10(VA_FOURCC_X2R10G10B10, DRM_FORMAT_XRGB2101010, {2, 1, 0, 0}, false),
    rgb10(VA_FOURCC_A2R10G10B10, DRM_FORMAT_ARGB2101010, {2, 1, 0, 0}, true),
};

constexpr std::uint32_t byte_mask(std::uint8_t byte)
{
  return 0xffU << (8 * byte);
}

} // namespace

std::span<const PixelFormat> all_formats()
{
  return kFormats;
}

const PixelFormat *format_by_va(std::uint32_t va_fourcc)
{
  for (const auto &format : kFormats) {
    if (format.va_fourcc == va_fourcc)
      return &format;
  }
  return nullptr;
}

const PixelFormat *format_by_drm(std::uint32_t drm_fourcc)
{
  for (const auto &format : kFormats) {
    if (format.drm_fourcc == drm_fourcc)
      return &format;
  }
  return nullptr;
}

VAImageFormat image_format(const PixelFormat &format)
{
  VAImageFormat image{};
  image.fourcc = format.va_fourcc;
  image.byte_order = VA_LSB_FIRST;
  unsigned bits = 0;
  for (unsigned i = 0; i < format.n_planes; ++i) {
    const auto &plane = format.planes[i];
    bits += 8U * plane.bytes / (plane.hsub * plane.vsub);
  }
  image.bits_per_pixel = bits;
  if (format.packing == Packing::Rgb32) {
    image.depth = format.alpha ? 32 : 24;
    image.red_mask = byte_mask(format.order[0]);
    image.green_mask = byte_mask(format.order[1]);
    image.blue_mask = byte_mask(format.order[2]);
    image.alpha_mask = format.alpha ? byte_mask(format.order[3]) : 0;
  }
  return image;
}

} // namespace gstdrm::test::vadriver

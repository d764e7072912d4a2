// SPDX-License-Identifier: LGPL-2.1-or-later
// Linear layouts of the kernel's fourccs. The truth: the bit layouts in drm_fourcc.h's comments and
// the block sizes of drivers/gpu/drm/drm_fourcc.c.
#include <algorithm>
#include <array>

#include "drm_facts.hpp"
#include "format.hpp"
#include "fourcc_cursor.hpp"

namespace gstdrm {

namespace {

enum class Model : bool { Rgb, Yuv };

constexpr FourccInfo make_info(std::uint32_t fourcc, Model model, PlaneInfo p0, PlaneInfo p1 = {},
                               PlaneInfo p2 = {})
{
  FourccInfo info;
  info.fourcc = fourcc;
  info.planes = {p0, p1, p2, PlaneInfo{}};
  info.n_planes = static_cast<std::uint8_t>(1 + (p1.block_bytes > 0) + (p2.block_bytes > 0));
  info.is_yuv = model == Model::Yuv;
  return info;
}

// One plane, `bytes` per pixel.
constexpr FourccInfo rgb(std::uint32_t fourcc, std::uint8_t bytes)
{
  return make_info(fourcc, Model::Rgb, {bytes});
}

// One plane, `pixels` neighbours of a row in one byte.
constexpr FourccInfo bits(std::uint32_t fourcc, std::uint8_t pixels)
{
  return make_info(fourcc, Model::Rgb, {1, pixels});
}

// Colour plane of `bytes` per pixel, then one byte of alpha per pixel.
constexpr FourccInfo rgb_and_alpha(std::uint32_t fourcc, std::uint8_t bytes)
{
  return make_info(fourcc, Model::Rgb, {bytes}, {1});
}

// One plane; a block of w x h pixels in `bytes`.
constexpr FourccInfo yuv_packed(std::uint32_t fourcc, std::uint8_t bytes, std::uint8_t w = 1,
                                std::uint8_t h = 1)
{
  return make_info(fourcc, Model::Yuv, {bytes, w, h});
}

// Y, and a plane of Cb:Cr pairs.
constexpr FourccInfo semi(std::uint32_t fourcc, std::uint8_t bytes, std::uint8_t hsub,
                          std::uint8_t vsub)
{
  return make_info(fourcc, Model::Yuv, {bytes},
                   {static_cast<std::uint8_t>(2 * bytes), 1, 1, hsub, vsub});
}

// Y: 4 samples of 10 bits in 5 bytes; chroma: 2 pairs in 5 bytes.
constexpr FourccInfo semi_40bit(std::uint32_t fourcc, std::uint8_t hsub, std::uint8_t vsub)
{
  return make_info(fourcc, Model::Yuv, {5, 4}, {5, 2, 1, hsub, vsub});
}

// Y: 3 samples of 10 bits in 4 bytes; chroma: 3 pairs in 8 bytes.
constexpr FourccInfo semi_32bit(std::uint32_t fourcc, std::uint8_t hsub, std::uint8_t vsub)
{
  return make_info(fourcc, Model::Yuv, {4, 3}, {8, 3, 1, hsub, vsub});
}

// Y, Cb and Cr (or Cr and Cb) planes.
constexpr FourccInfo planar(std::uint32_t fourcc, std::uint8_t bytes, std::uint8_t hsub,
                            std::uint8_t vsub)
{
  const PlaneInfo chroma{bytes, 1, 1, hsub, vsub};
  return make_info(fourcc, Model::Yuv, {bytes}, chroma, chroma);
}

template <std::size_t N> constexpr std::array<FourccInfo, N> sorted(std::array<FourccInfo, N> table)
{
  std::sort(table.begin(), table.end(),
            [](const FourccInfo &a, const FourccInfo &b) { return a.fourcc < b.fourcc; });
  return table;
}

// Left out, for their linear layout is undefined: YU08, YU10 and VU30 (drm_fourcc.h).
constexpr auto kTable = sorted(std::to_array<FourccInfo>({
    bits(make_fourcc('C', '1', ' ', ' '), 8),
    bits(make_fourcc('C', '2', ' ', ' '), 4),
    bits(make_fourcc('C', '4', ' ', ' '), 2),
    rgb(DRM_FORMAT_C8, 1),
    bits(make_fourcc('D', '1', ' ', ' '), 8),
    bits(make_fourcc('D', '2', ' ', ' '), 4),
    bits(make_fourcc('D', '4', ' ', ' '), 2),
    rgb(make_fourcc('D', '8', ' ', ' '), 1),
    bits(make_fourcc('R', '1', ' ', ' '), 8),
    bits(make_fourcc('R', '2', ' ', ' '), 4),
    bits(make_fourcc('R', '4', ' ', ' '), 2),
    rgb(DRM_FORMAT_R8, 1),
    rgb(DRM_FORMAT_R10, 2),
    rgb(DRM_FORMAT_R12, 2),
    rgb(DRM_FORMAT_R16, 2),
    rgb(DRM_FORMAT_RG88, 2),
    rgb(DRM_FORMAT_GR88, 2),
    rgb(DRM_FORMAT_RG1616, 4),
    rgb(DRM_FORMAT_GR1616, 4),
    rgb(DRM_FORMAT_RGB332, 1),
    rgb(DRM_FORMAT_BGR233, 1),
    rgb(DRM_FORMAT_XRGB4444, 2),
    rgb(DRM_FORMAT_XBGR4444, 2),
    rgb(DRM_FORMAT_RGBX4444, 2),
    rgb(DRM_FORMAT_BGRX4444, 2),
    rgb(DRM_FORMAT_ARGB4444, 2),
    rgb(DRM_FORMAT_ABGR4444, 2),
    rgb(DRM_FORMAT_RGBA4444, 2),
    rgb(DRM_FORMAT_BGRA4444, 2),
    rgb(DRM_FORMAT_XRGB1555, 2),
    rgb(DRM_FORMAT_XBGR1555, 2),
    rgb(DRM_FORMAT_RGBX5551, 2),
    rgb(DRM_FORMAT_BGRX5551, 2),
    rgb(DRM_FORMAT_ARGB1555, 2),
    rgb(DRM_FORMAT_ABGR1555, 2),
    rgb(DRM_FORMAT_RGBA5551, 2),
    rgb(DRM_FORMAT_BGRA5551, 2),
    rgb(DRM_FORMAT_RGB565, 2),
    rgb(DRM_FORMAT_BGR565, 2),
    rgb(DRM_FORMAT_RGB888, 3),
    rgb(DRM_FORMAT_BGR888, 3),
    rgb(DRM_FORMAT_XRGB8888, 4),
    rgb(DRM_FORMAT_XBGR8888, 4),
    rgb(DRM_FORMAT_RGBX8888, 4),
    rgb(DRM_FORMAT_BGRX8888, 4),
    rgb(DRM_FORMAT_ARGB8888, 4),
    rgb(DRM_FORMAT_ABGR8888, 4),
    rgb(DRM_FORMAT_RGBA8888, 4),
    rgb(DRM_FORMAT_BGRA8888, 4),
    rgb(DRM_FORMAT_XRGB2101010, 4),
    rgb(DRM_FORMAT_XBGR2101010, 4),
    rgb(DRM_FORMAT_RGBX1010102, 4),
    rgb(DRM_FORMAT_BGRX1010102, 4),
    rgb(DRM_FORMAT_ARGB2101010, 4),
    rgb(DRM_FORMAT_ABGR2101010, 4),
    rgb(DRM_FORMAT_RGBA1010102, 4),
    rgb(DRM_FORMAT_BGRA1010102, 4),
    rgb(make_fourcc('R', 'G', '4', '8'), 6),
    rgb(make_fourcc('B', 'G', '4', '8'), 6),
    rgb(DRM_FORMAT_XRGB16161616, 8),
    rgb(DRM_FORMAT_XBGR16161616, 8),
    rgb(DRM_FORMAT_ARGB16161616, 8),
    rgb(DRM_FORMAT_ABGR16161616, 8),
    rgb(DRM_FORMAT_XRGB16161616F, 8),
    rgb(DRM_FORMAT_XBGR16161616F, 8),
    rgb(DRM_FORMAT_ARGB16161616F, 8),
    rgb(DRM_FORMAT_ABGR16161616F, 8),
    rgb(make_fourcc('R', ' ', ' ', 'H'), 2),
    rgb(make_fourcc('G', 'R', ' ', 'H'), 4),
    rgb(make_fourcc('B', 'G', 'R', 'H'), 6),
    rgb(make_fourcc('R', ' ', ' ', 'F'), 4),
    rgb(make_fourcc('G', 'R', ' ', 'F'), 8),
    rgb(make_fourcc('B', 'G', 'R', 'F'), 12),
    rgb(make_fourcc('A', 'B', '8', 'F'), 16),
    rgb(DRM_FORMAT_AXBXGXRX106106106106, 8),
    rgb_and_alpha(DRM_FORMAT_XRGB8888_A8, 4),
    rgb_and_alpha(DRM_FORMAT_XBGR8888_A8, 4),
    rgb_and_alpha(DRM_FORMAT_RGBX8888_A8, 4),
    rgb_and_alpha(DRM_FORMAT_BGRX8888_A8, 4),
    rgb_and_alpha(DRM_FORMAT_RGB888_A8, 3),
    rgb_and_alpha(DRM_FORMAT_BGR888_A8, 3),
    rgb_and_alpha(DRM_FORMAT_RGB565_A8, 2),
    rgb_and_alpha(DRM_FORMAT_BGR565_A8, 2),
    yuv_packed(DRM_FORMAT_YUYV, 4, 2),
    yuv_packed(DRM_FORMAT_YVYU, 4, 2),
    yuv_packed(DRM_FORMAT_UYVY, 4, 2),
    yuv_packed(DRM_FORMAT_VYUY, 4, 2),
    yuv_packed(DRM_FORMAT_AYUV, 4),
    yuv_packed(make_fourcc('A', 'V', 'U', 'Y'), 4),
    yuv_packed(DRM_FORMAT_XYUV8888, 4),
    yuv_packed(make_fourcc('X', 'V', 'U', 'Y'), 4),
    yuv_packed(DRM_FORMAT_VUY888, 3),
    yuv_packed(DRM_FORMAT_Y210, 8, 2),
    yuv_packed(DRM_FORMAT_Y212, 8, 2),
    yuv_packed(DRM_FORMAT_Y216, 8, 2),
    yuv_packed(DRM_FORMAT_Y410, 4),
    yuv_packed(DRM_FORMAT_Y412, 8),
    yuv_packed(DRM_FORMAT_Y416, 8),
    yuv_packed(DRM_FORMAT_XVYU2101010, 4),
    yuv_packed(make_fourcc('X', 'Y', '3', '0'), 4),
    yuv_packed(DRM_FORMAT_XVYU12_16161616, 8),
    yuv_packed(DRM_FORMAT_XVYU16161616, 8),
    yuv_packed(DRM_FORMAT_Y0L0, 8, 2, 2),
    yuv_packed(DRM_FORMAT_X0L0, 8, 2, 2),
    yuv_packed(DRM_FORMAT_Y0L2, 8, 2, 2),
    yuv_packed(DRM_FORMAT_X0L2, 8, 2, 2),
    yuv_packed(make_fourcc('G', 'R', 'E', 'Y'), 1),
    yuv_packed(kFourccYpa4, 4, 3),
    semi(DRM_FORMAT_NV12, 1, 2, 2),
    semi(DRM_FORMAT_NV21, 1, 2, 2),
    semi(DRM_FORMAT_NV16, 1, 2, 1),
    semi(DRM_FORMAT_NV61, 1, 2, 1),
    semi(DRM_FORMAT_NV24, 1, 1, 1),
    semi(DRM_FORMAT_NV42, 1, 1, 1),
    semi(DRM_FORMAT_P010, 2, 2, 2),
    semi(DRM_FORMAT_P012, 2, 2, 2),
    semi(DRM_FORMAT_P016, 2, 2, 2),
    semi(DRM_FORMAT_P210, 2, 2, 1),
    semi_40bit(DRM_FORMAT_NV15, 2, 2),
    semi_40bit(kFourccNv20, 2, 1),
    semi_40bit(kFourccNv30, 1, 1),
    semi_32bit(DRM_FORMAT_P030, 2, 2),
    semi_32bit(kFourccP230, 2, 1),
    planar(DRM_FORMAT_YUV410, 1, 4, 4),
    planar(DRM_FORMAT_YVU410, 1, 4, 4),
    planar(DRM_FORMAT_YUV411, 1, 4, 1),
    planar(DRM_FORMAT_YVU411, 1, 4, 1),
    planar(DRM_FORMAT_YUV420, 1, 2, 2),
    planar(DRM_FORMAT_YVU420, 1, 2, 2),
    planar(DRM_FORMAT_YUV422, 1, 2, 1),
    planar(DRM_FORMAT_YVU422, 1, 2, 1),
    planar(DRM_FORMAT_YUV444, 1, 1, 1),
    planar(DRM_FORMAT_YVU444, 1, 1, 1),
    planar(DRM_FORMAT_Q410, 2, 1, 1),
    planar(DRM_FORMAT_Q401, 2, 1, 1),
    planar(kFourccS010, 2, 2, 2),
    planar(kFourccS210, 2, 2, 1),
    planar(kFourccS410, 2, 1, 1),
    planar(kFourccS012, 2, 2, 2),
    planar(kFourccS212, 2, 2, 1),
    planar(kFourccS412, 2, 1, 1),
    planar(kFourccS016, 2, 2, 2),
    planar(kFourccS216, 2, 2, 1),
    planar(kFourccS416, 2, 1, 1),
    make_info(kFourccT430, Model::Yuv, {4, 3}, {4, 3}, {4, 3}),
}));

constexpr std::uint64_t divide_up(std::uint64_t value, std::uint64_t divisor) noexcept
{
  return (value + divisor - 1) / divisor;
}

constexpr bool have_same_planes(const FourccInfo &a, const FourccInfo &b)
{
  return std::equal(a.planes.begin(), a.planes.end(), b.planes.begin(),
                    [](const PlaneInfo &p, const PlaneInfo &q) {
                      return p.block_bytes == q.block_bytes && p.block_width == q.block_width &&
                             p.block_height == q.block_height && p.hsub == q.hsub &&
                             p.vsub == q.vsub;
                    });
}

// The place in the table of the first one with the same planes.
constexpr auto kShapes = [] {
  static_assert(kTable.size() <= kMaxShapes);
  std::array<std::uint8_t, kTable.size()> shapes{};
  for (std::size_t i = 0; i < shapes.size(); ++i)
    while (!have_same_planes(kTable[shapes[i]], kTable[i]))
      ++shapes[i];
  return shapes;
}();

} // namespace

const FourccInfo *fourcc_info(std::uint32_t fourcc) noexcept
{
  // Byte order changes what the bytes mean, never how many there are.
  fourcc &= ~kFourccBigEndian;
  const auto *it =
      std::lower_bound(kTable.begin(), kTable.end(), fourcc,
                       [](const FourccInfo &info, std::uint32_t f) { return info.fourcc < f; });
  return it != kTable.end() && it->fourcc == fourcc ? it : nullptr;
}

std::span<const FourccInfo> known_fourccs() noexcept
{
  return kTable;
}

std::size_t fourcc_shape(const FourccInfo &info) noexcept
{
  return kShapes[static_cast<std::size_t>(&info - kTable.data())];
}

const FourccInfo *FourccCursor::find(std::uint32_t fourcc) noexcept
{
  fourcc &= ~kFourccBigEndian; // as in fourcc_info()
  if (fourcc < last_)
    rest_ = kTable;
  last_ = fourcc;
  while (!rest_.empty() && rest_.front().fourcc < fourcc)
    rest_ = rest_.subspan(1);
  return !rest_.empty() && rest_.front().fourcc == fourcc ? rest_.data() : nullptr;
}

bool fourcc_is_yuv(std::uint32_t fourcc) noexcept
{
  fourcc &= ~kFourccBigEndian;
  if (fourcc == DRM_FORMAT_YUV420_8BIT || fourcc == DRM_FORMAT_YUV420_10BIT ||
      fourcc == DRM_FORMAT_VUY101010)
    return true;
  const FourccInfo *info = fourcc_info(fourcc);
  return info && info->is_yuv;
}

std::uint32_t plane_row_bytes(const PlaneInfo &plane, std::uint32_t width) noexcept
{
  const std::uint64_t bytes =
      divide_up(divide_up(width, plane.hsub), plane.block_width) * plane.block_bytes;
  return bytes > UINT32_MAX ? 0 : static_cast<std::uint32_t>(bytes);
}

std::uint32_t plane_rows(const PlaneInfo &plane, std::uint32_t height) noexcept
{
  return static_cast<std::uint32_t>(divide_up(divide_up(height, plane.vsub), plane.block_height));
}

} // namespace gstdrm

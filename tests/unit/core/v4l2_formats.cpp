// SPDX-License-Identifier: LGPL-2.1-or-later
// V4L2 names bytes in memory, DRM the bits of a little-endian word: the same four characters are not
// always the same pixels. What the kernel's queues list is looked at in the box.
#include "gst/drm/enumerate/v4l2_formats.hpp"

#include <drm_fourcc.h>
#include <gtest/gtest.h>
#include <linux/videodev2.h>

namespace {

using gstdrm::Format;

struct Row {
  const char *name;
  std::uint32_t v4l2;
  std::uint32_t fourcc; // 0: no DRM name
  std::uint64_t modifier = 0;
};

const Row kRows[] = {
    {"nv12", V4L2_PIX_FMT_NV12, DRM_FORMAT_NV12},
    {"nv12_in_two_memory_planes", V4L2_PIX_FMT_NV12M, DRM_FORMAT_NV12},
    {"bgrx_bytes", V4L2_PIX_FMT_XBGR32, DRM_FORMAT_XRGB8888},
    {"rgbx_bytes", V4L2_PIX_FMT_RGBX32, DRM_FORMAT_XBGR8888},
    {"rgb_bytes", V4L2_PIX_FMT_RGB24, DRM_FORMAT_BGR888},
    {"bgr_bytes", V4L2_PIX_FMT_BGR24, DRM_FORMAT_RGB888},
    {"samsung_tiles", V4L2_PIX_FMT_NV12MT, DRM_FORMAT_NV12, DRM_FORMAT_MOD_SAMSUNG_64_32_TILE},
    {"samsung_small_tiles", V4L2_PIX_FMT_NV12MT_16X16, DRM_FORMAT_NV12, DRM_FORMAT_MOD_SAMSUNG_16_16_TILE},
    {"mediatek_tiles", v4l2_fourcc('M', 'M', '2', '1'), DRM_FORMAT_NV12, 0x0b00000000000001},
    {"mediatek_tiles_of_10_bits", v4l2_fourcc('M', 'T', '2', 'T'), DRM_FORMAT_NV15, 0x0b00000000010001},
    {"mediatek_raster_of_10_bits", v4l2_fourcc('M', 'T', '2', 'R'), DRM_FORMAT_NV15, 0x0b00000000020001},
    {"allwinner_tiles", v4l2_fourcc('S', 'T', '1', '2'), DRM_FORMAT_NV12, DRM_FORMAT_MOD_ALLWINNER_TILED},
    {"hantro_tiles", v4l2_fourcc('V', 'T', '1', '2'), DRM_FORMAT_NV12, DRM_FORMAT_MOD_VIVANTE_TILED},
    {"hantro_tiles_of_10_bits", v4l2_fourcc('V', 'T', '1', '5'), DRM_FORMAT_NV15, DRM_FORMAT_MOD_VIVANTE_TILED},
    {"qualcomm_compressed", v4l2_fourcc('Q', '0', '8', 'C'), DRM_FORMAT_NV12, DRM_FORMAT_MOD_QCOM_COMPRESSED},
    {"columns_of_the_raspberry_pi", v4l2_fourcc('N', 'C', '1', '2'), 0}, // the modifier needs a height
    {"amphion_tiles", v4l2_fourcc('N', 'A', '1', '2'), 0},
    {"words_of_16_bits", V4L2_PIX_FMT_RGBA555, DRM_FORMAT_RGBA5551},
    {"words_of_16_bits_of_4", V4L2_PIX_FMT_XRGB444, DRM_FORMAT_XRGB4444},
    {"big_endian_words", V4L2_PIX_FMT_XRGB555X, 0},
    {"vuya_bytes", V4L2_PIX_FMT_VUYA32, DRM_FORMAT_AYUV},
    {"ayuv_bytes", V4L2_PIX_FMT_AYUV32, 0},
    {"nv15", v4l2_fourcc('N', 'V', '1', '5'), DRM_FORMAT_NV15},
    {"p012", v4l2_fourcc('P', '0', '1', '2'), DRM_FORMAT_P012},
    {"grey_of_12_bits", V4L2_PIX_FMT_Y12, DRM_FORMAT_R12},
    {"packed_grey", V4L2_PIX_FMT_Y10P, 0},
    {"compressed", V4L2_PIX_FMT_H264, 0},
    {"bayer", V4L2_PIX_FMT_SBGGR8, 0},
    {"nothing", 0, 0},
};

TEST(V4l2Formats, Names)
{
  for (const Row &row : kRows) {
    const auto format = gstdrm::format_of_v4l2(row.v4l2);
    ASSERT_EQ(format.has_value(), row.fourcc != 0) << row.name;
    if (format) {
      EXPECT_EQ(*format, (Format{row.fourcc, row.modifier})) << row.name;
    }
  }
}

} // namespace

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

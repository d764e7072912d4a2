// SPDX-License-Identifier: LGPL-2.1-or-later
#include "video_planes.hpp"

#include <algorithm>

#include <gst/drm/gstdrmformat.h>

namespace gstdrm {

namespace {

const PlaneInfo &plane_info(const GstVideoInfo &info, guint plane)
{
  static constexpr PlaneInfo kNone{};
  const FourccInfo *fourcc = linear_fourcc(GST_VIDEO_INFO_FORMAT(&info));
  return fourcc && plane < fourcc->n_planes ? fourcc->planes[plane] : kNone;
}

} // namespace

const FourccInfo *linear_fourcc(GstVideoFormat format) noexcept
{
  guint64 modifier = 0;
  const std::uint32_t fourcc = gst_drm_format_from_video_format(format, &modifier);
  return modifier == kModLinear ? fourcc_info(fourcc) : nullptr;
}

gsize row_bytes(const GstVideoInfo &info, guint plane, gsize stride)
{
  const gsize row = plane_row_bytes(plane_info(info, plane), static_cast<guint>(info.width));
  return stride >= row
             ? row
             : std::min(row, static_cast<gsize>(GST_VIDEO_INFO_PLANE_STRIDE(&info, plane)));
}

guint rows_of_plane(const GstVideoInfo &info, guint plane)
{
  return plane_rows(plane_info(info, plane), static_cast<guint>(info.height));
}

guint rows_with_fields(const GstVideoInfo &info, guint plane)
{
  const PlaneInfo &of = plane_info(info, plane);
  if (of.vsub == 1 || !GST_VIDEO_INFO_IS_INTERLACED(&info))
    return rows_of_plane(info, plane);
  return 2 * plane_rows(of, (static_cast<guint>(info.height) + 1) / 2);
}

bool has_fields(GstBuffer *buffer, const GstVideoInfo &info)
{
  const GstVideoInterlaceMode mode = GST_VIDEO_INFO_INTERLACE_MODE(&info);
  return mode == GST_VIDEO_INTERLACE_MODE_INTERLEAVED ||
         (mode == GST_VIDEO_INTERLACE_MODE_MIXED &&
          GST_BUFFER_FLAG_IS_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED));
}

// The same rule as GStreamer's video-format.c (GET_UV_420() and similar macros).
guint row_of_line(guint y, guint vsub, bool fields) noexcept
{
  return fields && vsub > 1 ? y / (2 * vsub) * 2 + y % 2 : y / vsub;
}

bool begins_row(guint y, guint vsub, bool fields) noexcept
{
  return fields && vsub > 1 ? y / 2 % vsub == 0 : y % vsub == 0;
}

} // namespace gstdrm

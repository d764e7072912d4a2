// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mappable_frame.hpp"

#include <cstring>
#include <string>
#include <utility>

#include <gst/drm/gstdrmvideoinfo.h>

#include "crop.hpp"
#include "video_planes.hpp"

namespace gstdrm {
namespace {

Error layout_error(std::string message)
{
  return Error{ErrorCode::Layout, std::move(message), 0};
}

gint highest_format_number()
{
  guint n_formats = 0;
  const GstVideoFormat *formats = gst_video_formats_raw(&n_formats);
  gint highest = static_cast<gint>(GST_DRM_VIDEO_FORMAT_DMA_DRM);
  for (guint i = 0; i < n_formats; i++)
    highest = MAX(highest, static_cast<gint>(formats[i]));
  return highest;
}

std::string size_text(guint64 width, guint64 height)
{
  return std::to_string(width) + "x" + std::to_string(height);
}

std::string plane_text(guint plane, const GstVideoMeta &meta, gsize end, gsize size)
{
  return "Plane " + std::to_string(plane) + " (offset " + std::to_string(meta.offset[plane]) +
         ", stride " + std::to_string(meta.stride[plane]) + ") ends at byte " +
         std::to_string(end) + ", its memory at byte " + std::to_string(size);
}

} // namespace

Result<void> check_format_number(const GstVideoMeta &meta)
{
  static const gint highest = highest_format_number();
  gint number = 0;
  static_assert(sizeof number == sizeof meta.format);
  std::memcpy(&number, &meta.format, sizeof number);
  if (number > 0 && number <= highest)
    return {};
  return layout_error("The GstVideoMeta says format number " + std::to_string(number) +
                      ", which is no GstVideoFormat");
}

Result<void> check_plane(GstBuffer *buffer, const GstVideoInfo &info, const GstVideoMeta &meta,
                         guint plane)
{
  const gint stride = meta.stride[plane];
  const gsize row = row_bytes(info, plane, static_cast<gsize>(MAX(stride, 0)));
  const guint rows = rows_of_plane(info, plane);
  if (stride <= 0 || static_cast<gsize>(stride) < row)
    return layout_error("Plane " + std::to_string(plane) + " has a stride of " +
                        std::to_string(stride) + " bytes for rows of " + std::to_string(row));
  const gsize needed = static_cast<gsize>(stride) * (rows - 1) + row;
  const gsize total = gst_buffer_get_size(buffer);
  if (meta.offset[plane] > total || needed > total - meta.offset[plane])
    return layout_error(plane_text(plane, meta, meta.offset[plane] + needed, total));
  guint index = 0;
  guint length = 0;
  gsize skip = 0;
  if (!gst_buffer_find_memory(buffer, meta.offset[plane], needed, &index, &length, &skip) ||
      length != 1) {
    return layout_error(
        plane_text(plane, meta, skip + needed, gst_buffer_peek_memory(buffer, index)->size) +
        ": a plane has to lie in one memory");
  }
  return {};
}

Result<void> check_default_size(GstBuffer *buffer, const GstVideoInfo &info)
{
  if (gst_buffer_get_size(buffer) >= GST_VIDEO_INFO_SIZE(&info))
    return {};
  return layout_error("A frame has " + std::to_string(gst_buffer_get_size(buffer)) +
                      " bytes and no GstVideoMeta. The caps need " +
                      std::to_string(GST_VIDEO_INFO_SIZE(&info)));
}

Result<void> check_planes(GstBuffer *buffer, const GstVideoInfo &info, const GstVideoMeta &meta)
{
  for (guint plane = 0; plane < meta.n_planes; plane++)
    if (Result<void> checked = check_plane(buffer, info, meta, plane); !checked)
      return checked;
  return {};
}

Result<void> check_mappable_frame(GstBuffer *buffer, const GstVideoInfo &info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  if (!meta)
    return check_default_size(buffer, info);
  if (auto checked = check_format_number(*meta); !checked)
    return checked;
  if (meta->format != GST_VIDEO_INFO_FORMAT(&info) ||
      meta->n_planes != GST_VIDEO_INFO_N_PLANES(&info) ||
      meta->width != static_cast<guint>(info.width) ||
      meta->height != static_cast<guint>(info.height))
    return layout_error(
        "The GstVideoMeta describes " + std::string(gst_video_format_to_string(meta->format)) +
        " of " + std::to_string(meta->width) + "x" + std::to_string(meta->height) + " in " +
        std::to_string(meta->n_planes) + " planes, the caps " + GST_VIDEO_INFO_NAME(&info) +
        " of " + std::to_string(info.width) + "x" + std::to_string(info.height) + " in " +
        std::to_string(GST_VIDEO_INFO_N_PLANES(&info)));
  return check_planes(buffer, info, *meta);
}

Result<void> check_sides(const GstVideoMeta &meta)
{
  if (meta.width <= kMaxSide && meta.height <= kMaxSide)
    return {};
  return layout_error("The GstVideoMeta describes " + size_text(meta.width, meta.height) +
                      " pixels, more than " + std::to_string(kMaxSide) + " in a direction");
}

Result<void> check_mappable_layout(GstBuffer *buffer, const GstVideoInfo &info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  if (!meta)
    return check_default_size(buffer, info);
  if (auto checked = check_format_number(*meta); !checked)
    return checked;
  if (meta->format != GST_VIDEO_INFO_FORMAT(&info))
    return layout_error(std::string("The GstVideoMeta says ") +
                        gst_video_format_to_string(meta->format) + ", the caps say " +
                        gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info)));
  if (meta->n_planes != GST_VIDEO_INFO_N_PLANES(&info))
    return layout_error("The GstVideoMeta has " + std::to_string(meta->n_planes) +
                        " planes, the format " + std::to_string(GST_VIDEO_INFO_N_PLANES(&info)));
  const auto width = static_cast<guint>(info.width);
  const auto height = static_cast<guint>(info.height);
  if (meta->width < width || meta->height < height)
    return layout_error("The GstVideoMeta describes " + size_text(meta->width, meta->height) +
                        " pixels, the caps " + size_text(width, height));
  if (auto checked = check_sides(*meta); !checked)
    return checked;
  if (const Result<Corner> corner = visible_corner(buffer, info); !corner)
    return corner.error();
  GstVideoInfo whole = info; // a map covers all that the meta describes
  if (is_padded_frame(buffer, info) &&
      !gst_video_info_set_format(&whole, meta->format, meta->width, meta->height))
    return layout_error("GStreamer has no layout for " + size_text(meta->width, meta->height) +
                        " pixels");
  return check_planes(buffer, whole, *meta);
}

} // namespace gstdrm

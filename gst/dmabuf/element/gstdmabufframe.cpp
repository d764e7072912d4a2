// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabufframe.hpp"

#include <string>

#include <gst/drm/element/crop.hpp>
#include <gst/drm/element/mappable_frame.hpp>
#include <gst/drm/element/video_planes.hpp>

namespace gstdrm {

namespace {

Error layout_error(std::string message)
{
  return Error{ErrorCode::Layout, std::move(message), 0};
}

std::string size_text(guint64 width, guint64 height)
{
  return std::to_string(width) + "x" + std::to_string(height);
}

// GstVideoInfo has room for no more.
Result<void> check_sides(const GstVideoMeta &meta)
{
  if (meta.width <= kMaxSide && meta.height <= kMaxSide)
    return {};
  return layout_error("The GstVideoMeta describes " + size_text(meta.width, meta.height) +
                      " pixels, more than " + std::to_string(kMaxSide) + " in a direction");
}

} // namespace

bool has_default_layout(GstBuffer *buffer, const GstVideoInfo &info)
{
  if (gst_buffer_n_memory(buffer) != 1 || gst_buffer_get_size(buffer) < GST_VIDEO_INFO_SIZE(&info))
    return false;
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  if (!meta)
    return true;
  if (is_padded_frame(buffer, info))
    return false;
  for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES(&info); i++)
    if (i >= meta->n_planes || meta->offset[i] != GST_VIDEO_INFO_PLANE_OFFSET(&info, i) ||
        meta->stride[i] != GST_VIDEO_INFO_PLANE_STRIDE(&info, i))
      return false;
  return true;
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

Result<FrameLayout> importable_layout(GstBuffer *buffer, const GstDrmVideoInfo &info)
{
  GstDrmVideoInfo whole = info;
  if (const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer)) {
    if (auto checked = check_format_number(*meta); !checked)
      return checked.error();
    if (auto checked = check_sides(*meta); !checked)
      return checked.error();
    if (is_padded_frame(buffer, info.vinfo)) {
      if (const Result<Corner> corner = visible_corner(buffer, info.vinfo); !corner)
        return corner.error();
      whole.vinfo.width = static_cast<gint>(meta->width);
      whole.vinfo.height = static_cast<gint>(meta->height);
    }
  }
  return frame_layout_of(buffer, whole);
}

bool share_frame(GstPtr<GstBuffer> &buffer, const GstVideoInfo &info)
{
  GstVideoMeta *meta = gst_buffer_get_video_meta(buffer.get());
  if (meta && meta->format == GST_VIDEO_INFO_FORMAT(&info))
    return true;
  // A meta that is there may be the pool's own: it is changed in a copy only.
  if (meta || !gst_buffer_is_writable(buffer.get())) {
    GstPtr<GstBuffer> copy = shallow_copy(buffer.get());
    if (!copy)
      return false;
    buffer = std::move(copy);
    meta = gst_buffer_get_video_meta(buffer.get());
  }
  if (meta) {
    meta->format = GST_VIDEO_INFO_FORMAT(&info);
  } else {
    GstVideoInfo layout = info; // 1.22 takes offsets and strides without const
    gst_buffer_add_video_meta_full(buffer.get(), GST_VIDEO_FRAME_FLAG_NONE,
                                   GST_VIDEO_INFO_FORMAT(&info), static_cast<guint>(info.width),
                                   static_cast<guint>(info.height), GST_VIDEO_INFO_N_PLANES(&info),
                                   layout.offset, layout.stride);
  }
  return true;
}

} // namespace gstdrm

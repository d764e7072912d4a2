// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabufframe.hpp"

#include <gst/drm/element/crop.hpp>
#include <gst/drm/element/mappable_frame.hpp>
#include <gst/drm/element/video_planes.hpp>

namespace gstdrm {

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

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "crop.hpp"

#include <array>
#include <optional>
#include <string>

#include "video_planes.hpp"

namespace gstdrm {

namespace {

std::string size_text(guint64 width, guint64 height)
{
  return std::to_string(width) + "x" + std::to_string(height);
}

Error crop_error(const GstVideoCropMeta &crop, const std::string &why)
{
  return Error{ErrorCode::Layout,
               "The GstVideoCropMeta shows " + size_text(crop.width, crop.height) + " from pixel " +
                   std::to_string(crop.x) + "," + std::to_string(crop.y) + " on, " + why,
               0};
}

using Shifts = std::array<gsize, GST_VIDEO_MAX_PLANES>;

// For each plane, the number of bytes from the frame's first pixel to its first visible pixel.
// Nothing where a plane has no byte at which the visible picture begins.
std::optional<Shifts> shifts_to(Corner corner, const GstVideoMeta &meta, const GstVideoInfo &info,
                                bool fields)
{
  Shifts shifts{};
  if (corner.x == 0 && corner.y == 0)
    return shifts;
  const FourccInfo *fourcc = linear_fourcc(GST_VIDEO_INFO_FORMAT(&info));
  if (!fourcc || meta.n_planes != fourcc->n_planes)
    return {};
  for (guint i = 0; i < meta.n_planes; i++) {
    const PlaneInfo &plane = fourcc->planes[i];
    const guint block_width = guint{plane.hsub} * plane.block_width;
    const guint block_height = guint{plane.vsub} * plane.block_height;
    // In an interlaced frame, chroma rows alternate between the fields, as lines do.
    const guint grain = fields && block_height > 1 ? 2 * block_height : block_height;
    if (corner.x % block_width != 0 || corner.y % grain != 0)
      return {};
    shifts[i] = gsize{corner.y / block_height} * static_cast<gsize>(meta.stride[i]) +
                gsize{corner.x / block_width} * plane.block_bytes;
  }
  return shifts;
}

} // namespace

bool is_padded_frame(GstBuffer *buffer, const GstVideoInfo &info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  const auto width = static_cast<guint>(info.width);
  const auto height = static_cast<guint>(info.height);
  // GStreamer copies a meta without a look at the number of its planes.
  return meta && meta->n_planes <= GST_VIDEO_MAX_PLANES && meta->width >= width &&
         meta->height >= height && (meta->width > width || meta->height > height);
}

Result<Corner> visible_corner(GstBuffer *buffer, const GstVideoInfo &info)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta(buffer);
  if (!crop || !is_padded_frame(buffer, info))
    return Corner{};
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  if (crop->width != static_cast<guint>(info.width) ||
      crop->height != static_cast<guint>(info.height))
    return crop_error(*crop, "the caps say " + size_text(static_cast<guint>(info.width),
                                                         static_cast<guint>(info.height)));
  if (guint64{crop->x} + crop->width > meta->width ||
      guint64{crop->y} + crop->height > meta->height)
    return crop_error(*crop, "of a frame of " + size_text(meta->width, meta->height));
  if (crop->y % 2 != 0 && has_fields(buffer, info))
    return crop_error(*crop, "which exchanges the fields of an interlaced frame: crop at an even "
                             "line, or put an element that deinterlaces before it");
  return Corner{crop->x, crop->y};
}

Result<GstVideoRectangle> visible_rectangle(GstBuffer *buffer, const GstVideoInfo &info)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta(buffer);
  if (!crop || is_padded_frame(buffer, info)) {
    const Result<Corner> corner = visible_corner(buffer, info);
    if (!corner)
      return corner.error();
    return GstVideoRectangle{static_cast<gint>(corner->x), static_cast<gint>(corner->y), info.width,
                             info.height};
  }
  const auto width = static_cast<guint>(info.width);
  const auto height = static_cast<guint>(info.height);
  if (crop->width == 0 || crop->height == 0 || crop->x > width || crop->y > height ||
      crop->width > width - crop->x || crop->height > height - crop->y)
    return crop_error(*crop, "of a frame of " + size_text(width, height));
  return GstVideoRectangle{static_cast<gint>(crop->x), static_cast<gint>(crop->y),
                           static_cast<gint>(crop->width), static_cast<gint>(crop->height)};
}

bool crop_in_place(GstPtr<GstBuffer> &buffer, const GstVideoInfo &info, gsize align)
{
  const Result<Corner> corner = visible_corner(buffer.get(), info);
  if (!corner)
    return false;
  const std::optional<Shifts> shifts = shifts_to(*corner, *gst_buffer_get_video_meta(buffer.get()),
                                                 info, has_fields(buffer.get(), info));
  if (!shifts)
    return false;
  for (gsize shift : *shifts)
    if (shift % align != 0)
      return false;
  GstPtr<GstBuffer> copy = shallow_copy(buffer.get());
  if (!copy)
    return false;
  GstVideoMeta *meta = gst_buffer_get_video_meta(copy.get());
  for (guint i = 0; i < meta->n_planes; i++)
    meta->offset[i] += (*shifts)[i];
  meta->width = static_cast<guint>(info.width);
  meta->height = static_cast<guint>(info.height);
  gst_video_alignment_reset(&meta->alignment); // the alignment described the whole frame
  buffer = std::move(copy);
  drop_crop(buffer);
  return true;
}

void drop_crop(GstPtr<GstBuffer> &buffer)
{
  if (!gst_buffer_get_video_crop_meta(buffer.get()))
    return;
  if (!gst_buffer_is_writable(buffer.get())) {
    GstPtr<GstBuffer> copy = shallow_copy(buffer.get());
    if (!copy)
      return; // nobody downstream reads GstVideoCropMeta
    buffer = std::move(copy);
  }
  while (GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta(buffer.get()))
    gst_buffer_remove_meta(buffer.get(), &crop->meta);
}

GstPtr<GstBuffer> shallow_copy(GstBuffer *buffer)
{
  auto copy = GstPtr<GstBuffer>::adopt(gst_buffer_copy(buffer));
  if (!copy || gst_buffer_n_memory(copy.get()) != gst_buffer_n_memory(buffer))
    return {};
  for (guint i = 0; i < gst_buffer_n_memory(buffer); i++)
    if (gst_buffer_peek_memory(copy.get(), i) != gst_buffer_peek_memory(buffer, i))
      return {};
  gst_buffer_add_parent_buffer_meta(copy.get(), buffer);
  return copy;
}

} // namespace gstdrm

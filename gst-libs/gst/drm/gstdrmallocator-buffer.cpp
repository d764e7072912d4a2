// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrmallocator-buffer.hpp"

#include <array>

#include <gst/video/video.h>

#include "gstdrm-private.hpp"
#include "gstdrmformat.h"
#include "gstdrmvideoinfo.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gstdrm::allocator_debug_category()

namespace gstdrm {

namespace {

// A tiled GstVideoFormat counts tiles in its strides (video-tile.h); 0 where rows are no whole
// tiles.
gint tiled_stride(const GstVideoFormatInfo *finfo, guint plane, std::uint32_t stride_bytes,
                  guint height)
{
  const auto tile_bytes =
      static_cast<std::uint32_t>(GST_VIDEO_FORMAT_INFO_TILE_STRIDE(finfo, plane));
  const guint tile_height = GST_VIDEO_FORMAT_INFO_TILE_HEIGHT(finfo, plane);
  if (tile_bytes == 0 || tile_height == 0 || stride_bytes % tile_bytes != 0)
    return 0;
  const guint rows = GST_VIDEO_SUB_SCALE(GST_VIDEO_FORMAT_INFO_H_SUB(finfo, plane), height);
  return static_cast<gint>(GST_VIDEO_TILE_MAKE_STRIDE(stride_bytes / tile_bytes,
                                                      (rows + tile_height - 1) / tile_height));
}

struct MetaLayout {
  GstVideoFormat format = GST_DRM_VIDEO_FORMAT_DMA_DRM;
  std::array<gint, GST_VIDEO_MAX_PLANES> strides{};
};

// GStreamer's name of the layout and its strides in that format's terms. An implicit modifier goes
// by the name of its fourcc, as its caps do.
MetaLayout meta_layout(const AllocatedFrame &frame)
{
  MetaLayout opaque;
  for (std::size_t i = 0; i < frame.n_planes; ++i)
    opaque.strides[i] = static_cast<gint>(frame.planes[i].stride_bytes);
  const std::uint64_t modifier =
      frame.format.modifier == kModImplicit ? kModLinear : frame.format.modifier;
  const GstVideoFormat named = gst_drm_format_to_video_format(frame.format.fourcc, modifier);
  if (named == GST_VIDEO_FORMAT_UNKNOWN)
    return opaque;
  MetaLayout layout = opaque;
  layout.format = named;
  const GstVideoFormatInfo *finfo = gst_video_format_get_info(named);
  if (GST_VIDEO_FORMAT_INFO_N_PLANES(finfo) != frame.n_planes)
    return opaque; // the driver has further planes, such as compression data
  for (guint i = 0; GST_VIDEO_FORMAT_INFO_IS_TILED(finfo) && i < frame.n_planes; ++i) {
    layout.strides[i] = tiled_stride(finfo, i, frame.planes[i].stride_bytes, frame.height);
    if (layout.strides[i] == 0)
      return opaque;
  }
  return layout;
}

// Sets the meta's alignment only if gst_video_info_align() reproduces the frame's real strides and
// padding from it.
void set_alignment(GstVideoMeta *meta, const AllocatedFrame &frame)
{
  if (frame.format.modifier != kModLinear || meta->format == GST_DRM_VIDEO_FORMAT_DMA_DRM)
    return;
  GstVideoAlignment align;
  gst_video_alignment_reset(&align);
  align.padding_left = frame.padding.left;
  align.padding_right = frame.padding.right;
  align.padding_top = frame.padding.top;
  align.padding_bottom = frame.padding.bottom;
  for (std::size_t i = 0; i < frame.n_planes; ++i)
    align.stride_align[i] = frame.stride_align - 1;

  GstVideoInfo info;
  GstVideoAlignment expected = align;
  if (!gst_video_info_set_format(&info, meta->format, meta->width, meta->height) ||
      !gst_video_info_align(&info, &expected))
    return;
  for (guint i = 0; i < meta->n_planes; ++i)
    if (GST_VIDEO_INFO_PLANE_STRIDE(&info, i) != meta->stride[i])
      return;
  if (expected.padding_right == align.padding_right &&
      expected.padding_bottom == align.padding_bottom)
    gst_video_meta_set_alignment(meta, align);
}

void log_frame(GstDmaBufAllocator *allocator, const AllocatedFrame &frame)
{
  GST_DEBUG_OBJECT(allocator, "%s of %ux%u in %zu objects and %zu planes",
                   describe_format(frame.format).c_str(), frame.width, frame.height,
                   frame.objects.size(), frame.n_planes);
  for (std::size_t i = 0; i < frame.n_planes; ++i) {
    const FramePlane &plane = frame.planes[i];
    const FrameObject &object = frame.objects[plane.object];
    GST_DEBUG_OBJECT(allocator,
                     "plane %zu: fd %d of %" G_GUINT64_FORMAT " bytes, offset %" G_GUINT64_FORMAT
                     ", stride %u",
                     i, object.fd.get(), object.size_bytes, plane.offset_bytes, plane.stride_bytes);
  }
}

} // namespace

GstDebugCategory *allocator_debug_category() noexcept
{
  static GstDebugCategory *const category =
      _gst_debug_category_new("drmallocator", 0, "DMA buffer allocators and pool");
  return category;
}

GstBuffer *buffer_from_frame(GstDmaBufAllocator *allocator, AllocatedFrame frame)
{
  if (gst_debug_category_get_threshold(GST_CAT_DEFAULT) >= GST_LEVEL_DEBUG)
    log_frame(allocator, frame);
  auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  std::array<gsize, GST_VIDEO_MAX_PLANES> offsets{};
  MetaLayout layout = meta_layout(frame);
  gsize start = 0; // of the object in the buffer
  for (std::size_t object = 0; object < frame.objects.size(); ++object) {
    FrameObject &memory = frame.objects[object];
    // KEEP_MAPPED: a pooled buffer is mapped once, not once per frame.
    gst_buffer_append_memory(buffer.get(), gst_dmabuf_allocator_alloc_with_flags(
                                               GST_ALLOCATOR(allocator), memory.fd.release(),
                                               memory.size_bytes, GST_FD_MEMORY_FLAG_KEEP_MAPPED));
    for (std::size_t i = 0; i < frame.n_planes; ++i) {
      if (frame.planes[i].object == object)
        offsets[i] = start + frame.planes[i].offset_bytes;
    }
    start += memory.size_bytes;
  }
  GstVideoMeta *meta = gst_buffer_add_video_meta_full(
      buffer.get(), GST_VIDEO_FRAME_FLAG_NONE, layout.format, frame.width, frame.height,
      static_cast<guint>(frame.n_planes), offsets.data(), layout.strides.data());
  set_alignment(meta, frame);
  return buffer.release();
}

} // namespace gstdrm

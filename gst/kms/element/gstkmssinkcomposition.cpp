// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkcomposition.hpp"

#include <utility>

#include <gst/drm/core/limits.hpp>

namespace gstdrm {

namespace {

// Pixels of a rectangle, mapped for as long as an overlay has them.
class MappedPixels {
public:
  // `buffer` has a GstVideoMeta.
  explicit MappedPixels(GstBuffer *buffer) : buffer_(GstPtr<GstBuffer>::share(buffer))
  {
    GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
    GstVideoInfo info;
    mapped_ = meta && gst_video_info_set_format(&info, meta->format, meta->width, meta->height) &&
              gst_video_frame_map(&frame_, &info, buffer, GST_MAP_READ);
  }
  MappedPixels(const MappedPixels &) = delete;
  MappedPixels &operator=(const MappedPixels &) = delete;
  ~MappedPixels()
  {
    if (mapped_)
      gst_video_frame_unmap(&frame_);
  }
  [[nodiscard]] const GstVideoFrame *frame() const noexcept { return mapped_ ? &frame_ : nullptr; }

private:
  GstPtr<GstBuffer> buffer_;
  GstVideoFrame frame_{};
  bool mapped_ = false;
};

kms::Rectangle place_of(GstVideoOverlayRectangle *rectangle)
{
  gint x = 0, y = 0;
  guint width = 0, height = 0;
  gst_video_overlay_rectangle_get_render_rectangle(rectangle, &x, &y, &width, &height);
  return {x, y, width, height};
}

// Whether the pixels lie in the buffer, whose meta comes from another element. They are BGRA, ARGB
// or AYUV.
bool is_readable(GstVideoOverlayRectangle *rectangle)
{
  GstBuffer *buffer = gst_video_overlay_rectangle_get_pixels_unscaled_raw(
      rectangle, gst_video_overlay_rectangle_get_flags(rectangle));
  const GstVideoMeta *meta = buffer ? gst_buffer_get_video_meta(buffer) : nullptr;
  if (!meta || meta->n_planes != 1 || meta->width == 0 || meta->height == 0 || meta->stride[0] <= 0)
    return false;
  const std::uint64_t stride = static_cast<std::uint64_t>(meta->stride[0]);
  const std::uint64_t row = std::uint64_t{meta->width} * 4;
  return meta->width <= kMaxFrameSize && meta->height <= kMaxFrameSize && stride >= row &&
         meta->offset[0] <= gst_buffer_get_size(buffer) &&
         stride * (meta->height - 1) + row <= gst_buffer_get_size(buffer) - meta->offset[0];
}

// The rectangle keeps the pixels that GStreamer converts for it.
bool append_image(kms::Overlay &overlay, GstVideoOverlayRectangle *rectangle)
{
  if (!is_readable(rectangle))
    return false;
  GstBuffer *pixels = gst_video_overlay_rectangle_get_pixels_unscaled_argb(
      rectangle, GST_VIDEO_OVERLAY_FORMAT_FLAG_PREMULTIPLIED_ALPHA);
  if (!pixels)
    return false;
  const auto mapped = std::make_shared<const MappedPixels>(pixels);
  const GstVideoFrame *frame = mapped->frame();
  if (!frame)
    return false;
  kms::OverlayImage image;
  image.pixels = static_cast<const std::uint8_t *>(GST_VIDEO_FRAME_PLANE_DATA(frame, 0));
  image.stride_bytes = static_cast<std::uint32_t>(GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0));
  image.width = static_cast<std::uint32_t>(GST_VIDEO_FRAME_WIDTH(frame));
  image.height = static_cast<std::uint32_t>(GST_VIDEO_FRAME_HEIGHT(frame));
  image.place = place_of(rectangle);
  image.owner = mapped;
  overlay.images.push_back(std::move(image));
  return true;
}

} // namespace

std::vector<GstVideoOverlayComposition *> compositions_of(GstBuffer *buffer)
{
  std::vector<GstVideoOverlayComposition *> list;
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE))
    if (auto *overlay = reinterpret_cast<GstVideoOverlayCompositionMeta *>(meta)->overlay)
      list.push_back(overlay);
  return list;
}

bool blend_compositions(GstBuffer *on, const GstVideoInfo &info,
                        const std::vector<GstVideoOverlayComposition *> &compositions)
{
  GstVideoFrame frame;
  if (!gst_video_frame_map(&frame, &info, on, GST_MAP_READWRITE))
    return false;
  bool blended = true;
  for (GstVideoOverlayComposition *composition : compositions)
    blended = gst_video_overlay_composition_blend(composition, &frame) && blended;
  gst_video_frame_unmap(&frame);
  return blended;
}

std::shared_ptr<const kms::Overlay>
SinkCompositions::overlay_of(const std::vector<GstVideoOverlayComposition *> &compositions)
{
  std::vector<GstVideoOverlayRectangle *> rectangles;
  std::vector<Key> keys;
  for (GstVideoOverlayComposition *composition : compositions)
    for (guint i = 0; i < gst_video_overlay_composition_n_rectangles(composition); i++) {
      rectangles.push_back(gst_video_overlay_composition_get_rectangle(composition, i));
      keys.push_back(
          {gst_video_overlay_rectangle_get_seqnum(rectangles.back()), place_of(rectangles.back())});
    }
  if (keys == keys_)
    return overlay_;
  auto overlay = std::make_shared<kms::Overlay>();
  for (GstVideoOverlayRectangle *rectangle : rectangles)
    append_image(*overlay, rectangle);
  keys_ = std::move(keys);
  overlay_ = overlay->images.empty() ? nullptr : std::move(overlay);
  return overlay_;
}

void SinkCompositions::forget()
{
  keys_.clear();
  overlay_.reset();
}

} // namespace gstdrm

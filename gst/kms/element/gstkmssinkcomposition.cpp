// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkcomposition.hpp"

#include <algorithm>
#include <utility>

#include <gst/drm/core/limits.hpp>

namespace gstdrm {

namespace {

// The pixels of a buffer with a GstVideoMeta, mapped until the frame goes; null: they cannot be.
std::shared_ptr<const GstVideoFrame> map_pixels(GstBuffer *buffer)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  GstVideoInfo info;
  auto frame = std::make_unique<GstVideoFrame>();
  if (!meta || !gst_video_info_set_format(&info, meta->format, meta->width, meta->height) ||
      !gst_video_frame_map(frame.get(), &info, buffer, GST_MAP_READ))
    return nullptr;
  return {frame.release(), [](GstVideoFrame *mapped) { // which has the buffer
            gst_video_frame_unmap(mapped);
            delete mapped;
          }};
}

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
  const std::shared_ptr<const GstVideoFrame> mapped = map_pixels(pixels);
  if (!mapped)
    return false;
  const GstVideoFrame *frame = mapped.get();
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

std::vector<GstVideoOverlayRectangle *>
rectangles_of(const std::vector<GstVideoOverlayComposition *> &compositions)
{
  std::vector<GstVideoOverlayRectangle *> rectangles;
  for (GstVideoOverlayComposition *composition : compositions)
    for (guint i = 0; i < gst_video_overlay_composition_n_rectangles(composition); i++)
      rectangles.push_back(gst_video_overlay_composition_get_rectangle(composition, i));
  return rectangles;
}

// Adds the composition to the buffer, so far to the left and up that it lies over the part as it
// lay over the whole. Rectangles whose pixels cannot be read are left out.
void add_moved(GstBuffer *buffer, GstVideoOverlayComposition *composition, kms::Origin part)
{
  const auto less = [](gint place, std::uint32_t by) {
    return static_cast<gint>(std::max(std::int64_t{place} - by, std::int64_t{G_MININT}));
  };
  GstVideoOverlayComposition *moved = nullptr;
  for (GstVideoOverlayRectangle *rectangle : rectangles_of({composition})) {
    if (!is_readable(rectangle))
      continue;
    GstVideoOverlayRectangle *copy = gst_video_overlay_rectangle_copy(rectangle);
    const kms::Rectangle place = place_of(rectangle);
    gst_video_overlay_rectangle_set_render_rectangle(
        copy, less(place.x, part.x), less(place.y, part.y), place.width, place.height);
    if (moved)
      gst_video_overlay_composition_add_rectangle(moved, copy);
    else
      moved = gst_video_overlay_composition_new(copy);
    gst_video_overlay_rectangle_unref(copy);
  }
  if (!moved)
    return;
  gst_buffer_add_video_overlay_composition_meta(buffer, moved);
  gst_video_overlay_composition_unref(moved);
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

std::vector<SinkCompositions::Key>
SinkCompositions::keys_of(const std::vector<GstVideoOverlayComposition *> &compositions)
{
  std::vector<Key> keys;
  for (GstVideoOverlayRectangle *rectangle : rectangles_of(compositions))
    keys.push_back({gst_video_overlay_rectangle_get_seqnum(rectangle), place_of(rectangle)});
  return keys;
}

void SinkCompositions::lay_out_for_part(GstBuffer *buffer, kms::Origin part)
{
  const std::vector<GstVideoOverlayComposition *> whole = compositions_of(buffer);
  std::vector<Key> keys = keys_of(whole);
  if (!for_part_ || keys != whole_keys_ || part != part_) {
    for_part_ = GstPtr<GstBuffer>::adopt(gst_buffer_new());
    for (GstVideoOverlayComposition *composition : whole)
      add_moved(for_part_.get(), composition, part);
    whole_keys_ = std::move(keys);
    part_ = part;
  }
  while (GstVideoOverlayCompositionMeta *meta =
             gst_buffer_get_video_overlay_composition_meta(buffer))
    gst_buffer_remove_meta(buffer, &meta->meta);
  for (GstVideoOverlayComposition *composition : compositions_of(for_part_.get()))
    gst_buffer_add_video_overlay_composition_meta(buffer, composition);
}

std::shared_ptr<const kms::Overlay>
SinkCompositions::overlay_of(const std::vector<GstVideoOverlayComposition *> &compositions)
{
  std::vector<Key> keys = keys_of(compositions);
  if (keys == keys_)
    return overlay_;
  auto overlay = std::make_shared<kms::Overlay>();
  for (GstVideoOverlayRectangle *rectangle : rectangles_of(compositions))
    append_image(*overlay, rectangle);
  keys_ = std::move(keys);
  overlay_ = overlay->images.empty() ? nullptr : std::move(overlay);
  return overlay_;
}

void SinkCompositions::forget()
{
  keys_.clear();
  overlay_.reset();
  whole_keys_.clear();
  for_part_.reset();
}

} // namespace gstdrm

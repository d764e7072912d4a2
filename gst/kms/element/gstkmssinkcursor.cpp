// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkcursor.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

#include <gst/drm/element/mappable_frame.hpp>
#include <gst/video/video.h>

namespace gstdrm {

namespace {

bool has_8_bit_rgba(const GstVideoInfo &info)
{
  return GST_VIDEO_INFO_IS_RGB(&info) && GST_VIDEO_INFO_HAS_ALPHA(&info) &&
         GST_VIDEO_INFO_N_PLANES(&info) == 1 && GST_VIDEO_INFO_COMP_DEPTH(&info, 0) == 8 &&
         GST_VIDEO_INFO_COMP_DEPTH(&info, GST_VIDEO_COMP_A) == 8;
}

// Cursor planes blend colours that are multiplied by alpha already; those of video/x-raw are not.
kms::CursorImage premultiply(const GstVideoFrame &frame)
{
  kms::CursorImage image;
  image.width = static_cast<std::uint32_t>(GST_VIDEO_FRAME_WIDTH(&frame));
  image.height = static_cast<std::uint32_t>(GST_VIDEO_FRAME_HEIGHT(&frame));
  image.pixels.reserve(std::size_t{image.width} * image.height * 4);
  for (std::size_t y = 0; y < image.height; y++)
    for (std::size_t x = 0; x < image.width; x++) {
      const auto component = [&](guint c) {
        const auto *data = static_cast<const guint8 *>(GST_VIDEO_FRAME_COMP_DATA(&frame, c));
        return unsigned{
            data[y * static_cast<std::size_t>(GST_VIDEO_FRAME_COMP_STRIDE(&frame, c)) +
                 x * static_cast<std::size_t>(GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c))]};
      };
      const unsigned alpha = component(GST_VIDEO_COMP_A);
      for (const guint c : {GST_VIDEO_COMP_B, GST_VIDEO_COMP_G, GST_VIDEO_COMP_R})
        image.pixels.push_back(static_cast<std::uint8_t>((component(c) * alpha + 127) / 255));
      image.pixels.push_back(static_cast<std::uint8_t>(alpha));
    }
  return image;
}

} // namespace

Result<std::optional<kms::CursorImage>> read_cursor_image(GstSample *sample)
{
  if (!sample)
    return std::optional<kms::CursorImage>();
  GstVideoInfo info;
  GstCaps *caps = gst_sample_get_caps(sample);
  GstBuffer *buffer = gst_sample_get_buffer(sample);
  if (!caps || !buffer || !gst_video_info_from_caps(&info, caps) || !has_8_bit_rgba(info))
    return Error{
        ErrorCode::Caps,
        "cursor-image needs a buffer and video/x-raw caps of 8-bit RGB with alpha, such as BGRA.",
        0};
  if (const Result<void> checked = check_mappable_frame(buffer, info); !checked)
    return Error{ErrorCode::Layout,
                 "cursor-image is no frame of its caps: " + checked.error().message + ".", 0};
  GstVideoFrame frame;
  if (!gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ))
    return Error{ErrorCode::Layout, "cursor-image cannot be mapped.", 0};
  const std::unique_ptr<GstVideoFrame, decltype(&gst_video_frame_unmap)> mapped(
      &frame, gst_video_frame_unmap);
  return std::optional<kms::CursorImage>(premultiply(frame));
}

} // namespace gstdrm

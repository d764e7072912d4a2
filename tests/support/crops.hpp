// SPDX-License-Identifier: LGPL-2.1-or-later
// Padded frames with a GstVideoCropMeta, and what the visible part has to look like, by
// GStreamer's own functions that unpack pixels.
#pragma once

#include "support/dmabuf_elements.hpp"

namespace gstdrm::test {

struct Crop {
  guint x, y, width, height;
};

// Every format of dmabufupload's plain template.
inline std::vector<std::string> linear_format_names()
{
  const GstPtr<GstElementFactory> factory =
      GstPtr<GstElementFactory>::adopt(gst_element_factory_find("dmabufupload"));
  fail_unless(static_cast<bool>(factory));
  const auto element = GstPtr<GstElement>::adopt(
      GST_ELEMENT(gst_object_ref_sink(gst_element_factory_create(factory.get(), nullptr))));
  const auto caps = GstPtr<GstCaps>::adopt(
      gst_pad_template_get_caps(gst_element_get_pad_template(element.get(), "sink")));
  const GValue *list = gst_structure_get_value(gst_caps_get_structure(caps.get(), 0), "format");
  std::vector<std::string> names;
  for (guint i = 0; i < gst_value_list_get_size(list); i++)
    names.emplace_back(g_value_get_string(gst_value_list_get_value(list, i)));
  fail_unless(names.size() > 40);
  return names;
}

// Different bytes everywhere: a shift by one is seen.
inline void fill_noise(std::uint8_t *data, gsize size, guint32 seed)
{
  guint32 state = seed * 2654435761U + 1;
  for (gsize i = 0; i < size; i++) {
    state = state * 1664525U + 1013904223U;
    data[i] = static_cast<std::uint8_t>(state >> 24);
  }
}

// A frame of `info` in memory of exactly its size, so that a sanitizer sees a byte read beside it.
inline GstBuffer *new_noise_frame(const GstVideoInfo &info, guint32 seed)
{
  auto *data = static_cast<std::uint8_t *>(g_malloc(info.size));
  fill_noise(data, info.size, seed);
  GstBuffer *buffer = gst_buffer_new_wrapped(data, info.size);
  GstVideoInfo layout = info;
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 static_cast<guint>(info.width), static_cast<guint>(info.height),
                                 GST_VIDEO_INFO_N_PLANES(&info), layout.offset, layout.stride);
  return buffer;
}

inline void add_crop(GstBuffer *buffer, const Crop &crop)
{
  GstVideoCropMeta *meta = gst_buffer_add_video_crop_meta(buffer);
  meta->x = crop.x;
  meta->y = crop.y;
  meta->width = crop.width;
  meta->height = crop.height;
}

// Pixels as four numbers each: alpha, then brightness and colour, or red, green, blue. Only that
// unpacking is right matters here, which GStreamer's own tests see to.
class Picture {
public:
  Picture(GstBuffer *buffer, const GstVideoInfo &info, bool fields)
      : width_(static_cast<guint>(info.width)),
        values_(static_cast<gsize>(info.width) * static_cast<gsize>(info.height) * 4)
  {
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ));
    const GstVideoFormatInfo *finfo = info.finfo;
    const bool wide =
        GST_VIDEO_FORMAT_INFO_DEPTH(gst_video_format_get_info(finfo->unpack_format), 0) > 8;
    // Bits that the format has not: unpackers put there what lay in the padding.
    const guint depth = GST_VIDEO_FORMAT_INFO_DEPTH(finfo, 0);
    const guint spare = depth < 8 || !GST_VIDEO_INFO_IS_YUV(&info) ? 0 : (wide ? 16 : 8) - depth;
    const guint groups = (width_ + 11) / 12 * 12; // whole groups of pixels, which unpackers read
    std::vector<std::uint16_t> line((groups + 64) * 4);
    std::vector<std::vector<std::uint8_t>> rows(GST_VIDEO_INFO_N_PLANES(&info));
    gpointer data[GST_VIDEO_MAX_PLANES] = {};
    gint stride[GST_VIDEO_MAX_PLANES] = {};
    const FourccInfo *layout = fourcc_info_of(info);
    for (guint y = 0; y < static_cast<guint>(info.height); y++) {
      for (guint p = 0; p < rows.size(); p++) { // with room after them for the group and its last word
        const guint v = layout->planes[p].vsub;
        const guint row = fields && v > 1 ? y / (2 * v) * 2 + y % 2 : y / v;
        const gsize bytes = std::min<gsize>(plane_row_bytes(layout->planes[p], width_),
                                            static_cast<gsize>(frame.info.stride[p]));
        rows[p].assign(plane_row_bytes(layout->planes[p], groups) + 64, 0);
        std::memcpy(rows[p].data(),
                    static_cast<std::uint8_t *>(frame.data[p]) +
                        gsize{row} * static_cast<gsize>(frame.info.stride[p]),
                    bytes);
        data[p] = rows[p].data();
      }
      finfo->unpack_func(finfo, fields ? GST_VIDEO_PACK_FLAG_INTERLACED : GST_VIDEO_PACK_FLAG_NONE,
                         line.data(), data, stride, 0, static_cast<gint>(y),
                         static_cast<gint>(groups));
      for (gsize i = 0; i < gsize{width_} * 4; i++)
        values_[gsize{y} * width_ * 4 + i] =
            (wide ? line[i] : reinterpret_cast<const std::uint8_t *>(line.data())[i]) >> spare;
    }
    gst_video_frame_unmap(&frame);
  }
  [[nodiscard]] guint at(guint x, guint y, guint component) const
  {
    return values_[(gsize{y} * width_ + x) * 4 + component];
  }
  static const FourccInfo *fourcc_info_of(const GstVideoInfo &info)
  {
    guint64 modifier = 0;
    return fourcc_info(gst_drm_format_from_video_format(GST_VIDEO_INFO_FORMAT(&info), &modifier));
  }

private:
  guint width_;
  std::vector<guint> values_;
};

// GStreamer 1.22's own stride of NV12_10LE32 has no room for the last V of some odd widths.
inline bool has_room_by_default(const GstVideoInfo &info)
{
  const FourccInfo *layout = Picture::fourcc_info_of(info);
  for (guint p = 0; p < layout->n_planes; p++)
    if (static_cast<guint>(info.stride[p]) <
        plane_row_bytes(layout->planes[p], static_cast<guint>(info.width)))
      return false;
  return true;
}

// Brightness (or red, green, blue) pixel by pixel, colour from the first pixel of those that share
// it.
inline void check_cropped(const Picture &whole, const Picture &part, const GstVideoInfo &info,
                          const Crop &crop, bool fields, const char *what)
{
  const guint hs = 1U << GST_VIDEO_FORMAT_INFO_W_SUB(info.finfo, GST_VIDEO_COMP_U);
  const guint vs = 1U << GST_VIDEO_FORMAT_INFO_H_SUB(info.finfo, GST_VIDEO_COMP_U);
  const bool has_chroma = GST_VIDEO_INFO_IS_YUV(&info);
  const bool by_field = fields && vs > 1;
  for (guint y = 0; y < crop.height; y++)
    for (guint x = 0; x < crop.width; x++)
      for (guint c = 0; c < 4; c++) {
        const bool shared = has_chroma && c >= 2;
        const guint from_x = crop.x + (shared ? x / hs * hs : x);
        const guint first = by_field ? y / (2 * vs) * 2 * vs + y % 2 : y / vs * vs;
        const guint from_y = crop.y + (shared ? first : y);
        if (part.at(x, y, c) != whole.at(from_x, from_y, c))
          fail("%s %s, %ux%u from %u,%u: pixel %u,%u component %u is %u, expected %u", what,
               GST_VIDEO_INFO_NAME(&info), crop.width, crop.height, crop.x, crop.y, x, y, c,
               part.at(x, y, c), whole.at(from_x, from_y, c));
      }
}

} // namespace gstdrm::test

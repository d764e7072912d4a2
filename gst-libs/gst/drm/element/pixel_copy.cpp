// SPDX-License-Identifier: LGPL-2.1-or-later
#include "pixel_copy.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "crop.hpp"
#include "mappable_frame.hpp"
#include "mapped_frame.hpp"
#include "video_planes.hpp"

namespace gstdrm {

namespace {

// Number of rows of a plane that may be touched. Interlaced frames have extra chroma rows for their
// fields; these count only where they end before the next plane begins. GStreamer's default layout
// of P010_10LE has no room for them.
guint rows_with_room(GstBuffer *buffer, const GstVideoInfo &info, guint plane, guint first_row)
{
  const guint rows = rows_of_plane(info, plane);
  const guint wanted = rows_with_fields(info, plane);
  if (wanted <= rows)
    return rows;
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  const gsize *offsets = meta ? meta->offset : info.offset;
  const gint stride = meta ? meta->stride[plane] : info.stride[plane];
  gsize end = gst_buffer_get_size(buffer);
  for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES(&info); i++)
    if (offsets[i] > offsets[plane])
      end = std::min(end, offsets[i]);
  const gsize bytes = gsize{first_row + wanted - 1} * static_cast<gsize>(stride) +
                      row_bytes(info, plane, static_cast<gsize>(stride));
  guint index = 0;
  guint length = 0;
  gsize skip = 0;
  const bool fits = bytes <= end - offsets[plane] &&
                    gst_buffer_find_memory(buffer, offsets[plane], bytes, &index, &length, &skip) &&
                    (length == 1 || !meta); // without a meta, all are mapped as one
  return fits ? wanted : rows;
}

struct Copy {
  GstBuffer *source;
  GstBuffer *dest;
  const MappedFrame &from;
  const MappedFrame &to;
  const GstVideoInfo &whole; // of `from`
  const GstVideoInfo &info;  // of `to`, and of the visible part of `from`
  const FourccInfo &fourcc;
  Corner corner;
  bool fields;
};

bool begins_at_a_block(const Copy &copy)
{
  for (guint i = 0; i < copy.fourcc.n_planes; i++) {
    const PlaneInfo &plane = copy.fourcc.planes[i];
    const guint grain = copy.fields && plane.vsub > 1 ? 2U * plane.vsub : plane.vsub;
    if (copy.corner.x % (guint{plane.hsub} * plane.block_width) != 0 || copy.corner.y % grain != 0)
      return false;
  }
  return true;
}

// The number of bytes that a row of the source, after its first `skip` bytes, and a row of the
// destination have in common.
gsize common_bytes(const Copy &copy, guint plane, gsize skip)
{
  return std::min(row_bytes(copy.whole, plane, copy.from.stride(plane)) - skip,
                  row_bytes(copy.info, plane, copy.to.stride(plane)));
}

void copy_planes(const Copy &copy)
{
  for (guint i = 0; i < copy.fourcc.n_planes; i++) {
    const PlaneInfo &plane = copy.fourcc.planes[i];
    const guint first = copy.corner.y / plane.vsub;
    const guint rows = std::min(rows_with_room(copy.source, copy.info, i, first),
                                rows_with_room(copy.dest, copy.info, i, 0));
    const gsize skip = gsize{copy.corner.x} / (plane.hsub * plane.block_width) * plane.block_bytes;
    const gsize row = common_bytes(copy, i, skip);
    const guint8 *in = copy.from.row(i, first) + skip;
    guint8 *out = copy.to.row(i, 0);
    if (copy.from.stride(i) == copy.to.stride(i)) {
      std::memcpy(out, in, copy.from.stride(i) * (rows - 1) + row);
      continue;
    }
    for (guint y = 0; y < rows; y++)
      std::memcpy(out + y * copy.to.stride(i), in + y * copy.from.stride(i), row);
  }
}

// A buffer for one row of each plane. It is larger than a row, because GStreamer's pack functions
// read and write whole words.
class Rows {
public:
  Rows(const GstVideoInfo &info, const MappedFrame &frame)
  {
    for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES(&info); i++) {
      bytes_[i] = row_bytes(info, i, frame.stride(i));
      rows_[i].resize(bytes_[i] + kSpare);
      pointers_[i] = rows_[i].data();
    }
  }
  // The arguments data and stride of a GstVideoFormatPack function. Strides are 0, so that every
  // line is this row.
  [[nodiscard]] gpointer *data() noexcept { return pointers_.data(); }
  [[nodiscard]] gint *strides() noexcept { return strides_.data(); }
  void read(guint plane, const guint8 *from) noexcept
  {
    std::memcpy(rows_[plane].data(), from, bytes_[plane]);
  }
  void write(guint plane, guint8 *to) const noexcept
  {
    std::memcpy(to, rows_[plane].data(), bytes_[plane]);
  }

private:
  static constexpr gsize kSpare = 64;
  std::array<std::vector<guint8>, GST_VIDEO_MAX_PLANES> rows_;
  std::array<gsize, GST_VIDEO_MAX_PLANES> bytes_{};
  std::array<gpointer, GST_VIDEO_MAX_PLANES> pointers_{};
  std::array<gint, GST_VIDEO_MAX_PLANES> strides_{};
};

guint whole_groups(guint width)
{
  constexpr guint kGroup = 12; // a multiple of 2, 3 and 4
  return (width + kGroup - 1) / kGroup * kGroup;
}

// Calls f(to, from) for each row of a plane. `to` is the first byte of the row that is written,
// `from` the first byte of the source row that its colour comes from.
template <typename F> void for_each_row(const Copy &copy, guint plane, F &&f)
{
  const guint vsub = copy.fourcc.planes[plane].vsub;
  const guint last_in = rows_with_room(copy.source, copy.whole, plane, 0) - 1;
  const guint last_out = rows_with_room(copy.dest, copy.info, plane, 0) - 1;
  for (guint y = 0; y < static_cast<guint>(copy.info.height); y++) {
    const guint row = row_of_line(y, vsub, copy.fields);
    if (!begins_row(y, vsub, copy.fields) || row > last_out)
      continue;
    const guint from = std::min(row_of_line(copy.corner.y + y, vsub, copy.fields), last_in);
    f(copy.to.row(plane, row), copy.from.row(plane, from));
  }
}

// For planes with one block per sample: each block is copied from the source block that holds the
// first of the block's pixels.
void copy_blocks(const Copy &copy)
{
  for (guint i = 0; i < copy.fourcc.n_planes; i++) {
    const PlaneInfo &plane = copy.fourcc.planes[i];
    const gsize skip = gsize{copy.corner.x / plane.hsub} * plane.block_bytes;
    const gsize bytes = common_bytes(copy, i, skip);
    for_each_row(copy, i,
                 [=](guint8 *to, const guint8 *from) { std::memcpy(to, from + skip, bytes); });
  }
}

// For packed 4:2:2, where a block holds two pixels, with luma and chroma samples in turn. The luma
// of a pixel is copied from that pixel, the chroma of a block from the block in which its first
// pixel lies.
void copy_packed(const Copy &copy)
{
  const gsize block = copy.fourcc.planes[0].block_bytes;
  const gsize sample = block / 4;
  const gsize bright =
      GST_VIDEO_FORMAT_INFO_POFFSET(copy.info.finfo, GST_VIDEO_COMP_Y) == 0 ? 0 : sample;
  const gsize colour = sample - bright;
  const auto width = static_cast<gsize>(copy.info.width);
  const gsize x = copy.corner.x;
  for_each_row(copy, 0, [=](guint8 *to, const guint8 *from) {
    for (gsize i = 0; i < width; i++)
      std::memcpy(to + bright + i * block / 2, from + bright + (x + i) * block / 2, sample);
    for (gsize i = 0; i < (width + 1) / 2 * 2; i++)
      std::memcpy(to + colour + i * block / 2, from + colour + (x / 2 * 2 + i) * block / 2, sample);
  });
}

// Copies line by line through GStreamer's unpacked format, for formats in which a group of 10-bit
// pixels shares bytes. The unpacked format has more bits per sample, so no bit is lost.
void copy_pixels(const Copy &copy)
{
  const GstVideoFormatInfo *finfo = copy.info.finfo;
  const auto flags = copy.fields ? GST_VIDEO_PACK_FLAG_INTERLACED : GST_VIDEO_PACK_FLAG_NONE;
  const gsize pixel = static_cast<gsize>(
      GST_VIDEO_FORMAT_INFO_PSTRIDE(gst_video_format_get_info(finfo->unpack_format), 0));
  const auto width = static_cast<guint>(copy.info.width);
  // The width is rounded up to whole groups, because some formats are read and written in words.
  const guint unpacked = whole_groups(copy.corner.x + width);
  const guint packed = whole_groups(width);
  std::vector<guint8> line((copy.corner.x + unpacked + packed) * pixel);
  Rows in(copy.whole, copy.from);
  Rows out(copy.info, copy.to);
  for (guint y = 0; y < static_cast<guint>(copy.info.height); y++) {
    const guint from_y = copy.corner.y + y;
    for (guint i = 0; i < copy.fourcc.n_planes; i++)
      in.read(
          i, copy.from.row(i, std::min(row_of_line(from_y, copy.fourcc.planes[i].vsub, copy.fields),
                                       rows_with_room(copy.source, copy.whole, i, 0) - 1)));
    finfo->unpack_func(finfo, flags, line.data(), in.data(), in.strides(), 0,
                       static_cast<gint>(from_y), static_cast<gint>(unpacked));
    finfo->pack_func(finfo, flags, line.data() + copy.corner.x * pixel, 0, out.data(),
                     out.strides(), GST_VIDEO_INFO_CHROMA_SITE(&copy.info), static_cast<gint>(y),
                     static_cast<gint>(packed));
    for (guint i = 0; i < copy.fourcc.n_planes; i++) {
      const guint vsub = copy.fourcc.planes[i].vsub;
      const guint row = row_of_line(y, vsub, copy.fields);
      if (begins_row(y, vsub, copy.fields) && row < rows_with_room(copy.dest, copy.info, i, 0))
        out.write(i, copy.to.row(i, row));
    }
  }
}

Error map_error(const char *what)
{
  return Error{ErrorCode::Import, what, 0};
}

} // namespace

GstPtr<GstBuffer> with_named_format(GstBuffer *frame, const GstVideoInfo &info)
{
  GstVideoMeta *meta = gst_buffer_get_video_meta(frame);
  const GstVideoFormat format = GST_VIDEO_INFO_FORMAT(&info);
  // compared as bytes: the meta may have a number that is no value of the enumeration
  if (!meta || std::memcmp(&meta->format, &format, sizeof(format)) == 0 ||
      meta->n_planes > GST_VIDEO_MAX_PLANES)
    return GstPtr<GstBuffer>::share(frame);
  auto named = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  for (guint i = 0; i < gst_buffer_n_memory(frame); i++)
    gst_buffer_append_memory(named.get(), gst_buffer_get_memory(frame, i));
  gst_buffer_add_video_meta_full(named.get(), meta->flags, GST_VIDEO_INFO_FORMAT(&info),
                                 meta->width, meta->height, meta->n_planes, meta->offset,
                                 meta->stride);
  if (const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta(frame)) {
    GstVideoCropMeta *same = gst_buffer_add_video_crop_meta(named.get());
    same->x = crop->x;
    same->y = crop->y;
    same->width = crop->width;
    same->height = crop->height;
  }
  return named;
}

Result<std::uint64_t> copy_frame(GstBuffer *dest, GstBuffer *source, const GstVideoInfo &info)
{
  const FourccInfo *fourcc = linear_fourcc(GST_VIDEO_INFO_FORMAT(&info));
  if (!fourcc || fourcc->n_planes != GST_VIDEO_INFO_N_PLANES(&info))
    return map_error("The format has no linear layout that is known here");
  const Result<Corner> corner = visible_corner(source, info);
  if (!corner)
    return corner.error();
  const MappedFrame from(source, info, GST_MAP_READ);
  if (!from)
    return map_error(
        "The frame cannot be mapped for reading by the CPU. Have upstream allocate memory "
        "that the CPU can map, such as a udmabuf");
  const MappedFrame to(dest, info, GST_MAP_WRITE);
  if (!to)
    return map_error("The buffer to copy to cannot be mapped for writing by the CPU; where memory "
                     "is short, raise the process's limit of it (ulimit -v)");
  GstVideoInfo whole = info;
  if (const GstVideoMeta *meta = gst_buffer_get_video_meta(source))
    gst_video_info_set_interlaced_format(&whole, meta->format, GST_VIDEO_INFO_INTERLACE_MODE(&info),
                                         meta->width, meta->height);
  const Copy copy{source, dest, from, to, whole, info, *fourcc, *corner, has_fields(source, info)};
  const auto planes = std::span(fourcc->planes).first(fourcc->n_planes);
  if (begins_at_a_block(copy))
    copy_planes(copy);
  else if (std::all_of(planes.begin(), planes.end(),
                       [](const PlaneInfo &plane) { return plane.block_width == 1; }))
    copy_blocks(copy);
  else if (GST_VIDEO_FORMAT_INFO_PSTRIDE(info.finfo, 0) > 0)
    copy_packed(copy);
  else
    copy_pixels(copy);
  std::uint64_t bytes = 0;
  for (guint plane = 0; plane < GST_VIDEO_INFO_N_PLANES(&info); plane++)
    bytes += std::uint64_t{row_bytes(info, plane, to.stride(plane))} * rows_of_plane(info, plane);
  return bytes;
}

Result<GstPtr<GstBuffer>> visible_picture(GstBuffer *source, const GstVideoInfo &info)
{
  if (const auto checked = check_mappable_layout(source, info); !checked)
    return checked.error();
  auto picture = GstPtr<GstBuffer>::adopt(
      gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr));
  if (!picture)
    return Error{ErrorCode::Allocation, "There is no memory for a copy of the picture", 0};
  if (const auto copied = copy_frame(picture.get(), source, info); !copied)
    return copied.error();
  return picture;
}

} // namespace gstdrm

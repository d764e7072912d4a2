// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabufframe.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/gstdrmerror.h>
#include <gst/drm/gstdrmsync.h>

#include "dmabuf_wait.hpp"

namespace gstdrm {

namespace {

// A GPU that hangs is reset by its driver within about ten seconds; what takes longer than this is
// lost for the viewer.
constexpr std::chrono::milliseconds kFenceLimit{5000};

Error layout_error(std::string message)
{
  return Error{ErrorCode::Layout, std::move(message), 0};
}

// The error of a C call of the library as a value; frees it.
Error take_error(GError *error)
{
  Error result{ErrorCode::Sync, error ? error->message : "unknown error", 0};
  if (error && error->domain == GST_DRM_ERROR)
    result.code = static_cast<ErrorCode>(error->code);
  g_clear_error(&error);
  return result;
}

Result<void> wait_for_acquire_fence(GstBuffer *buffer, Stats &stats)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  const UniqueFd fence(meta ? gst_drm_sync_meta_dup_acquire_fence(meta) : -1);
  if (!fence)
    return {};
  GError *error = nullptr;
  GstDrmFenceState state = GST_DRM_FENCE_STATE_PENDING;
  if (!gst_drm_fence_get_state(fence.get(), &state, &error))
    return take_error(error);
  if (state == GST_DRM_FENCE_STATE_PENDING) {
    stats.waits++;
    if (!gst_drm_fence_wait(fence.get(), kFenceLimit.count() * GST_MSECOND, &state, &error))
      return take_error(error);
  }
  if (state == GST_DRM_FENCE_STATE_PENDING)
    return Error{ErrorCode::Sync,
                 "The producer's device is not done after " + std::to_string(kFenceLimit.count()) +
                     " ms: its acquire fence has not signalled",
                 0};
  if (state == GST_DRM_FENCE_STATE_FAILED)
    GST_WARNING("%" GST_PTR_FORMAT
                ": the acquire fence signalled an error, the picture may be incomplete",
                buffer);
  return {};
}

std::string plane_text(guint plane, const GstVideoMeta &meta, gsize end, gsize size)
{
  return "Plane " + std::to_string(plane) + " (offset " + std::to_string(meta.offset[plane]) +
         ", stride " + std::to_string(meta.stride[plane]) + ") ends at byte " +
         std::to_string(end) + ", its memory at byte " + std::to_string(size);
}

guint rows_of_plane(const GstVideoInfo &info, guint plane)
{
  gint components[GST_VIDEO_MAX_COMPONENTS];
  gst_video_format_info_component(info.finfo, plane, components);
  return GST_VIDEO_FORMAT_INFO_SCALE_HEIGHT(info.finfo, components[0],
                                            GST_VIDEO_INFO_HEIGHT(&info));
}

// Bytes of pixels in one row of the plane. Of packed 4:2:2 at an odd width that is more than width
// times the pixel stride: the last pair's V comes after its Y.
gsize row_bytes(const GstVideoInfo &info, guint plane)
{
  const GstVideoFormatInfo *finfo = info.finfo;
  gint components[GST_VIDEO_MAX_COMPONENTS];
  gst_video_format_info_component(finfo, plane, components);
  const gsize whole = static_cast<gsize>(GST_VIDEO_INFO_PLANE_STRIDE(&info, plane));
  gsize end = 0;
  for (gint c : components) {
    if (c < 0)
      break;
    const gint pixel_stride = GST_VIDEO_FORMAT_INFO_PSTRIDE(finfo, c);
    if (pixel_stride <= 0) // pixels packed in groups (v210): maps read the default stride
      return whole;
    const gsize width = GST_VIDEO_FORMAT_INFO_SCALE_WIDTH(finfo, c, GST_VIDEO_INFO_WIDTH(&info));
    const gint bits = GST_VIDEO_FORMAT_INFO_DEPTH(finfo, c) + GST_VIDEO_FORMAT_INFO_SHIFT(finfo, c);
    const gsize sample =
        static_cast<gsize>(GST_VIDEO_FORMAT_INFO_POFFSET(finfo, c) + (bits + 7) / 8);
    end = std::max(
        {end, (width - 1) * pixel_stride + sample, c == components[0] ? width * pixel_stride : 0});
  }
  return std::min(whole, end);
}

Result<void> check_plane(GstBuffer *buffer, const GstVideoInfo &info, const GstVideoMeta &meta,
                         guint plane)
{
  const gsize row = row_bytes(info, plane);
  const guint rows = rows_of_plane(info, plane);
  const gint stride = meta.stride[plane];
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
    const gsize size = gst_buffer_peek_memory(buffer, index)->size;
    return layout_error(plane_text(plane, meta, skip + needed, size));
  }
  return {};
}

// Empty where the core copied memory that may not be shared.
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

// Where the visible picture starts in a frame whose GstVideoMeta describes a larger one; 0,0 in any
// other, where a GstVideoCropMeta is the consumer's business.
struct Corner {
  guint x = 0;
  guint y = 0;
};

Corner visible_corner(GstBuffer *buffer, const GstVideoInfo &info)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta(buffer);
  return crop && is_padded_frame(buffer, info) ? Corner{crop->x, crop->y} : Corner{};
}

class MappedFrame {
public:
  MappedFrame(GstBuffer *buffer, const GstVideoInfo &info, GstMapFlags flags)
      : mapped_(gst_video_frame_map(
            &frame_, &info, buffer,
            static_cast<GstMapFlags>(guint{flags} | guint{GST_VIDEO_FRAME_MAP_FLAG_NO_REF})))
  {
  }
  ~MappedFrame()
  {
    if (mapped_)
      gst_video_frame_unmap(&frame_);
  }
  MappedFrame(const MappedFrame &) = delete;
  MappedFrame &operator=(const MappedFrame &) = delete;
  explicit operator bool() const noexcept { return mapped_; }
  // First byte of the plane's pixel that shows pixel `corner` of the picture.
  guint8 *plane_at(guint plane, Corner corner) noexcept
  {
    gint components[GST_VIDEO_MAX_COMPONENTS];
    gst_video_format_info_component(frame_.info.finfo, plane, components);
    const gint first = components[0];
    const gsize x = GST_VIDEO_FORMAT_INFO_SCALE_WIDTH(frame_.info.finfo, first, corner.x);
    const gsize y = GST_VIDEO_FORMAT_INFO_SCALE_HEIGHT(frame_.info.finfo, first, corner.y);
    return static_cast<guint8 *>(frame_.data[plane]) + y * stride(plane) +
           x * GST_VIDEO_FORMAT_INFO_PSTRIDE(frame_.info.finfo, first);
  }
  [[nodiscard]] gsize stride(guint plane) const noexcept
  {
    return static_cast<gsize>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame_, plane));
  }

private:
  GstVideoFrame frame_{};
  bool mapped_;
};

} // namespace

bool is_padded_frame(GstBuffer *buffer, const GstVideoInfo &info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  return meta && (meta->width > static_cast<guint>(info.width) ||
                  meta->height > static_cast<guint>(info.height));
}

MemoryKind memory_kind(GstBuffer *buffer)
{
  const guint total = gst_buffer_n_memory(buffer);
  guint dmabufs = 0;
  for (guint i = 0; i < total; i++)
    dmabufs += gst_is_dmabuf_memory(gst_buffer_peek_memory(buffer, i)) ? 1 : 0;
  if (dmabufs == 0)
    return MemoryKind::NoDmaBuf;
  return dmabufs == total ? MemoryKind::DmaBuf : MemoryKind::Mixed;
}

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
  if (!meta) {
    if (gst_buffer_get_size(buffer) >= GST_VIDEO_INFO_SIZE(&info))
      return {};
    return layout_error("A frame of " + std::to_string(gst_buffer_get_size(buffer)) +
                        " bytes came where " + std::to_string(GST_VIDEO_INFO_SIZE(&info)) +
                        " are needed, without a GstVideoMeta");
  }
  if (meta->format != GST_VIDEO_INFO_FORMAT(&info))
    return layout_error(std::string("The GstVideoMeta says ") +
                        gst_video_format_to_string(meta->format) + ", the caps say " +
                        gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info)));
  if (meta->n_planes != GST_VIDEO_INFO_N_PLANES(&info))
    return layout_error("The GstVideoMeta has " + std::to_string(meta->n_planes) +
                        " planes, the format " + std::to_string(GST_VIDEO_INFO_N_PLANES(&info)));
  const Corner corner = visible_corner(buffer, info);
  if (corner.x + guint64{static_cast<guint>(info.width)} > meta->width ||
      corner.y + guint64{static_cast<guint>(info.height)} > meta->height)
    return layout_error("The GstVideoMeta describes " + std::to_string(meta->width) + "x" +
                        std::to_string(meta->height) + " pixels, the caps " +
                        std::to_string(info.width) + "x" + std::to_string(info.height) +
                        " from pixel " + std::to_string(corner.x) + "," + std::to_string(corner.y) +
                        " on");
  GstVideoInfo whole = info; // a map covers all that the meta describes
  whole.width = static_cast<gint>(meta->width);
  whole.height = static_cast<gint>(meta->height);
  for (guint plane = 0; plane < meta->n_planes; plane++)
    if (Result<void> checked = check_plane(buffer, whole, *meta, plane); !checked)
      return checked;
  return {};
}

Result<void> wait_for_device(GstBuffer *buffer, Stats &stats)
{
  if (Result<void> waited = wait_for_acquire_fence(buffer, stats); !waited)
    return waited;
  for (guint i = 0; i < gst_buffer_n_memory(buffer); i++) {
    GstMemory *memory = gst_buffer_peek_memory(buffer, i);
    if (!gst_is_dmabuf_memory(memory))
      continue;
    const Result<Waited> waited = wait_for_writers(gst_dmabuf_memory_get_fd(memory), kFenceLimit);
    if (!waited)
      return waited.error();
    if (waited.value() == Waited::Yes)
      stats.waits++;
  }
  return {};
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

Result<std::uint64_t> copy_frame(GstBuffer *dest, GstBuffer *source, const GstVideoInfo &info)
{
  MappedFrame from(source, info, GST_MAP_READ);
  if (!from)
    return Error{ErrorCode::Import, "The frame cannot be mapped for reading by the CPU", 0};
  MappedFrame to(dest, info, GST_MAP_WRITE);
  if (!to)
    return Error{ErrorCode::Import, "The buffer to copy to cannot be mapped for writing by the CPU",
                 0};
  const Corner corner = visible_corner(source, info);
  std::uint64_t bytes = 0;
  for (guint plane = 0; plane < GST_VIDEO_INFO_N_PLANES(&info); plane++) {
    const gsize row = row_bytes(info, plane);
    const guint rows = rows_of_plane(info, plane);
    const guint8 *in = from.plane_at(plane, corner);
    guint8 *out = to.plane_at(plane, Corner{});
    if (from.stride(plane) == to.stride(plane)) {
      std::memcpy(out, in, from.stride(plane) * (rows - 1) + row);
    } else {
      for (guint y = 0; y < rows; y++)
        std::memcpy(out + y * to.stride(plane), in + y * from.stride(plane), row);
    }
    bytes += static_cast<std::uint64_t>(row) * rows;
  }
  return bytes;
}

} // namespace gstdrm

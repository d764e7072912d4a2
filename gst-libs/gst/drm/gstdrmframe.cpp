// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:gstdrmframe
 * @title: GstDrmFrame
 * @short_description: what an importer needs to know of a buffer
 *
 * Every buffer has one #GstMemory per file descriptor and a #GstVideoMeta whose plane offsets count
 * from the start of the buffer. A #GstDrmFrame says for each plane which descriptor it lies in, and
 * where; it is filled only when the layout is sound, so that nothing else needs to be checked
 * before a device gets it.
 */
#include "gstdrmframe.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include <gst/allocators/gstfdmemory.h>

#include "core/ordered_mutex.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmallocator.h"
#include "gstdrmformat.h"
#include "gstdrmframe-private.hpp"
#include "gstdrmvideoinfo-private.hpp"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gstdrm::library_debug_category()

namespace {

using gstdrm::Error;
using gstdrm::ErrorCode;
using gstdrm::FrameLayout;
using gstdrm::ObjectInfo;
using gstdrm::PlaneLayout;
using gstdrm::Result;

static_assert(GST_DRM_MAX_PLANES == gstdrm::kMaxPlanes);
static_assert(GST_VIDEO_MAX_PLANES == gstdrm::kMaxPlanes);

Error refuse(const std::string &why)
{
  return Error{ErrorCode::Layout, why, 0};
}

std::string number(guint64 value)
{
  return std::to_string(value);
}

// A GstVideoMeta is filled by whoever made the buffer: its format may be any number.
std::string format_name(gint format)
{
  if (format == GST_DRM_VIDEO_FORMAT_DMA_DRM)
    return "DMA_DRM";
  auto *formats = static_cast<GEnumClass *>(g_type_class_ref(GST_TYPE_VIDEO_FORMAT));
  const bool known = format != GST_VIDEO_FORMAT_UNKNOWN && g_enum_get_value(formats, format);
  g_type_class_unref(formats);
  return known ? gst_video_format_to_string(static_cast<GstVideoFormat>(format))
               : "number " + std::to_string(format) + " (unknown)";
}

// The memory in which byte `offset` of the buffer lies, and where in it, without merging or
// mapping.
struct Location {
  GstMemory *memory = nullptr;
  gsize skip = 0; // from the start of the memory
};

Result<Location> locate(GstBuffer *buffer, gsize offset)
{
  gsize left = offset;
  const guint n_memory = gst_buffer_n_memory(buffer);
  for (guint i = 0; i < n_memory; ++i) {
    GstMemory *memory = gst_buffer_peek_memory(buffer, i);
    if (left < memory->size)
      return Location{memory, left};
    left -= memory->size;
  }
  return refuse("offset " + number(offset) + " lies outside of the buffer's " + number(n_memory) +
                (n_memory == 1 ? " memory of " : " memories of ") + number(offset - left) +
                " bytes");
}

// Only this library's own memories are known to keep their descriptor open while they live: others
// may wrap a descriptor that somebody else closes (GST_FD_MEMORY_FLAG_DONT_CLOSE, which cannot be
// read back).
bool owns_descriptor(const GstMemory *memory)
{
  return memory->allocator && GST_IS_DRM_ALLOCATOR(memory->allocator);
}

GQuark object_info_quark()
{
  static const GQuark quark = g_quark_from_static_string("gst-drm-object-info");
  return quark;
}

// Guards the facts of all memories. GStreamer locks the qdata only while it looks for the pointer,
// and a second value in its place would free the first one while another thread reads it: so facts
// are set once, and copied while the lock is held. A leaf, held for no system call.
gstdrm::OrderedMutex &object_infos_lock()
{
  static gstdrm::OrderedMutex lock(100, "object_infos_lock()");
  return lock;
}

std::optional<ObjectInfo> kept_object_info(GstMemory *root)
{
  const std::lock_guard lock(object_infos_lock());
  const auto *kept = static_cast<const ObjectInfo *>(
      gst_mini_object_get_qdata(GST_MINI_OBJECT_CAST(root), object_info_quark()));
  return kept ? std::optional(*kept) : std::nullopt;
}

void keep_object_info(GstMemory *root, const ObjectInfo &info)
{
  auto own = std::make_unique<ObjectInfo>(info);
  const std::lock_guard lock(object_infos_lock());
  if (gst_mini_object_get_qdata(GST_MINI_OBJECT_CAST(root), object_info_quark()))
    return; // another thread was first
  gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(root), object_info_quark(), own.release(),
                            [](gpointer kept) noexcept {
                              std::default_delete<ObjectInfo>()(static_cast<ObjectInfo *>(kept));
                            });
}

// Facts of the memory's dma-buf, kept with the memory, so that a pooled buffer costs no system
// calls. `memory` has a descriptor.
Result<ObjectInfo> object_of(GstMemory *memory)
{
  const gint fd = gst_fd_memory_get_fd(memory);
  GstMemory *root = memory->parent ? memory->parent : memory; // sub-memories share the descriptor
  if (!owns_descriptor(root))
    return gstdrm::query_object(fd);
  if (const std::optional<ObjectInfo> kept = kept_object_info(root))
    return *kept;
  Result<ObjectInfo> info = gstdrm::query_object(fd);
  if (info)
    keep_object_info(root, *info);
  return info;
}

// Returns whether the bytes lie in one dma-buf, without a gap: in one memory of the buffer, or in
// several that follow each other in that dma-buf, too. What lies behind the last memory is not seen
// here.
bool is_in_one_object(GstBuffer *buffer, gsize offset, guint64 bytes)
{
  const guint n_memory = gst_buffer_n_memory(buffer);
  guint i = 0;
  gsize skip = offset;
  while (i < n_memory && skip >= gst_buffer_peek_memory(buffer, i)->size)
    skip -= gst_buffer_peek_memory(buffer, i++)->size;
  for (; i + 1 < n_memory; ++i) {
    GstMemory *memory = gst_buffer_peek_memory(buffer, i);
    GstMemory *next = gst_buffer_peek_memory(buffer, i + 1);
    const gsize room = memory->size - skip;
    if (bytes <= room)
      return true;
    bytes -= room;
    skip = 0;
    if (!gst_is_fd_memory(next) || next->offset != memory->offset + memory->size)
      return false;
    const Result<ObjectInfo> object = object_of(memory);
    const Result<ObjectInfo> other = object_of(next);
    if (!object || !other || object->identity != other->identity)
      return false;
  }
  return true;
}

// Planes mostly share a dma-buf: what is known of one descriptor holds for the next plane, too.
Result<ObjectInfo> object_of_plane(GstMemory *memory, std::span<const PlaneLayout> before)
{
  const gint fd = gst_fd_memory_get_fd(memory);
  const auto same = std::find_if(before.begin(), before.end(),
                                 [fd](const PlaneLayout &plane) { return plane.fd == fd; });
  return same == before.end() ? object_of(memory) : same->object;
}

// `before` are the planes of the same buffer that are known already.
Result<PlaneLayout> plane_at(GstBuffer *buffer, gsize offset, guint32 stride,
                             std::span<const PlaneLayout> before)
{
  const Result<Location> place = locate(buffer, offset);
  if (!place)
    return place.error();
  if (!gst_is_fd_memory(place->memory))
    return refuse(std::string("offset ") + number(offset) + " lies in memory of type " +
                  (place->memory->allocator ? place->memory->allocator->mem_type : "?") +
                  ", which has no file descriptor");
  const Result<ObjectInfo> object = object_of_plane(place->memory, before);
  if (!object)
    return object.error();

  PlaneLayout plane;
  plane.fd = gst_fd_memory_get_fd(place->memory);
  plane.stride_bytes = stride;
  plane.object = *object;
  if (__builtin_add_overflow(guint64{place->memory->offset}, guint64{place->skip},
                             &plane.offset_bytes))
    return refuse("offset " + number(offset) + " overflows in its memory");
  return plane;
}

// A device gets one descriptor and one offset for a plane, and reads on behind the end of a memory.
Result<void> check_ends(GstBuffer *buffer, const gsize *offsets, const FrameLayout &layout)
{
  const gstdrm::FourccInfo *info = gstdrm::fourcc_info(layout.format.fourcc);
  if (gst_buffer_n_memory(buffer) < 2 || layout.format.modifier != GST_DRM_MODIFIER_LINEAR ||
      !info || info->n_planes != layout.n_planes)
    return {};
  for (guint i = 0; i < layout.n_planes; ++i) {
    const guint32 rows = gstdrm::plane_rows(info->planes[i], layout.height);
    const guint64 bytes = guint64{layout.planes[i].stride_bytes} * (rows > 0 ? rows - 1 : 0) +
                          gstdrm::plane_row_bytes(info->planes[i], layout.width);
    if (!is_in_one_object(buffer, offsets[i], bytes))
      return refuse("plane " + number(i) + " of " + number(bytes) +
                    " bytes begins in one memory of the buffer and ends in another one, which is "
                    "not the next part of the same dma-buf");
  }
  return {};
}

// GstVideoMeta of a tiled GstVideoFormat counts tiles (video-tile.h); devices want bytes from one
// row of pixels to the next.
Result<guint32> stride_bytes(const GstVideoFormatInfo *finfo, gint stride, guint plane)
{
  if (stride < 0)
    return refuse("stride " + std::to_string(stride) + " is negative");
  if (!GST_VIDEO_FORMAT_INFO_IS_TILED(finfo))
    return static_cast<guint32>(stride);
  const guint64 bytes = guint64{static_cast<guint>(GST_VIDEO_TILE_X_TILES(stride))} *
                        static_cast<guint64>(GST_VIDEO_FORMAT_INFO_TILE_STRIDE(finfo, plane));
  if (bytes > std::numeric_limits<guint32>::max())
    return refuse("stride of " + number(bytes) + " bytes is too large");
  return static_cast<guint32>(bytes);
}

// Strides and offsets as a GstVideoMeta or, without one, a GstVideoInfo has them.
struct Planes {
  GstVideoFormat format = GST_VIDEO_FORMAT_UNKNOWN;
  guint n = 0;
  const gsize *offset = nullptr;
  const gint *stride = nullptr;
};

// A producer may name the opaque pseudo-format, or the fourcc's GstVideoFormat.
bool may_describe(gint format, const GstDrmVideoInfo &info)
{
  if (format == GST_VIDEO_FORMAT_UNKNOWN) // which an unnamed fourcc and an empty info have as well
    return false;
  return format == GST_DRM_VIDEO_FORMAT_DMA_DRM || format == gstdrm::format_of(info.vinfo) ||
         format == gst_drm_format_to_video_format(info.drm_fourcc, GST_DRM_MODIFIER_LINEAR);
}

// The rows that a buffer holds: of `interlace-mode=alternate` those of one field.
guint rows_of(const GstDrmVideoInfo &info)
{
  const auto height = static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info.vinfo));
  const bool is_field =
      gstdrm::number_in(info.vinfo.interlace_mode) == GST_VIDEO_INTERLACE_MODE_ALTERNATE;
  return is_field ? (height + 1) / 2 : height;
}

Result<Planes> planes_of_meta(const GstVideoMeta &meta, const GstDrmVideoInfo &info)
{
  const auto width = static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info.vinfo));
  const auto height = static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info.vinfo));
  // Of a field GstVideoBufferPool writes the height of the frame, others write the field's own.
  if (meta.width != width || (meta.height != height && meta.height != rows_of(info)))
    return refuse("GstVideoMeta says " + number(meta.width) + "x" + number(meta.height) +
                  ", the caps say " + number(width) + "x" + number(height));
  const gint format = gstdrm::number_in(meta.format);
  if (!may_describe(format, info))
    return refuse("GstVideoMeta says format " + format_name(format) + ", the caps say " +
                  gstdrm::describe_format({info.drm_fourcc, info.drm_modifier}));
  if (meta.n_planes < 1 || meta.n_planes > GST_DRM_MAX_PLANES)
    return refuse("GstVideoMeta has " + number(meta.n_planes) + " planes, a frame has 1 to 4");
  return Planes{meta.format, meta.n_planes, meta.offset, meta.stride};
}

Result<Planes> planes_of_info(GstBuffer *buffer, const GstDrmVideoInfo &info)
{
  const GstVideoFormat format = gstdrm::format_of(info.vinfo);
  if (info.drm_modifier != GST_DRM_MODIFIER_LINEAR || format == GST_DRM_VIDEO_FORMAT_DMA_DRM ||
      format == GST_VIDEO_FORMAT_UNKNOWN)
    return refuse("the buffer has no GstVideoMeta, and " +
                  gstdrm::describe_format({info.drm_fourcc, info.drm_modifier}) +
                  " has no default layout");
  const guint n_memory = gst_buffer_n_memory(buffer);
  if (n_memory != 1)
    return refuse("the buffer has no GstVideoMeta, and " + number(n_memory) +
                  " memories; the default layout needs one");
  return Planes{format, GST_VIDEO_INFO_N_PLANES(&info.vinfo), info.vinfo.offset, info.vinfo.stride};
}

Result<FrameLayout> layout_of(GstBuffer *buffer, const GstDrmVideoInfo &info)
{
  if (gst_buffer_n_memory(buffer) == 0)
    return refuse("the buffer has no memory");
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  const Result<Planes> planes = meta ? planes_of_meta(*meta, info) : planes_of_info(buffer, info);
  if (!planes)
    return planes.error();

  FrameLayout layout;
  layout.format = {info.drm_fourcc, info.drm_modifier};
  layout.width = static_cast<guint32>(GST_VIDEO_INFO_WIDTH(&info.vinfo));
  layout.height = rows_of(info);
  layout.n_planes = planes->n;
  const GstVideoFormatInfo *finfo = gst_video_format_get_info(planes->format);
  for (guint i = 0; i < planes->n; ++i) {
    const Result<guint32> stride = stride_bytes(finfo, planes->stride[i], i);
    if (!stride)
      return refuse("plane " + number(i) + ": " + stride.error().message);
    const Result<PlaneLayout> plane =
        plane_at(buffer, planes->offset[i], *stride, std::span(layout.planes).first(i));
    if (!plane)
      return refuse("plane " + number(i) + ": " + plane.error().message);
    layout.planes[i] = *plane;
  }
  const Result<void> checked = gstdrm::check_layout(layout);
  if (!checked)
    return checked.error();
  if (const Result<void> ended = check_ends(buffer, planes->offset, layout); !ended)
    return ended.error();
  return layout;
}

void fill(GstDrmFrame *frame, const FrameLayout &layout)
{
  *frame = GstDrmFrame{};
  frame->drm_fourcc = layout.format.fourcc;
  frame->drm_modifier = layout.format.modifier;
  frame->width = layout.width;
  frame->height = layout.height;
  frame->n_planes = static_cast<guint>(layout.n_planes);
  for (std::size_t i = 0; i < GST_DRM_MAX_PLANES; ++i) {
    const PlaneLayout &from = layout.planes[i];
    GstDrmFramePlane &to = frame->planes[i];
    to.fd = from.fd;
    to.stride = from.stride_bytes;
    to.offset = from.offset_bytes;
    to.size = from.object.size_bytes;
    to.device = from.object.identity.device;
    to.inode = from.object.identity.inode;
  }
}

// layout_of() with a line in the log for a refusal.
Result<FrameLayout> logged_layout_of(GstBuffer *buffer, const GstDrmVideoInfo &info)
{
  Result<FrameLayout> layout = layout_of(buffer, info);
  if (!layout)
    GST_DEBUG("refused %" GST_PTR_FORMAT ": %s", static_cast<void *>(buffer),
              layout.error().message.c_str());
  return layout;
}

} // namespace

namespace gstdrm {

Result<FrameLayout> frame_layout_of(GstBuffer *buffer, const GstDrmVideoInfo &info) noexcept
try {
  return logged_layout_of(buffer, info);
} catch (...) {
  describe_exception(__func__, nullptr);
  return Error{ErrorCode::Allocation, "out of memory", 0}; // short enough to need no memory
}

} // namespace gstdrm

/**
 * gst_drm_frame_from_buffer:
 * @frame: (out caller-allocates): a #GstDrmFrame
 * @buffer: a #GstBuffer with one #GstMemory per file descriptor
 * @info: the negotiated format
 * @error: location for a #GError, or %NULL
 *
 * Finds the descriptor, offset and stride of every plane of @buffer, and checks them: the number of
 * planes against fourcc and modifier, live descriptors, 32-bit offsets; for a linear layout or a
 * tiling of known size also that the stride holds a row and every plane lies inside its dma-buf.
 * For any other modifier, %GST_DRM_MODIFIER_IMPLICIT included, strides are passed on unread.
 * Without a #GstVideoMeta the default layout of a linear format in one memory is taken, and nothing
 * else. Neither maps nor merges memories, and calls no device.
 *
 * With `interlace-mode=alternate` a buffer holds one field, and the height of @frame is that of a
 * field.
 *
 * @frame borrows its descriptors from @buffer, and is left alone on failure.
 *
 * Returns: %FALSE with %GST_DRM_ERROR_LAYOUT, and the numbers, where the layout is not sound
 *
 * Since: 0.1
 */
gboolean gst_drm_frame_from_buffer(GstDrmFrame *frame, GstBuffer *buffer,
                                   const GstDrmVideoInfo *info, GError **error) noexcept
try {
  g_return_val_if_fail(frame != nullptr, FALSE);
  g_return_val_if_fail(GST_IS_BUFFER(buffer), FALSE);
  g_return_val_if_fail(info != nullptr, FALSE);
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  const Result<FrameLayout> layout = logged_layout_of(buffer, *info);
  if (!layout) {
    gstdrm::propagate(error, layout.error());
    return FALSE;
  }
  fill(frame, *layout);
  return TRUE;
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}

/**
 * gst_drm_frame_get_plane:
 * @frame: a #GstDrmFrame
 * @index: from 0 on
 * @plane: (out caller-allocates): a #GstDrmFramePlane
 *
 * A copy of one plane, for language bindings, which cannot read an array of structures that lies in
 * another structure. Its descriptor is borrowed from the buffer, as that of @frame is: neither is
 * to be used after the buffer was given back, and neither is to be closed.
 *
 * Returns: %FALSE where @index is beyond the last plane; @plane then has an fd of -1
 *
 * Since: 0.1
 */
gboolean gst_drm_frame_get_plane(const GstDrmFrame *frame, guint index,
                                 GstDrmFramePlane *plane) noexcept
{
  g_return_val_if_fail(frame != nullptr, FALSE);
  g_return_val_if_fail(plane != nullptr, FALSE);

  // a frame that its owner filled by hand may say any number
  if (index >= std::min<guint>(frame->n_planes, GST_DRM_MAX_PLANES)) {
    *plane = GstDrmFramePlane{};
    plane->fd = -1;
    return FALSE;
  }
  *plane = frame->planes[index];
  return TRUE;
}

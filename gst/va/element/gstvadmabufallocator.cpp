// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvadmabufallocator.hpp"

#include <array>
#include <vector>

#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmformat.h>
#include <gst/drm/gstdrmvideoinfo.h>

namespace gstdrm::va {
namespace {

using SurfaceRef = std::shared_ptr<Surface>;

GQuark surface_quark()
{
  static const GQuark quark = g_quark_from_static_string("gst-drm-va-surface");
  return quark;
}

void free_surface_ref(gpointer surface) noexcept
{
  delete static_cast<SurfaceRef *>(surface);
}

// GStreamer's name of the layout; an implicit one goes by its fourcc, as its caps do.
GstVideoFormat meta_format(const Format &format)
{
  const auto modifier = format.modifier == kModImplicit ? kModLinear : format.modifier;
  const GstVideoFormat named = gst_drm_format_to_video_format(format.fourcc, modifier);
  return named == GST_VIDEO_FORMAT_UNKNOWN ? GST_DRM_VIDEO_FORMAT_DMA_DRM : named;
}

// GstVideoMeta of a tiled GstVideoFormat counts tiles (video-tile.h) where devices count bytes.
gint meta_stride(GstVideoFormat format, guint plane, std::uint32_t stride_bytes,
                 std::uint32_t height)
{
  const GstVideoFormatInfo *info = gst_video_format_get_info(format);
  if (format == GST_DRM_VIDEO_FORMAT_DMA_DRM || !GST_VIDEO_FORMAT_INFO_IS_TILED(info))
    return static_cast<gint>(stride_bytes);
  const auto tile_bytes =
      static_cast<std::uint32_t>(GST_VIDEO_FORMAT_INFO_TILE_STRIDE(info, plane));
  const auto tile_rows = static_cast<std::uint32_t>(GST_VIDEO_FORMAT_INFO_TILE_HEIGHT(info, plane));
  const auto rows = static_cast<std::uint32_t>(
      GST_VIDEO_FORMAT_INFO_SCALE_HEIGHT(info, plane, static_cast<gint>(height)));
  return static_cast<gint>(
      GST_VIDEO_TILE_MAKE_STRIDE(stride_bytes / tile_bytes, (rows + tile_rows - 1) / tile_rows));
}

GstBuffer *wrap(GstAllocator *allocator, Frame frame)
{
  auto &exported = frame.exported;
  auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  std::array<gsize, kMaxPlanes> start{};
  gsize end = 0;
  for (std::size_t i = 0; i < exported.objects.size(); ++i) {
    auto &object = exported.objects[i];
    // The memory takes the descriptor and closes it.
    GstMemory *memory = gst_dmabuf_allocator_alloc_with_flags(
        allocator, object.fd.release(), object.size_bytes, GST_FD_MEMORY_FLAG_KEEP_MAPPED);
    if (i == 0)
      gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(memory), surface_quark(),
                                new SurfaceRef(std::move(frame.surface)), free_surface_ref);
    gst_buffer_append_memory(buffer.get(), memory);
    start[i] = end;
    end += object.size_bytes;
  }
  const GstVideoFormat format = meta_format(exported.format);
  std::array<gsize, GST_VIDEO_MAX_PLANES> offsets{};
  std::array<gint, GST_VIDEO_MAX_PLANES> strides{};
  for (std::size_t i = 0; i < exported.n_planes; ++i) {
    offsets[i] = start[exported.planes[i].object] + exported.planes[i].offset_bytes;
    strides[i] = meta_stride(format, static_cast<guint>(i), exported.planes[i].stride_bytes,
                             exported.height);
  }
  gst_buffer_add_video_meta_full(buffer.get(), GST_VIDEO_FRAME_FLAG_NONE, format, exported.width,
                                 exported.height, static_cast<guint>(exported.n_planes),
                                 offsets.data(), strides.data());
  return buffer.release();
}

bool has_padding(const GstVideoAlignment &align)
{
  return (align.padding_left | align.padding_right | align.padding_top | align.padding_bottom) != 0;
}

} // namespace
} // namespace gstdrm::va

using gstdrm::Error;
using gstdrm::ErrorCode;

// Upstream has a GstVaDmabufAllocator, and type names are one per process.
struct GstDrmVaAllocator {
  GstDrmAllocator parent;
  std::shared_ptr<const gstdrm::va::Device> *device; // made with the object, deleted with it
};

struct GstDrmVaAllocatorClass {
  GstDrmAllocatorClass parent_class;
};

static GType gst_drm_va_allocator_get_type(void);
G_DEFINE_TYPE(GstDrmVaAllocator, gst_drm_va_allocator, GST_TYPE_DRM_ALLOCATOR)

static GstDrmVaAllocator *as_va_allocator(gpointer allocator)
{
  return G_TYPE_CHECK_INSTANCE_CAST(allocator, gst_drm_va_allocator_get_type(), GstDrmVaAllocator);
}

static GstDrmFormatSet *gst_drm_va_allocator_get_formats(GstDrmAllocator *allocator) noexcept
try {
  const auto &device = **as_va_allocator(allocator)->device;
  GstDrmFormatSet *set = gst_drm_format_set_new();
  for (const auto &pair : device.capabilities.formats.pairs())
    gst_drm_format_set_add(set, pair.fourcc, pair.modifier);
  return set;
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

static GstBuffer *gst_drm_va_allocator_alloc_frame(GstDrmAllocator *allocator, guint32 fourcc,
                                                   guint width, guint height,
                                                   const guint64 *modifiers, guint n_modifiers,
                                                   const GstVideoAlignment *align,
                                                   guint64 *modifier, GError **error) noexcept
try {
  const auto &device = **as_va_allocator(allocator)->device;
  if (align && gstdrm::va::has_padding(*align)) {
    gstdrm::propagate(
        error, Error{ErrorCode::Unsupported, "A VA surface has no padding around the picture"});
    return nullptr;
  }
  auto frame = gstdrm::va::allocate_frame(device, fourcc, width, height, {modifiers, n_modifiers});
  if (!frame) {
    gstdrm::propagate(error, frame.error());
    return nullptr;
  }
  if (modifier)
    *modifier = frame->exported.format.modifier;
  return gstdrm::va::wrap(GST_ALLOCATOR(allocator), std::move(frame).value());
} catch (...) {
  return gstdrm::caught(nullptr, __func__, error);
}

static void gst_drm_va_allocator_finalize(GObject *object) noexcept
{
  delete as_va_allocator(object)->device;
  G_OBJECT_CLASS(gst_drm_va_allocator_parent_class)->finalize(object);
}

static void gst_drm_va_allocator_class_init(GstDrmVaAllocatorClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = gst_drm_va_allocator_finalize;
  klass->parent_class.get_formats = gst_drm_va_allocator_get_formats;
  klass->parent_class.alloc_frame = gst_drm_va_allocator_alloc_frame;
}

static void gst_drm_va_allocator_init(GstDrmVaAllocator *self)
{
  self->device = new std::shared_ptr<const gstdrm::va::Device>;
}

namespace gstdrm::va {

GstDrmAllocator *new_allocator(std::shared_ptr<const Device> device)
{
  auto *allocator = as_va_allocator(g_object_new(gst_drm_va_allocator_get_type(), nullptr));
  gst_object_ref_sink(allocator);
  *allocator->device = std::move(device);
  return GST_DRM_ALLOCATOR(allocator);
}

const std::shared_ptr<Surface> *surface_of(GstBuffer *buffer)
{
  if (gst_buffer_n_memory(buffer) == 0)
    return nullptr;
  GstMemory *memory = gst_buffer_peek_memory(buffer, 0);
  return static_cast<SurfaceRef *>(
      gst_mini_object_get_qdata(GST_MINI_OBJECT_CAST(memory), surface_quark()));
}

} // namespace gstdrm::va

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvadmabufallocator.hpp"

#include <memory>
#include <utility>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/element/format_sets.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmallocator-buffer.hpp>
#include <gst/drm/gstdrmsync.h>

#include "engine/va_surface.hpp"

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

// The first memory owns a reference to the surface.
GstBuffer *wrap(GstDmaBufAllocator *allocator, Frame frame)
{
  auto buffer = GstPtr<GstBuffer>::adopt(buffer_from_frame(allocator, std::move(frame.exported)));
  gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(gst_buffer_peek_memory(buffer.get(), 0)),
                            surface_quark(), new SurfaceRef(std::move(frame.surface)),
                            free_surface_ref);
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
  // No allocation in init(), where GObject has no way to report a failure.
  std::shared_ptr<const gstdrm::va::Device> device;
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

static GstDrmFormatSet *gst_drm_va_allocator_get_formats(GstDrmAllocator *allocator)
{
  const auto &device = *as_va_allocator(allocator)->device;
  return gstdrm::to_public(device.capabilities.formats).release();
}

static GstBuffer *gst_drm_va_allocator_alloc_frame(GstDrmAllocator *allocator, guint32 fourcc,
                                                   guint width, guint height,
                                                   const guint64 *modifiers, guint n_modifiers,
                                                   const GstVideoAlignment *align,
                                                   guint64 *modifier, GError **error) noexcept
try {
  const auto &device = *as_va_allocator(allocator)->device;
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
  return gstdrm::va::wrap(GST_DMABUF_ALLOCATOR(allocator), std::move(frame).value());
} catch (...) {
  return gstdrm::caught(nullptr, __func__, error);
}

static void gst_drm_va_allocator_finalize(GObject *object) noexcept
{
  std::destroy_at(&as_va_allocator(object)->device);
  G_OBJECT_CLASS(gst_drm_va_allocator_parent_class)->finalize(object);
}

static void gst_drm_va_allocator_class_init(GstDrmVaAllocatorClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = gst_drm_va_allocator_finalize;
  klass->parent_class.get_formats = gstdrm::logging<gst_drm_va_allocator_get_formats>;
  klass->parent_class.alloc_frame = gst_drm_va_allocator_alloc_frame;
}

static void gst_drm_va_allocator_init(GstDrmVaAllocator *self)
{
  std::construct_at(&self->device);
}

namespace gstdrm::va {

GstDrmAllocator *new_allocator(std::shared_ptr<const Device> device)
{
  auto *allocator = as_va_allocator(g_object_new(gst_drm_va_allocator_get_type(), nullptr));
  gst_object_ref_sink(allocator);
  allocator->device = std::move(device);
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

bool DrawFences::attach(GstBuffer *buffer, const Surface &surface)
{
  leaves_fences_ = leaves_fences_ && has_fences(buffer, surface);
  return leaves_fences_;
}

bool DrawFences::has_fences(GstBuffer *buffer, const Surface &surface)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  if (!meta)
    meta = gst_buffer_add_drm_sync_meta(buffer);
  for (guint i = 0; i < gst_buffer_n_memory(buffer); ++i) {
    const int fd = gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(buffer, i));
    UniqueFd fence(gst_drm_dmabuf_export_fence(fd, GST_DRM_ACCESS_READ, nullptr));
    if (!fence)
      return false;
    GstDrmFenceState state = GST_DRM_FENCE_STATE_SIGNALLED;
    (void)gst_drm_fence_get_state(fence.get(), &state, nullptr);
    if (state == GST_DRM_FENCE_STATE_SIGNALLED)
      continue;
    seen_pending_ = true;
    if (!gst_drm_sync_meta_add_acquire_fence(meta, fence.release(), nullptr))
      return false;
  }
  if (seen_pending_)
    return true;
  // The kernel gives a signalled fence if the drawing is done, or if the driver attached none. In
  // the second case the surface is still busy.
  const auto busy = is_rendering(surface);
  return busy && !*busy;
}

} // namespace gstdrm::va

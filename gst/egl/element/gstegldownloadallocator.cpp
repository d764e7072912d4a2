// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegldownloadallocator.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <gst/drm/drm.h>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/format_sets.hpp>
#include <gst/drm/element/frame_import.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>

#include "engine/gl_draw.hpp"

namespace gstdrm {
namespace {

struct Proving {
  std::vector<GstPtr<GstDrmAllocator>> allocators;
  std::shared_ptr<GlThread> thread; // empty: nothing is proved
};

// What one of the allocators can make, as far as they tell.
FormatSet formats_of(const std::vector<GstPtr<GstDrmAllocator>> &allocators)
{
  FormatSet made;
  for (const auto &allocator : allocators)
    if (const FormatSetPtr set(gst_drm_allocator_get_formats(allocator.get())); set)
      made = FormatSet::unite(made, from_public(*set));
  return made;
}

struct Request {
  std::uint32_t fourcc;
  guint width;
  guint height;
};

struct Made {
  GstPtr<GstBuffer> buffer;
  guint64 modifier = 0;
};

Result<void> prove(GlThread &thread, const Request &request, const Made &made)
{
  GError *error = nullptr;
  GstDrmVideoInfo info;
  if (!gst_drm_video_info_set_format(&info, request.fourcc, made.modifier, request.width,
                                     request.height, &error))
    return take_error(error);
  const auto layout = frame_layout_of(made.buffer.get(), info);
  if (!layout)
    return layout.error();
  return thread.run([&](egl::Device &) -> Result<void> {
    const auto target = egl::DrawTarget::import(thread.device(), *layout);
    if (!target)
      return target.error();
    return {};
  });
}

// Alignments of linear rows to try, in bytes. 0 asks for nothing: the allocators then give rows of
// a multiple of 256 bytes (kDefaultStrideAlign), which suffices for every driver that is known.
constexpr std::array<guint, 3> kRowAlignments{0, 512, 4096};

Result<Made> try_allocator(const Proving &proving, GstDrmAllocator *allocator,
                           const Request &request, std::vector<guint64> modifiers)
{
  std::string refusals;
  const auto refused = [&](const std::string &why) {
    refusals += (refusals.empty() ? "" : "; ") + why;
  };
  while (!modifiers.empty()) {
    guint64 last = kModLinear;
    bool allocated = false;
    for (const guint row_align : kRowAlignments) {
      GstVideoAlignment align;
      gst_video_alignment_reset(&align);
      if (row_align > 0)
        for (guint &plane : align.stride_align)
          plane = row_align - 1;
      g_autoptr(GError) error = nullptr;
      Made made;
      made.buffer = GstPtr<GstBuffer>::adopt(
          gst_drm_allocator_alloc_frame(allocator, request.fourcc, request.width, request.height,
                                        modifiers.data(), static_cast<guint>(modifiers.size()),
                                        row_align > 0 ? &align : nullptr, &made.modifier, &error));
      if (!made.buffer) {
        refused(error ? error->message : "the allocator gave no reason");
        break;
      }
      allocated = true;
      last = made.modifier;
      if (!proving.thread)
        return made;
      const auto proved = prove(*proving.thread, request, made);
      if (proved)
        return made;
      refused(proved.error().message);
      if (made.modifier != kModLinear)
        break;
    }
    if (!allocated)
      break;
    modifiers.erase(std::remove(modifiers.begin(), modifiers.end(), last), modifiers.end());
  }
  return Error{ErrorCode::Allocation, refusals, 0};
}

Result<Made> allocate(const Proving &proving, const Request &request,
                      std::span<const guint64> modifiers)
{
  std::string refusals;
  for (const auto &allocator : proving.allocators) {
    auto made =
        try_allocator(proving, allocator.get(), request, {modifiers.begin(), modifiers.end()});
    if (made)
      return made;
    refusals += (refusals.empty() ? "" : ". ") + made.error().message;
  }
  return Error{ErrorCode::Allocation, refusals.empty() ? "There is no allocator" : refusals, 0};
}

} // namespace
} // namespace gstdrm

struct GstDrmEglAllocator {
  GstDrmAllocator parent;
  gstdrm::Proving *proving; // made with the object, deleted with it
};

struct GstDrmEglAllocatorClass {
  GstDrmAllocatorClass parent_class;
};

static GType gst_drm_egl_allocator_get_type(void);
G_DEFINE_TYPE(GstDrmEglAllocator, gst_drm_egl_allocator, GST_TYPE_DRM_ALLOCATOR)

static GstDrmEglAllocator *as_egl_allocator(gpointer allocator)
{
  return G_TYPE_CHECK_INSTANCE_CAST(allocator, gst_drm_egl_allocator_get_type(),
                                    GstDrmEglAllocator);
}

static GstDrmFormatSet *gst_drm_egl_allocator_get_formats(GstDrmAllocator *allocator)
{
  const auto &allocators = as_egl_allocator(allocator)->proving->allocators;
  return gstdrm::to_public(gstdrm::formats_of(allocators)).release();
}

static GstBuffer *gst_drm_egl_allocator_alloc_frame(GstDrmAllocator *allocator, guint32 fourcc,
                                                    guint width, guint height,
                                                    const guint64 *modifiers, guint n_modifiers,
                                                    const GstVideoAlignment *, guint64 *modifier,
                                                    GError **error) noexcept
try {
  auto made = gstdrm::allocate(*as_egl_allocator(allocator)->proving, {fourcc, width, height},
                               {modifiers, n_modifiers});
  if (!made) {
    gstdrm::propagate(error, made.error());
    return nullptr;
  }
  if (modifier)
    *modifier = made->modifier;
  return made->buffer.release();
} catch (...) {
  return gstdrm::caught(nullptr, __func__, error);
}

static void gst_drm_egl_allocator_finalize(GObject *object) noexcept
{
  delete as_egl_allocator(object)->proving;
  G_OBJECT_CLASS(gst_drm_egl_allocator_parent_class)->finalize(object);
}

static void gst_drm_egl_allocator_class_init(GstDrmEglAllocatorClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = gst_drm_egl_allocator_finalize;
  klass->parent_class.get_formats = gstdrm::logging<gst_drm_egl_allocator_get_formats>;
  klass->parent_class.alloc_frame = gst_drm_egl_allocator_alloc_frame;
}

static void gst_drm_egl_allocator_init(GstDrmEglAllocator *self)
{
  self->proving = new gstdrm::Proving;
}

namespace gstdrm {

std::vector<GstPtr<GstDrmAllocator>> own_allocators(const egl::Device *device, std::string &reasons)
{
  std::vector<GstPtr<GstDrmAllocator>> allocators;
  const auto open = [&](GstDrmAllocatorKind kind, const char *path) {
    g_autoptr(GError) error = nullptr;
    auto allocator = GstPtr<GstDrmAllocator>::adopt(gst_drm_allocator_new(kind, path, &error));
    if (allocator)
      allocators.push_back(std::move(allocator));
    else
      reasons += (reasons.empty() ? "" : ". ") + std::string(error->message);
  };
  if (device && !device->driver().node.empty())
    open(GST_DRM_ALLOCATOR_KIND_GBM, device->driver().node.c_str());
  open(GST_DRM_ALLOCATOR_KIND_AUTO, nullptr);
  return allocators;
}

FormatSet makeable_formats(const FormatSet &wanted,
                           const std::vector<GstPtr<GstDrmAllocator>> &allocators)
{
  return FormatSet::intersect(wanted, formats_of(allocators));
}

GstPtr<GstDrmAllocator> proving_allocator(std::vector<GstPtr<GstDrmAllocator>> allocators,
                                          std::shared_ptr<GlThread> thread)
{
  auto *made = as_egl_allocator(g_object_new(gst_drm_egl_allocator_get_type(), nullptr));
  gst_object_ref_sink(made);
  *made->proving = {std::move(allocators), std::move(thread)};
  return GstPtr<GstDrmAllocator>::adopt(GST_DRM_ALLOCATOR(made));
}

} // namespace gstdrm

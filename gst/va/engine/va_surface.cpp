// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_surface.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <limits>
#include <string>
#include <vector>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/log.hpp>
#include <gst/drm/core/sync_file.hpp>

#include "va_driver_facts.hpp"

namespace gstdrm::va {
namespace {

VASurfaceAttrib integer(VASurfaceAttribType type, std::uint32_t value)
{
  VASurfaceAttrib attribute{};
  attribute.type = type;
  attribute.flags = VA_SURFACE_ATTRIB_SETTABLE;
  attribute.value.type = VAGenericValueTypeInteger;
  attribute.value.value.i = static_cast<int>(value);
  return attribute;
}

VASurfaceAttrib pointer(VASurfaceAttribType type, void *value)
{
  VASurfaceAttrib attribute{};
  attribute.type = type;
  attribute.flags = VA_SURFACE_ATTRIB_SETTABLE;
  attribute.value.type = VAGenericValueTypePointer;
  attribute.value.value.p = value;
  return attribute;
}

std::string size_text(std::uint32_t width, std::uint32_t height)
{
  return std::to_string(width) + "x" + std::to_string(height);
}

// Parses a driver's description of a surface, and checks it against the request.
class Reader {
public:
  Reader(const VADRMPRIMESurfaceDescriptor &descriptor, const PixelFormat &format,
         std::uint32_t width, std::uint32_t height, std::span<const std::uint64_t> modifiers)
      : d_(descriptor), format_(format), modifiers_(modifiers)
  {
    frame_.width = width;
    frame_.height = height;
    frame_.format.fourcc = format.drm_fourcc;
    adopt();
  }

  Result<AllocatedFrame> read()
  {
    for (const auto step : {&Reader::read_head, &Reader::read_objects, &Reader::read_modifier,
                            &Reader::read_layers, &Reader::check}) {
      if (auto done = (this->*step)(); !done)
        return done.error();
    }
    return std::move(frame_);
  }

private:
  [[nodiscard]] Error refuse(const std::string &why) const
  {
    Error error{ErrorCode::Layout, "The driver's description of a " +
                                       fourcc_to_string(format_.drm_fourcc) + " surface of " +
                                       size_text(frame_.width, frame_.height) +
                                       " cannot be used: " + why};
    GSTDRM_DEBUG("refused: %s", error.message.c_str());
    return error;
  }

  // Take ownership of the descriptors first, so that no error leaks one. If the count of objects is
  // impossible, the entries may be garbage: then take only descriptors above 2, which are no
  // standard streams. Take no descriptor twice.
  void adopt()
  {
    const bool plausible = d_.num_objects >= 1 && d_.num_objects <= kMaxPlanes;
    const std::size_t count = d_.num_objects == 0 ? 0 : plausible ? d_.num_objects : kMaxPlanes;
    for (std::size_t i = 0; i < count; ++i) {
      const int fd = d_.objects[i].fd;
      const bool twice = std::any_of(frame_.objects.begin(), frame_.objects.end(),
                                     [fd](const auto &object) { return object.fd.get() == fd; });
      repeated_ = repeated_ || (twice && fd >= 0);
      const bool ours = !twice && (plausible || fd > 2);
      frame_.objects.push_back({UniqueFd(ours ? fd : -1), 0});
    }
  }

  Result<void> read_head()
  {
    if (d_.num_objects < 1 || d_.num_objects > kMaxPlanes)
      return refuse(std::to_string(d_.num_objects) + " objects, there are 1 to 4");
    if (repeated_)
      return refuse("two objects with the same descriptor");
    if (!is_name_of(format_, d_.fourcc))
      return refuse("it says " + fourcc_to_string(d_.fourcc) + ", " +
                    fourcc_to_string(format_.va_fourcc) + " (VA) was asked for");
    if (d_.fourcc != format_.va_fourcc)
      GSTDRM_LOG("the driver's name for %s (VA) is %s", fourcc_to_string(format_.va_fourcc).c_str(),
                 fourcc_to_string(d_.fourcc).c_str());
    // A larger size is allowed: it includes the driver's padding.
    if (d_.width < frame_.width || d_.height < frame_.height)
      return refuse("it says " + size_text(d_.width, d_.height));
    return {};
  }

  Result<void> read_objects()
  {
    for (std::size_t i = 0; i < frame_.objects.size(); ++i) {
      auto &object = frame_.objects[i];
      auto info = query_object(object.fd.get());
      if (!info)
        return refuse("object " + std::to_string(i) + ": " + info.error().message);
      object.size_bytes = info->size_bytes;
      infos_[i] = *info;
      if (d_.objects[i].size > info->size_bytes)
        return refuse("object " + std::to_string(i) + " is said to have " +
                      std::to_string(d_.objects[i].size) + " bytes, its descriptor has " +
                      std::to_string(info->size_bytes));
      // Mesa's nouveau reports a size of 0; then the size of the dma-buf is used.
      if (d_.objects[i].size > 0)
        infos_[i].size_bytes = d_.objects[i].size;
    }
    return {};
  }

  Result<void> read_modifier()
  {
    const std::uint64_t modifier = d_.objects[0].drm_format_modifier;
    frame_.format.modifier = modifier;
    for (std::size_t i = 1; i < frame_.objects.size(); ++i) {
      if (d_.objects[i].drm_format_modifier != modifier)
        return refuse("its objects have different modifiers, " + describe_modifier(modifier) +
                      " and " + describe_modifier(d_.objects[i].drm_format_modifier));
    }
    const bool asked =
        std::find(modifiers_.begin(), modifiers_.end(), modifier) != modifiers_.end();
    if (!modifiers_.empty() && !asked)
      return refuse("its modifier is " + describe_format(frame_.format) +
                    ", which is not one of the " + std::to_string(modifiers_.size()) +
                    " that were asked for");
    return {};
  }

  Result<void> read_layers()
  {
    if (d_.num_layers < 1 || d_.num_layers > kMaxPlanes)
      return refuse(std::to_string(d_.num_layers) + " layers, there are 1 to 4");
    if (d_.num_layers == 1 && !is_layer_of(format_, d_.fourcc, d_.layers[0].drm_format))
      return refuse("its layer is " + fourcc_to_string(d_.layers[0].drm_format));
    if (d_.num_layers == 1 && d_.layers[0].drm_format != format_.drm_fourcc)
      GSTDRM_LOG("the driver's name for the layer %s is %s",
                 fourcc_to_string(format_.drm_fourcc).c_str(),
                 fourcc_to_string(d_.layers[0].drm_format).c_str());
    for (std::size_t i = 0; i < d_.num_layers; ++i) {
      const auto &layer = d_.layers[i];
      if (layer.num_planes < 1 || frame_.n_planes + layer.num_planes > kMaxPlanes)
        return refuse("layer " + std::to_string(i) + " of " + std::to_string(d_.num_layers) +
                      " has " + std::to_string(layer.num_planes) + " planes");
      for (std::size_t j = 0; j < layer.num_planes; ++j) {
        if (layer.object_index[j] >= frame_.objects.size())
          return refuse("plane " + std::to_string(frame_.n_planes) + " is in object " +
                        std::to_string(layer.object_index[j]) + " of " +
                        std::to_string(frame_.objects.size()));
        frame_.planes[frame_.n_planes++] = {layer.object_index[j], layer.offset[j], layer.pitch[j]};
      }
    }
    return {};
  }

  // check_layout() of the core has the rules for every layout. The driver's size of an object may
  // be smaller than the dma-buf.
  Result<void> check()
  {
    for (std::size_t i = 0; i < frame_.n_planes; ++i)
      if (frame_.planes[i].stride_bytes == 0)
        return refuse("plane " + std::to_string(i) + " has a pitch of 0");
    if (auto fits = check_layout(layout_of(frame_, infos_)); !fits)
      return refuse(fits.error().message);
    return {};
  }

  const VADRMPRIMESurfaceDescriptor &d_;
  const PixelFormat &format_;
  std::span<const std::uint64_t> modifiers_;
  AllocatedFrame frame_;
  std::array<ObjectInfo, kMaxPlanes> infos_{};
  bool repeated_ = false;
};

void log_export(const Surface &surface, const char *layers, const AllocatedFrame &frame)
{
  GSTDRM_LOG("surface 0x%x is exported with %s layers: %s of %ux%u in %zu objects", surface.id(),
             layers, describe_format(frame.format).c_str(), frame.width, frame.height,
             frame.objects.size());
  for (std::size_t i = 0; i < frame.n_planes; ++i) {
    const FramePlane &plane = frame.planes[i];
    GSTDRM_LOG("  plane %zu: object %zu of %" PRIu64 " bytes, offset %" PRIu64 ", pitch %u", i,
               plane.object, frame.objects[plane.object].size_bytes, plane.offset_bytes,
               plane.stride_bytes);
  }
}

} // namespace

Result<Surface> create_surface(const std::shared_ptr<Display> &display, const PixelFormat &format,
                               std::uint32_t width, std::uint32_t height,
                               std::span<const std::uint64_t> modifiers, Tiling tiling)
{
  std::vector<std::uint64_t> copy(modifiers.begin(), modifiers.end()); // libva wants it mutable
  VADRMFormatModifierList list{static_cast<std::uint32_t>(copy.size()), copy.data()};
  VASurfaceAttribExternalBuffers untiled{};
  untiled.pixel_format = format.va_fourcc;
  untiled.width = width;
  untiled.height = height;
  std::vector<VASurfaceAttrib> attributes = {
      integer(VASurfaceAttribPixelFormat, format.va_fourcc),
      integer(VASurfaceAttribUsageHint,
              VA_SURFACE_ATTRIB_USAGE_HINT_EXPORT | VA_SURFACE_ATTRIB_USAGE_HINT_VPP_WRITE),
  };
  if (!copy.empty()) {
    attributes.push_back(pointer(VASurfaceAttribDRMFormatModifiers, &list));
  } else if (tiling == Tiling::None) {
    // The type first: drivers parse the descriptor by the memory type that came before it.
    attributes.push_back(integer(VASurfaceAttribMemoryType, VA_SURFACE_ATTRIB_MEM_TYPE_VA));
    attributes.push_back(pointer(VASurfaceAttribExternalBufferDescriptor, &untiled));
  }
  VASurfaceID id = VA_INVALID_SURFACE;
  const VAStatus status =
      vaCreateSurfaces(display->count(), format.rt_format, width, height, &id, 1, attributes.data(),
                       static_cast<unsigned>(attributes.size()));
  if (status != VA_STATUS_SUCCESS) {
    auto failed = display->error(ErrorCode::Allocation, "vaCreateSurfaces", status);
    failed.message +=
        " for " + fourcc_to_string(format.drm_fourcc) + " " + size_text(width, height);
    if (copy.size() == 1)
      failed.message += ", " + describe_modifier(copy.front());
    else if (!copy.empty())
      failed.message += ", any of " + std::to_string(copy.size()) + " modifiers";
    return failed;
  }
  display->surfaces.fetch_add(1, std::memory_order_relaxed);
  GSTDRM_LOG("surface 0x%x is made: %s of %ux%u, %zu modifiers allowed%s", id,
             fourcc_to_string(format.drm_fourcc).c_str(), width, height, copy.size(),
             copy.empty() && tiling == Tiling::None ? ", untiled" : "");
  return Surface(display, id);
}

Result<AllocatedFrame> export_surface(const Surface &surface, const PixelFormat &format,
                                      std::uint32_t width, std::uint32_t height,
                                      std::span<const std::uint64_t> modifiers)
{
  VADRMPRIMESurfaceDescriptor descriptor{};
  Error failed;
  // Export for reading and writing: consumers import for both, and on some drivers the first export
  // limits later ones.
  for (const std::uint32_t layers :
       {VA_EXPORT_SURFACE_COMPOSED_LAYERS, VA_EXPORT_SURFACE_SEPARATE_LAYERS}) {
    const VAStatus status = vaExportSurfaceHandle(
        surface.display().count(), surface.id(), VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
        VA_EXPORT_SURFACE_READ_WRITE | layers, &descriptor);
    surface.display().exports.fetch_add(1, std::memory_order_relaxed);
    if (status == VA_STATUS_SUCCESS) {
      auto frame = read_descriptor(descriptor, format, width, height, modifiers);
      if (frame)
        log_export(surface, layers == VA_EXPORT_SURFACE_COMPOSED_LAYERS ? "composed" : "separate",
                   *frame);
      return frame;
    }
    failed = surface.display().error(ErrorCode::Allocation, "vaExportSurfaceHandle", status);
  }
  failed.message += " for " + fourcc_to_string(format.drm_fourcc) + " " + size_text(width, height);
  return failed;
}

Result<AllocatedFrame> read_descriptor(const VADRMPRIMESurfaceDescriptor &descriptor,
                                       const PixelFormat &format, std::uint32_t width,
                                       std::uint32_t height,
                                       std::span<const std::uint64_t> modifiers)
{
  return Reader(descriptor, format, width, height, modifiers).read();
}

FrameLayout layout_of(const AllocatedFrame &frame, std::span<const ObjectInfo> objects)
{
  FrameLayout layout;
  layout.format = frame.format;
  layout.width = frame.width;
  layout.height = frame.height;
  layout.n_planes = frame.n_planes;
  for (std::size_t i = 0; i < frame.n_planes; ++i) {
    const auto &plane = frame.planes[i];
    layout.planes[i] = {frame.objects[plane.object].fd.get(), plane.offset_bytes,
                        plane.stride_bytes, objects[plane.object]};
  }
  return layout;
}

Result<FrameLayout> layout_of(const AllocatedFrame &frame)
{
  std::vector<ObjectInfo> objects;
  for (const FrameObject &object : frame.objects) {
    auto info = query_object(object.fd.get());
    if (!info)
      return info.error();
    objects.push_back(*info);
  }
  return layout_of(frame, objects);
}

// --- frames of other devices ---------------------------------------------------------------------

namespace {

Error refuse_import(const FrameLayout &layout, const std::string &why)
{
  Error error{ErrorCode::Import, "A frame of " + describe_format(layout.format) + " " +
                                     size_text(layout.width, layout.height) +
                                     " cannot become a VA surface: " + why};
  GSTDRM_DEBUG("refused: %s", error.message.c_str());
  return error;
}

// Both descriptions of va_drmcommon.h count bytes and offsets in 32 bits.
bool fits_32_bits(const FrameLayout &layout)
{
  return std::all_of(layout.planes.begin(),
                     layout.planes.begin() + static_cast<std::ptrdiff_t>(layout.n_planes),
                     [](const PlaneLayout &plane) {
                       constexpr auto most = std::numeric_limits<std::uint32_t>::max();
                       return plane.offset_bytes <= most && plane.object.size_bytes <= most;
                     });
}

// One object for each dma-buf: several planes may have different descriptors of one dma-buf.
VADRMPRIMESurfaceDescriptor describe(const PixelFormat &format, const FrameLayout &layout)
{
  VADRMPRIMESurfaceDescriptor descriptor{};
  descriptor.fourcc = format.va_fourcc;
  descriptor.width = layout.width;
  descriptor.height = layout.height;
  descriptor.num_layers = 1;
  auto &layer = descriptor.layers[0];
  layer.drm_format = format.drm_fourcc;
  layer.num_planes = static_cast<std::uint32_t>(layout.n_planes);
  std::array<BufferIdentity, kMaxPlanes> seen{};
  for (std::size_t i = 0; i < layout.n_planes; ++i) {
    const PlaneLayout &plane = layout.planes[i];
    const auto end = seen.begin() + descriptor.num_objects;
    const auto found = std::find(seen.begin(), end, plane.object.identity);
    const auto object = static_cast<std::uint32_t>(found - seen.begin());
    if (found == end) {
      seen[descriptor.num_objects++] = plane.object.identity;
      descriptor.objects[object].fd = plane.fd;
      descriptor.objects[object].size = static_cast<std::uint32_t>(plane.object.size_bytes);
      descriptor.objects[object].drm_format_modifier = layout.format.modifier;
    }
    layer.object_index[i] = object;
    layer.offset[i] = static_cast<std::uint32_t>(plane.offset_bytes);
    layer.pitch[i] = plane.stride_bytes;
  }
  return descriptor;
}

// The older description of va.h: one buffer without a modifier. The kernel knows the tiling of the
// buffer object.
VASurfaceAttribExternalBuffers describe_before(const PixelFormat &format, const FrameLayout &layout,
                                               std::uintptr_t &fd)
{
  VASurfaceAttribExternalBuffers external{};
  external.pixel_format = format.va_fourcc;
  external.width = layout.width;
  external.height = layout.height;
  external.data_size = static_cast<std::uint32_t>(layout.planes[0].object.size_bytes);
  external.num_planes = static_cast<std::uint32_t>(layout.n_planes);
  for (std::size_t i = 0; i < layout.n_planes; ++i) {
    external.pitches[i] = layout.planes[i].stride_bytes;
    external.offsets[i] = static_cast<std::uint32_t>(layout.planes[i].offset_bytes);
  }
  fd = static_cast<std::uintptr_t>(layout.planes[0].fd);
  external.buffers = &fd;
  external.num_buffers = 1;
  if (layout.format.modifier != kModLinear)
    external.flags = VA_SURFACE_EXTBUF_DESC_ENABLE_TILING;
  return external;
}

bool is_one_object(const FrameLayout &layout)
{
  return std::all_of(layout.planes.begin(),
                     layout.planes.begin() + static_cast<std::ptrdiff_t>(layout.n_planes),
                     [&](const PlaneLayout &plane) {
                       return plane.object.identity == layout.planes[0].object.identity;
                     });
}

} // namespace

Result<Surface> import_surface(const std::shared_ptr<Display> &display, ImportBy way,
                               const FrameLayout &layout)
{
  const auto *format = format_by_drm(layout.format.fourcc);
  if (!format)
    return refuse_import(layout, "VA-API has no name for this fourcc");
  if (!fits_32_bits(layout))
    return refuse_import(layout, "VA-API counts sizes and offsets in 32 bits");
  if ((way == ImportBy::Prime || reads_first_object_only(display->vendor())) &&
      !is_one_object(layout))
    return refuse_import(layout, "this driver takes frames in one dma-buf only");
  auto prime2 = describe(*format, layout);
  std::uintptr_t fd = 0;
  auto prime = describe_before(*format, layout, fd);
  const bool is_new = way == ImportBy::Prime2;
  std::array attributes = {
      integer(VASurfaceAttribPixelFormat, format->va_fourcc),
      // first, because drivers parse the descriptor by the memory type that came before it
      integer(VASurfaceAttribMemoryType, is_new ? VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2
                                                : VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME),
      pointer(VASurfaceAttribExternalBufferDescriptor,
              is_new ? static_cast<void *>(&prime2) : static_cast<void *>(&prime)),
  };
  VASurfaceID id = VA_INVALID_SURFACE;
  const VAStatus status =
      vaCreateSurfaces(display->count(), format->rt_format, layout.width, layout.height, &id, 1,
                       attributes.data(), static_cast<unsigned>(attributes.size()));
  if (status != VA_STATUS_SUCCESS) {
    const auto error = display->error(ErrorCode::Import, "vaCreateSurfaces", status);
    auto refused = refuse_import(layout, error.message);
    if (error.sys_errno != 0) // no fault of the format
      refused = {ErrorCode::Allocation, std::move(refused.message), error.sys_errno};
    return refused;
  }
  display->surfaces.fetch_add(1, std::memory_order_relaxed);
  GSTDRM_LOG("surface 0x%x is imported: %s of %ux%u in %u objects", id,
             describe_format(layout.format).c_str(), layout.width, layout.height,
             prime2.num_objects);
  return Surface(display, id);
}

// --- waits ---------------------------------------------------------------------------------------

Result<void> sync_surface(const Surface &surface)
{
  GSTDRM_TRACE("surface 0x%x: vaSyncSurface waits", surface.id());
  constexpr auto limit = std::chrono::duration_cast<std::chrono::nanoseconds>(kDeviceLimit);
  const char *call = "vaSyncSurface2"; // of VA-API 1.9; libva answers for drivers without it
  VAStatus status = vaSyncSurface2(surface.display().count(), surface.id(),
                                   static_cast<std::uint64_t>(limit.count()));
  if (status == VA_STATUS_ERROR_UNIMPLEMENTED) {
    call = "vaSyncSurface";
    status = vaSyncSurface(surface.display().get(), surface.id());
  }
  if (status != VA_STATUS_SUCCESS)
    return surface.display().error(ErrorCode::Sync, call, status);
  GSTDRM_TRACE("surface 0x%x: vaSyncSurface is done", surface.id());
  return {};
}

Result<bool> is_rendering(const Surface &surface)
{
  VASurfaceStatus state = VASurfaceReady;
  const VAStatus status = vaQuerySurfaceStatus(surface.display().count(), surface.id(), &state);
  if (status != VA_STATUS_SUCCESS)
    return surface.display().error(ErrorCode::Sync, "vaQuerySurfaceStatus", status);
  GSTDRM_TRACE("surface 0x%x: vaQuerySurfaceStatus says 0x%x", surface.id(),
               static_cast<unsigned>(state));
  return (state & VASurfaceRendering) != 0;
}

namespace {

Result<void> wait_for_drawing(const SyncJob &job)
{
  if (!job.fence)
    return sync_surface(*job.surface);
  const auto state = fence_wait(job.fence.get(), kDeviceLimit);
  if (!state)
    return state.error();
  if (*state == FenceState::Pending)
    return job.surface->display().error(ErrorCode::Sync, "the fence of a picture",
                                        VA_STATUS_ERROR_TIMEDOUT);
  return {};
}

} // namespace

SyncWorker::SyncWorker() : JobWorker(wait_for_drawing) {}

} // namespace gstdrm::va

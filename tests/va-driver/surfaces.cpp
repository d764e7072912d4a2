// SPDX-License-Identifier: LGPL-2.1-or-later
// vaQuerySurfaceAttributes, vaCreateSurfaces, vaExportSurfaceHandle, vaSyncSurface.
#include <algorithm>
#include <iterator>

#include <drm_fourcc.h>
#include <va/va_drmcommon.h>

#include "driver.hpp"

namespace gstdrm::test::vadriver {
namespace {

constexpr std::uint32_t kMemoryTypes = VA_SURFACE_ATTRIB_MEM_TYPE_VA |
                                       VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME |
                                       VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2;

VASurfaceAttrib integer(VASurfaceAttribType type, std::uint32_t flags, std::uint32_t value)
{
  VASurfaceAttrib attribute{};
  attribute.type = type;
  attribute.flags = flags;
  attribute.value.type = VAGenericValueTypeInteger;
  attribute.value.value.i = static_cast<int>(value);
  return attribute;
}

VASurfaceAttrib pointer(VASurfaceAttribType type, std::uint32_t flags, void *value)
{
  VASurfaceAttrib attribute{};
  attribute.type = type;
  attribute.flags = flags;
  attribute.value.type = VAGenericValueTypePointer;
  attribute.value.value.p = value;
  return attribute;
}

// The list that VASurfaceAttribDRMFormatModifiers points to; lives as long as the process.
VADRMFormatModifierList *modifier_list(const Driver &driver)
{
  thread_local VADRMFormatModifierList list;
  thread_local std::vector<std::uint64_t> modifiers;
  modifiers = driver.settings.modifiers;
  list.num_modifiers = static_cast<std::uint32_t>(modifiers.size());
  list.modifiers = modifiers.data();
  return &list;
}

std::vector<VASurfaceAttrib> surface_attributes(const Driver &driver)
{
  std::vector<VASurfaceAttrib> all;
  const std::uint32_t both = VA_SURFACE_ATTRIB_GETTABLE | VA_SURFACE_ATTRIB_SETTABLE;
  for (const auto &format : all_formats()) {
    if (driver.has_format(format))
      all.push_back(integer(VASurfaceAttribPixelFormat, both, format.va_fourcc));
  }
  const Settings &settings = driver.settings;
  const auto least =
      settings.lies_of_sizes ? static_cast<std::uint32_t>(settings.said_min) : settings.min_size;
  const auto most =
      settings.lies_of_sizes ? static_cast<std::uint32_t>(settings.said_max) : settings.max_size;
  all.push_back(integer(VASurfaceAttribMinWidth, VA_SURFACE_ATTRIB_GETTABLE, least));
  all.push_back(integer(VASurfaceAttribMinHeight, VA_SURFACE_ATTRIB_GETTABLE, least));
  all.push_back(integer(VASurfaceAttribMaxWidth, VA_SURFACE_ATTRIB_GETTABLE, most));
  all.push_back(integer(VASurfaceAttribMaxHeight, VA_SURFACE_ATTRIB_GETTABLE, most));
  all.push_back(integer(VASurfaceAttribMemoryType, both,
                        driver.settings.import_prime2
                            ? kMemoryTypes
                            : kMemoryTypes & ~VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2));
  all.push_back(
      pointer(VASurfaceAttribExternalBufferDescriptor, VA_SURFACE_ATTRIB_SETTABLE, nullptr));
  if (driver.settings.list_modifiers)
    all.push_back(pointer(VASurfaceAttribDRMFormatModifiers, both, modifier_list(driver)));
  else if (driver.settings.accept_modifiers && !driver.settings.ignore_modifiers)
    all.push_back(pointer(VASurfaceAttribDRMFormatModifiers, VA_SURFACE_ATTRIB_SETTABLE, nullptr));
  return all;
}

VAStatus query_attributes(VADriverContextP context, VAConfigID /*config*/,
                          VASurfaceAttrib *attributes, unsigned *count)
{
  auto &driver = Driver::of(context);
  if (const auto status = driver.count(Counter::Query); status != VA_STATUS_SUCCESS)
    return status;
  const auto all = surface_attributes(driver);
  const auto room = *count;
  *count = static_cast<unsigned>(all.size());
  if (!attributes)
    return VA_STATUS_SUCCESS;
  if (room < all.size())
    return VA_STATUS_ERROR_MAX_NUM_EXCEEDED;
  std::copy(all.begin(), all.end(), attributes);
  return VA_STATUS_SUCCESS;
}

struct Request {
  const PixelFormat *format = nullptr;
  std::uint32_t memory_type = VA_SURFACE_ATTRIB_MEM_TYPE_VA;
  const void *external = nullptr; // what it points to depends on the memory type
  const VADRMFormatModifierList *modifiers = nullptr;
};

const PixelFormat *default_format(unsigned rt_format)
{
  switch (rt_format) {
  case VA_RT_FORMAT_YUV420_10:
    return format_by_va(VA_FOURCC_P010);
  case VA_RT_FORMAT_YUV422:
    return format_by_va(VA_FOURCC_YUY2);
  case VA_RT_FORMAT_RGB32:
    return format_by_va(VA_FOURCC_BGRA);
  case VA_RT_FORMAT_RGB32_10:
    return format_by_va(VA_FOURCC_A2R10G10B10);
  default:
    return format_by_va(VA_FOURCC_NV12);
  }
}

VAStatus read_request(const Driver &driver, unsigned rt_format, const VASurfaceAttrib *attributes,
                      unsigned count, Request &request)
{
  request.format = default_format(rt_format);
  for (unsigned i = 0; i < count; ++i) {
    const auto &value = attributes[i].value.value;
    switch (attributes[i].type) {
    case VASurfaceAttribPixelFormat:
      request.format = format_by_va(static_cast<std::uint32_t>(value.i));
      break;
    case VASurfaceAttribMemoryType:
      request.memory_type = static_cast<std::uint32_t>(value.i);
      // taken for memory of the driver's own, as i965 does
      if (request.memory_type == VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2 &&
          !driver.settings.import_prime2)
        request.memory_type = VA_SURFACE_ATTRIB_MEM_TYPE_VA;
      break;
    case VASurfaceAttribExternalBufferDescriptor:
      request.external = value.p;
      break;
    case VASurfaceAttribUsageHint:
      break;
    case VASurfaceAttribDRMFormatModifiers:
      if (!driver.settings.accept_modifiers)
        return VA_STATUS_ERROR_ATTR_NOT_SUPPORTED;
      if (!driver.settings.ignore_modifiers)
        request.modifiers = static_cast<const VADRMFormatModifierList *>(value.p);
      break;
    default:
      return VA_STATUS_ERROR_ATTR_NOT_SUPPORTED;
    }
  }
  if (!request.format || !driver.has_format(*request.format))
    return VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
  if ((request.memory_type & kMemoryTypes) != request.memory_type)
    return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
  return VA_STATUS_SUCCESS;
}

// The older way to import, from before modifiers: one dma-buf per surface. A real kernel knows how
// a buffer object of its driver is tiled; here a tiled one has the driver's best tiling.
VADRMPRIMESurfaceDescriptor to_descriptor(const Driver &driver,
                                          const VASurfaceAttribExternalBuffers &external,
                                          unsigned index, const PixelFormat &format)
{
  VADRMPRIMESurfaceDescriptor descriptor{};
  descriptor.fourcc = external.pixel_format;
  descriptor.width = external.width;
  descriptor.height = external.height;
  if (index >= external.num_buffers || external.num_planes != format.n_planes)
    return descriptor; // has no object, and is refused
  std::uint64_t modifier = DRM_FORMAT_MOD_LINEAR;
  if ((external.flags & VA_SURFACE_EXTBUF_DESC_ENABLE_TILING) != 0)
    modifier = choose_modifier(driver.settings, format, external.height,
                               modifiers_of(driver.settings, format.va_fourcc))
                   .value_or(DRM_FORMAT_MOD_LINEAR);
  descriptor.num_objects = 1;
  descriptor.objects[0] = {static_cast<int>(external.buffers[index]), external.data_size, modifier};
  descriptor.num_layers = 1;
  descriptor.layers[0].drm_format = format.drm_fourcc;
  descriptor.layers[0].num_planes = external.num_planes;
  for (unsigned i = 0; i < external.num_planes; ++i) {
    descriptor.layers[0].offset[i] = external.offsets[i];
    descriptor.layers[0].pitch[i] = external.pitches[i];
  }
  return descriptor;
}

VADRMPRIMESurfaceDescriptor in_one_object(VADRMPRIMESurfaceDescriptor descriptor)
{
  descriptor.num_objects = 1;
  for (auto &layer : descriptor.layers)
    std::fill(std::begin(layer.object_index), std::end(layer.object_index), 0U);
  return descriptor;
}

std::shared_ptr<Surface> import_one(Driver &driver, const Request &request, unsigned index,
                                    std::uint32_t width, std::uint32_t height)
{
  if (driver.count(Counter::Import) != VA_STATUS_SUCCESS || !request.external)
    return nullptr;
  if (request.memory_type == VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2) {
    const auto &described =
        static_cast<const VADRMPRIMESurfaceDescriptor *>(request.external)[index];
    const auto modifier = described.objects[0].drm_format_modifier;
    const Settings &settings = driver.settings;
    if (contains(settings.import_refused, modifier) ||
        (settings.import_refused_above > 0 && height > settings.import_refused_above &&
         modifier == settings.import_refused_tall))
      return nullptr;
    return import_surface(driver.settings.import_objects ? described : in_one_object(described),
                          width, height);
  }
  const auto &external = *static_cast<const VASurfaceAttribExternalBuffers *>(request.external);
  return import_surface(to_descriptor(driver, external, index, *request.format), width, height);
}

// VASurfaceAttribExternalBuffers for memory of the driver's own says whether it is tiled.
bool wants_linear(const Driver &driver, const Request &request)
{
  if (!driver.settings.linear_by_descriptor || !request.external)
    return false;
  const auto &external = *static_cast<const VASurfaceAttribExternalBuffers *>(request.external);
  return (external.flags & VA_SURFACE_EXTBUF_DESC_ENABLE_TILING) == 0;
}

std::shared_ptr<Surface> make_surface(Driver &driver, const Request &request, unsigned index,
                                      std::uint32_t width, std::uint32_t height)
{
  if (request.memory_type != VA_SURFACE_ATTRIB_MEM_TYPE_VA)
    return import_one(driver, request, index, width, height);
  std::span<const std::uint64_t> allowed;
  if (request.modifiers)
    allowed = {request.modifiers->modifiers, request.modifiers->num_modifiers};
  auto modifier = choose_modifier(driver.settings, *request.format, height, allowed);
  if (!request.modifiers && wants_linear(driver, request))
    modifier = DRM_FORMAT_MOD_LINEAR;
  const Settings &settings = driver.settings;
  if (!modifier || (request.modifiers && settings.make_refused_above > 0 &&
                    height > settings.make_refused_above && *modifier == settings.make_refused))
    return nullptr;
  auto surface = allocate_surface(driver.settings, *request.format, width, height, *modifier);
  if (surface)
    surface->listed = request.modifiers != nullptr;
  return surface;
}

VAStatus create_surfaces(VADriverContextP context, unsigned rt_format, unsigned width,
                         unsigned height, VASurfaceID *ids, unsigned count,
                         VASurfaceAttrib *attributes, unsigned n_attributes)
{
  auto &driver = Driver::of(context);
  const auto least = driver.settings.min_size;
  if (width < least || height < least || width > driver.settings.max_size ||
      height > driver.settings.max_size)
    return VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED;
  Request request;
  if (const auto status = read_request(driver, rt_format, attributes, n_attributes, request);
      status != VA_STATUS_SUCCESS)
    return status;
  const std::lock_guard guard(driver.lock);
  std::vector<std::shared_ptr<Surface>> made;
  for (unsigned i = 0; i < count; ++i) {
    if (const auto status = driver.count(Counter::Create, VA_STATUS_ERROR_ALLOCATION_FAILED);
        status != VA_STATUS_SUCCESS)
      return status;
    const auto limit = driver.settings.max_surfaces;
    if (limit > 0 && driver.surfaces.size() + made.size() >= limit)
      return VA_STATUS_ERROR_ALLOCATION_FAILED;
    auto surface = make_surface(driver, request, i, width, height);
    if (!surface)
      return VA_STATUS_ERROR_ALLOCATION_FAILED;
    made.push_back(std::move(surface));
  }
  for (unsigned i = 0; i < count; ++i) {
    ids[i] = driver.next_id();
    driver.surfaces[ids[i]] = std::move(made[i]);
  }
  return VA_STATUS_SUCCESS;
}

VAStatus create_surfaces_1(VADriverContextP context, int width, int height, int rt_format,
                           int count, VASurfaceID *ids)
{
  return create_surfaces(context, static_cast<unsigned>(rt_format), static_cast<unsigned>(width),
                         static_cast<unsigned>(height), ids, static_cast<unsigned>(count), nullptr,
                         0);
}

VAStatus destroy_surfaces(VADriverContextP context, VASurfaceID *ids, int count)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  for (int i = 0; i < count; ++i) {
    (void)driver.count(Counter::Destroy);
    if (driver.surfaces.erase(ids[i]) == 0)
      return VA_STATUS_ERROR_INVALID_SURFACE;
  }
  return VA_STATUS_SUCCESS;
}

VAStatus export_handle(VADriverContextP context, VASurfaceID id, std::uint32_t memory_type,
                       std::uint32_t flags, void *descriptor)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  if (const auto status = driver.count(Counter::Export); status != VA_STATUS_SUCCESS)
    return status;
  const auto surface = driver.surface(id);
  if (!surface)
    return VA_STATUS_ERROR_INVALID_SURFACE;
  if (memory_type != VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2)
    return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
  const bool composed = (flags & VA_EXPORT_SURFACE_COMPOSED_LAYERS) != 0;
  if (composed ? !driver.settings.composed : !driver.settings.separate)
    return VA_STATUS_ERROR_INVALID_PARAMETER;
  const auto fourcc = surface->format->va_fourcc;
  if (contains(driver.settings.export_refused, fourcc) ||
      (composed && contains(driver.settings.composed_refused, fourcc)))
    return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
  auto &out = *static_cast<VADRMPRIMESurfaceDescriptor *>(descriptor);
  const auto status = export_surface(*surface, composed, out);
  if (status != VA_STATUS_SUCCESS)
    return status;
  rename_export(driver.settings, *surface, out);
  if (++driver.exports >= driver.settings.lie_from)
    tell_lie(driver.settings.lie, out);
  return VA_STATUS_SUCCESS;
}

VAStatus sync_surface_for(VADriverContextP context, VASurfaceID id, std::uint64_t timeout_ns)
{
  auto &driver = Driver::of(context);
  std::shared_ptr<Surface> surface;
  {
    const std::lock_guard guard(driver.lock);
    if (const auto status = driver.count(Counter::Sync); status != VA_STATUS_SUCCESS)
      return status;
    surface = driver.surface(id);
  }
  if (!surface)
    return VA_STATUS_ERROR_INVALID_SURFACE;
  return driver.wait_idle(*surface, timeout_ns) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_TIMEDOUT;
}

VAStatus sync_surface(VADriverContextP context, VASurfaceID id)
{
  return sync_surface_for(context, id, VA_TIMEOUT_INFINITE);
}

VAStatus query_status(VADriverContextP context, VASurfaceID id, VASurfaceStatus *status)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  (void)driver.count(Counter::Status);
  const auto surface = driver.surface(id);
  if (!surface)
    return VA_STATUS_ERROR_INVALID_SURFACE;
  *status =
      surface->pending > 0 && !driver.settings.status_ready ? VASurfaceRendering : VASurfaceReady;
  return VA_STATUS_SUCCESS;
}

} // namespace

void install_surfaces(VADriverVTable &vtable)
{
  vtable.vaQuerySurfaceAttributes = in_c<query_attributes>;
  vtable.vaCreateSurfaces = in_c<create_surfaces_1>;
  vtable.vaCreateSurfaces2 = in_c<create_surfaces>;
  vtable.vaDestroySurfaces = in_c<destroy_surfaces>;
  vtable.vaExportSurfaceHandle = in_c<export_handle>;
  vtable.vaSyncSurface = in_c<sync_surface>;
  vtable.vaSyncSurface2 = in_c<sync_surface_for>;
  vtable.vaQuerySurfaceStatus = in_c<query_status>;
}

} // namespace gstdrm::test::vadriver

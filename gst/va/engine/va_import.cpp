// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_import.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include <va/va_drmcommon.h>

#include <gst/drm/core/log.hpp>

#include "va_attributes.hpp"
#include "va_driver_facts.hpp"
#include "va_formats.hpp"

namespace gstdrm::va {
namespace {

Error refuse(const FrameLayout &layout, const std::string &why)
{
  Error error{ErrorCode::Import,
              "A frame of " + describe_format(layout.format) + " " + std::to_string(layout.width) +
                  "x" + std::to_string(layout.height) + " cannot become a VA surface: " + why};
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
    return refuse(layout, "VA-API has no name for this fourcc");
  if (!fits_32_bits(layout))
    return refuse(layout, "VA-API counts sizes and offsets in 32 bits");
  if ((way == ImportBy::Prime || reads_first_object_only(display->vendor())) &&
      !is_one_object(layout))
    return refuse(layout, "this driver takes frames in one dma-buf only");
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
    auto refused = refuse(layout, error.message);
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

} // namespace gstdrm::va

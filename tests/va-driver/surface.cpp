// SPDX-License-Identifier: LGPL-2.1-or-later
#include "surface.hpp"

#include <algorithm>
#include <cstring>

#include <drm_fourcc.h>

namespace gstdrm::test::vadriver {
namespace {

std::uint32_t round_up(std::uint32_t value, std::uint32_t multiple)
{
  return (value + multiple - 1) / multiple * multiple;
}

// NVIDIA's block-linear layouts are labels here, but have whole blocks of 8 rows << the number in
// the lowest 4 bits (drm_fourcc.h, DRM_FORMAT_MOD_NVIDIA_BLOCK_LINEAR_2D).
std::uint32_t label_rows(std::uint64_t modifier)
{
  const bool blocks = modifier >> 56 == DRM_FORMAT_MOD_VENDOR_NVIDIA && (modifier & 0x10) != 0;
  return blocks ? 8U << (modifier & 0xf) : 1;
}

TiledPlane lay_out_plane(const Settings &settings, const PlaneShape &shape, std::uint64_t modifier,
                         std::uint32_t width, std::uint32_t height)
{
  const Tiling tiling = tiling_of(modifier);
  const auto align = tile_align(tiling, shape.bytes);
  TiledPlane plane;
  plane.tiling = tiling;
  plane.pixel_bytes = shape.bytes;
  plane.stride_bytes =
      round_up((width + shape.hsub - 1) / shape.hsub * shape.bytes, settings.stride_align);
  plane.stride_bytes = round_up(plane.stride_bytes, align.stride_bytes);
  if (tiling == Tiling::Linear)
    plane.stride_bytes += settings.stride_extra;
  const auto padded = height + settings.height_pad;
  plane.rows =
      round_up((padded + shape.vsub - 1) / shape.vsub, std::max(align.rows, label_rows(modifier)));
  return plane;
}

// Bytes that each plane may start at: a page, so that separate objects and tiles are aligned alike.
constexpr std::uint64_t kPlaneAlign = 4096;
constexpr int kPoison = 0xa5;

} // namespace

bool can_lay_out(const PixelFormat &format, std::uint64_t modifier)
{
  switch (tiling_of(modifier)) {
  case Tiling::Samsung:
    return format.va_fourcc == VA_FOURCC_NV12; // NV12MT is the only one
  case Tiling::Vivante:
    return format.packing == Packing::Rgb32;
  case Tiling::X:
  case Tiling::Y:
    return format.packing != Packing::Planar;
  case Tiling::Linear:
    break;
  }
  return true;
}

std::optional<std::uint64_t> choose_modifier(const Settings &settings, const PixelFormat &format,
                                             std::uint32_t height,
                                             std::span<const std::uint64_t> allowed)
{
  if (allowed.empty() && contains(settings.linear_formats, format.va_fourcc))
    return DRM_FORMAT_MOD_LINEAR;
  if (allowed.empty() && settings.tall_modifier != 0 && height > settings.tall_rows)
    return settings.tall_modifier;
  for (const auto modifier : modifiers_of(settings, format.va_fourcc)) {
    if (!can_lay_out(format, modifier))
      continue;
    if (allowed.empty() || std::find(allowed.begin(), allowed.end(), modifier) != allowed.end())
      return modifier;
  }
  return std::nullopt;
}

std::shared_ptr<Surface> allocate_surface(const Settings &settings, const PixelFormat &format,
                                          std::uint32_t width, std::uint32_t height,
                                          std::uint64_t modifier)
{
  auto surface = std::make_shared<Surface>();
  surface->format = &format;
  surface->width = width;
  surface->height = height;
  surface->modifier = modifier;
  const unsigned n_objects = std::min<unsigned>(settings.objects, format.n_planes);
  std::vector<std::uint64_t> sizes(n_objects, 0);
  for (unsigned i = 0; i < format.n_planes; ++i) {
    auto &plane = surface->planes[i];
    plane.object = std::min(i, n_objects - 1);
    plane.layout = lay_out_plane(settings, format.planes[i], modifier, width, height);
    auto &size = sizes[plane.object];
    plane.offset_bytes = (size + kPlaneAlign - 1) / kPlaneAlign * kPlaneAlign;
    size = plane.offset_bytes +
           static_cast<std::uint64_t>(plane.layout.stride_bytes) * plane.layout.rows;
  }
  for (const auto size : sizes) {
    auto object = allocate_object(settings.memory, size);
    if (!object)
      return nullptr;
    // what somebody else has left in the memory
    std::memset(object->mapping.data(), kPoison, object->mapping.size());
    surface->objects.push_back(std::move(*object));
  }
  return surface;
}

namespace {

// One plane of an imported descriptor, checked against its object.
bool import_plane(Surface &surface, const VADRMPRIMESurfaceDescriptor &descriptor, unsigned index,
                  unsigned layer, unsigned slot)
{
  const auto &shape = surface.format->planes[index];
  const auto &from = descriptor.layers[layer];
  auto &plane = surface.planes[index];
  plane.object = from.object_index[slot];
  if (plane.object >= surface.objects.size())
    return false;
  plane.offset_bytes = from.offset[slot];
  plane.layout.tiling = tiling_of(surface.modifier);
  plane.layout.pixel_bytes = shape.bytes;
  plane.layout.stride_bytes = from.pitch[slot];
  const auto align = tile_align(plane.layout.tiling, shape.bytes);
  plane.layout.rows = round_up((surface.height + shape.vsub - 1) / shape.vsub, align.rows);
  const auto row_bytes = (surface.width + shape.hsub - 1) / shape.hsub * shape.bytes;
  const auto end = plane.offset_bytes +
                   static_cast<std::uint64_t>(plane.layout.stride_bytes) * plane.layout.rows;
  const auto &object = surface.objects[plane.object];
  // The last row of a linear plane may end with its pixels.
  const auto slack =
      plane.layout.tiling == Tiling::Linear ? plane.layout.stride_bytes - row_bytes : 0;
  return plane.layout.stride_bytes >= row_bytes &&
         plane.layout.stride_bytes % align.stride_bytes == 0 &&
         end <= object.mapping.size() + slack;
}

} // namespace

std::shared_ptr<Surface> import_surface(const VADRMPRIMESurfaceDescriptor &descriptor,
                                        std::uint32_t width, std::uint32_t height)
{
  auto surface = std::make_shared<Surface>();
  surface->format = format_by_va(descriptor.fourcc);
  surface->width = width;
  surface->height = height;
  // iHD lays the surface out by the descriptor's size, others by that of vaCreateSurfaces()
  if (!surface->format || descriptor.width != width || descriptor.height != height ||
      descriptor.num_objects < 1 || descriptor.num_objects > 4 || descriptor.num_layers < 1 ||
      descriptor.num_layers > 4)
    return nullptr;
  surface->modifier = descriptor.objects[0].drm_format_modifier;
  if (surface->modifier == DRM_FORMAT_MOD_INVALID)
    surface->modifier = DRM_FORMAT_MOD_LINEAR; // the implicit layout of this "GPU"
  for (unsigned i = 0; i < descriptor.num_objects; ++i) {
    auto object = import_object(descriptor.objects[i].fd);
    if (!object)
      return nullptr;
    surface->objects.push_back(std::move(*object));
  }
  unsigned index = 0;
  for (unsigned layer = 0; layer < descriptor.num_layers; ++layer) {
    for (unsigned slot = 0; slot < std::min(descriptor.layers[layer].num_planes, 4U); ++slot) {
      if (index >= surface->format->n_planes ||
          !import_plane(*surface, descriptor, index++, layer, slot))
        return nullptr;
    }
  }
  return index == surface->format->n_planes ? surface : nullptr;
}

VAStatus export_surface(const Surface &surface, bool composed,
                        VADRMPRIMESurfaceDescriptor &descriptor)
{
  descriptor = {};
  descriptor.fourcc = surface.format->va_fourcc;
  descriptor.width = surface.width;
  descriptor.height = surface.height;
  std::array<UniqueFd, 4> fds;
  for (unsigned i = 0; i < surface.objects.size(); ++i) {
    const auto &object = surface.objects[i];
    fds[i] = object.fd.dup();
    if (!fds[i])
      return VA_STATUS_ERROR_ALLOCATION_FAILED;
    descriptor.objects[i].size = static_cast<std::uint32_t>(object.mapping.size());
    descriptor.objects[i].drm_format_modifier = surface.modifier;
  }
  descriptor.num_objects = static_cast<std::uint32_t>(surface.objects.size());
  for (unsigned i = 0; i < descriptor.num_objects; ++i)
    descriptor.objects[i].fd = fds[i].release();
  descriptor.num_layers = composed ? 1 : surface.format->n_planes;
  for (unsigned i = 0; i < surface.format->n_planes; ++i) {
    auto &layer = descriptor.layers[composed ? 0 : i];
    const unsigned slot = composed ? i : 0;
    layer.drm_format =
        composed ? surface.format->drm_fourcc : surface.format->planes[i].layer_format;
    layer.num_planes = slot + 1;
    layer.object_index[slot] = surface.planes[i].object;
    layer.offset[slot] = static_cast<std::uint32_t>(surface.planes[i].offset_bytes);
    layer.pitch[slot] = surface.planes[i].layout.stride_bytes;
  }
  return VA_STATUS_SUCCESS;
}

void rename_export(const Settings &settings, const Surface &surface,
                   VADRMPRIMESurfaceDescriptor &descriptor)
{
  for (const auto &alias : settings.aliases) {
    if (alias.asked != surface.format->va_fourcc)
      continue;
    descriptor.fourcc = alias.fourcc;
    descriptor.layers[0].drm_format = alias.layer;
  }
  if (settings.report_modifier && (surface.listed || !settings.implicit_unless_listed))
    return;
  for (unsigned i = 0; i < descriptor.num_objects; ++i)
    descriptor.objects[i].drm_format_modifier = DRM_FORMAT_MOD_INVALID;
}

} // namespace gstdrm::test::vadriver

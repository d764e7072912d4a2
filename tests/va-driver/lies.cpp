// SPDX-License-Identifier: LGPL-2.1-or-later
// What a broken driver might answer to vaExportSurfaceHandle.
#include <drm_fourcc.h>
#include <unistd.h>

#include "surface.hpp"

namespace gstdrm::test::vadriver {
namespace {

void close_objects(VADRMPRIMESurfaceDescriptor &descriptor, unsigned from)
{
  for (unsigned i = from; i < descriptor.num_objects && i < 4; ++i)
    ::close(descriptor.objects[i].fd);
}

void lie_about_objects(Lie lie, VADRMPRIMESurfaceDescriptor &d)
{
  switch (lie) {
  case Lie::ZeroObjects:
    close_objects(d, 0);
    d.num_objects = 0;
    break;
  case Lie::ManyObjects:
    d.num_objects = 7;
    break;
  case Lie::Modifier:
    d.objects[0].drm_format_modifier = I915_FORMAT_MOD_Yf_TILED;
    break;
  case Lie::InvalidModifier:
    d.objects[0].drm_format_modifier = DRM_FORMAT_MOD_INVALID;
    break;
  case Lie::SmallObject:
    d.objects[0].size = 64;
    break;
  case Lie::LargeObject:
    d.objects[0].size += 1U << 20;
    break;
  case Lie::Unsized: // as Mesa's nouveau
    for (auto &object : d.objects)
      object.size = 0;
    break;
  case Lie::DeadFd:
    ::close(d.objects[0].fd);
    d.objects[0].fd = -1;
    break;
  default:
    break;
  }
}

void lie_about_layers(Lie lie, VADRMPRIMESurfaceDescriptor &d)
{
  auto &last = d.layers[d.num_layers - 1];
  const unsigned slot = last.num_planes - 1;
  switch (lie) {
  case Lie::ObjectIndex:
    last.object_index[slot] = 3;
    break;
  case Lie::Offset:
    last.offset[slot] = d.objects[0].size + 4096;
    break;
  case Lie::OffsetOverflow:
    last.offset[slot] = 0xfffff000U;
    break;
  case Lie::ZeroPitch:
    last.pitch[slot] = 0;
    break;
  case Lie::ShortPitch:
    last.pitch[slot] /= 4;
    break;
  case Lie::ManyLayers:
    d.num_layers = 4;
    break;
  case Lie::ZeroLayers:
    d.num_layers = 0;
    break;
  case Lie::ManyPlanes:
    last.num_planes = 9;
    break;
  case Lie::Fourcc:
    d.fourcc = VA_FOURCC_Y416;
    d.layers[0].drm_format = DRM_FORMAT_AYUV;
    break;
  case Lie::Size:
    d.width -= 16;
    break;
  default:
    break;
  }
}

} // namespace

void tell_lie(Lie lie, VADRMPRIMESurfaceDescriptor &descriptor)
{
  lie_about_objects(lie, descriptor);
  lie_about_layers(lie, descriptor);
}

} // namespace gstdrm::test::vadriver

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_maps.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>

#include <sys/mman.h>

#include <gst/drm/core/errno_text.hpp>

namespace gstdrm::metis {

namespace {

// The number of the first plane in the same dma-buf.
std::size_t first_of_object(const FrameLayout &layout, std::size_t plane)
{
  const auto same = [&](const PlaneLayout &other) {
    return other.object.identity == layout.planes[plane].object.identity;
  };
  return static_cast<std::size_t>(std::find_if(layout.planes.begin(), layout.planes.end(), same) -
                                  layout.planes.begin());
}

} // namespace

// One mmap(2) per dma-buf, at the index of its first plane.
struct FrameMaps::Mapping {
  struct Object {
    void *data = nullptr;
    std::size_t size_bytes = 0;
  };
  std::array<Object, kMaxPlanes> objects{};

  Mapping() = default;
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;
  ~Mapping()
  {
    for (const Object &object : objects)
      if (object.data)
        ::munmap(object.data, object.size_bytes);
  }
};

FrameMaps::FrameMaps(std::atomic<std::uint64_t> &releases)
    : cache_(map_planes, ImportBounds{.releases = &releases})
{
}

Result<std::shared_ptr<const FrameMaps::Mapping>> FrameMaps::map_planes(const FrameLayout &layout)
{
  auto mapping = std::make_shared<Mapping>();
  for (std::size_t i = 0; i < layout.n_planes; i++) {
    if (first_of_object(layout, i) != i)
      continue;
    const PlaneLayout &plane = layout.planes[i];
    const std::size_t size = plane.object.size_bytes;
    void *data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, plane.fd, 0);
    const int sys_errno = errno;
    if (data == MAP_FAILED)
      return Error{ErrorCode::Import,
                   "The frame's dma-buf of " + std::to_string(size) +
                       " bytes cannot be mapped for reading: " + errno_text(sys_errno) +
                       ". Ask upstream for memory that the CPU may map.",
                   sys_errno};
    mapping->objects[i] = {data, size};
  }
  return std::shared_ptr<const Mapping>(std::move(mapping));
}

Result<FrameMaps::View> FrameMaps::map(const FrameLayout &layout)
{
  auto imported = cache_.import(layout);
  if (!imported)
    return imported.error();
  View view;
  view.hit = imported->hit;
  view.liveness = imported->liveness;
  for (std::size_t i = 0; i < layout.n_planes; i++) {
    const PlaneLayout &plane = layout.planes[i];
    const std::size_t first = first_of_object(layout, i);
    view.planes[i] = static_cast<const std::uint8_t *>(imported->imported->objects[first].data) +
                     plane.offset_bytes;
    view.strides[i] = plane.stride_bytes;
    if (first != i)
      continue;
    Result<CpuAccess> access = CpuAccess::begin(plane.fd, DmaBufAccess::Read);
    if (access)
      view.accesses.push_back(std::move(*access));
    else if (access.error().code != ErrorCode::Unsupported) // Unsupported: a memfd
      return access.error();
  }
  view.mapping = std::move(imported->imported);
  return view;
}

} // namespace gstdrm::metis

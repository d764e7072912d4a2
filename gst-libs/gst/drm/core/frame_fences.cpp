// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_fences.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sync_file.hpp"

namespace gstdrm {

namespace {

// Calls `visit` with a descriptor of each dma-buf, once, until it returns an error.
template <typename Visit> Result<void> for_each_dmabuf(const FrameLayout &layout, Visit visit)
{
  for (std::size_t i = 0; i < layout.n_planes; i++) {
    const auto &planes = layout.planes;
    const bool seen =
        std::any_of(planes.begin(), planes.begin() + static_cast<std::ptrdiff_t>(i), [&](const PlaneLayout &plane) {
          return plane.object.identity == planes[i].object.identity;
        });
    if (seen)
      continue;
    if (Result<void> visited = visit(planes[i].fd); !visited)
      return visited;
  }
  return {};
}

} // namespace

Result<UniqueFd> export_writers(const FrameLayout &layout)
{
  UniqueFd all;
  const Result<void> done = for_each_dmabuf(layout, [&all](int fd) -> Result<void> {
    Result<UniqueFd> one = dmabuf_export_fence(fd, DmaBufAccess::Read);
    if (one && all)
      one = fence_merge(all.get(), one->get());
    if (!one)
      return one.error();
    all = std::move(*one);
    return {};
  });
  if (!done)
    return done.error();
  return all;
}

} // namespace gstdrm

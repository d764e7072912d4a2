// SPDX-License-Identifier: LGPL-2.1-or-later
#if defined(HAVE_CONFIG_H)
#include "config.h"
#endif

#include "../core/log.hpp"
#include "byte_allocators.hpp"
#include "drm_allocators.hpp"
#include "limited.hpp"
#include "open_allocator.hpp"

namespace gstdrm {

namespace {

using Opened = Result<std::unique_ptr<FrameAllocator>>;

const char *kind_name(AllocatorKind kind) noexcept
{
  switch (kind) {
  case AllocatorKind::Udmabuf:
    return "udmabuf";
  case AllocatorKind::DmaHeap:
    return "dma-heap";
  case AllocatorKind::Dumb:
    return "dumb";
  case AllocatorKind::Gbm:
    return "gbm";
  case AllocatorKind::Memfd:
    return "memfd";
  case AllocatorKind::Auto:
    break;
  }
  return "auto";
}

Error no_such_device(AllocatorKind kind, const std::string &device)
{
  return Error{ErrorCode::Device, std::string("The allocator ") + kind_name(kind) +
                                      " takes no device, and \"" + device +
                                      "\" was given; leave it out"};
}

#if !defined(HAVE_GBM)
Error no_gbm()
{
  return Error{ErrorCode::Unsupported,
               "This library was built without libgbm; build it with -Dgbm=enabled, or use dumb"};
}
#endif

Opened open_gbm([[maybe_unused]] const std::string &node)
{
#if defined(HAVE_GBM)
  return Gbm::open(node);
#else
  return no_gbm();
#endif
}

Opened open_gbm([[maybe_unused]] int fd)
{
#if defined(HAVE_GBM)
  return Gbm::open(fd);
#else
  return no_gbm();
#endif
}

Opened open_kind(AllocatorKind kind, const std::string &device)
{
  switch (kind) {
  case AllocatorKind::Udmabuf:
    if (device.empty() || device == "/dev/udmabuf")
      return UdmabufAllocator::open();
    return no_such_device(kind, device);
  case AllocatorKind::DmaHeap:
    return DmaHeapAllocator::open(device);
  case AllocatorKind::Dumb:
    return DumbAllocator::open(device);
  case AllocatorKind::Gbm:
    return open_gbm(device);
  case AllocatorKind::Memfd:
    if (device.empty())
      return MemfdAllocator::open();
    return no_such_device(kind, device);
  case AllocatorKind::Auto:
    break;
  }
  return Error{ErrorCode::Unsupported, "There is no such kind of allocator"};
}

Opened open_kind(AllocatorKind kind, int drm_fd)
{
  switch (kind) {
  case AllocatorKind::Dumb:
    return DumbAllocator::open(drm_fd);
  case AllocatorKind::Gbm:
    return open_gbm(drm_fd);
  default:
    return Error{ErrorCode::Unsupported,
                 std::string("The allocator ") + kind_name(kind) +
                     " does not allocate from a DRM device; use dumb or gbm"};
  }
}

// The kinds of allocator that a device of this name can serve.
std::vector<AllocatorKind> kinds_for(const std::string &device)
{
  using enum AllocatorKind;
  if (device.empty())
    return {Udmabuf, DmaHeap, Dumb, Gbm, Memfd};
  if (device == "/dev/udmabuf")
    return {Udmabuf};
  if (device.find('/') == std::string::npos || device.starts_with("/dev/dma_heap/"))
    return {DmaHeap};
  return {Dumb, Gbm};
}

template <typename Device>
Result<OpenedAllocator> open_first(const std::vector<AllocatorKind> &kinds, const Device &device)
{
  std::string said;
  for (const AllocatorKind kind : kinds) {
    auto opened = open_kind(kind, device);
    if (opened) {
      GSTDRM_DEBUG("chose the allocator %s (%s) of %zu kinds", kind_name(kind),
                   (*opened)->device().c_str(), kinds.size());
      return OpenedAllocator{kind, std::move(opened).value()};
    }
    GSTDRM_DEBUG("the allocator %s cannot be used: %s", kind_name(kind),
                 opened.error().message.c_str());
    if (kinds.size() == 1)
      return opened.error();
    said +=
        std::string(said.empty() ? "" : " | ") + kind_name(kind) + ": " + opened.error().message;
  }
  return Error{ErrorCode::Device, "No allocator works here. " + said};
}

} // namespace

Result<OpenedAllocator> open_allocator(AllocatorKind kind, const std::string &device)
{
  if (kind != AllocatorKind::Auto)
    return open_first(std::vector{kind}, device);
  auto opened = open_first(kinds_for(device), device);
  // The user named no kind, so dma-heap may serve the sizes beyond udmabuf's limit.
  if (opened && opened->kind == AllocatorKind::Udmabuf && device.empty())
    opened->allocator = std::make_unique<LimitedAllocator>(
        std::move(opened->allocator), [] { return DmaHeapAllocator::open(""); });
  return opened;
}

Result<OpenedAllocator> open_allocator_for_fd(AllocatorKind kind, int borrowed_drm_fd)
{
  using enum AllocatorKind;
  return open_first(kind == Auto ? std::vector{Dumb, Gbm} : std::vector{kind}, borrowed_drm_fd);
}

} // namespace gstdrm

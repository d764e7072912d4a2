// SPDX-License-Identifier: LGPL-2.1-or-later
#include <cerrno>

#include <xf86drm.h>
#include <xf86drmMode.h>

#include "../core/drm_node.hpp"
#include "../core/log.hpp"
#include "drm_allocators.hpp"
#include "drm_fd.hpp"
#include "pitch_fit.hpp"

namespace gstdrm {

namespace {

// Every driver with dumb buffers makes them with 32 bits per pixel, and some (virtio_gpu) with
// nothing else. So the width of a dumb buffer is the row's bytes divided by 4, without a remainder
// because strides are multiples of 256.
constexpr std::uint32_t kBitsPerPixel = 32;
constexpr std::uint32_t kBytesPerPixel = kBitsPerPixel / 8;

// The handle of a dumb buffer, until the end of its scope.
class DumbHandle {
public:
  DumbHandle(int drm_fd, std::uint32_t handle) noexcept : drm_fd_(drm_fd), handle_(handle) {}
  DumbHandle(const DumbHandle &) = delete;
  DumbHandle &operator=(const DumbHandle &) = delete;
  ~DumbHandle()
  {
    drmModeDestroyDumbBuffer(drm_fd_, handle_);
  }

private:
  int drm_fd_; // borrowed
  std::uint32_t handle_;
};

Result<void> check_capabilities(const std::string &node, int fd)
{
  std::uint64_t dumb = 0;
  std::uint64_t prime = 0;
  if (drmGetCap(fd, DRM_CAP_DUMB_BUFFER, &dumb) != 0 || dumb == 0)
    return Error{ErrorCode::Device, node + " makes no dumb buffers; use the card node of a display "
                                           "device, or the allocator gbm"};
  if (drmGetCap(fd, DRM_CAP_PRIME, &prime) != 0 || (prime & DRM_PRIME_CAP_EXPORT) == 0)
    return Error{ErrorCode::Device, node + " cannot export dma-bufs (no PRIME)"};
  return {};
}

} // namespace

struct DumbAllocator::Surface {
  UniqueFd fd;
  std::uint32_t pitch_bytes = 0;
  std::uint64_t size_bytes = 0;
};

DumbAllocator::DumbAllocator(std::string node, UniqueFd device)
    : FrameAllocator("dumb", std::move(node)), device_(std::move(device))
{
}

Result<std::unique_ptr<FrameAllocator>> DumbAllocator::probe(std::string node, UniqueFd device)
{
  if (auto able = check_capabilities(node, device.get()); !able)
    return able.error();
  std::unique_ptr<DumbAllocator> allocator(new DumbAllocator(std::move(node), std::move(device)));
  if (auto surface = allocator->create_surface(kDefaultStrideAlign, 16); !surface)
    return surface.error();
  return std::unique_ptr<FrameAllocator>(std::move(allocator));
}

Result<std::unique_ptr<FrameAllocator>> DumbAllocator::open(const std::string &node)
{
  const std::vector<std::string> nodes =
      node.empty() ? list_drm_nodes(DrmNodeType::Card) : std::vector<std::string>{node};
  std::optional<Error> first_error;
  for (const std::string &path : nodes) {
    auto device = open_drm_node(path);
    if (!device) {
      GSTDRM_DEBUG("no dumb buffers: %s", device.error().message.c_str());
      first_error = first_error.value_or(device.error());
      continue;
    }
    auto allocator = probe(path, std::move(device).value());
    if (allocator)
      return allocator;
    GSTDRM_DEBUG("no dumb buffers: %s", allocator.error().message.c_str());
    first_error = first_error.value_or(allocator.error());
  }
  return first_error.value_or(
      Error{ErrorCode::Device, "There is no display device here (no /dev/dri/card*)"});
}

Result<std::unique_ptr<FrameAllocator>> DumbAllocator::open(int borrowed_fd)
{
  if (auto checked = check_drm_fd(borrowed_fd); !checked)
    return checked.error();
  UniqueFd device = UniqueFd::dup(borrowed_fd);
  if (!device) {
    const int sys_errno = errno;
    return Error{ErrorCode::Device, "Cannot duplicate the DRM descriptor: " + errno_text(sys_errno),
                 sys_errno};
  }
  return probe(drm_fd_path(borrowed_fd), std::move(device));
}

Result<DumbAllocator::Surface> DumbAllocator::create_surface(std::uint32_t pitch_bytes,
                                                             std::uint32_t rows) const
{
  std::uint32_t gem_handle = 0;
  std::uint32_t pitch = 0;
  std::uint64_t size = 0;
  const int failed = drmModeCreateDumbBuffer(device_.get(), pitch_bytes / kBytesPerPixel, rows,
                                             kBitsPerPixel, 0, &gem_handle, &pitch, &size);
  if (failed != 0) {
    const int sys_errno = -failed; // libdrm gives the negative errno
    return Error{ErrorCode::Allocation,
                 device() + " refused a dumb buffer of " + std::to_string(rows) + " rows of " +
                     std::to_string(pitch_bytes) + " bytes: " + errno_text(sys_errno),
                 sys_errno};
  }
  const DumbHandle handle(device_.get(), gem_handle);
  auto fd = export_gem_handle(device_.get(), gem_handle);
  if (!fd)
    return fd.error();
  return Surface{std::move(fd).value(), pitch, size};
}

Result<AllocatedFrame> DumbAllocator::allocate(const FrameRequest &request)
{
  if (!request.offers(kModLinear))
    return refuse_modifiers(request, "LINEAR only");
  auto fit = fit_pitch(request, [this](std::uint32_t pitch_bytes, std::uint32_t rows) {
    return create_surface(pitch_bytes, rows);
  });
  if (!fit)
    return fit.error();
  return frame_from_plan(fit->plan, {std::move(fit->surface.fd), fit->surface.size_bytes});
}

} // namespace gstdrm

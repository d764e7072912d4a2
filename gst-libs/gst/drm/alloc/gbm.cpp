// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cerrno>

#include <gbm.h>
#include <xf86drm.h>

#include "../core/drm_node.hpp"
#include "../core/frame_layout.hpp"
#include "../core/log.hpp"
#include "../core/ordered_mutex.hpp"
#include "drm_allocators.hpp"
#include "drm_fd.hpp"
#include "gbm_candidates.hpp"
#include "pitch_fit.hpp"

namespace gstdrm {

namespace {

struct GbmDeviceDeleter {
  void operator()(gbm_device *device) const noexcept { gbm_device_destroy(device); }
};
// The device uses the descriptor that it was made from, so declare it after the descriptor's owner.
using GbmDevice = std::unique_ptr<gbm_device, GbmDeviceDeleter>;

struct GbmBoDeleter {
  void operator()(gbm_bo *bo) const noexcept { gbm_bo_destroy(bo); }
};
using GbmBo = std::unique_ptr<gbm_bo, GbmBoDeleter>;

// Usages to try, best first: a buffer that a display can show and a GPU can draw into, then a
// buffer that is good for one of the two, then any buffer.
constexpr std::array<std::uint32_t, 4> kUsages{GBM_BO_USE_SCANOUT | GBM_BO_USE_RENDERING,
                                               GBM_BO_USE_RENDERING, GBM_BO_USE_SCANOUT, 0};

// Allocates frames from a gbm_device. libgbm is not documented as thread-safe, so `device_lock_`
// guards every call of libgbm.
class GbmAllocator final : public FrameAllocator {
public:
  GbmAllocator(std::string node, UniqueFd fd, GbmDevice device)
      : FrameAllocator("gbm", std::move(node)), fd_(std::move(fd)), device_(std::move(device))
  {
  }
  Result<AllocatedFrame> allocate(const FrameRequest &request) override;
  std::optional<std::vector<Format>> formats() override;

private:
  struct Surface {
    GbmBo bo;
    std::uint32_t pitch_bytes = 0;
  };

  Result<AllocatedFrame> allocate_linear(const FrameRequest &request);
  Result<AllocatedFrame> allocate_linear_as_bytes(const FrameRequest &request, const char *reason);
  Result<AllocatedFrame> allocate_tiled(const FrameRequest &request,
                                        const std::vector<std::uint64_t> &modifiers);
  Result<AllocatedFrame> allocate_implicit(const FrameRequest &request);
  GbmBo create_with_modifiers(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height,
                              std::span<const std::uint64_t> modifiers) const;
  GbmBo create_plain(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height,
                     std::uint32_t flags) const;
  GbmBo create_linear(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height) const;
  Result<UniqueFd> export_plane(gbm_bo *bo, int plane) const;
  Result<AllocatedFrame> describe(const FrameRequest &request, gbm_bo *bo,
                                  std::uint64_t modifier) const;
  Error refuse(const FrameRequest &request, int sys_errno) const;

  UniqueFd fd_;
  GbmDevice device_;
  OrderedMutex device_lock_{90, "GbmAllocator::device_lock_"};
};

Error GbmAllocator::refuse(const FrameRequest &request, int sys_errno) const
{
  return Error{ErrorCode::Allocation,
               label() + ", driver " + gbm_device_get_backend_name(device_.get()) +
                   ", cannot allocate " + fourcc_to_string(request.fourcc) + " of " +
                   std::to_string(request.width) + "x" + std::to_string(request.height) +
                   " with any of " + describe_modifiers(request.modifiers) + ": " +
                   errno_text(sys_errno) +
                   "; offer LINEAR or more modifiers, or use another allocator",
               sys_errno};
}

GbmBo GbmAllocator::create_with_modifiers(std::uint32_t fourcc, std::uint32_t width,
                                          std::uint32_t height,
                                          std::span<const std::uint64_t> modifiers) const
{
  for (const std::uint32_t usage : kUsages) {
    GbmBo bo(gbm_bo_create_with_modifiers2(device_.get(), width, height, fourcc, modifiers.data(),
                                           static_cast<unsigned>(modifiers.size()), usage));
    if (bo)
      return bo;
  }
  return nullptr;
}

GbmBo GbmAllocator::create_plain(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height,
                                 std::uint32_t flags) const
{
  for (const std::uint32_t usage : kUsages) {
    GbmBo bo(gbm_bo_create(device_.get(), width, height, fourcc, usage | flags));
    if (bo)
      return bo;
  }
  return nullptr;
}

// Drivers without modifiers have LINEAR only as a usage flag.
GbmBo GbmAllocator::create_linear(std::uint32_t fourcc, std::uint32_t width,
                                  std::uint32_t height) const
{
  GbmBo bo = create_with_modifiers(fourcc, width, height, std::span(&kModLinear, 1));
  return bo ? std::move(bo) : create_plain(fourcc, width, height, GBM_BO_USE_LINEAR);
}

// Exports the plane's GEM handle where there is one, in place of calling gbm_bo_get_fd_for_plane():
// some of Mesa's drivers export for reading only, and such a dma-buf cannot be mapped for writing.
Result<UniqueFd> GbmAllocator::export_plane(gbm_bo *bo, int plane) const
{
  const gbm_bo_handle handle = gbm_bo_get_handle_for_plane(bo, plane);
  if (handle.s32 > 0) {
    auto fd = export_gem_handle(fd_.get(), handle.u32);
    if (fd)
      return fd;
    GSTDRM_DEBUG("plane %d is exported by libgbm: %s", plane, fd.error().message.c_str());
  }
  UniqueFd fd(gbm_bo_get_fd_for_plane(bo, plane));
  if (!fd) {
    const int sys_errno = errno;
    return Error{ErrorCode::Allocation,
                 label() + " cannot export plane " + std::to_string(plane) +
                     " as a dma-buf: " + errno_text(sys_errno),
                 sys_errno};
  }
  return fd;
}

// Planes that lie in one dma-buf share one object. Each plane is exported with a descriptor of its
// own, so the dma-bufs are compared by device and inode.
Result<AllocatedFrame> GbmAllocator::describe(const FrameRequest &request, gbm_bo *bo,
                                              std::uint64_t modifier) const
{
  AllocatedFrame frame;
  frame.format = {request.fourcc, modifier};
  frame.width = request.width;
  frame.height = request.height;
  std::vector<BufferIdentity> seen;
  const int n_planes = gbm_bo_get_plane_count(bo);
  if (n_planes < 1 || static_cast<std::size_t>(n_planes) > kMaxPlanes)
    return Error{ErrorCode::Allocation, label() + " made a buffer of " + std::to_string(n_planes) +
                                            " planes for " + describe_format(frame.format)};
  for (int i = 0; i < n_planes; ++i) {
    auto fd = export_plane(bo, i);
    if (!fd)
      return fd.error();
    auto object = query_object(fd->get());
    if (!object)
      return object.error();
    const auto known = std::find(seen.begin(), seen.end(), object->identity);
    FramePlane &plane = frame.planes[static_cast<std::size_t>(i)];
    plane.object = static_cast<std::size_t>(known - seen.begin());
    plane.offset_bytes = gbm_bo_get_offset(bo, i);
    plane.stride_bytes = gbm_bo_get_stride_for_plane(bo, i);
    if (known == seen.end()) {
      seen.push_back(object->identity);
      frame.objects.push_back({std::move(fd).value(), object->size_bytes});
    }
  }
  frame.n_planes = static_cast<std::size_t>(n_planes);
  return frame;
}

// For YUV formats that the driver does not allocate as a picture: allocates a buffer of plain rows
// that is large enough for all planes.
Result<AllocatedFrame> GbmAllocator::allocate_linear_as_bytes(const FrameRequest &request,
                                                              const char *reason)
{
  GSTDRM_LOG("%s of %ux%u is allocated as rows of bytes: %s",
             fourcc_to_string(request.fourcc).c_str(), request.width, request.height, reason);
  auto fit =
      fit_pitch(request, [&](std::uint32_t pitch_bytes, std::uint32_t rows) -> Result<Surface> {
        GbmBo bo = create_linear(GBM_FORMAT_R8, pitch_bytes, rows);
        if (!bo)
          bo = create_linear(GBM_FORMAT_XRGB8888, pitch_bytes / 4, rows);
        if (!bo)
          return refuse(request, errno);
        const std::uint32_t pitch = gbm_bo_get_stride(bo.get());
        return Surface{std::move(bo), pitch};
      });
  if (!fit)
    return fit.error();
  auto fd = export_plane(fit->surface.bo.get(), 0);
  if (!fd)
    return fd.error();
  auto object = query_object(fd->get());
  if (!object)
    return object.error();
  return frame_from_plan(fit->plan, {std::move(fd).value(), object->size_bytes});
}

Result<AllocatedFrame> GbmAllocator::allocate_linear(const FrameRequest &request)
{
  auto plan = make_linear_plan(request);
  if (!plan)
    return plan.error();
  const GbmBo bo = create_linear(request.fourcc, plan->padded_width, plan->padded_height);
  if (!bo)
    return allocate_linear_as_bytes(request, "the driver makes no such picture");
  auto frame = describe(request, bo.get(), kModLinear);
  if (!frame)
    return frame;
  // The driver's own layout is kept where it meets the request; else the frame is allocated as rows
  // of bytes, in which the planned layout is laid out.
  if (frame->n_planes != plan->n_planes)
    return allocate_linear_as_bytes(request, "the driver's picture has another number of planes");
  bool as_planned = true;
  for (std::size_t i = 0; i < frame->n_planes; ++i) {
    if (frame->planes[i].stride_bytes % plan->stride_align != 0)
      return allocate_linear_as_bytes(request, "the driver's strides are not aligned as asked");
    as_planned = as_planned && frame->planes[i].stride_bytes == plan->stride_bytes[i];
  }
  if (request.padding.any() && !as_planned)
    return allocate_linear_as_bytes(request, "the driver's strides leave other padding than asked");
  for (std::size_t i = 0; i < frame->n_planes; ++i)
    frame->planes[i].offset_bytes += as_planned ? plan->origin_bytes[i] : 0;
  frame->stride_align = plan->stride_align;
  frame->padding = as_planned ? plan->padding : Padding{};
  return frame;
}

Result<AllocatedFrame> GbmAllocator::allocate_tiled(const FrameRequest &request,
                                                    const std::vector<std::uint64_t> &modifiers)
{
  const GbmBo bo = create_with_modifiers(request.fourcc, request.width, request.height, modifiers);
  if (!bo)
    return refuse(request, errno);
  const std::uint64_t chosen = gbm_bo_get_modifier(bo.get());
  if (std::find(modifiers.begin(), modifiers.end(), chosen) == modifiers.end())
    return Error{ErrorCode::Allocation, label() + " chose " + describe_modifier(chosen) + " for " +
                                            fourcc_to_string(request.fourcc) +
                                            ", which is none of " + describe_modifiers(modifiers)};
  return describe(request, bo.get(), chosen);
}

// Allocates in the driver's private layout. Where the driver can say which modifier it chose, the
// frame has that modifier, else the implicit one.
Result<AllocatedFrame> GbmAllocator::allocate_implicit(const FrameRequest &request)
{
  const GbmBo bo = create_plain(request.fourcc, request.width, request.height, 0);
  if (!bo)
    return refuse(request, errno);
  return describe(request, bo.get(), gbm_bo_get_modifier(bo.get()));
}

Result<AllocatedFrame> GbmAllocator::allocate(const FrameRequest &request)
{
  std::vector<std::uint64_t> tiled;
  std::copy_if(request.modifiers.begin(), request.modifiers.end(), std::back_inserter(tiled),
               [](std::uint64_t modifier) { return modifier != kModImplicit; });
  const bool only_linear =
      std::all_of(tiled.begin(), tiled.end(), [](auto m) { return m == kModLinear; });
  // make_linear_plan() also checks the request, so that impossible sizes do not reach the driver.
  FrameRequest probe = request;
  probe.fourcc = fourcc_info(request.fourcc) ? request.fourcc : GBM_FORMAT_XRGB8888;
  if (auto checked = make_linear_plan(probe); !checked)
    return checked.error();

  const std::lock_guard lock(device_lock_);
  // A tiled layout cannot have padding, so padding asks for a linear one.
  if (request.padding.any() || request.stride_align > 1)
    return request.offers(kModLinear)
               ? allocate_linear(request)
               : refuse_modifiers(request, "LINEAR with padding or aligned rows");
  if (!tiled.empty() && !only_linear) {
    auto frame = allocate_tiled(request, tiled);
    if (frame)
      GSTDRM_LOG("%s is the driver's choice of %zu modifiers",
                 describe_format(frame->format).c_str(), tiled.size());
    if (frame || (!request.offers(kModLinear) && !request.offers(kModImplicit)))
      return frame;
    GSTDRM_DEBUG("%s is tried next: %s", request.offers(kModLinear) ? "LINEAR" : "implicit",
                 frame.error().message.c_str());
  }
  if (request.offers(kModLinear))
    return allocate_linear(request);
  if (request.offers(kModImplicit))
    return allocate_implicit(request);
  return refuse_modifiers(request, "whatever modifier the driver has");
}

// libgbm has no call that lists modifiers, so the well-known modifiers are tried one by one. AMD's
// modifiers, which encode the chip's geometry, are not among them, but allocate() takes any
// modifier. The implicit modifier is offered only for a fourcc of which the driver knows no
// explicit one.
std::optional<std::vector<Format>> GbmAllocator::formats()
{
  const auto knows = [this](std::uint32_t fourcc, std::uint64_t modifier) {
    return gbm_device_get_format_modifier_plane_count(device_.get(), fourcc, modifier) > 0;
  };
  const std::lock_guard lock(device_lock_);
  std::vector<Format> found;
  for (const std::uint32_t fourcc : kCandidateFourccs) {
    const bool usable =
        gbm_device_is_format_supported(device_.get(), fourcc, GBM_BO_USE_RENDERING) ||
        gbm_device_is_format_supported(device_.get(), fourcc, GBM_BO_USE_SCANOUT);
    // LINEAR is possible for every fourcc with a known layout, by allocate_linear_as_bytes().
    if (fourcc_info(fourcc) || knows(fourcc, kModLinear))
      found.push_back({fourcc, kModLinear});
    bool explicit_modifiers = knows(fourcc, kModLinear);
    for (const std::uint64_t modifier : kCandidateModifiers) {
      if (!usable || !knows(fourcc, modifier))
        continue;
      found.push_back({fourcc, modifier});
      explicit_modifiers = true;
    }
    if (usable && !explicit_modifiers)
      found.push_back({fourcc, kModImplicit});
  }
  return found;
}

Result<std::unique_ptr<FrameAllocator>> open_device(const std::string &node, UniqueFd fd)
{
  GbmDevice device(gbm_create_device(fd.get()));
  if (!device) {
    const int sys_errno = errno;
    return Error{ErrorCode::Device,
                 "libgbm has no driver for " + node + ": " + errno_text(sys_errno), sys_errno};
  }
  std::unique_ptr<FrameAllocator> allocator =
      std::make_unique<GbmAllocator>(node, std::move(fd), std::move(device));
  const FrameRequest probe{GBM_FORMAT_XRGB8888, 64, 64, std::span(&kModLinear, 1), {}, 1};
  if (auto frame = allocator->allocate(probe); !frame)
    return frame.error();
  return allocator;
}

struct FreeDrmName {
  void operator()(char *name) const noexcept { drmFree(name); }
};

} // namespace

Result<std::unique_ptr<FrameAllocator>> Gbm::open(const std::string &node)
{
  std::vector<std::string> nodes{node};
  if (node.empty()) {
    nodes = list_drm_nodes(DrmNodeType::Render);
    for (std::string &card : list_drm_nodes(DrmNodeType::Card))
      nodes.push_back(std::move(card));
  }
  std::optional<Error> first_error;
  for (const std::string &path : nodes) {
    auto fd = open_drm_node(path);
    if (!fd) {
      GSTDRM_DEBUG("no GBM: %s", fd.error().message.c_str());
      first_error = first_error.value_or(fd.error());
      continue;
    }
    auto allocator = open_device(path, std::move(fd).value());
    if (allocator)
      return allocator;
    GSTDRM_DEBUG("no GBM: %s", allocator.error().message.c_str());
    first_error = first_error.value_or(allocator.error());
  }
  return first_error.value_or(
      Error{ErrorCode::Device, "There is no DRM device here (nothing in /dev/dri)"});
}

Result<std::unique_ptr<FrameAllocator>> Gbm::open(int borrowed_fd)
{
  if (auto checked = check_drm_fd(borrowed_fd); !checked)
    return checked.error();
  const std::unique_ptr<char, FreeDrmName> render(drmGetRenderDeviceNameFromFd(borrowed_fd));
  for (const std::string &path :
       {std::string(render ? render.get() : ""), drm_fd_path(borrowed_fd)}) {
    if (path.empty())
      continue;
    if (auto fd = open_drm_node(path))
      return open_device(path, std::move(fd).value());
  }
  UniqueFd fd = UniqueFd::dup(borrowed_fd);
  if (!fd) {
    const int sys_errno = errno;
    return Error{ErrorCode::Device, "Cannot duplicate the DRM descriptor: " + errno_text(sys_errno),
                 sys_errno};
  }
  return open_device(drm_fd_path(borrowed_fd), std::move(fd));
}

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_framebuffer.hpp"

#include <cerrno>
#include <string>
#include <utility>

#include <xf86drm.h>

#include "kms_objects.hpp"

namespace gstdrm::kms {

namespace {

// drm_mode.h and drm.h of Linux 6.8, which libdrm 2.4.114 does not have.
struct CloseFramebuffer {
  std::uint32_t fb_id;
  std::uint32_t pad; // 0
};
constexpr unsigned long kIoctlCloseFramebuffer = DRM_IOWR(0xD0, CloseFramebuffer);

} // namespace

int add_framebuffer(Device &device, const FrameLayout &layout,
                    const std::array<std::uint32_t, kMaxPlanes> &handles, FramebufferId &made)
{
  std::array<std::uint32_t, kMaxPlanes> strides{}, offsets{};
  std::array<std::uint64_t, kMaxPlanes> modifiers{};
  for (std::size_t i = 0; i < layout.n_planes; i++) {
    strides[i] = layout.planes[i].stride_bytes;
    // check_layout(): fits 32 bits
    offsets[i] = static_cast<std::uint32_t>(layout.planes[i].offset_bytes);
    modifiers[i] = layout.format.modifier;
  }
  const bool with_modifiers = device.takes_modifiers() && layout.format.modifier != kModImplicit;
  std::uint32_t id = 0;
  const int ret = drmModeAddFB2WithModifiers(
      device.memory_fd(), layout.width, layout.height, layout.format.fourcc, handles.data(),
      strides.data(), offsets.data(), with_modifiers ? modifiers.data() : nullptr, &id,
      with_modifiers ? DRM_MODE_FB_MODIFIERS : 0);
  if (ret != 0)
    return ret;
  device.framebuffers().made(id);
  made = FramebufferId(device.memory_fd(), id);
  return 0;
}

bool leave_on_screen(const Device &device, FramebufferId &framebuffer, bool file_stays)
{
  CloseFramebuffer request{framebuffer.get(), 0};
  if (framebuffer.get() != 0 &&
      drmIoctl(device.memory_fd(), kIoctlCloseFramebuffer, &request) != 0 && !file_stays)
    return false;
  framebuffer.release();
  return true;
}

Framebuffer::~Framebuffer()
{
  id_ = FramebufferId();
  for (std::size_t i = 0; i < n_handles_; i++)
    device_->handles().release(identities_[i]);
}

Result<void> Framebuffer::add(const FrameLayout &layout)
{
  std::array<std::uint32_t, kMaxPlanes> handles{};
  for (std::size_t i = 0; i < layout.n_planes; i++) {
    const PlaneLayout &plane = layout.planes[i];
    Result<std::uint32_t> handle = device_->handles().acquire(plane.object.identity, plane.fd);
    if (!handle)
      return handle.error();
    identities_[n_handles_++] = plane.object.identity;
    handles[i] = *handle;
    rows_.strides_bytes[i] = plane.stride_bytes;
    rows_.offsets_bytes[i] = static_cast<std::uint32_t>(plane.offset_bytes);
  }
  const int ret = add_framebuffer(*device_, layout, handles, id_);
  if (ret == 0)
    return {};
  std::string planes;
  for (std::size_t i = 0; i < layout.n_planes; i++)
    planes += (i ? ", " : "") + std::to_string(layout.planes[i].offset_bytes) + "/" +
              std::to_string(layout.planes[i].stride_bytes);
  // Unsupported: the device may take another pair. Any other code: the device has no memory, or is
  // gone.
  return Error{is_refusal(-ret) ? ErrorCode::Unsupported : ErrorCode::Import,
               device_->name() + " makes no framebuffer of " + describe_format(layout.format) +
                   ", " + describe_size(layout.width, layout.height) + ", offset/stride " + planes +
                   ": ADDFB2: " + errno_text(-ret) +
                   ". Let upstream allocate with another stride alignment" +
                   (layout.format.modifier == kModLinear ? "." : ", or ask it for linear."),
               -ret};
}

Result<std::shared_ptr<Framebuffer>> Framebuffer::import(const std::shared_ptr<Device> &device,
                                                         const FrameLayout &layout)
{
  std::shared_ptr<Framebuffer> framebuffer(new Framebuffer(device));
  if (Result<void> added = framebuffer->add(layout); !added)
    return added.error();
  return framebuffer;
}

FramebufferCache framebuffer_cache(std::shared_ptr<Device> device,
                                   std::atomic<std::uint64_t> &releases)
{
  return FramebufferCache(
      [device = std::move(device)](const FrameLayout &layout) {
        return Framebuffer::import(device, layout);
      },
      ImportBounds{.releases = &releases});
}

KeptFiles::Ptr KeptFiles::get()
{
  static const auto files = std::make_shared<KeptFiles>();
  return files;
}

bool KeptFiles::keep(const Device &device, std::uint32_t plane_id)
{
  if (device.memory_fd() == device.fd())
    return false; // a copy of it would be master
  UniqueFd file = UniqueFd::dup(device.memory_fd());
  if (!file)
    return false;
  const std::lock_guard guard(lock_);
  std::swap(files_[{device.node(), plane_id}], file); // the older one goes without the lock
  return true;
}

void KeptFiles::forget(const Device &device, std::uint32_t plane_id)
{
  UniqueFd file; // closed without the lock
  const std::lock_guard guard(lock_);
  const auto it = files_.find({device.node(), plane_id});
  if (it == files_.end())
    return;
  file = std::move(it->second);
  files_.erase(it);
}

} // namespace gstdrm::kms

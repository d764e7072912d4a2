// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_framebuffer.hpp"

#include <string>
#include <utility>

#include "kms_kept_files.hpp"
#include "kms_objects.hpp"

namespace gstdrm::kms {

Framebuffer::~Framebuffer()
{
  if (id_)
    drmModeRmFB(device_->memory_fd(), id_);
  for (std::size_t i = 0; i < n_handles_; i++)
    device_->handles().release(identities_[i]);
}

bool Framebuffer::leave_on_screen(bool file_stays)
{
  if (id_ && close_framebuffer(device_->memory_fd(), id_) != 0 && !file_stays)
    return false;
  id_ = 0;
  return true;
}

Result<void> Framebuffer::add(const FrameLayout &layout)
{
  std::array<std::uint32_t, kMaxPlanes> handles{}, strides{}, offsets{};
  std::array<std::uint64_t, kMaxPlanes> modifiers{};
  for (std::size_t i = 0; i < layout.n_planes; i++) {
    const PlaneLayout &plane = layout.planes[i];
    Result<std::uint32_t> handle = device_->handles().acquire(plane.object.identity, plane.fd);
    if (!handle)
      return handle.error();
    identities_[n_handles_++] = plane.object.identity;
    handles[i] = *handle;
    strides[i] = plane.stride_bytes;
    offsets[i] = static_cast<std::uint32_t>(plane.offset_bytes); // check_layout(): fits 32 bits
    modifiers[i] = layout.format.modifier;
  }
  rows_ = {strides, offsets};
  const bool with_modifiers = device_->takes_modifiers() && layout.format.modifier != kModImplicit;
  const int ret = drmModeAddFB2WithModifiers(
      device_->memory_fd(), layout.width, layout.height, layout.format.fourcc, handles.data(),
      strides.data(), offsets.data(), with_modifiers ? modifiers.data() : nullptr, &id_,
      with_modifiers ? DRM_MODE_FB_MODIFIERS : 0);
  if (ret == 0) {
    device_->framebuffers().made(id_);
    return {};
  }
  id_ = 0;
  std::string planes;
  for (std::size_t i = 0; i < layout.n_planes; i++)
    planes += (i ? ", " : "") + std::to_string(layout.planes[i].offset_bytes) + "/" +
              std::to_string(layout.planes[i].stride_bytes);
  // Unsupported: the device may take another pair. Any other code: the device has no memory, or is
  // gone.
  return Error{is_refusal(-ret) ? ErrorCode::Unsupported : ErrorCode::Import,
               device_->name() + " makes no framebuffer of " + describe_format(layout.format) +
                   ", " + std::to_string(layout.width) + "x" + std::to_string(layout.height) +
                   ", offset/stride " + planes + ": ADDFB2: " + errno_text(-ret) +
                   ". Let upstream allocate with another stride alignment" +
                   (layout.format.modifier == kModLinear ? "." : ", or ask it for linear."),
               -ret};
}

Result<std::shared_ptr<Framebuffer>> Framebuffer::import(const std::shared_ptr<Device> &device,
                                                         const FrameLayout &layout)
{
  std::shared_ptr<Framebuffer> framebuffer(new Framebuffer(device));
  framebuffer->width_ = layout.width;
  framebuffer->height_ = layout.height;
  if (Result<void> added = framebuffer->add(layout); !added)
    return added.error();
  return framebuffer;
}

FramebufferCache::FramebufferCache(std::shared_ptr<Device> device)
    : gstdrm::ImportCache<std::shared_ptr<Framebuffer>>(
          [device = std::move(device)](const FrameLayout &layout) {
            return Framebuffer::import(device, layout);
          })
{
}

} // namespace gstdrm::kms

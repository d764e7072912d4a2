// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_framebuffer.hpp"

#include <algorithm>
#include <string>

#include "kms_objects.hpp"
#include "kms_offer.hpp"

namespace gstdrm::kms {

Framebuffer::~Framebuffer()
{
  if (id_)
    drmModeRmFB(device_->fd(), id_);
  for (std::size_t i = 0; i < n_handles_; i++)
    device_->handles().release(identities_[i]);
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
  const bool with_modifiers = device_->takes_modifiers() && layout.format.modifier != kModImplicit;
  const int ret = drmModeAddFB2WithModifiers(
      device_->fd(), layout.width, layout.height, layout.format.fourcc, handles.data(),
      strides.data(), offsets.data(), with_modifiers ? modifiers.data() : nullptr, &id_,
      with_modifiers ? DRM_MODE_FB_MODIFIERS : 0);
  if (ret == 0)
    return {};
  id_ = 0;
  std::string planes;
  for (std::size_t i = 0; i < layout.n_planes; i++)
    planes += (i ? ", " : "") + std::to_string(layout.planes[i].offset_bytes) + "/" +
              std::to_string(layout.planes[i].stride_bytes);
  // Unsupported: another pair may do. Anything else: the device has no room, or is gone
  return Error{is_refusal(-ret) ? ErrorCode::Unsupported : ErrorCode::Import,
               device_->name() + " makes no framebuffer of " + describe_format(layout.format) +
                   ", " + std::to_string(layout.width) + "x" + std::to_string(layout.height) +
                   ", offset/stride " + planes + " (ADDFB2: " + errno_text(-ret) +
                   "). Let upstream allocate with another stride alignment, or ask it for linear.",
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

ImportCache::Key ImportCache::key_of(const FrameLayout &layout)
{
  Key key{layout.format, layout.width, layout.height, {}};
  for (std::size_t i = 0; i < layout.n_planes; i++)
    key.planes[i] = {layout.planes[i].object.identity, layout.planes[i].offset_bytes,
                     layout.planes[i].stride_bytes};
  return key;
}

Result<ImportCache::Import> ImportCache::import(const FrameLayout &layout)
{
  const Key key = key_of(layout);
  if (auto it = entries_.find(key); it != entries_.end()) {
    it->second.last_alive = frame_;
    return Import{it->second.framebuffer, it->second.liveness, true};
  }
  Result<std::shared_ptr<Framebuffer>> framebuffer = Framebuffer::import(device_, layout);
  if (!framebuffer)
    return framebuffer.error();
  Entry entry{*framebuffer, std::make_shared<char>(), frame_, 0};
  std::array<BufferIdentity, kMaxPlanes> seen{};
  for (std::size_t i = 0; i < layout.n_planes; i++) {
    const ObjectInfo &object = layout.planes[i].object;
    if (std::find(seen.begin(), seen.begin() + i, object.identity) == seen.begin() + i)
      entry.size_bytes += object.size_bytes;
    seen[i] = object.identity;
  }
  Import result{entry.framebuffer, entry.liveness, false};
  entries_.emplace(key, std::move(entry));
  return result;
}

void ImportCache::advance()
{
  frame_++;
  std::uint64_t dead_bytes = 0;
  for (auto it = entries_.begin(); it != entries_.end();) {
    Entry &entry = it->second;
    if (entry.liveness.use_count() > 1)
      entry.last_alive = frame_;
    if (frame_ - entry.last_alive > kKeepFrames) {
      it = entries_.erase(it);
      continue;
    }
    if (entry.last_alive != frame_)
      dead_bytes += entry.size_bytes;
    ++it;
  }
  while (dead_bytes > kKeepBytes) {
    auto oldest =
        std::min_element(entries_.begin(), entries_.end(), [](const auto &a, const auto &b) {
          return a.second.last_alive < b.second.last_alive;
        });
    dead_bytes -= std::min(dead_bytes, oldest->second.size_bytes);
    entries_.erase(oldest);
  }
}

} // namespace gstdrm::kms

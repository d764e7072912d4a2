// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_cursor.hpp"

#include <string>
#include <utility>

#include <drm_fourcc.h>

#include "engine/card/kms_objects.hpp"

namespace gstdrm::kms {

namespace {

// The width or height of cursor buffers: many cursor planes take no other size.
std::uint32_t cursor_size(int drm_fd, std::uint64_t capability)
{
  std::uint64_t value = 0;
  if (drmGetCap(drm_fd, capability, &value) != 0 || value == 0 || value > 4096)
    return 64; // what the kernel answers for drivers that say nothing (drm_ioctl.c, drm_getcap())
  return static_cast<std::uint32_t>(value);
}

} // namespace

void Cursor::move(std::int32_t x, std::int32_t y)
{
  const std::lock_guard guard(lock_);
  changed_ |= wanted_.buffer && (wanted_.x != x || wanted_.y != y);
  wanted_.x = x;
  wanted_.y = y;
}

Result<void> Cursor::set_image(const std::optional<CursorImage> &image)
{
  std::shared_ptr<DumbBuffer> buffer;
  if (image) {
    const std::uint32_t width = cursor_size(device_->fd(), DRM_CAP_CURSOR_WIDTH);
    const std::uint32_t height = cursor_size(device_->fd(), DRM_CAP_CURSOR_HEIGHT);
    if (image->width > width || image->height > height)
      return device_error("A cursor of " + std::to_string(image->width) + "x" +
                          std::to_string(image->height) + " is larger than " + device_->name() +
                          " shows (" + std::to_string(width) + "x" + std::to_string(height) +
                          "). Set a smaller cursor-image.");
    Result<std::unique_ptr<DumbBuffer>> made =
        DumbBuffer::create(device_, DRM_FORMAT_ARGB8888, width, height);
    if (!made)
      return made.error();
    if (Result<void> written = (*made)->write(image->pixels, image->width, image->height); !written)
      return written;
    buffer = std::move(*made);
  }
  const std::lock_guard guard(lock_);
  changed_ |= buffer || wanted_.buffer;
  wanted_.buffer.swap(buffer);
  return {};
}

bool Cursor::changed() const
{
  const std::lock_guard guard(lock_);
  return changed_;
}

bool Cursor::is_shown() const
{
  const std::lock_guard guard(lock_);
  return shown_.buffer != nullptr;
}

bool Cursor::apply(Request &request, const Plane &plane, std::uint32_t crtc_id, int zpos)
{
  const std::lock_guard guard(lock_);
  if (!changed_)
    return false;
  asked_ = wanted_;
  changed_ = false; // later changes belong to the next commit
  if (!asked_.buffer) {
    request.disable_plane(plane);
    return true;
  }
  PlaneSetup setup;
  setup.framebuffer_id = asked_.buffer->framebuffer_id();
  const std::uint32_t width = asked_.buffer->width(), height = asked_.buffer->height();
  setup.source = {0, 0, width, height};
  setup.destination = {asked_.x, asked_.y, width, height};
  // another program may have left the plane under the picture, and another blending
  setup.zpos = zpos;
  setup.alpha = Alpha::Premultiplied;
  request.set_plane(plane, crtc_id, setup);
  return true;
}

void Cursor::committed()
{
  std::shared_ptr<DumbBuffer> old; // released without the lock
  const std::lock_guard guard(lock_);
  old = std::exchange(replaced_, std::move(shown_.buffer));
  shown_ = asked_;
}

void Cursor::postponed()
{
  const std::lock_guard guard(lock_);
  changed_ = true;
}

void Cursor::refused()
{
  const std::lock_guard guard(lock_);
  asked_ = shown_;
}

void Cursor::forget()
{
  const std::lock_guard guard(lock_);
  shown_ = {};
  asked_ = {};
  replaced_.reset();
  changed_ = wanted_.buffer != nullptr;
}

} // namespace gstdrm::kms

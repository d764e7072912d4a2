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

Result<std::shared_ptr<DumbBuffer>> make_cursor(const std::shared_ptr<Device> &device,
                                                const CursorImage &image)
{
  const std::uint32_t width = cursor_size(device->fd(), DRM_CAP_CURSOR_WIDTH);
  const std::uint32_t height = cursor_size(device->fd(), DRM_CAP_CURSOR_HEIGHT);
  if (image.width > width || image.height > height)
    return device_error("A cursor of " + std::to_string(image.width) + "x" +
                        std::to_string(image.height) + " is larger than " + device->name() +
                        " shows (" + std::to_string(width) + "x" + std::to_string(height) +
                        "). Set a smaller cursor-image.");
  Result<std::unique_ptr<DumbBuffer>> made =
      DumbBuffer::create(device, DRM_FORMAT_ARGB8888, width, height);
  if (!made)
    return made.error();
  if (Result<void> written = (*made)->write(image.pixels, image.width, image.height); !written)
    return written.error();
  return std::shared_ptr<DumbBuffer>(std::move(*made));
}

} // namespace gstdrm::kms

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_scratch.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <gst/drm/core/tiling.hpp>

#include "kms_objects.hpp"

namespace gstdrm::kms {

namespace {

// amdgpu requires linear pitches that are multiples of 256 bytes, the known tilings of 128
// (Samsung) or 512 (i915 X). A plane begins at a page, and on i915 at a row of tiles.
constexpr std::uint32_t kStrideAlign_bytes = 512;
constexpr std::uint32_t kOffsetAlign_bytes = 64 << 10;
// A scratch buffer is a dumb buffer with rows of this many 32-bit pixels, whatever format is laid
// out in it.
constexpr std::uint32_t kRowPixels = 1024;

std::uint32_t round_up(std::uint32_t value, std::uint32_t step)
{
  return (value + step - 1) / step * step;
}

} // namespace

std::optional<FrameLayout> scratch_layout(Format format, std::uint32_t width, std::uint32_t height,
                                          std::uint64_t &size_bytes)
{
  std::uint32_t rows = height;
  if (format.modifier != kModLinear && format.modifier != kModImplicit) {
    const std::optional<Tiling> tiling = known_tiling(format.modifier);
    if (!tiling)
      return std::nullopt;
    // twice, because a chroma plane has half the number of rows
    rows = round_up(height, 2 * std::max(tiling->tile_rows[0], tiling->tile_rows[1]));
  }
  Result<FrameLayout> layout = make_linear_layout(format.fourcc, width, rows, kStrideAlign_bytes,
                                                  kOffsetAlign_bytes, size_bytes);
  if (!layout)
    return std::nullopt;
  layout->format = format;
  layout->height = height;
  return std::move(*layout);
}

ScratchFramebuffer::ScratchFramebuffer(ScratchFramebuffer &&other) noexcept
    : drm_fd_(other.drm_fd_), id_(std::exchange(other.id_, 0))
{
}

ScratchFramebuffer::~ScratchFramebuffer()
{
  if (id_)
    drmModeRmFB(drm_fd_, id_);
}

std::unique_ptr<ScratchBuffer> ScratchBuffer::create(const std::shared_ptr<Device> &device,
                                                     const FormatSet &pairs, std::uint32_t width,
                                                     std::uint32_t height)
{
  std::uint64_t largest = 0;
  for (const Format &format : pairs.pairs()) {
    std::uint64_t size = 0;
    if (scratch_layout(format, width, height, size))
      largest = std::max(largest, size);
  }
  constexpr std::uint64_t kRowBytes = std::uint64_t{kRowPixels} * 4;
  if (largest == 0 || largest / kRowBytes >= UINT32_MAX)
    return nullptr;
  std::unique_ptr<ScratchBuffer> scratch(new ScratchBuffer(device, width, height));
  const auto rows = static_cast<std::uint32_t>((largest + kRowBytes - 1) / kRowBytes);
  std::uint32_t stride_bytes = 0;
  std::uint64_t size_bytes = 0;
  if (drmModeCreateDumbBuffer(device->memory_fd(), kRowPixels, rows, 32, 0, &scratch->handle_,
                              &stride_bytes, &size_bytes) != 0)
    return nullptr;
  return scratch;
}

ScratchBuffer::~ScratchBuffer()
{
  if (handle_)
    drmModeDestroyDumbBuffer(device_->memory_fd(), handle_);
}

std::optional<ScratchFramebuffer> ScratchBuffer::framebuffer(Format format) const
{
  std::uint64_t size = 0;
  const std::optional<FrameLayout> layout = scratch_layout(format, width_, height_, size);
  if (!layout)
    return std::nullopt;
  std::array<std::uint32_t, kMaxPlanes> handles{}, strides{}, offsets{};
  std::array<std::uint64_t, kMaxPlanes> modifiers{};
  for (std::size_t i = 0; i < layout->n_planes; i++) {
    handles[i] = handle_;
    strides[i] = layout->planes[i].stride_bytes;
    offsets[i] = static_cast<std::uint32_t>(layout->planes[i].offset_bytes);
    modifiers[i] = format.modifier;
  }
  const bool with_modifiers = device_->takes_modifiers() && format.modifier != kModImplicit;
  std::uint32_t id = 0;
  if (drmModeAddFB2WithModifiers(device_->memory_fd(), width_, height_, format.fourcc,
                                 handles.data(), strides.data(), offsets.data(),
                                 with_modifiers ? modifiers.data() : nullptr, &id,
                                 with_modifiers ? DRM_MODE_FB_MODIFIERS : 0) != 0)
    return std::nullopt;
  device_->framebuffers().made(id);
  return ScratchFramebuffer(device_->memory_fd(), id);
}

} // namespace gstdrm::kms

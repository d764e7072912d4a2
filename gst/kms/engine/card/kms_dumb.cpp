// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_dumb.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include <sys/mman.h>

#include <gst/drm/core/tiling.hpp>

#include "kms_framebuffer.hpp"
#include "kms_objects.hpp"

namespace gstdrm::kms {

DumbBuffer::~DumbBuffer()
{
  if (mapped_)
    munmap(mapped_, size_bytes_);
  framebuffer_ = FramebufferId();
  if (handle_)
    drmModeDestroyDumbBuffer(device_->memory_fd(), handle_);
}

int DumbBuffer::allocate(std::uint32_t width, std::uint32_t height)
{
  return drmModeCreateDumbBuffer(device_->memory_fd(), width, height, 32, 0, &handle_,
                                 &stride_bytes_, &size_bytes_);
}

int DumbBuffer::make(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height)
{
  if (const int ret = allocate(width, height); ret != 0)
    return ret;
  width_ = width;
  height_ = height;
  FrameLayout layout;
  layout.format = {fourcc, kModImplicit};
  layout.width = width;
  layout.height = height;
  layout.n_planes = 1;
  layout.planes[0].stride_bytes = stride_bytes_;
  return add_framebuffer(*device_, layout, {handle_}, framebuffer_);
}

Result<std::unique_ptr<DumbBuffer>> DumbBuffer::create(const std::shared_ptr<Device> &device,
                                                       std::uint32_t fourcc, std::uint32_t width,
                                                       std::uint32_t height)
{
  std::unique_ptr<DumbBuffer> buffer(new DumbBuffer(device));
  if (const int ret = buffer->make(fourcc, width, height); ret != 0)
    return Error{ErrorCode::Allocation,
                 device->name() + " makes no " + describe_size(width, height) + " " +
                     fourcc_to_string(fourcc) + " buffer: " + errno_text(-ret) + ".",
                 -ret};
  return buffer;
}

// To be unmapped by the caller.
Result<std::uint8_t *> DumbBuffer::map(int protection) const
{
  std::uint64_t offset = 0; // that stands for the buffer in mmap()
  if (const int ret = drmModeMapDumbBuffer(device_->memory_fd(), handle_, &offset); ret != 0)
    return Error{ErrorCode::Allocation, "MODE_MAP_DUMB: " + errno_text(-ret) + ".", -ret};
  void *data = mmap(nullptr, size_bytes_, protection, MAP_SHARED, device_->memory_fd(),
                    static_cast<off_t>(offset));
  if (data == MAP_FAILED) {
    const int error = errno;
    return Error{ErrorCode::Allocation, "Mapping a dumb buffer: " + errno_text(error) + ".", error};
  }
  return static_cast<std::uint8_t *>(data);
}

Result<std::uint8_t *> DumbBuffer::keep_mapped()
{
  if (mapped_)
    return mapped_;
  Result<std::uint8_t *> data = map(PROT_READ | PROT_WRITE);
  if (data)
    mapped_ = *data;
  return data;
}

Result<std::vector<std::uint8_t>> DumbBuffer::read() const
{
  Result<std::uint8_t *> data = map(PROT_READ);
  if (!data)
    return data.error();
  const std::size_t row_bytes = std::size_t{width_} * 4;
  std::vector<std::uint8_t> pixels(row_bytes * height_);
  for (std::uint32_t y = 0; y < height_; y++)
    std::memcpy(pixels.data() + y * row_bytes, *data + std::size_t{y} * stride_bytes_, row_bytes);
  munmap(*data, size_bytes_);
  return pixels;
}

Result<void> DumbBuffer::write(const std::vector<std::uint8_t> &pixels, std::uint32_t width,
                               std::uint32_t height)
{
  Result<std::uint8_t *> data = map(PROT_READ | PROT_WRITE);
  if (!data)
    return data.error();
  const std::size_t row_bytes = std::size_t{width} * 4;
  for (std::uint32_t y = 0; y < height; y++)
    std::memcpy(*data + std::size_t{y} * stride_bytes_, pixels.data() + y * row_bytes, row_bytes);
  munmap(*data, size_bytes_);
  return {};
}

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
  const auto rows = static_cast<std::uint32_t>((largest + kRowBytes - 1) / kRowBytes);
  std::unique_ptr<ScratchBuffer> scratch(new ScratchBuffer(device, width, height));
  return scratch->memory_.allocate(kRowPixels, rows) == 0 ? std::move(scratch) : nullptr;
}

std::optional<FramebufferId> ScratchBuffer::framebuffer(Format format) const
{
  std::uint64_t size = 0;
  const std::optional<FrameLayout> layout = scratch_layout(format, width_, height_, size);
  if (!layout)
    return std::nullopt;
  std::array<std::uint32_t, kMaxPlanes> handles{};
  std::fill_n(handles.begin(), layout->n_planes, memory_.handle_);
  FramebufferId made;
  return add_framebuffer(*memory_.device_, *layout, handles, made) == 0
             ? std::optional(std::move(made))
             : std::nullopt;
}

} // namespace gstdrm::kms

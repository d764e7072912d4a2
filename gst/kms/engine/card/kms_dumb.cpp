// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_dumb.hpp"

#include <cstring>
#include <string>

#include <sys/mman.h>

#include "kms_kept_files.hpp"
#include "kms_objects.hpp"

namespace gstdrm::kms {

DumbBuffer::~DumbBuffer()
{
  if (mapped_)
    munmap(mapped_, size_bytes_);
  if (framebuffer_id_)
    drmModeRmFB(device_->memory_fd(), framebuffer_id_);
  if (handle_)
    drmModeDestroyDumbBuffer(device_->memory_fd(), handle_);
}

bool DumbBuffer::leave_on_screen(bool file_stays)
{
  if (framebuffer_id_ && close_framebuffer(device_->memory_fd(), framebuffer_id_) != 0 &&
      !file_stays)
    return false;
  framebuffer_id_ = 0;
  return true;
}

int DumbBuffer::make(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height)
{
  if (const int ret = drmModeCreateDumbBuffer(device_->memory_fd(), width, height, 32, 0, &handle_,
                                              &stride_bytes_, &size_bytes_);
      ret != 0)
    return ret;
  width_ = width;
  height_ = height;
  const std::uint32_t handles[4] = {handle_}, strides[4] = {stride_bytes_}, offsets[4] = {};
  const int ret = drmModeAddFB2WithModifiers(device_->memory_fd(), width, height, fourcc, handles,
                                             strides, offsets, nullptr, &framebuffer_id_, 0);
  if (ret == 0)
    device_->framebuffers().made(framebuffer_id_);
  return ret;
}

Result<std::unique_ptr<DumbBuffer>> DumbBuffer::create(const std::shared_ptr<Device> &device,
                                                       std::uint32_t fourcc, std::uint32_t width,
                                                       std::uint32_t height)
{
  std::unique_ptr<DumbBuffer> buffer(new DumbBuffer(device));
  if (const int ret = buffer->make(fourcc, width, height); ret != 0)
    return Error{ErrorCode::Allocation,
                 device->name() + " makes no " + std::to_string(width) + "x" +
                     std::to_string(height) + " " + fourcc_to_string(fourcc) +
                     " buffer: " + errno_text(-ret) + ".",
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

} // namespace gstdrm::kms

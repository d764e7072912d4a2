// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes pictures into surfaces with the CPU: patterns once at the start, or every frame if the
// driver has no video processing.
#pragma once

#include <cstdint>
#include <memory>

#include <va/va.h>

#include <gst/drm/core/result.hpp>

#include "va_formats.hpp"
#include "va_objects.hpp"
#include "va_patterns.hpp"

namespace gstdrm::va {

// Returns true if the Uploader knows the memory layout of this format.
bool can_write(std::uint32_t va_fourcc);

// Writes a picture into a surface, with vaDeriveImage where the driver has that, else with
// vaPutImage. upload() returns the number of bytes that the CPU wrote.
class Uploader {
public:
  explicit Uploader(std::shared_ptr<Display> display) : display_(std::move(display)) {}
  Result<std::uint64_t> upload(const Surface &surface, const PixelFormat &format,
                               const Picture &picture, const Colours &colours);

private:
  Result<std::uint64_t> fill(const VAImage &image, const Picture &picture, const Colours &colours);
  Result<std::uint64_t> put(const Surface &surface, const PixelFormat &format,
                            const Picture &picture, const Colours &colours);

  std::shared_ptr<Display> display_;
  bool may_derive_ = true; // false once vaDeriveImage has failed
};

} // namespace gstdrm::va

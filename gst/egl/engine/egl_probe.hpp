// SPDX-License-Identifier: LGPL-2.1-or-later
// Imports of frames that nobody sees, which show what a driver takes at a size before there is a
// stream. For the thread on which the device's context is current.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "egl_image.hpp"

namespace gstdrm::egl {

// Makes a frame of the pair with rows that are a multiple of `stride_align` bytes; the memory lives
// as long as the value. Error where the memory cannot be made, which says nothing of the driver.
struct ScratchFrame {
  FrameLayout layout;
  std::shared_ptr<const void> memory;
};
using MakeScratch = std::function<Result<ScratchFrame>(
    Format format, std::uint32_t width, std::uint32_t height, std::uint32_t stride_align)>;

struct Probe {
  enum class Outcome {
    Taken,    // with rows of `stride_align`
    Refused,  // at every alignment; `reason`
    NotTried, // no scratch memory, or no descriptor for an import; `reason`
  };
  Outcome outcome = Outcome::NotTried;
  // 1 where the driver takes rows as they come. Else the first of 16, 64, 128, 256, 512 and 4096
  // that it takes, or a later one that makes the same rows: radeonsi wants 256.
  std::uint32_t stride_align = 1;
  std::string reason;
};

// Tries each alignment, and stops at the first that is taken. An alignment that changes no row is
// not tried again. Pairs that are not LINEAR are tried once, as their rows are the allocator's.
// What is imported is all that a stream's frames are: its hints, and its target.
Probe probe_import(const std::shared_ptr<Device> &device, Format format, std::uint32_t width,
                   std::uint32_t height, Shape shape, const MakeScratch &make_scratch,
                   const ColorHints &hints = {}, Target wanted = Target::Texture2D);

} // namespace gstdrm::egl

// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "frame_allocator.hpp"

namespace gstdrm {

// Every stride of a linear frame is a multiple of this many bytes, or of more where a request says
// so. amdgpu scans out and samples only linear surfaces whose pitch is a multiple of 256 bytes
// (amdgpu_gem.c, amdgpu_gem_align_pitch()): it cannot import NV12 of 640 pixels without row
// padding. nouveau requires 256 as well (nouveau_display_dumb_create()), i915 64. So 256 is right
// for all.
inline constexpr std::uint32_t kDefaultStrideAlign = 256;

// A linear layout in one object, padding included.
struct LinearPlan {
  Format format; // LINEAR
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t padded_width = 0; // pixels of a row, padding included
  std::uint32_t padded_height = 0;
  Padding padding; // as it came out: at least what was asked for
  std::uint32_t stride_align = 1;
  std::size_t n_planes = 0;
  std::array<std::uint64_t, kMaxPlanes> base_bytes{};   // where the plane begins, padding included
  std::array<std::uint64_t, kMaxPlanes> origin_bytes{}; // from there to the first visible pixel
  std::array<std::uint32_t, kMaxPlanes> stride_bytes{};
  std::uint64_t size_bytes = 0;
};

// Refuses sizes of zero or beyond kMaxFrameSize, unknown fourccs and alignments that are no power
// of two. The width is padded in whole pixels until every plane's stride is aligned, so that all
// planes keep one common row length: hardware that derives the chroma stride from the luma stride
// then gets it right, and GstVideoAlignment can express the result. Planes follow each other
// without a gap, because an importer with one buffer per frame (V4L2's single-planar formats) knows
// no offsets.
Result<LinearPlan> make_linear_plan(const FrameRequest &request);

// The frame that lies in `object` as planned.
AllocatedFrame frame_from_plan(const LinearPlan &plan, FrameObject object);

} // namespace gstdrm

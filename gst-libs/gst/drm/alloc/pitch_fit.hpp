// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include "linear_plan.hpp"

namespace gstdrm {

// Fits a linear plan to a device that decides the pitch itself. `create` takes a pitch in bytes and
// a number of rows, makes one plain surface, and returns a Result of a type with a member
// pitch_bytes. Where the device rounded the pitch up, the plan is made again with that rounding as
// the alignment. A driver rounds up to a multiple of some power of two, so the lowest set bit of
// the pitch it gave is a sufficient alignment. A plan whose planes have rows of different lengths
// may need another try.
template <typename Surface> struct PitchFit {
  LinearPlan plan;
  Surface surface;
};

template <typename Create>
auto fit_pitch(FrameRequest request, Create create)
    -> Result<PitchFit<std::remove_cvref_t<decltype(*create(0U, 0U))>>>
{
  using Surface = std::remove_cvref_t<decltype(*create(0U, 0U))>;
  constexpr int kTries = 3; // the second plan fits, unless the rounding depends on the row length
  std::uint32_t pitch = 0;
  for (int i = 0; i < kTries; ++i) {
    auto plan = make_linear_plan(request);
    if (!plan)
      return plan.error();
    const std::uint32_t stride = plan->stride_bytes[0];
    const auto rows = static_cast<std::uint32_t>((plan->size_bytes + stride - 1) / stride);
    auto surface = create(stride, rows);
    if (!surface)
      return surface.error();
    if (surface->pitch_bytes == stride)
      return PitchFit<Surface>{*plan, std::move(surface).value()};
    pitch = surface->pitch_bytes;
    const std::uint32_t align = pitch & (0 - pitch);
    if (pitch < stride || align <= request.stride_align || align > (1U << 16))
      break;
    request.stride_align = align;
  }
  return Error{ErrorCode::Allocation, "The device made rows of " + std::to_string(pitch) +
                                          " bytes for " + fourcc_to_string(request.fourcc) +
                                          " of " + std::to_string(request.width) + "x" +
                                          std::to_string(request.height) +
                                          ", which its planes cannot share; use another allocator"};
}

} // namespace gstdrm

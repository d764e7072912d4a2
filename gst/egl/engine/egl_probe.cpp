// SPDX-License-Identifier: LGPL-2.1-or-later
#include "egl_probe.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <gst/drm/core/log.hpp>

namespace gstdrm::egl {
namespace {

// Bytes. 64: what Intel's and VC4's display want; 256: radeonsi; 4096: a page.
constexpr std::array<std::uint32_t, 7> kAlignments = {1, 16, 64, 128, 256, 512, 4096};

bool is_aligned(const FrameLayout &layout, std::uint32_t stride_align)
{
  const auto begin = layout.planes.begin();
  return std::all_of(
      begin, begin + static_cast<std::ptrdiff_t>(layout.n_planes),
      [=](const PlaneLayout &plane) { return plane.stride_bytes % stride_align == 0; });
}

// Whether no row has a byte more than its pixels.
bool is_tight(const FrameLayout &layout)
{
  const FourccInfo *info = fourcc_info(layout.format.fourcc);
  for (std::size_t i = 0; info && i < std::min<std::size_t>(layout.n_planes, info->n_planes); i++)
    if (layout.planes[i].stride_bytes != plane_row_bytes(info->planes[i], layout.width))
      return false;
  return true;
}

// The most that rows which were taken are multiples of, from the alignment on that made them: with
// 768 bytes for 642 pixels, 128 and 256 make the same rows, and one of them is not enough at
// another width or with padding. An allocator may make longer rows than it was asked for.
std::uint32_t alignment_of(const FrameLayout &taken, std::uint32_t stride_align)
{
  if (stride_align == 1 && (taken.format.modifier != kModLinear || is_tight(taken)))
    return 1;
  for (const std::uint32_t larger : kAlignments)
    if (larger > stride_align && is_aligned(taken, larger))
      stride_align = larger;
  return stride_align;
}

} // namespace

Probe probe_import(const std::shared_ptr<Device> &device, Format format, std::uint32_t width,
                   std::uint32_t height, Shape shape, const MakeScratch &make_scratch,
                   const ColorHints &hints, Target wanted)
{
  std::optional<FrameLayout> refused; // the last one
  std::string refusal;                // the driver's first
  std::string no_memory;              // of the first frame that could not be made
  for (const std::uint32_t stride_align : kAlignments) {
    if (refused && is_aligned(*refused, stride_align))
      continue;
    const Result<ScratchFrame> scratch = make_scratch(format, width, height, stride_align);
    if (!scratch) {
      if (no_memory.empty())
        no_memory = scratch.error().message;
    } else if (const auto frame = import_frame(device, scratch->layout, shape, hints, wanted);
               frame) {
      const std::uint32_t taken = alignment_of(scratch->layout, stride_align);
      GSTDRM_DEBUG("%s, %ux%u: imported with rows that are multiples of %u bytes",
                   describe_format(format).c_str(), width, height, taken);
      return {Probe::Outcome::Taken, taken, {}};
    } else if (frame.error().code == ErrorCode::Allocation) {
      return {Probe::Outcome::NotTried, 1, frame.error().message};
    } else {
      refused = scratch->layout;
      if (refusal.empty())
        refusal = frame.error().message;
    }
    if (format.modifier != kModLinear)
      break;
  }
  if (!refused)
    return {Probe::Outcome::NotTried, 1, no_memory};
  if (!no_memory.empty())
    refusal += "; not every alignment could be tried: " + no_memory;
  return {Probe::Outcome::Refused, 1, refusal};
}

} // namespace gstdrm::egl

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "linear_plan.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "../core/frame_layout.hpp"

namespace gstdrm {

namespace {

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) noexcept
{
  return (value + multiple - 1) / multiple * multiple;
}

// Offsets in a frame have 32 bits in the kernel's interfaces (drm_mode_fb_cmd2).
constexpr std::uint64_t kMostFrameBytes = std::uint64_t{1} << 32;

Error bad_request(const FrameRequest &request, const std::string &why)
{
  return Error{ErrorCode::Allocation, "Cannot allocate " + fourcc_to_string(request.fourcc) +
                                          " of " + std::to_string(request.width) + "x" +
                                          std::to_string(request.height) + ": " + why};
}

Result<void> check_request(const FrameRequest &request)
{
  const std::string limit = std::to_string(kMaxFrameSize);
  if (request.width == 0 || request.height == 0)
    return bad_request(request, "a picture has 1 pixel at least in each direction");
  if (request.width > kMaxFrameSize || request.height > kMaxFrameSize)
    return bad_request(request, "no device takes more than " + limit + " pixels in a direction");
  const Padding &pad = request.padding;
  if (std::max({pad.left, pad.right, pad.top, pad.bottom}) > kMaxFrameSize)
    return bad_request(request, "more than " + limit + " pixels of padding on one side");
  if (!std::has_single_bit(request.stride_align) || request.stride_align > (1U << 16))
    return bad_request(request, "a stride alignment of " + std::to_string(request.stride_align) +
                                    " bytes is not a power of two up to 65536");
  return {};
}

// The smallest number of lines that are whole blocks in every plane.
std::uint64_t block_rows(const FourccInfo &info) noexcept
{
  std::uint64_t rows = 1;
  for (std::size_t i = 0; i < info.n_planes; ++i)
    rows = std::lcm(rows, std::uint64_t{info.planes[i].block_height} * info.planes[i].vsub);
  return rows;
}

void place_planes(LinearPlan &plan, const FourccInfo &info, const FrameLayout &layout)
{
  plan.n_planes = layout.n_planes;
  for (std::size_t i = 0; i < layout.n_planes; ++i) {
    const PlaneInfo &plane = info.planes[i];
    plan.base_bytes[i] = layout.planes[i].offset_bytes;
    plan.stride_bytes[i] = layout.planes[i].stride_bytes;
    const std::uint64_t rows = plan.padding.top / (std::uint64_t{plane.vsub} * plane.block_height);
    const std::uint64_t blocks =
        plan.padding.left / (std::uint64_t{plane.hsub} * plane.block_width);
    plan.origin_bytes[i] = rows * plan.stride_bytes[i] + blocks * plane.block_bytes;
  }
}

} // namespace

Result<LinearPlan> make_linear_plan(const FrameRequest &request)
{
  if (auto checked = check_request(request); !checked)
    return checked.error();
  const FourccInfo *info = fourcc_info(request.fourcc);
  if (!info)
    return bad_request(request, "its linear layout is not known here");

  LinearPlan plan;
  plan.format = {request.fourcc, kModLinear};
  plan.width = request.width;
  plan.height = request.height;
  plan.stride_align = std::max(request.stride_align, kDefaultStrideAlign);

  // The same as gst_video_info_align(): the offset of the first visible pixel has the alignment of
  // the rows, which GPUs require of an offset as well, and the top padding is whole blocks of every
  // plane.
  const Padding &asked = request.padding;
  const std::uint64_t step = linear_width_step(*info, plan.stride_align);
  const std::uint64_t grain = block_rows(*info);
  const std::uint64_t left = round_up(asked.left, step);
  const std::uint64_t top = round_up(asked.top, grain);
  const std::uint64_t width =
      linear_padded_width(*info, left + request.width + asked.right, plan.stride_align);
  const std::uint64_t height = round_up(top + request.height + asked.bottom, grain);
  plan.padded_width = static_cast<std::uint32_t>(width);
  plan.padded_height = static_cast<std::uint32_t>(height);
  plan.padding = {
      static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(width - left - request.width),
      static_cast<std::uint32_t>(top), static_cast<std::uint32_t>(height - top - request.height)};

  auto layout = make_linear_layout(request.fourcc, plan.padded_width, plan.padded_height,
                                   plan.stride_align, 1, plan.size_bytes);
  if (!layout)
    return layout.error();
  if (plan.size_bytes > kMostFrameBytes)
    return bad_request(request, std::to_string(plan.size_bytes) + " bytes are more than 4 GiB");
  place_planes(plan, *info, *layout);
  return plan;
}

AllocatedFrame frame_from_plan(const LinearPlan &plan, FrameObject object)
{
  AllocatedFrame frame;
  frame.format = plan.format;
  frame.width = plan.width;
  frame.height = plan.height;
  frame.padding = plan.padding;
  frame.stride_align = plan.stride_align;
  frame.objects.push_back(std::move(object));
  frame.n_planes = plan.n_planes;
  for (std::size_t i = 0; i < plan.n_planes; ++i)
    frame.planes[i] = {0, plan.base_bytes[i] + plan.origin_bytes[i], plan.stride_bytes[i]};
  return frame;
}

} // namespace gstdrm

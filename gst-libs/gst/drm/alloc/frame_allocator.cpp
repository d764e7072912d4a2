// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_allocator.hpp"

#include <algorithm>

#include <unistd.h>

#include "linear_plan.hpp"

namespace gstdrm {

std::uint64_t round_to_pages(std::uint64_t bytes) noexcept
{
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

bool FrameRequest::offers(std::uint64_t modifier) const noexcept
{
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::string describe_modifiers(std::span<const std::uint64_t> modifiers)
{
  constexpr std::size_t kMost = 16; // more would make the message unreadable
  if (modifiers.empty())
    return "nothing";
  std::string text;
  for (const std::uint64_t modifier : modifiers.first(std::min(kMost, modifiers.size()))) {
    if (!text.empty())
      text += ", ";
    text += modifier == kModImplicit ? "the implicit modifier" : describe_modifier(modifier);
  }
  if (modifiers.size() > kMost)
    text += " and " + std::to_string(modifiers.size() - kMost) + " more";
  return text;
}

Result<FrameObject> FrameAllocator::allocate_bytes(std::uint64_t size_bytes)
{
  return Error{ErrorCode::Unsupported,
               label() + " makes pictures only, not " + std::to_string(size_bytes) +
                   " bytes of plain memory; use udmabuf or dma-heap for that"};
}

std::string FrameAllocator::label() const
{
  return device_.empty() || device_ == name_ ? name_ : name_ + " (" + device_ + ")";
}

Error FrameAllocator::refuse_modifiers(const FrameRequest &request, const char *can_do) const
{
  return Error{ErrorCode::Allocation,
               label() + " can allocate " + fourcc_to_string(request.fourcc) + " as " + can_do +
                   ", and the consumer takes " + describe_modifiers(request.modifiers) +
                   "; offer one that both can do, or use another allocator"};
}

Result<AllocatedFrame> ByteAllocator::allocate(const FrameRequest &request)
{
  if (!request.offers(kModLinear))
    return refuse_modifiers(request, "LINEAR only");
  auto plan = make_linear_plan(request);
  if (!plan)
    return plan.error();
  auto object = allocate_bytes(plan->size_bytes);
  if (!object)
    return object.error();
  return frame_from_plan(*plan, std::move(object).value());
}

} // namespace gstdrm

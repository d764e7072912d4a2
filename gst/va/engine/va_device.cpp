// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_device.hpp"

#include <algorithm>
#include <vector>

#include <gst/drm/core/descriptors.hpp>
#include <gst/drm/core/drm_node.hpp>
#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/log.hpp>
#include <gst/drm/core/reasons.hpp>

namespace gstdrm::va {
namespace {

Result<void> check_size(const Device &device, std::uint32_t width, std::uint32_t height)
{
  const auto &c = device.capabilities;
  if (width >= c.min_width && width <= c.max_width && height >= c.min_height &&
      height <= c.max_height)
    return {};
  return Error{ErrorCode::Allocation,
               std::to_string(width) + "x" + std::to_string(height) + " is outside of what " +
                   device.display->node() + " can do: " + std::to_string(c.min_width) + "x" +
                   std::to_string(c.min_height) + " to " + std::to_string(c.max_width) + "x" +
                   std::to_string(c.max_height)};
}

struct Attempt {
  std::span<const std::uint64_t> asked; // a list for the driver; empty if there is none
  Tiling tiling = Tiling::Any;
};

// Ways to get one of the explicit modifiers, best first. A driver that takes no list makes its own
// choice, which has to be in the list, or linear frames.
std::vector<Attempt> attempts(const Capabilities &capabilities,
                              std::span<const std::uint64_t> modifiers)
{
  if (capabilities.takes_modifiers) {
    std::vector<Attempt> list{{modifiers, Tiling::Any}};
    // Some drivers choose a modifier and then refuse it at a large size. Linear is their last
    // choice.
    for (const bool linear : {false, true})
      for (std::size_t i = 0; modifiers.size() > 1 && i < modifiers.size(); ++i)
        if ((modifiers[i] == kModLinear) == linear)
          list.push_back({modifiers.subspan(i, 1), Tiling::Any});
    return list;
  }
  if (std::find(modifiers.begin(), modifiers.end(), kModLinear) == modifiers.end())
    return {{{}, Tiling::Any}};
  if (modifiers.size() == 1)
    return {{{}, Tiling::None}, {{}, Tiling::Any}};
  return {{{}, Tiling::Any}, {{}, Tiling::None}};
}

Result<Frame> allocate(const Device &device, const PixelFormat &format, std::uint32_t width,
                       std::uint32_t height, const Attempt &attempt,
                       std::span<const std::uint64_t> accepted)
{
  auto surface =
      create_surface(device.display, format, width, height, attempt.asked, attempt.tiling);
  if (!surface)
    return surface.error();
  auto exported = export_surface(*surface, format, width, height, accepted);
  if (!exported)
    return exported.error();
  return Frame{std::make_shared<Surface>(std::move(surface).value()), std::move(exported).value()};
}

// Allocates with one of these modifiers. Returns the error of the first attempt.
Result<Frame> allocate_explicit(const Device &device, const PixelFormat &format,
                                std::uint32_t width, std::uint32_t height,
                                std::span<const std::uint64_t> modifiers)
{
  Error failed{ErrorCode::Allocation, {}};
  for (const auto &attempt : attempts(device.capabilities, modifiers)) {
    auto frame = allocate(device, format, width, height, attempt, modifiers);
    if (frame)
      return frame;
    if (failed.message.empty())
      failed = frame.error();
  }
  return failed;
}

Result<Device> with_capabilities(Result<std::shared_ptr<Display>> display)
{
  if (!display)
    return display.error();
  auto capabilities = query_capabilities(*display);
  if (!capabilities)
    return capabilities.error();
  return Device{std::move(display).value(), std::move(capabilities).value()};
}

} // namespace

Result<Device> open_device(const std::string &node)
{
  return with_capabilities(Display::open(node));
}

Result<Device> adopt_device(VADisplay foreign, const std::string &node, std::shared_ptr<void> owner)
{
  return with_capabilities(Display::adopt(foreign, node, std::move(owner)));
}

Device share_device(const Device &device)
{
  return Device{device.display->share(), device.capabilities};
}

Result<Device> open_first_device(const std::vector<FailedNode> &failed)
{
  Error tried{ErrorCode::Device, {}};
  for (const auto &node : list_drm_nodes(DrmNodeType::Render)) {
    const auto skip = std::find_if(failed.begin(), failed.end(),
                                   [&node](const FailedNode &one) { return one.path == node; });
    auto device = skip == failed.end() ? open_device(node) : Error{ErrorCode::Device, skip->reason};
    if (device)
      return device;
    GSTDRM_DEBUG("%s is not used: %s", node.c_str(), device.error().message.c_str());
    add_reason(tried, device.error());
  }
  if (tried.message.empty()) {
    tried.sys_errno = out_of_descriptors(1); // the directory could not be read
    tried.message = tried.sys_errno != 0 ? "/dev/dri cannot be read: " + errno_text(tried.sys_errno)
                                         : "There is no /dev/dri/renderD*";
  }
  tried.message = "No render node has a VA-API driver that exports DMA buffers. " + tried.message;
  return tried;
}

Result<Frame> allocate_frame(const Device &device, std::uint32_t fourcc, std::uint32_t width,
                             std::uint32_t height, std::span<const std::uint64_t> modifiers)
{
  const auto *format = format_by_drm(fourcc);
  if (!format)
    return Error{ErrorCode::Format, "VA-API has no name for " + fourcc_to_string(fourcc)};
  if (auto fits = check_size(device, width, height); !fits)
    return fits.error();
  std::vector<std::uint64_t> explicit_ones(modifiers.begin(), modifiers.end());
  const bool may_be_implicit = std::erase(explicit_ones, kModImplicit) > 0;
  if (explicit_ones.empty() && !may_be_implicit)
    return Error{ErrorCode::Allocation,
                 "No modifier to allocate " + fourcc_to_string(fourcc) + " with"};
  Error failed{ErrorCode::Allocation, {}};
  if (!explicit_ones.empty()) {
    const std::span<const std::uint64_t> list(explicit_ones);
    auto frame = allocate_explicit(device, *format, width, height, list);
    if (frame || !may_be_implicit)
      return frame;
    failed = frame.error();
    GSTDRM_DEBUG(
        "%s of %ux%u: none of %zu explicit modifiers, so the driver's implicit layout is tried",
        fourcc_to_string(fourcc).c_str(), width, height, list.size());
  }
  // If the driver names a modifier, the consumers have to take it.
  auto frame = allocate(device, *format, width, height, Attempt{}, modifiers);
  if (!frame && !failed.message.empty())
    return failed;
  return frame;
}

} // namespace gstdrm::va

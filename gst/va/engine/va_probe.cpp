// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_probe.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include <va/va_drmcommon.h>
#include <va/va_str.h>

#include <gst/drm/core/log.hpp>

#include "va_formats.hpp"
#include "va_objects.hpp"
#include "va_renderer.hpp"
#include "va_surface.hpp"

namespace gstdrm::va {
namespace {

// The configuration whose surface attributes are queried: video processing, or else the first
// profile and entry point of the driver.
struct Found {
  VAProfile profile = VAProfileNone;
  VAEntrypoint entrypoint = VAEntrypointVideoProc;
  bool has_vpp = false;
};

std::vector<VAEntrypoint> query_entrypoints(Display &display, VAProfile profile)
{
  std::vector<VAEntrypoint> list(
      static_cast<std::size_t>(std::max(1, vaMaxNumEntrypoints(display.get()))));
  int count = 0;
  const VAStatus status = vaQueryConfigEntrypoints(display.get(), profile, list.data(), &count);
  if (status != VA_STATUS_SUCCESS) {
    GSTDRM_DEBUG("%s: no entry points of %s: %s", display.node().c_str(), vaProfileStr(profile),
                 vaStatusStr(status));
    count = 0;
  }
  list.resize(static_cast<std::size_t>(std::max(0, count)));
  return list;
}

Result<Found> find_config(Display &display)
{
  std::vector<VAProfile> profiles(
      static_cast<std::size_t>(std::max(1, vaMaxNumProfiles(display.get()))));
  int count = 0;
  const VAStatus status = vaQueryConfigProfiles(display.get(), profiles.data(), &count);
  if (status != VA_STATUS_SUCCESS)
    return display.error(ErrorCode::Device, "vaQueryConfigProfiles", status);
  profiles.resize(static_cast<std::size_t>(std::max(0, count)));
  Found other;
  bool any = false;
  for (const VAProfile profile : profiles) {
    for (const VAEntrypoint entrypoint : query_entrypoints(display, profile)) {
      if (entrypoint == VAEntrypointVideoProc)
        return Found{profile, entrypoint, true};
      if (!any)
        other = {profile, entrypoint, false};
      any = true;
    }
  }
  if (!any)
    return Error{ErrorCode::Device,
                 display.node() + " (" + display.vendor() + ") has no entry point at all"};
  return other;
}

Result<Config> create_config(const std::shared_ptr<Display> &display, const Found &found)
{
  VAConfigID id = VA_INVALID_ID;
  const VAStatus status =
      vaCreateConfig(display->count(), found.profile, found.entrypoint, nullptr, 0, &id);
  if (status != VA_STATUS_SUCCESS)
    return display->error(ErrorCode::Device, "vaCreateConfig", status);
  return Config(display, id);
}

Result<std::vector<VASurfaceAttrib>> query_attributes(Display &display, const Config &config)
{
  unsigned count = 0;
  VAStatus status = vaQuerySurfaceAttributes(display.count(), config.id(), nullptr, &count);
  std::vector<VASurfaceAttrib> attributes(count);
  if (status == VA_STATUS_SUCCESS)
    status = vaQuerySurfaceAttributes(display.count(), config.id(), attributes.data(), &count);
  if (status != VA_STATUS_SUCCESS)
    return display.error(ErrorCode::Device, "vaQuerySurfaceAttributes", status);
  attributes.resize(count);
  return attributes;
}

struct Listed {
  std::vector<const PixelFormat *> formats;
  std::vector<std::uint64_t> modifiers;
};

// VASurfaceAttribDRMFormatModifiers is documented for creating surfaces only. A driver that flags
// the attribute as gettable and points it at a list says with that list which modifiers it
// supports.
void read_modifiers(const VASurfaceAttrib &attribute, Capabilities &capabilities, Listed &listed)
{
  capabilities.takes_modifiers = (attribute.flags & VA_SURFACE_ATTRIB_SETTABLE) != 0;
  const auto *list = static_cast<const VADRMFormatModifierList *>(attribute.value.value.p);
  if ((attribute.flags & VA_SURFACE_ATTRIB_GETTABLE) == 0 || !list || !list->modifiers)
    return;
  capabilities.lists_modifiers = true;
  listed.modifiers.assign(list->modifiers, list->modifiers + list->num_modifiers);
}

void read_attribute(const VASurfaceAttrib &attribute, Capabilities &capabilities, Listed &listed)
{
  const auto number = static_cast<std::uint32_t>(attribute.value.value.i);
  switch (attribute.type) {
  case VASurfaceAttribPixelFormat:
    if (const auto *format = format_by_va(number))
      listed.formats.push_back(format);
    else
      GSTDRM_LOG("left out: %s (VA) has no DRM name here", fourcc_to_string(number).c_str());
    break;
  case VASurfaceAttribMinWidth:
    capabilities.min_width = std::max(1U, number);
    break;
  case VASurfaceAttribMinHeight:
    capabilities.min_height = std::max(1U, number);
    break;
  case VASurfaceAttribMaxWidth:
    capabilities.max_width = std::min(kMaxFrameSize, number);
    break;
  case VASurfaceAttribMaxHeight:
    capabilities.max_height = std::min(kMaxFrameSize, number);
    break;
  case VASurfaceAttribMemoryType:
    // i965 takes a type that it does not know for its own memory, and reads the descriptor as that
    // of another type (intel-vaapi-driver, i965_drv_video.c, i965_CreateSurfaces2()).
    if ((number & VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2) == 0 &&
        (number & VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME) != 0)
      capabilities.imports = ImportBy::Prime;
    break;
  case VASurfaceAttribDRMFormatModifiers:
    read_modifiers(attribute, capabilities, listed);
    break;
  default:
    break;
  }
}

// Attributes are a driver's numbers: without the sense of a range they are as good as none.
void check_sizes(std::uint32_t &least, std::uint32_t &most, const char *side)
{
  if (least <= most && least <= kMaxFrameSize && most > 0)
    return;
  GSTDRM_DEBUG("the driver says %u to %u pixels of %s: not used", least, most, side);
  least = 1;
  most = kMaxFrameSize;
}

struct ProbeSize {
  std::uint32_t width; // pixels
  std::uint32_t height;
};
constexpr ProbeSize kSmall{64, 64};
constexpr ProbeSize kPicture{640, 480};

// Finds the pairs of one format after the other.
class Prober {
public:
  Prober(std::shared_ptr<Display> display, Capabilities &capabilities)
      : display_(std::move(display)), capabilities_(capabilities)
  {
  }

  void probe(const PixelFormat &format, std::span<const std::uint64_t> listed)
  {
    found_.clear();
    drawn_ = false;
    for (const std::uint64_t modifier : listed)
      (void)try_pair(format, kSmall, {&modifier, 1}, Tiling::Any);
    if (!capabilities_.lists_modifiers) {
      probe_own_choice(format);
      probe_linear(format);
    }
    // A driver that names explicit modifiers where it is asked has no implicit ones.
    const bool named = std::any_of(found_.begin(), found_.end(), [](const Format &pair) {
      return pair.modifier != kModImplicit;
    });
    for (const Format &pair : found_) {
      if ((pair.modifier != kModImplicit || !named) && capabilities_.formats.add(pair))
        GSTDRM_DEBUG("found %s", describe_format(pair).c_str());
    }
  }

private:
  // What a driver without a list of modifiers chooses by itself. The tile size, and with it the
  // modifier, may depend on the picture's size: nouveau's blocks are 8 GOBs of 8 rows high for a
  // plane of 64 lines, and 16 GOBs high from 65 lines on, for each plane separately.
  void probe_own_choice(const PixelFormat &format)
  {
    const auto modifier = try_pair(format, kSmall, {}, Tiling::Any);
    if (modifier != kModLinear && modifier != kModImplicit)
      (void)try_pair(format, kPicture, {}, Tiling::Any);
  }

  // Linear frames for CPUs and for peers that know no DMA_DRM, where the driver would make others.
  // The list is tried once of a driver that does not say whether it takes one.
  void probe_linear(const PixelFormat &format)
  {
    if (has(kModLinear))
      return;
    const bool may_try = capabilities_.takes_modifiers || !tried_list_;
    if (may_try && !found_.empty()) {
      tried_list_ = true;
      if (try_pair(format, kSmall, {&kModLinear, 1}, Tiling::Any)) {
        capabilities_.takes_modifiers = true;
        return;
      }
    }
    if (!capabilities_.takes_modifiers)
      (void)try_pair(format, kSmall, {}, Tiling::None);
  }

  [[nodiscard]] bool has(std::uint64_t modifier) const
  {
    return std::any_of(found_.begin(), found_.end(),
                       [modifier](const Format &pair) { return pair.modifier == modifier; });
  }

  // The modifier of a surface that was allocated, exported and drawn into.
  std::optional<std::uint64_t> try_pair(const PixelFormat &format, ProbeSize size,
                                        std::span<const std::uint64_t> modifiers, Tiling tiling)
  {
    const auto width = std::clamp(size.width, capabilities_.min_width, capabilities_.max_width);
    const auto height = std::clamp(size.height, capabilities_.min_height, capabilities_.max_height);
    auto surface = create_surface(display_, format, width, height, modifiers, tiling);
    if (!surface)
      return refuse(surface.error());
    const std::uint64_t linear[] = {kModLinear};
    const auto accepted =
        tiling == Tiling::None ? std::span<const std::uint64_t>(linear) : modifiers;
    auto frame = export_surface(*surface, format, width, height, accepted);
    if (!frame)
      return refuse(frame.error());
    // Once a format: it is the format that compositors refuse. The modifier that is agreed on is
    // drawn into when it is agreed on, at its size.
    if (!drawn_) {
      if (auto drawn = draw(*surface, format, width, height); !drawn)
        return refuse(drawn.error());
      drawn_ = true;
    }
    if (!has(frame->format.modifier))
      found_.push_back(frame->format);
    return frame->format.modifier;
  }

  // Drivers export formats that their compositor refuses, such as Mesa's with 4:2:2.
  Result<void> draw(const Surface &surface, const PixelFormat &format, std::uint32_t width,
                    std::uint32_t height)
  {
    const Device device{display_, capabilities_};
    RenderRequest request;
    request.pattern = Pattern::Solid;
    request.fourcc = format.drm_fourcc;
    request.width = width;
    request.height = height;
    auto renderer = Renderer::create(device, request);
    if (!renderer)
      return renderer.error();
    auto rendered = (*renderer)->render(surface, 0, 0);
    if (!rendered)
      return rendered.error();
    return {};
  }

  std::nullopt_t refuse(const Error &error)
  {
    capabilities_.refused.push_back(error.message);
    return std::nullopt;
  }

  std::shared_ptr<Display> display_;
  Capabilities &capabilities_;
  std::vector<Format> found_; // of the current format
  bool drawn_ = false;        // into a surface of the current format
  bool tried_list_ = false;
};

// What the driver says of the configuration, before any surface is made.
void log_answer(const Display &display, const Found &found, const Capabilities &capabilities,
                const Listed &listed)
{
  GSTDRM_DEBUG("%s: configuration %s, %s: %zu formats, %ux%u to %ux%u; a list of modifiers is %s; "
               "the driver lists %zu modifiers",
               display.node().c_str(), vaProfileStr(found.profile),
               vaEntrypointStr(found.entrypoint), listed.formats.size(), capabilities.min_width,
               capabilities.min_height, capabilities.max_width, capabilities.max_height,
               capabilities.takes_modifiers ? "taken" : "not taken", listed.modifiers.size());
  for (const std::uint64_t modifier : listed.modifiers)
    GSTDRM_DEBUG("listed: %s", describe_modifier(modifier).c_str());
}

} // namespace

Result<Capabilities> query_capabilities(const std::shared_ptr<Display> &display)
{
  auto found = find_config(*display);
  if (!found)
    return found.error();
  auto config = create_config(display, *found);
  if (!config)
    return config.error();
  auto attributes = query_attributes(*display, *config);
  if (!attributes)
    return attributes.error();
  Capabilities capabilities;
  capabilities.has_vpp = found->has_vpp;
  if (found->has_vpp) {
    capabilities.deinterlacing = query_deinterlacing(display);
    capabilities.colours = query_colours(display);
  }
  Listed listed;
  for (const auto &attribute : *attributes)
    read_attribute(attribute, capabilities, listed);
  check_sizes(capabilities.min_width, capabilities.max_width, "width");
  check_sizes(capabilities.min_height, capabilities.max_height, "height");
  log_answer(*display, *found, capabilities, listed);
  Prober prober(display, capabilities);
  for (const auto *format : listed.formats)
    prober.probe(*format, listed.modifiers);
  if (capabilities.formats.empty()) {
    return Error{ErrorCode::Device,
                 display->node() + " (" + display->vendor() +
                     ") has no surface that it exports as DMA buffers and draws into: " +
                     (capabilities.refused.empty() ? "it lists no pixel format that has a DRM name"
                                                   : capabilities.refused.front())};
  }
  return capabilities;
}

} // namespace gstdrm::va

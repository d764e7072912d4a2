// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_probe.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <va/va_drmcommon.h>
#include <va/va_str.h>

#include <gst/drm/core/log.hpp>

#include "va_driver_probe.hpp"
#include "va_formats.hpp"
#include "va_objects.hpp"

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
    // i965 treats an unknown type as its own memory, and parses the descriptor as another type
    // (intel-vaapi-driver, i965_drv_video.c, i965_CreateSurfaces2()).
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

// Ignores size limits of the driver that are no valid range.
void check_sizes(std::uint32_t &least, std::uint32_t &most, const char *side)
{
  if (least <= most && least <= kMaxFrameSize && most > 0)
    return;
  GSTDRM_DEBUG("the driver says %u to %u pixels of %s: not used", least, most, side);
  least = 1;
  most = kMaxFrameSize;
}

// Queries the attributes of the configuration, before any surface is made.
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
  DriverProbe prober(display, capabilities);
  for (const auto *format : listed.formats)
    prober.probe(*format, listed.modifiers);
  prober.probe_sources(listed.modifiers);
  if (prober.out_of_descriptors())
    return Error{ErrorCode::Device,
                 display->node() + " cannot be probed: " + prober.out_of_descriptors()->message,
                 prober.out_of_descriptors()->sys_errno};
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

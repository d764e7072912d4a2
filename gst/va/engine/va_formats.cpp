// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_formats.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <drm_fourcc.h>
#include <va/va_drmcommon.h>
#include <va/va_str.h>

#include <gst/drm/core/log.hpp>

#include "va_objects.hpp"
#include "va_surface.hpp"

namespace gstdrm::va {
namespace {

// VA names RGB by its bytes in memory, DRM by its bits in a little-endian word.
constexpr std::array kFormats = {
    PixelFormat{VA_FOURCC_NV12, DRM_FORMAT_NV12, VA_RT_FORMAT_YUV420, Model::Yuv},
    PixelFormat{VA_FOURCC_P010, DRM_FORMAT_P010, VA_RT_FORMAT_YUV420_10, Model::Yuv},
    PixelFormat{VA_FOURCC_P012, DRM_FORMAT_P012, VA_RT_FORMAT_YUV420_12, Model::Yuv},
    PixelFormat{VA_FOURCC_NV21, DRM_FORMAT_NV21, VA_RT_FORMAT_YUV420, Model::Yuv},
    PixelFormat{VA_FOURCC_I420, DRM_FORMAT_YUV420, VA_RT_FORMAT_YUV420, Model::Yuv},
    PixelFormat{VA_FOURCC_YV12, DRM_FORMAT_YVU420, VA_RT_FORMAT_YUV420, Model::Yuv},
    PixelFormat{VA_FOURCC_YUY2, DRM_FORMAT_YUYV, VA_RT_FORMAT_YUV422, Model::Yuv},
    PixelFormat{VA_FOURCC_UYVY, DRM_FORMAT_UYVY, VA_RT_FORMAT_YUV422, Model::Yuv},
    PixelFormat{VA_FOURCC_Y210, DRM_FORMAT_Y210, VA_RT_FORMAT_YUV422_10, Model::Yuv},
    PixelFormat{VA_FOURCC_AYUV, DRM_FORMAT_AYUV, VA_RT_FORMAT_YUV444, Model::Yuv},
    PixelFormat{VA_FOURCC_XYUV, DRM_FORMAT_XYUV8888, VA_RT_FORMAT_YUV444, Model::Yuv},
    PixelFormat{VA_FOURCC_Y410, DRM_FORMAT_Y410, VA_RT_FORMAT_YUV444_10, Model::Yuv},
    PixelFormat{VA_FOURCC_BGRX, DRM_FORMAT_XRGB8888, VA_RT_FORMAT_RGB32, Model::Rgb},
    PixelFormat{VA_FOURCC_BGRA, DRM_FORMAT_ARGB8888, VA_RT_FORMAT_RGB32, Model::Rgb},
    PixelFormat{VA_FOURCC_RGBX, DRM_FORMAT_XBGR8888, VA_RT_FORMAT_RGB32, Model::Rgb},
    PixelFormat{VA_FOURCC_RGBA, DRM_FORMAT_ABGR8888, VA_RT_FORMAT_RGB32, Model::Rgb},
    PixelFormat{VA_FOURCC_XRGB, DRM_FORMAT_BGRX8888, VA_RT_FORMAT_RGB32, Model::Rgb},
    PixelFormat{VA_FOURCC_ARGB, DRM_FORMAT_BGRA8888, VA_RT_FORMAT_RGB32, Model::Rgb},
    PixelFormat{VA_FOURCC_X2R10G10B10, DRM_FORMAT_XRGB2101010, VA_RT_FORMAT_RGB32_10, Model::Rgb},
    PixelFormat{VA_FOURCC_A2R10G10B10, DRM_FORMAT_ARGB2101010, VA_RT_FORMAT_RGB32_10, Model::Rgb},
};

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
  case VASurfaceAttribDRMFormatModifiers:
    read_modifiers(attribute, capabilities, listed);
    break;
  default:
    break;
  }
}

struct ProbeSize {
  std::uint32_t width; // pixels
  std::uint32_t height;
};
constexpr ProbeSize kSmall{64, 64};
constexpr ProbeSize kPicture{640, 480};

// Allocates and exports one surface with this list of modifiers, and adds the pair that the driver
// chose to the set. Returns true where the pair is linear or implicit: then the driver chooses the
// same pair for other sizes.
bool probe(const std::shared_ptr<Display> &display, const PixelFormat &format, ProbeSize size,
           std::span<const std::uint64_t> modifiers, Capabilities &capabilities)
{
  const auto width = std::clamp(size.width, capabilities.min_width, capabilities.max_width);
  const auto height = std::clamp(size.height, capabilities.min_height, capabilities.max_height);
  auto surface = create_surface(display, format, width, height, modifiers);
  if (!surface) {
    capabilities.refused.push_back(surface.error().message);
    return false;
  }
  auto frame = export_surface(*surface, format, width, height, modifiers);
  if (!frame) {
    capabilities.refused.push_back(frame.error().message);
    return false;
  }
  if (capabilities.formats.add(frame->format))
    GSTDRM_DEBUG("found %s", describe_format(frame->format).c_str());
  return frame->format.modifier == kModLinear || frame->format.modifier == kModImplicit;
}

// Finds the pairs that a driver without a list of modifiers chooses by itself. The tile size, and
// with it the modifier, may depend on the picture's size: nouveau's blocks are 8 GOBs of 8 rows
// high for a plane of 64 lines, and 16 GOBs high from 65 lines on, for each plane separately.
void probe_own_choice(const std::shared_ptr<Display> &display, const PixelFormat &format,
                      Capabilities &capabilities)
{
  if (!probe(display, format, kSmall, {}, capabilities))
    (void)probe(display, format, kPicture, {}, capabilities);
}

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

const PixelFormat *format_by_va(std::uint32_t va_fourcc)
{
  const auto it = std::find_if(kFormats.begin(), kFormats.end(), [va_fourcc](const auto &format) {
    return format.va_fourcc == va_fourcc;
  });
  return it == kFormats.end() ? nullptr : &*it;
}

const PixelFormat *format_by_drm(std::uint32_t drm_fourcc)
{
  const auto it = std::find_if(kFormats.begin(), kFormats.end(), [drm_fourcc](const auto &format) {
    return format.drm_fourcc == drm_fourcc;
  });
  return it == kFormats.end() ? nullptr : &*it;
}

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
  Listed listed;
  for (const auto &attribute : *attributes)
    read_attribute(attribute, capabilities, listed);
  log_answer(*display, *found, capabilities, listed);
  for (const auto *format : listed.formats) {
    for (const std::uint64_t modifier : listed.modifiers)
      (void)probe(display, *format, kSmall, {&modifier, 1}, capabilities);
    if (capabilities.lists_modifiers)
      continue;
    probe_own_choice(display, *format, capabilities);
    if (capabilities.takes_modifiers &&
        !capabilities.formats.contains({format->drm_fourcc, kModLinear}))
      (void)probe(display, *format, kSmall, std::span(&kModLinear, 1), capabilities);
  }
  if (capabilities.formats.empty()) {
    return Error{ErrorCode::Device,
                 display->node() + " (" + display->vendor() +
                     ") exports no surface as DMA buffers: " +
                     (capabilities.refused.empty() ? "it lists no pixel format that has a DRM name"
                                                   : capabilities.refused.front())};
  }
  return capabilities;
}

} // namespace gstdrm::va

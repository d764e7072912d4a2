// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_probe.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <va/va_drmcommon.h>
#include <va/va_str.h>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/log.hpp>

#include "va_converter.hpp"
#include "va_device.hpp"
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

// --- trials --------------------------------------------------------------------------------------

// Finds the pairs of one driver, format by format.
class DriverProbe {
public:
  DriverProbe(std::shared_ptr<Display> display, Capabilities &capabilities)
      : display_(std::move(display)), capabilities_(capabilities)
  {
  }

  // Adds the format's pairs that can be drawn into. `listed`: modifiers that the driver lists.
  void probe(const PixelFormat &format, std::span<const std::uint64_t> listed)
  {
    find_pairs(format, listed);
    keep_found(capabilities_.formats);
  }

  // Called after the last probe(): adds formats that can be read but not drawn into.
  // Mesa's compositor reads 4:2:2 and draws into none of it: va/postproc.c,
  // vlVaHandleVAProcPipelineParameterBufferType().
  void probe_sources(std::span<const std::uint64_t> listed)
  {
    if (!capabilities_.has_vpp || capabilities_.formats.empty())
      return;
    use_ = Use::Read;
    for (const auto *format : not_drawn_) {
      if (capabilities_.formats.contains_fourcc(format->drm_fourcc))
        continue;
      find_pairs(*format, listed);
      keep_found(capabilities_.sources);
    }
  }

  // The first failure for want of descriptors, which says nothing about the format.
  [[nodiscard]] const std::optional<Error> &out_of_descriptors() const
  {
    return out_of_descriptors_;
  }

private:
  enum class Use { Drawn, Read };
  struct Size {
    std::uint32_t width; // pixels
    std::uint32_t height;
  };

  void find_pairs(const PixelFormat &format, std::span<const std::uint64_t> listed)
  {
    found_.clear();
    used_ = false;
    for (const std::uint64_t modifier : listed)
      (void)try_pair(format, kSmall, {&modifier, 1}, Tiling::Any);
    if (!capabilities_.lists_modifiers) {
      probe_own_choice(format);
      probe_linear(format);
    }
  }

  void keep_found(FormatSet &formats) const
  {
    // If the driver named an explicit modifier, ignore exports without one.
    const bool named = std::any_of(found_.begin(), found_.end(), [](const Format &pair) {
      return pair.modifier != kModImplicit;
    });
    for (const Format &pair : found_) {
      if ((pair.modifier != kModImplicit || !named) && formats.add(pair))
        GSTDRM_DEBUG("found %s%s", describe_format(pair).c_str(),
                     use_ == Use::Read ? ", to be read alone" : "");
    }
  }

  // Finds the modifiers that a driver without a list chooses. They may depend on the picture's
  // size: nouveau's blocks are 8 GOBs of 8 rows high for a plane of 64 lines, and 16 GOBs high from
  // 65 lines on, for each plane separately.
  void probe_own_choice(const PixelFormat &format)
  {
    const auto modifier = try_pair(format, kSmall, {}, Tiling::Any);
    if (modifier != kModLinear && modifier != kModImplicit)
      (void)try_pair(format, kPicture, {}, Tiling::Any);
  }

  // Tries linear frames, for CPUs and for peers that do not know DMA_DRM. A driver that does not
  // say whether it takes a list of modifiers is tried once with one.
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

  // Allocates, exports and uses a surface. Returns its modifier, or nullopt after a failure.
  std::optional<std::uint64_t> try_pair(const PixelFormat &format, Size wanted,
                                        std::span<const std::uint64_t> modifiers, Tiling tiling)
  {
    const auto width = std::clamp(wanted.width, capabilities_.min_width, capabilities_.max_width);
    const auto height =
        std::clamp(wanted.height, capabilities_.min_height, capabilities_.max_height);
    auto surface = create_surface(display_, format, width, height, modifiers, tiling);
    if (!surface)
      return refuse(surface.error());
    const std::uint64_t linear[] = {kModLinear};
    const auto accepted =
        tiling == Tiling::None ? std::span<const std::uint64_t>(linear) : modifiers;
    auto frame = export_surface(*surface, format, width, height, accepted);
    if (!frame)
      return refuse(frame.error());
    if (auto done = use(*surface, *frame, format); !done)
      return refuse(done.error());
    if (!has(frame->format.modifier))
      found_.push_back(frame->format);
    return frame->format.modifier;
  }

  // Uses one surface of each format: compositors refuse formats, not modifiers. The negotiated
  // modifier is tried again at the negotiated size.
  Result<void> use(const Surface &surface, const AllocatedFrame &frame, const PixelFormat &format)
  {
    if (used_)
      return {};
    auto done = use_ == Use::Drawn ? draw(surface, format, {frame.width, frame.height})
                                   : read(frame, format);
    used_ = static_cast<bool>(done);
    if (!done && use_ == Use::Drawn &&
        std::find(not_drawn_.begin(), not_drawn_.end(), &format) == not_drawn_.end())
      not_drawn_.push_back(&format);
    return done;
  }

  // Draws: drivers export formats that they cannot draw into, such as Mesa's with 4:2:2.
  Result<void> draw(const Surface &surface, const PixelFormat &format, Size size)
  {
    const Device device{display_, capabilities_};
    RenderRequest request;
    request.pattern = Pattern::Solid;
    request.fourcc = format.drm_fourcc;
    request.width = size.width;
    request.height = size.height;
    auto renderer = Renderer::create(device, request);
    if (!renderer)
      return renderer.error();
    auto rendered = (*renderer)->render(surface, 0, 0);
    if (!rendered)
      return rendered.error();
    return {};
  }

  // Imports the frame and draws from it, into the first format that works.
  Result<void> read(const AllocatedFrame &frame, const PixelFormat &format)
  {
    const auto layout = layout_of(frame);
    if (!layout)
      return layout.error();
    Result<void> done = Error{ErrorCode::Unsupported, "Nothing is drawn into"};
    for (const Format &pair : capabilities_.formats.pairs()) {
      done = read_into(pair, *layout, format);
      if (done || done.error().code == ErrorCode::Import)
        break;
    }
    return done;
  }

  Result<void> read_into(const Format &pair, const FrameLayout &layout, const PixelFormat &from)
  {
    const Device device{display_, capabilities_};
    const auto target =
        allocate_frame(device, pair.fourcc, layout.width, layout.height, {&pair.modifier, 1});
    if (!target)
      return target.error();
    const PixelFormat *to = format_by_drm(pair.fourcc);
    Conversion conversion;
    conversion.target_fourcc = pair.fourcc;
    conversion.target = conversion.area = {0, 0, layout.width, layout.height};
    conversion.colours.from_model = from.model;
    conversion.colours.to_model = to ? to->model : Model::Rgb;
    auto converter = Converter::create(device, conversion);
    if (!converter)
      return converter.error();
    auto source = (*converter)->import(layout);
    if (!source)
      return source.error();
    return (*converter)->draw(**source, conversion.area, *target->surface);
  }

  std::nullopt_t refuse(const Error &error)
  {
    capabilities_.refused.push_back(error.message);
    if (!out_of_descriptors_ && (error.sys_errno == EMFILE || error.sys_errno == ENFILE))
      out_of_descriptors_ = error;
    return std::nullopt;
  }

  static constexpr Size kSmall{64, 64};
  static constexpr Size kPicture{640, 480};

  std::shared_ptr<Display> display_;
  Capabilities &capabilities_;
  Use use_ = Use::Drawn;
  std::vector<const PixelFormat *> not_drawn_; // allocated and exported, but not drawn into
  std::vector<Format> found_;                  // pairs of the current format
  bool used_ = false;                          // a surface of the current format was used
  bool tried_list_ = false;
  std::optional<Error> out_of_descriptors_;
};

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

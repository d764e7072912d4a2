// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_driver_probe.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <gst/drm/core/log.hpp>

#include "va_converter.hpp"
#include "va_device.hpp"
#include "va_renderer.hpp"

namespace gstdrm::va {

void DriverProbe::probe(const PixelFormat &format, std::span<const std::uint64_t> listed)
{
  find_pairs(format, listed);
  keep_found(capabilities_.formats);
}

// Mesa's compositor reads 4:2:2 and draws into none of it: va/postproc.c,
// vlVaHandleVAProcPipelineParameterBufferType().
void DriverProbe::probe_sources(std::span<const std::uint64_t> listed)
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

void DriverProbe::find_pairs(const PixelFormat &format, std::span<const std::uint64_t> listed)
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

void DriverProbe::keep_found(FormatSet &formats) const
{
  // If the driver named an explicit modifier, ignore exports without one.
  const bool named = std::any_of(found_.begin(), found_.end(),
                                 [](const Format &pair) { return pair.modifier != kModImplicit; });
  for (const Format &pair : found_) {
    if ((pair.modifier != kModImplicit || !named) && formats.add(pair))
      GSTDRM_DEBUG("found %s%s", describe_format(pair).c_str(),
                   use_ == Use::Read ? ", to be read alone" : "");
  }
}

// Finds the modifiers that a driver without a list chooses. They may depend on the picture's size:
// nouveau's blocks are 8 GOBs of 8 rows high for a plane of 64 lines, and 16 GOBs high from 65
// lines on, for each plane separately.
void DriverProbe::probe_own_choice(const PixelFormat &format)
{
  const auto modifier = try_pair(format, kSmall, {}, Tiling::Any);
  if (modifier != kModLinear && modifier != kModImplicit)
    (void)try_pair(format, kPicture, {}, Tiling::Any);
}

// Tries linear frames, for CPUs and for peers that do not know DMA_DRM. A driver that does not say
// whether it takes a list of modifiers is tried once with one.
void DriverProbe::probe_linear(const PixelFormat &format)
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

bool DriverProbe::has(std::uint64_t modifier) const
{
  return std::any_of(found_.begin(), found_.end(),
                     [modifier](const Format &pair) { return pair.modifier == modifier; });
}

std::optional<std::uint64_t> DriverProbe::try_pair(const PixelFormat &format, Size wanted,
                                                   std::span<const std::uint64_t> modifiers,
                                                   Tiling tiling)
{
  const auto width = std::clamp(wanted.width, capabilities_.min_width, capabilities_.max_width);
  const auto height = std::clamp(wanted.height, capabilities_.min_height, capabilities_.max_height);
  auto surface = create_surface(display_, format, width, height, modifiers, tiling);
  if (!surface)
    return refuse(surface.error());
  const std::uint64_t linear[] = {kModLinear};
  const auto accepted = tiling == Tiling::None ? std::span<const std::uint64_t>(linear) : modifiers;
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
Result<void> DriverProbe::use(const Surface &surface, const AllocatedFrame &frame,
                              const PixelFormat &format)
{
  if (used_)
    return {};
  auto done =
      use_ == Use::Drawn ? draw(surface, format, {frame.width, frame.height}) : read(frame, format);
  used_ = static_cast<bool>(done);
  if (!done && use_ == Use::Drawn &&
      std::find(not_drawn_.begin(), not_drawn_.end(), &format) == not_drawn_.end())
    not_drawn_.push_back(&format);
  return done;
}

// Draws: drivers export formats that they cannot draw into, such as Mesa's with 4:2:2.
Result<void> DriverProbe::draw(const Surface &surface, const PixelFormat &format, Size size)
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
Result<void> DriverProbe::read(const AllocatedFrame &frame, const PixelFormat &format)
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

Result<void> DriverProbe::read_into(const Format &pair, const FrameLayout &layout,
                                    const PixelFormat &from)
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

std::nullopt_t DriverProbe::refuse(const Error &error)
{
  capabilities_.refused.push_back(error.message);
  if (!out_of_descriptors_ && (error.sys_errno == EMFILE || error.sys_errno == ENFILE))
    out_of_descriptors_ = error;
  return std::nullopt;
}

} // namespace gstdrm::va

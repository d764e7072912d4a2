// SPDX-License-Identifier: LGPL-2.1-or-later
// Display: which pairs it offers to upstream, as planes are chosen and pairs refused, and what it
// says of itself.
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/commit/kms_plan.hpp"
#include "kms_display.hpp"

namespace gstdrm::kms {

// Updates the offer for the present picture: the pairs of its plane that test commits accept at
// this size. Returns whether the offer has changed.
bool Display::narrow_offer()
{
  const FormatSet before = offer_.formats();
  offer_.list(scanout_.plane_formats());
  offer_.resize(picture_.width, picture_.height);
  const Proved what{scanout_.plane_id(), scanout_.shown_mode(), picture_.width, picture_.height};
  if (what != proved_) {
    proved_ = what;
    const FormatSet shown = FormatSet::from_pairs({picture_.format});
    for (Refusal &refusal :
         scanout_.disprove(picture_, what.mode, FormatSet::subtract(offer_.formats(), shown)))
      offer_.refuse(std::move(refusal));
  }
  return offer_.formats() != before;
}

void Display::refuse(const Error &why)
{
  const FormatSet before = offer_.formats();
  offer_.resize(picture_.width, picture_.height);
  offer_.refuse({picture_.format, picture_.width, picture_.height, why.message});
  // test the pairs first, so that upstream's next choice is one that works
  for (Refusal &refusal : scanout_.disprove(picture_, modes_.front().mode, offer_.formats()))
    offer_.refuse(std::move(refusal));
  if (offer_.formats() != before)
    tell_(&DisplayListener::formats_changed);
}

std::optional<Refusal> Display::refusal(const Picture &picture) const
{
  return offer_.refusal(picture.format, picture.width, picture.height);
}

// Before the first frame.
void Display::expect_size()
{
  const Output &output = scanout_.output();
  std::optional<drmModeModeInfo> mode = output.joined ? output.joined : output.found_mode;
  if (!mode)
    mode = own_mode(output.connector.modes);
  const std::lock_guard guard(shown_lock_);
  display_size_ = mode ? Size{mode->hdisplay, mode->vdisplay} : Size{};
}

Display::Size Display::display_size() const
{
  const std::lock_guard guard(shown_lock_);
  return display_size_;
}

std::string Display::describe() const
{
  const std::lock_guard guard(shown_lock_);
  return description_;
}

// Pictures may be larger than every mode where planes scale. Where the only plane has to cover the
// CRTC, they are of a mode's size.
SizeLimits Display::size_limits(const Output &output) const
{
  if (scanout_.scales_down() && !scanout_.covers_only())
    return framebuffers_;
  SizeLimits limits{framebuffers_.min_width, framebuffers_.min_height};
  std::vector<drmModeModeInfo> modes = output.connector.modes;
  if (output.joined)
    modes.assign(1, *output.joined);
  else if (output.found_mode && output.mode_changes == ModeChanges::Never)
    modes.assign(1, *output.found_mode);
  else if (const auto named = order_modes(modes, output.mode_request, {});
           named && names_mode(output.mode_request)) {
    limits.mode_width = modes[named->front()].hdisplay;
    limits.mode_height = modes[named->front()].vdisplay;
  }
  for (const drmModeModeInfo &mode : modes) {
    limits.max_width = std::max<std::uint32_t>(limits.max_width, mode.hdisplay);
    limits.max_height = std::max<std::uint32_t>(limits.max_height, mode.vdisplay);
  }
  limits.max_width =
      std::max(std::min(limits.max_width, framebuffers_.max_width), limits.min_width);
  limits.max_height =
      std::max(std::min(limits.max_height, framebuffers_.max_height), limits.min_height);
  if (scanout_.covers_only())
    limits.only = mode_sizes(modes, output_request_.mode);
  return limits;
}

std::string Display::fix_for(Format format) const
{
  const FormatSet offered = formats();
  return offered.contains(format) ? "" : nearest_fix(offered, format);
}

SizeLimits Display::limits() const
{
  SizeLimits limits = plug_.limits();
  const bool by_modes =
      limits.max_width != framebuffers_.max_width || limits.max_height != framebuffers_.max_height;
  const View wanted = view();
  if (limits.mode_width != 0 && !may_crop(wanted.fit)) {
    limits.max_width = std::min(limits.max_width, limits.mode_width);
    limits.max_height = std::min(limits.max_height, limits.mode_height);
  }
  if (by_modes && wanted.turn_is_wish) { // as it comes, or turned
    limits.max_width = limits.max_height = std::max(limits.max_width, limits.max_height);
  } else if (by_modes &&
             scanout_.turns(wanted)) { // what a framebuffer can be is no matter of its turn
    std::swap(limits.max_width, limits.max_height);
    limits.max_width = std::min(limits.max_width, framebuffers_.max_width);
    limits.max_height = std::min(limits.max_height, framebuffers_.max_height);
    for (auto &[width, height] : limits.only)
      std::swap(width, height);
  }
  return limits;
}

View Display::view() const
{
  const std::lock_guard guard(view_lock_);
  return view_;
}

} // namespace gstdrm::kms

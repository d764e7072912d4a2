// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses the plan for a picture: tries the candidates in test commits, and reports the result of
// each.
#include <algorithm>
#include <cerrno>
#include <utility>

#include <drm_fourcc.h>

#include <gst/drm/core/log.hpp>

#include "engine/card/kms_objects.hpp"
#include "engine/card/kms_refusal.hpp"
#include "engine/card/kms_scratch.hpp"
#include "kms_scanout.hpp"

namespace gstdrm::kms {

namespace {

const char *type_name(PlaneType type)
{
  switch (type) {
  case PlaneType::Primary:
    return "primary";
  case PlaneType::Cursor:
    return "cursor";
  case PlaneType::Overlay:
    break;
  }
  return "overlay";
}

// The device can do nothing about the commit now, and may a few refreshes later.
bool is_put_off(int ret)
{
  return ret == -EBUSY || ret == -ENOMEM;
}

// One that any memory can have and most planes scale.
std::optional<Format> scratch_format(const FormatSet &formats)
{
  for (const std::uint32_t fourcc : {DRM_FORMAT_NV12, DRM_FORMAT_XRGB8888, DRM_FORMAT_ARGB8888})
    for (const std::uint64_t modifier : {kModLinear, kModImplicit})
      if (formats.contains({fourcc, modifier}))
        return Format{fourcc, modifier};
  return std::nullopt;
}

} // namespace

Result<std::vector<ModeTry>> Scanout::check(const Picture &picture) const
{
  Picture on_screen = picture;
  if (view_.is_turned())
    std::swap(on_screen.width, on_screen.height), std::swap(on_screen.par_n, on_screen.par_d);
  const std::optional<drmModeModeInfo> fixed = fixed_mode();
  const bool may_be_larger =
      scales_down_ || (names_mode(output_.mode_request) && may_crop(view_.fit));
  return modes_for(output_, on_screen, may_be_larger, device_->name(),
                   fixed ? fixed : mode_on_screen(), fixed.has_value());
}

// The mode that mode-changes allows no other one than; nullopt if any may be set.
std::optional<drmModeModeInfo> Scanout::fixed_mode() const
{
  const ModeChanges changes = output_.mode_changes;
  if (names_mode(output_.mode_request) || changes == ModeChanges::Auto ||
      changes == ModeChanges::Always)
    return {};
  if (changes == ModeChanges::Never && output_.found_mode)
    return output_.found_mode;
  const std::vector<drmModeModeInfo> &modes = output_.connector.modes;
  const bool listed =
      first_mode_ && std::any_of(modes.begin(), modes.end(), [this](const auto &mode) {
        return same_mode(mode, *first_mode_);
      }); // another display may be connected by now
  return listed ? first_mode_ : std::nullopt;
}

// The mode that stays if it can show the picture; nullopt if the display is dark, or the user wants
// a mode that fits the picture.
std::optional<drmModeModeInfo> Scanout::mode_on_screen() const
{
  const bool matches = output_.mode_request.kind == ModeRequest::Kind::Match;
  if (names_mode(output_.mode_request) || output_.mode_changes == ModeChanges::Always ||
      (matches && view_.fit == Fit::None))
    return {};
  if (plan_)
    return plan_->mode;
  return matches ? std::nullopt : output_.found_mode;
}

// One line per plane, as many as a screen holds.
std::string Scanout::explain(Format format, const std::map<std::uint32_t, Attempts> &attempts) const
{
  constexpr std::size_t kMostLines = 12;
  std::string text;
  for (const Plane &plane : output_.crtc_planes) {
    if (&plane == output_.crtc_planes.data() + kMostLines) {
      text += "\nAnd " + std::to_string(output_.crtc_planes.size() - kMostLines) +
              " more planes. GST_DEBUG=kmsdmabufsink:5 tells of each.";
      break;
    }
    text += "\nPlane " + std::to_string(plane.id) + " (" + type_name(plane.type) + "): ";
    const bool chosen = std::any_of(output_.planes.begin(), output_.planes.end(),
                                    [&plane](const Plane &p) { return p.id == plane.id; });
    const auto tried = attempts.find(plane.id);
    const std::uint64_t user = property_value(plane.properties, "CRTC_ID");
    if (const std::string reason = why_unfit(view_, plane, format); chosen && !reason.empty())
      text += reason + ".";
    else if (tried != attempts.end() && tried->second.scaled && tried->second.unscaled)
      text += "scaled: " + errno_text(tried->second.scaled) +
              ", not scaled: " + errno_text(tried->second.unscaled) + ".";
    else if (tried != attempts.end())
      text += "test commit: " +
              errno_text(tried->second.scaled ? tried->second.scaled : tried->second.unscaled) +
              ".";
    else if (chosen)
      text += "not tried.";
    else if (plane.type == PlaneType::Cursor)
      text += "for cursors.";
    else if (user != 0 && user != output_.crtc.id)
      text += "used by CRTC " + std::to_string(user) + ".";
    else
      text += "not the one of plane-id.";
  }
  return text;
}

// What to try in place of a picture that no plane shows. `tried`: some plane fits the view.
std::string Scanout::advice(const drmModeModeInfo &mode, Format format, bool tried) const
{
  View unturned = view_;
  unturned.rotation = DRM_MODE_ROTATE_0;
  if (!tried && std::any_of(output_.planes.begin(), output_.planes.end(), [&](const Plane &plane) {
        return why_unfit(unturned, plane, format).empty();
      }))
    return " Turn the picture before the sink, for instance with videoflip, and leave rotation "
           "out.";
  if (!covers_only_)
    return view_.rotation == DRM_MODE_ROTATE_0
               ? " Try another size or format, or another plane with plane-id."
               : " Turn the picture before the sink, for instance with videoflip, and leave rotation out.";
  return " Its planes have to cover the screen: send pictures of the mode's size, " +
         std::to_string(mode.hdisplay) + "x" + std::to_string(mode.vdisplay) +
         ", for instance with videoscale before the sink.";
}

// Tries the plans for one mode. 0, or the errno of the last one, negative.
int Scanout::show_in_mode(const Picture &picture, const ModeTry &mode, Frame &frame,
                          std::uint64_t serial, Patience patience,
                          std::map<std::uint32_t, Attempts> &attempts)
{
  const auto [width, height] = view_.is_turned() ? std::pair(picture.height, picture.width)
                                                 : std::pair(picture.width, picture.height);
  const bool fits = width <= mode.mode.hdisplay && height <= mode.mode.vdisplay;
  const std::vector<Plan> plans = candidate_plans(output_, view_, picture, mode.mode, shown());
  int ret = -EINVAL;
  int scaling_refused = 0;
  for (const Plan &plan : plans) {
    const bool as_wanted = plan.scaled == plans.front().scaled;
    if (!as_wanted && (mode.only_as_wanted || (!fits && !output_.joined)))
      continue; // it would be centred against the user's wish, or cropped
    for (const bool with_mode_set : {false, true}) {
      if (with_mode_set ? output_.joined.has_value() || mode.only_as_wanted
                        : needs_mode_set(output_, plan, shown()))
        continue;
      ret = show(plan, frame, serial, with_mode_set);
      if (ret == 0) {
        scaling_refused_ = plan.scaled ? 0 : scaling_refused;
        return 0;
      }
      was_put_off_ = !with_mode_set && patience == Patience::Wait && is_put_off(ret);
      if (was_put_off_)
        return ret;
    }
    Attempts &plane = attempts[plan.plane->id];
    (plan.scaled ? plane.scaled : plane.unscaled) = -ret;
    if (plan.scaled)
      scaling_refused = -ret;
    if (ret == -EACCES || (ret == -EBUSY && output_.joined) || ret == -EPERM || ret == -ENODEV ||
        ret == -ENOMEM)
      break; // no other plane would do better
  }
  return ret;
}

// A driver, a cable or an adapter that refuses one mode may take the next one.
Result<void> Scanout::show_first(const Picture &picture, const std::vector<ModeTry> &modes,
                                 Frame &frame, std::uint64_t serial, Patience patience)
{
  was_put_off_ = false;
  std::map<std::uint32_t, Attempts> attempts; // in the mode that fits best
  int ret = -EINVAL;
  for (const ModeTry &mode : modes) {
    if (Result<void> ready = prepare(picture, mode.mode); !ready)
      return ready;
    std::map<std::uint32_t, Attempts> other;
    ret = show_in_mode(picture, mode, frame, serial, patience,
                       &mode == &modes.front() ? attempts : other);
    if (ret == 0)
      return {};
    if (was_put_off_)
      return device_error(device_->name() + " is busy.", EBUSY);
    if (!is_refusal(-ret) && !mode.only_as_wanted)
      break; // no other mode would do better
    GSTDRM_DEBUG("mode %s does not show the picture: %s", describe_mode(mode.mode).c_str(),
                 errno_text(-ret).c_str());
  }
  const drmModeModeInfo &mode = modes.front().mode;
  const std::string hint = ret == -EACCES || ret == -EPERM
                               ? " Another program took the display over; stop it."
                               : advice(mode, picture.format, !attempts.empty());
  return Error{is_refusal(-ret) ? ErrorCode::Unsupported : ErrorCode::Device,
               device_->name() + " does not show " + describe_format(picture.format) + " of " +
                   std::to_string(picture.width) + "x" + std::to_string(picture.height) +
                   " in mode " + describe_mode(mode) +
                   (modes.size() > 1 && is_refusal(-ret) ? " or another one" : "") +
                   " on connector " + output_.connector.name + "." + hint +
                   explain(picture.format, attempts),
               -ret};
}

// The mode for test commits before the first frame. nullopt if there is none.
std::optional<drmModeModeInfo> Scanout::probed_mode() const
{
  if (output_.joined)
    return output_.joined;
  const std::vector<drmModeModeInfo> &modes = output_.connector.modes;
  if (output_.mode_request.kind == ModeRequest::Kind::Exact)
    if (const auto order = order_modes(modes, output_.mode_request, {}))
      return modes[order->front()];
  return output_.found_mode ? output_.found_mode : own_mode(modes);
}

void Scanout::probe_downscaling()
{
  const std::optional<drmModeModeInfo> mode_to_try = probed_mode();
  const std::optional<Format> format = scratch_format(output_.formats());
  if (!mode_to_try || !format)
    return;
  const drmModeModeInfo mode = *mode_to_try;
  Picture picture;
  picture.format = *format;
  // a quarter larger in width and height: enough to find out, and little memory
  picture.width = (mode.hdisplay + mode.hdisplay / 4U) & ~1U;
  picture.height = (mode.vdisplay + mode.vdisplay / 4U) & ~1U;
  const std::unique_ptr<ScratchBuffer> scratch = ScratchBuffer::create(
      device_, FormatSet::from_pairs({*format}), picture.width, picture.height);
  const std::optional<ScratchFramebuffer> framebuffer =
      scratch ? scratch->framebuffer(*format) : std::nullopt;
  if (!framebuffer || !prepare(picture, mode))
    return;
  const std::vector<Plan> plans =
      candidate_plans(output_, on_panel({}, panel_rotation_), picture, mode, shown());
  scales_down_ = std::any_of(plans.begin(), plans.end(), [&](const Plan &plan) {
    return plan.scaled && !plan.background &&
           commit(plan, framebuffer->id(),
                  DRM_MODE_ATOMIC_TEST_ONLY |
                      (output_.joined ? 0U : std::uint32_t{DRM_MODE_ATOMIC_ALLOW_MODESET}),
                  0) == 0;
  });
  saved_.reset(); // the state to restore is read when the first frame comes
}

// Whether some plan of the picture passes a test commit, or fails for a reason that says nothing.
bool Scanout::takes(const Picture &picture, const drmModeModeInfo &mode)
{
  const std::unique_ptr<ScratchBuffer> scratch = ScratchBuffer::create(
      device_, FormatSet::from_pairs({picture.format}), picture.width, picture.height);
  const std::optional<ScratchFramebuffer> framebuffer =
      scratch ? scratch->framebuffer(picture.format) : std::nullopt;
  if (!framebuffer || !prepare(picture, mode))
    return true;
  for (const Plan &plan :
       candidate_plans(output_, on_panel({}, panel_rotation_), picture, mode, shown())) {
    if (prepare_background(plan) != 0)
      continue;
    const std::uint32_t mode_set =
        output_.joined ? 0U : std::uint32_t{DRM_MODE_ATOMIC_ALLOW_MODESET};
    const int ret = commit(plan, framebuffer->id(), mode_set | DRM_MODE_ATOMIC_TEST_ONLY, 0);
    if (!is_refusal(-ret))
      return true;
  }
  return false;
}

void Scanout::probe_covering()
{
  const std::optional<drmModeModeInfo> mode_to_try = probed_mode();
  const std::optional<Format> format = scratch_format(output_.formats());
  if (!mode_to_try || !format)
    return;
  const drmModeModeInfo mode = *mode_to_try;
  Picture full;
  full.format = *format;
  full.width = mode.hdisplay;
  full.height = mode.vdisplay;
  if (on_panel({}, panel_rotation_).is_turned())
    std::swap(full.width, full.height);
  Picture part = full; // of another shape, so that no scaling makes it cover the mode
  part.width = (full.width / 2U) & ~1U;
  part.height = (full.height / 4U) & ~1U;
  covers_only_ = !takes(part, mode) && takes(full, mode);
  saved_.reset(); // the state to restore is read when the first frame comes
  background_.reset();
}

// 0 when show_first() would show the framebuffer so: in a flip, or else in a mode set (imx-drm
// changes the size and the format of a plane in a mode set alone).
int Scanout::test(const Plan &plan, std::uint32_t framebuffer_id) const
{
  int ret = -EINVAL;
  for (const bool with_mode_set : {false, true}) {
    if (with_mode_set ? output_.joined.has_value() : needs_mode_set(output_, plan, shown()))
      continue;
    const std::uint32_t mode_set = with_mode_set ? DRM_MODE_ATOMIC_ALLOW_MODESET : 0;
    ret = commit(plan, framebuffer_id, mode_set | DRM_MODE_ATOMIC_TEST_ONLY, 0);
    if (!is_refusal(-ret))
      return ret;
  }
  return ret;
}

// 0 when some plane would show the framebuffer; else the errno of the last that would not.
int Scanout::test(const Picture &picture, const drmModeModeInfo &mode,
                  std::uint32_t framebuffer_id) const
{
  // the framebuffer would replace the one on screen
  if (plan_ && !needs_mode_set(output_, {mode, plan_->plane}, shown()) &&
      plan_->width == picture.width && plan_->height == picture.height)
    return test(*plan_, framebuffer_id);
  int ret = -EINVAL;
  for (const Plan &plan : candidate_plans(output_, view_, picture, mode, shown())) {
    if (plan_ && plan.plane != plan_->plane)
      continue;
    // the black plane stands for one in any layout
    if (plan.background && !background_)
      continue;
    ret = test(plan, framebuffer_id);
    if (!is_refusal(-ret))
      return ret;
  }
  return ret;
}

std::vector<Refusal> Scanout::disprove(const Picture &picture, const drmModeModeInfo &mode,
                                       const FormatSet &pairs)
{
  std::vector<Refusal> refusals;
  if (!prepare(picture, mode))
    return refusals;
  const std::unique_ptr<ScratchBuffer> scratch =
      ScratchBuffer::create(device_, pairs, picture.width, picture.height);
  if (!scratch)
    return refusals;
  for (const Format &format : pairs.pairs()) {
    const std::optional<ScratchFramebuffer> framebuffer = scratch->framebuffer(format);
    if (!framebuffer)
      continue;
    Picture other = picture;
    other.format = format;
    if (const int ret = test(other, mode, framebuffer->id()); is_refusal(-ret))
      refusals.push_back({format, picture.width, picture.height,
                          "A test commit of " + describe_format(format) + " at " +
                              std::to_string(picture.width) + "x" + std::to_string(picture.height) +
                              " was refused: " + errno_text(-ret) + "."});
  }
  return refusals;
}

} // namespace gstdrm::kms

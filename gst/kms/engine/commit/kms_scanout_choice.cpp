// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses the plan for a picture: tries the candidates in test commits, and reports the result of
// each.
#include <algorithm>
#include <cerrno>
#include <utility>

#include <drm_fourcc.h>

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

Result<drmModeModeInfo> Scanout::check(const Picture &picture) const
{
  Picture on_screen = picture;
  if (view_.is_turned())
    std::swap(on_screen.width, on_screen.height);
  return mode_for(output_, on_screen, scales_down_, device_->name());
}

// One line per plane.
std::string Scanout::explain(Format format, const std::map<std::uint32_t, Attempts> &attempts) const
{
  std::string text;
  for (const Plane &plane : output_.crtc_planes) {
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

Result<void> Scanout::show_first(const Picture &picture, const drmModeModeInfo &mode, Frame &frame,
                                 std::uint64_t serial)
{
  if (Result<void> ready = prepare(picture, mode); !ready)
    return ready;
  std::map<std::uint32_t, Attempts> attempts;
  int ret = -EINVAL;
  int scaling_refused = 0;
  for (const Plan &plan : candidate_plans(output_, view_, picture, mode, shown())) {
    for (const bool with_mode_set : {false, true}) {
      if (!with_mode_set && needs_mode_set(plan, shown()))
        continue;
      ret = show(plan, frame, serial, with_mode_set);
      if (ret == 0) {
        scaling_refused_ = plan.scaled ? 0 : scaling_refused;
        return {};
      }
    }
    Attempts &plane = attempts[plan.plane->id];
    (plan.scaled ? plane.scaled : plane.unscaled) = -ret;
    if (plan.scaled)
      scaling_refused = -ret;
    if (ret == -EACCES || ret == -EPERM || ret == -ENODEV || ret == -ENOMEM)
      break; // no other plane would do better
  }
  const std::string hint = ret == -EACCES || ret == -EPERM
                               ? " Another program took the display over; stop it."
                               : " Try another size or format, or another plane with plane-id.";
  return Error{is_refusal(-ret) ? ErrorCode::Unsupported : ErrorCode::Device,
               device_->name() + " does not show " + describe_format(picture.format) + " of " +
                   std::to_string(picture.width) + "x" + std::to_string(picture.height) +
                   " in mode " + describe_mode(mode) + " on connector " + output_.connector.name +
                   "." + hint + explain(picture.format, attempts),
               -ret};
}

void Scanout::probe_downscaling()
{
  const std::vector<drmModeModeInfo> &modes = output_.connector.modes;
  const Result<std::size_t> index =
      select_mode(modes, {ModeRequest::Kind::Preferred, 0, 0, false, 0, 0}, 0, 0, {});
  const std::optional<Format> format = scratch_format(output_.formats());
  if (!index || !format)
    return;
  const drmModeModeInfo &mode = modes[*index];
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
  const std::vector<Plan> plans = candidate_plans(output_, View{}, picture, mode, shown());
  scales_down_ = std::any_of(plans.begin(), plans.end(), [&](const Plan &plan) {
    return plan.scaled && !plan.background && !plan.writeback &&
           commit(plan, framebuffer->id(),
                  DRM_MODE_ATOMIC_ALLOW_MODESET | DRM_MODE_ATOMIC_TEST_ONLY, 0) == 0;
  });
  saved_.reset(); // the state to restore is read when the first frame comes
}

// 0 when some plane would show the framebuffer; else the errno of the last that would not.
int Scanout::test(const Picture &picture, const drmModeModeInfo &mode,
                  std::uint32_t framebuffer_id) const
{
  // the framebuffer would replace the one on screen
  if (plan_ && !needs_mode_set({mode, plan_->plane, nullptr, plan_->writeback}, shown()) &&
      plan_->width == picture.width && plan_->height == picture.height)
    return commit(*plan_, framebuffer_id, DRM_MODE_ATOMIC_TEST_ONLY, 0);
  int ret = -EINVAL;
  for (const Plan &plan : candidate_plans(output_, view_, picture, mode, shown())) {
    if (plan_ && plan.plane != plan_->plane)
      continue;
    // the writeback connector is for looking on; the black plane stands for one in any layout
    if (plan.writeback != (plan_ && plan_->writeback) || (plan.background && !background_))
      continue;
    const std::uint32_t mode_set =
        needs_mode_set(plan, shown()) ? DRM_MODE_ATOMIC_ALLOW_MODESET : 0;
    ret = commit(plan, framebuffer_id, mode_set | DRM_MODE_ATOMIC_TEST_ONLY, 0);
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

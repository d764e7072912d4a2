// SPDX-License-Identifier: LGPL-2.1-or-later
// Display: the output of another program that the sink has joined. That program may turn it off, or
// set another mode, at any time, and nothing tells of it but the CRTC itself. By the streaming
// thread.
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include <gst/drm/core/log.hpp>

#include "engine/card/kms_objects.hpp"
#include "engine/output/kms_join.hpp"
#include "kms_display.hpp"

namespace gstdrm::kms {

namespace {

// How often the CRTC is read while frames are shown: another mode leaves the picture in a wrong
// place, and is rare. A dark CRTC is noticed at once, as it refuses commits.
constexpr std::int64_t kLookEvery_ns = 1'000'000'000;

} // namespace

// Before the first frame. The plane was dark when the sink chose it, which may be long ago, and
// other programs choose among the same planes.
Result<void> Display::check_joined_plane()
{
  if (output_request_.plane_id != 0 || !last_.empty())
    return {}; // the application has named it, or it shows the last frame of this display
  const std::uint32_t id = scanout_.output().planes.front().id;
  const auto taken = [&](const char *by) {
    return device_error("Plane " + std::to_string(id) + " of " + device_->name() +
                            " shows the picture of another " + by +
                            " since this sink has chosen it, and no other plane is left. Stop "
                            "that " +
                            by + ", or name a plane with plane-id.",
                        EBUSY);
  };
  if (!plane_lock_.lock(device_, id))
    return taken("sink");
  const Result<PropertySet> plane = PropertyReader(device_->fd()).read(id, DRM_MODE_OBJECT_PLANE);
  if (plane && property_value(*plane, "CRTC_ID") != 0) {
    plane_lock_.unlock();
    return taken("program");
  }
  return {};
}

// Before a frame. false: the output is dark.
bool Display::look_at_joined_output()
{
  const std::int64_t now = monotonic_now_ns();
  if (phase_ == Phase::Showing && now < look_at_joined_at_)
    return true;
  look_at_joined_at_ = now + kLookEvery_ns;
  const Output &output = scanout_.output();
  const std::optional<drmModeModeInfo> mode = read_lit_mode(device_->fd(), output.crtc.id);
  if (!mode) {
    if (device_->lease_holds())
      joined_output_went_dark();
    else // its objects are gone, and not dark
      queue_.abort(device_->revoked());
    return false;
  }
  if (!std::exchange(joined_is_lit_, true)) {
    GSTDRM_DEBUG("CRTC %u is lit again", output.crtc.id);
    tell_(&DisplayListener::joined_output_changed, Error{}, true);
    phase_ = Phase::ModeUnknown;
  }
  if (!same_mode(*mode, *output.joined)) {
    GSTDRM_DEBUG("CRTC %u has another mode: %s", output.crtc.id, describe_mode(*mode).c_str());
    queue_.drain(kDrainTimeout_ns);
    queue_.exclusively([&] { scanout_.set_joined_mode(*mode); });
    plug_.set_limits(size_limits(output));
    phase_ = Phase::ModeUnknown;
    proved_.reset();
    tell_(&DisplayListener::formats_changed); // the sizes are among the caps
  }
  return true;
}

void Display::joined_output_went_dark()
{
  if (!std::exchange(joined_is_lit_, false))
    return;
  turn_off();
  phase_ = Phase::ModeUnknown;
  const Output &output = scanout_.output();
  GSTDRM_DEBUG("CRTC %u is dark", output.crtc.id);
  tell_(&DisplayListener::joined_output_changed,
        device_error("Frames are dropped: the program that shows on connector " +
                         output.connector.name + " of " + device_->name() +
                         " has turned it off. They are shown again when it turns it on.",
                     ENODEV),
        false);
}

// After a commit that was refused: whether the output has changed in a way that explains it. That
// of a lease that was revoked is gone for good.
bool Display::joined_output_differs()
{
  if (!joined_ || !device_->lease_holds())
    return false;
  const std::optional<drmModeModeInfo> mode =
      read_lit_mode(device_->fd(), scanout_.output().crtc.id);
  if (mode && same_mode(*mode, *scanout_.output().joined))
    return false;
  require_first_frame();
  look_at_joined_at_ = 0;
  return true;
}

} // namespace gstdrm::kms

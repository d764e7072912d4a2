// SPDX-License-Identifier: LGPL-2.1-or-later
// Display: handles a display that is unplugged or plugged in, a device that is removed, and the
// loss of master to another program. Only the streaming thread changes the output; the other
// threads only record what has happened.
#include <cerrno>
#include <utility>

#include <gst/drm/core/log.hpp>

#include "kms_display.hpp"
#include "engine/card/kms_objects.hpp"

namespace gstdrm::kms {

// On the hotplug thread, or called by start(). Probing may take some tenths of a second with a real
// display.
void Display::on_hotplug() noexcept
try {
  if (!device_->lease_holds()) {
    queue_.abort(explain(device_error("")));
    return;
  }
  const ConnectorPtr connector(drmModeGetConnector(device_->fd(), connector_id_));
  const int error = errno;
  if (!connector && error != ENOENT) // a connector of a chain of displays goes with its cable
    return;
  std::vector<drmModeModeInfo> modes;
  if (connector && connector->connection != DRM_MODE_DISCONNECTED)
    modes.assign(connector->modes, connector->modes + connector->count_modes);
  if (!plug_.differs(modes))
    return;
  if (modes.empty()) {
    plug_.unplug();
    GSTDRM_DEBUG("hotplug: nothing is connected to %s of %s", output_request_.connector.c_str(),
                 device_->name().c_str());
    listener_.connector_changed(output_request_.connector, false);
    return;
  }
  Result<OutputChoice> choice = read_output_again(*device_, reservation_, output_request_);
  if (!choice)
    return; // unplugged again: another event follows
  offer_.forget_refusals();
  offer_.list(choice->output.formats());
  const SizeLimits limits = size_limits(choice->output.connector);
  plug_.plug(std::move(choice->output), limits);
  GSTDRM_DEBUG("hotplug: a display with %zu modes is connected to %s of %s", modes.size(),
               output_request_.connector.c_str(), device_->name().c_str());
  listener_.connector_changed(output_request_.connector, true);
  listener_.formats_changed();
} catch (...) {
  queue_.give_up();
}

void Display::on_device_removed() noexcept
{
  on_device_lost(ENODEV);
}

void Display::on_device_lost(int error) noexcept
try {
  plug_.lose_device();
  GSTDRM_DEBUG("%s was lost: %s", device_->name().c_str(), errno_text(error).c_str());
  queue_.abort(
      device_error(device_->name() + " was lost: " + errno_text(error) +
                       ". The device was removed or its driver unloaded. Plug it in again and "
                       "restart the pipeline.",
                   error));
} catch (...) {
  queue_.give_up();
}

// By the streaming thread, before a frame or a change of picture. false: nothing is connected.
bool Display::take_up_plug_change()
{
  PlugState::Change change = plug_.take();
  if (!change.connected || change.output)
    turn_off();
  if (!change.output)
    return change.connected;
  snapshots_.set_output(*change.output);
  queue_.exclusively([&] { scanout_.set_output(std::move(*change.output)); });
  cache_.clear();
  phase_ = Phase::ModeUnknown;
  proved_.reset();
  return change.connected;
}

// Turns the output off and gives every frame back. The next frame sets the mode.
void Display::turn_off()
{
  if (!scanout_.is_set())
    return;
  queue_.drain(kDrainTimeout_ns);
  GSTDRM_DEBUG("turning off %s", scanout_.describe().c_str());
  queue_.exclusively([this] { scanout_.turn_off(); });
  queue_.clear();
  require_first_frame();
  publish_nothing_shown();
}

// Drops the frame, because another process is master. Each later frame is tried with a mode set,
// until this process is master again.
Display::Shown Display::drop_without_master(const Error &error)
{
  queue_.forgive();
  require_first_frame(); // the other master may have set another mode
  frames_without_output_++;
  if (!master_.lose())
    return Shown::Dropped;
  GSTDRM_DEBUG("%s has another master: %s", device_->name().c_str(),
               errno_text(error.sys_errno).c_str());
  listener_.master_changed(error, false);
  return Shown::Dropped;
}

} // namespace gstdrm::kms

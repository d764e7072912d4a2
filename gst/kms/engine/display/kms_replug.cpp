// SPDX-License-Identifier: LGPL-2.1-or-later
// Display: what happens when the cable is pulled or put back, when the device goes away and when
// the display is lent to somebody else. The streaming thread does what touches the output; other
// threads only tell it.
#include <cerrno>
#include <cstring>
#include <utility>

#include <gst/drm/core/log.hpp>

#include "kms_display.hpp"
#include "engine/card/kms_objects.hpp"

namespace gstdrm::kms {

namespace {

// A flip takes one refresh; by then something is stuck, and the output is turned off all the same.
constexpr std::int64_t kDrainTimeout_ns = 2'000'000'000;

bool same_modes(const std::vector<drmModeModeInfo> &a, const std::vector<drmModeModeInfo> &b)
{
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0);
}

} // namespace

// On the monitor's thread, or by start(). Probing may take some tenths of a second with a real
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
  const bool connected = !modes.empty();
  {
    const std::lock_guard guard(plug_lock_);
    if (connected == connected_ && (!connected || same_modes(modes, modes_)))
      return;
  }
  if (!connected) {
    {
      const std::lock_guard guard(plug_lock_);
      connected_ = false;
      replugged_.reset();
    }
    plug_changed_ = true;
    GSTDRM_DEBUG("hotplug: nothing is connected to %s of %s", output_request_.connector.c_str(),
                 device_->name().c_str());
    listener_.connector_changed(output_request_.connector, false);
    return;
  }
  Result<OutputChoice> choice = read_output_again(*device_, reservation_, output_request_);
  if (!choice)
    return; // gone again: another event follows
  offer_.forget_refusals();
  offer_.list(choice->output.formats());
  {
    const std::lock_guard guard(plug_lock_);
    connected_ = true;
    modes_ = choice->output.connector.modes;
    limits_ = size_limits(choice->output.connector);
    replugged_ = std::move(choice->output);
  }
  plug_changed_ = true;
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
  lost_ = true;
  GSTDRM_DEBUG("%s was lost: %s", device_->name().c_str(), errno_text(error).c_str());
  queue_.abort(
      device_error(device_->name() + " was lost (" + errno_text(error) +
                       "): the device was removed or its driver unloaded. Plug it in again and "
                       "restart the pipeline.",
                   error));
} catch (...) {
  queue_.give_up();
}

// By the streaming thread, before a frame or a change of picture. false: nothing is connected.
bool Display::take_up_plug_change()
{
  std::optional<Output> output;
  bool connected = false;
  {
    const std::lock_guard guard(plug_lock_);
    connected = connected_;
    output.swap(replugged_);
    plug_changed_ = !connected; // asked again with each frame
  }
  if (!connected || output)
    turn_off();
  if (!output)
    return connected;
  queue_.exclusively([&] { scanout_.set_output(std::move(*output)); });
  cache_.clear();
  first_pending_ = true;
  mode_chosen_ = false;
  proved_for_.clear();
  return connected;
}

// Nothing is scanned out any more, every frame is given back, and the next one sets the mode.
void Display::turn_off()
{
  if (!scanout_.is_set())
    return;
  queue_.drain(kDrainTimeout_ns);
  GSTDRM_DEBUG("turning off %s", scanout_.describe().c_str());
  queue_.exclusively([this] { scanout_.turn_off(); });
  queue_.clear();
  first_pending_ = true;
  const std::lock_guard guard(shown_lock_);
  can_write_back_ = false;
  description_ = scanout_.describe();
}

// The session is not the active one, or the lender took the display back: EACCES of drm_ioctl() for
// whoever is not master. Frames are dropped until it is again, and each tries.
bool Display::is_denied(const Error &error) const
{
  return error.sys_errno == EACCES || error.sys_errno == EPERM;
}

Display::Shown Display::deny(const Error &error)
{
  queue_.forgive();
  first_pending_ = true; // whoever had the display may have set another mode
  unplugged_frames_++;
  if (std::exchange(denied_, true))
    return Shown::Dropped;
  GSTDRM_DEBUG("%s has another master: %s", device_->name().c_str(),
               errno_text(error.sys_errno).c_str());
  listener_.master_changed(error, false);
  return Shown::Dropped;
}

} // namespace gstdrm::kms

// SPDX-License-Identifier: LGPL-2.1-or-later
// Display: handles a display that is unplugged or plugged in, a device that is removed, and the
// loss of master to another program. Only the streaming thread changes the output; the other
// threads only record what has happened.
#include <cerrno>
#include <utility>

#include <gst/drm/core/log.hpp>

#include "engine/card/kms_objects.hpp"
#include "kms_display.hpp"

namespace gstdrm::kms {

namespace {

// The driver could not keep the cable's rate up and waits for a mode set (drm_connector.c,
// "link-status").
bool has_bad_link(const Connector &connector)
{
  const Property *status = find(connector.properties, "link-status");
  return status && status->value == DRM_MODE_LINK_STATUS_BAD;
}

} // namespace

// For changes that happened before the sink heard of events. Not beside the hotplug thread: of two
// answers of the kernel the older one could be taken up last, and no event would follow.
void Display::on_begin() noexcept
{
  handle([this] { look_at_connector(Probe::IfNeeded); });
}

void Display::on_hotplug() noexcept
{
  handle([this] { look_at_connector(Probe::Always); });
}

Result<Connector> Display::read_own_connector(Probe probe)
{
  PropertyReader reader(device_->fd());
  Result<Connector> connector = read_connector(*device_, connector_.id, reader, probe);
  const bool is_gone = !connector && connector.error().sys_errno == ENOENT;
  // one that is unplugged is there for as long as it is part of a state (drm_dp_mst_topology.c)
  const bool is_dark = connector && connector->connection == DRM_MODE_DISCONNECTED;
  if (joined_ || !(is_gone || (is_dark && !connector_.path.empty())))
    return connector;
  std::optional<Connector> successor = find_successor(*device_, connector_, reader);
  if (!successor)
    return connector;
  GSTDRM_DEBUG("hotplug: %s (%u) of %s has come in the place of %s (%u)", successor->name.c_str(),
               successor->id, device_->name().c_str(), connector_.name.c_str(), connector_.id);
  reservation_.add(successor->id);
  connector_ = std::move(*successor);
  return connector_;
}

// On the hotplug thread, or by start() before that runs. Probing may take some tenths of a second
// with a real display. The listener may end this display, so it is told last. true: it was told.
bool Display::look_at_connector(Probe probe)
{
  if (!device_->lease_holds()) {
    queue_.abort(explain(device_error("")));
    return true;
  }
  Result<Connector> connector = read_own_connector(probe);
  // a connector of a chain of displays goes with its cable
  if (!connector && connector.error().sys_errno != ENOENT)
    return false;
  Monitor monitor;
  if (connector && connector->connection != DRM_MODE_DISCONNECTED)
    monitor = {connector->modes, connector->edid};
  // the mode set that trains the link of a joined output is the other program's
  const bool link_is_bad = !joined_ && connector && has_bad_link(*connector);
  const bool differs = plug_.differs(monitor);
  if (!differs && !(link_is_bad && !monitor.modes.empty()))
    return false;
  if (monitor.modes.empty()) {
    plug_.unplug();
    GSTDRM_DEBUG("hotplug: nothing is connected to %s of %s", output_request_.connector.c_str(),
                 device_->name().c_str());
    tell_(&DisplayListener::connector_changed, output_request_.connector, false);
    return true;
  }
  OutputRequest request = output_request_;
  request.connector = std::to_string(connector_.id);
  Result<OutputChoice> choice = read_output_again(*device_, reservation_, request);
  if (!choice && !joined_)
    return false; // unplugged again: another event follows
  // the program whose output is joined may light it later
  Output output = choice ? std::move(choice->output) : *joined_;
  output.connector.modes = monitor.modes;
  output.connector.edid = monitor.edid;
  output.connector.colour = read_display_colour(monitor.edid);
  if (differs)
    offer_.forget_refusals();
  offer_.list(output.formats());
  const SizeLimits limits = size_limits(output);
  plug_.plug(std::move(output), limits);
  if (!differs) {
    GSTDRM_DEBUG("%s of %s asks for a mode set: its link is bad", output_request_.connector.c_str(),
                 device_->name().c_str());
    tell_(&DisplayListener::repaint_wanted);
    return true;
  }
  GSTDRM_DEBUG("hotplug: a display with %zu modes is connected to %s of %s", monitor.modes.size(),
               output_request_.connector.c_str(), device_->name().c_str());
  tell_(&DisplayListener::formats_changed);
  tell_(&DisplayListener::connector_changed, output_request_.connector, true);
  return true;
}

// On the hotplug thread.
void Display::on_woken() noexcept
{
  handle([this] {
    if (master_is_back_.exchange(false))
      look_at_connector(Probe::Always);
    else
      look_for_master();
  });
}

// The kernel tells nobody that this process is master again. A frame finds it out by its commit;
// only while none comes an ioctl has to. Another display may have been plugged in meanwhile: the
// kernel makes no probe for whoever is not master. The listener may end this display, so it is told
// last.
void Display::look_for_master()
{
  if (frame_came_.exchange(false))
    return;
  const bool is_master = drmIsMaster(device_->fd()) != 0;
  if (was_master_.exchange(is_master) || !is_master)
    return;
  GSTDRM_DEBUG("this process is master of %s again: the picture has to be painted again",
               device_->name().c_str());
  state_is_foreign_ = true;
  if (!look_at_connector(Probe::Always)) // else the picture is painted anyway
    tell_(&DisplayListener::repaint_wanted);
}

void Display::on_device_removed() noexcept
{
  on_device_lost(ENODEV);
}

void Display::lose_device(int error)
{
  plug_.lose_device();
  GSTDRM_DEBUG("%s was lost: %s", device_->name().c_str(), errno_text(error).c_str());
  queue_.abort(
      device_error(device_->name() + " was lost: " + errno_text(error) +
                       ". The device was removed or its driver unloaded. Plug it in again and "
                       "restart the pipeline.",
                   error));
}

// By the streaming thread. Another program has set the display: nothing is left of what this one
// showed, and the next frame sets everything.
void Display::forget_what_is_shown()
{
  queue_.drain(kDrainTimeout_ns);
  queue_.exclusively([this] { scanout_.forget_shown(); });
  require_first_frame();
}

// By the streaming thread. true: the display did not answer, and the next frame sets everything.
bool Display::end_stall()
{
  if (!queue_.is_stalled())
    return false;
  GSTDRM_DEBUG("setting %s up anew", scanout_.describe().c_str());
  queue_.forget_lost_flip();
  forget_what_is_shown();
  return true;
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
  bool is_off = false;
  queue_.exclusively([&] { is_off = scanout_.turn_off(); });
  if (!is_off) // a framebuffer that goes takes the buffer off the screen, before upstream has it
    cache_.clear();
  queue_.clear();
  require_first_frame();
  publish_nothing_shown();
}

void Display::blank()
{
  bool is_hidden = false;
  if (scanout_.is_set()) {
    queue_.drain(kDrainTimeout_ns);
    queue_.exclusively([&] { is_hidden = scanout_.hide_picture(); });
  }
  if (is_hidden) {
    queue_.clear();
    require_first_frame();
    publish_nothing_shown();
  } else {
    turn_off();
  }
  cache_.clear();
}

// Drops the frame, because another process is master. Each later frame is tried with a mode set,
// until this process is master again.
Display::Shown Display::drop_without_master(const Error &error)
{
  queue_.forgive();
  require_first_frame();
  state_is_foreign_ = true; // the other master may have set another mode
  frames_without_output_++;
  was_master_ = false;
  if (!master_.lose())
    return Shown::Dropped;
  GSTDRM_DEBUG("%s has another master: %s", device_->name().c_str(),
               errno_text(error.sys_errno).c_str());
  tell_(&DisplayListener::master_changed, error, false);
  return Shown::Dropped;
}

} // namespace gstdrm::kms

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_display.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <gst/drm/core/log.hpp>

#include "engine/card/kms_compositor.hpp"
#include "engine/card/kms_objects.hpp"
#include "engine/card/kms_refusal.hpp"
#include "engine/commit/kms_stacking.hpp"
#include "engine/output/kms_registry.hpp"

namespace gstdrm::kms {

namespace {

// The request with the connector that was chosen, which the sink keeps.
OutputRequest request_of(OutputRequest request, const Output &output)
{
  request.connector = output.connector.name;
  request.mode = output.mode_request;
  return request;
}

SizeLimits framebuffer_limits(const Resources &resources)
{
  return {std::max(resources.min_width, 1U),
          std::max(resources.min_height, 1U),
          resources.max_width,
          resources.max_height,
          {}};
}

// Pictures belong in a window where a compositor runs, also where it leaves another card alone: a
// program that names no display is not asking for that one.
Result<void> check_compositor(const DeviceRequest &device, const OutputRequest &output)
{
  if (device.fd >= 0 || output.plane_id != 0 ||
      !(device.path + device.driver_name + device.bus_id + device.lease + output.connector).empty())
    return {};
  const std::string compositor = find_compositor(CompositorHints::of_this_process());
  if (compositor.empty())
    return {};
  return device_error(
      "The sink chooses no display by itself, because " + compositor +
          " shows this program's pictures: waylandsink, glimagesink or xvimagesink show in a "
          "window. To show on a display that the session leaves alone, name it with "
          "device, driver-name, connector or fd.",
      EBUSY);
}

bool has_cursor_plane(const Output &output)
{
  return std::any_of(output.crtc_planes.begin(), output.crtc_planes.end(),
                     [](const Plane &plane) { return plane.type == PlaneType::Cursor; });
}

} // namespace

Display::Display(std::shared_ptr<Device> device, OutputChoice choice, const OutputRequest &request,
                 DisplayListener &listener)
    : tell_(listener), device_(std::move(device)), reservation_(std::move(choice.reservation)),
      output_request_(request_of(request, choice.output)), connector_(choice.output.connector),
      has_cursor_(has_cursor_plane(choice.output)),
      joined_(choice.output.joined ? std::optional(choice.output) : std::nullopt),
      flips_by_fence_(flips_by_fence(*device_, choice.output)),
      balance_channels_(kms::balance_channels(choice.output)),
      framebuffers_(framebuffer_limits(choice.resources)), offer_(choice.output.formats()),
      plug_(Monitor{choice.output.connector.modes, choice.output.connector.edid}),
      scanout_(device_, std::move(choice.output)),
      queue_(
          scanout_, monotonic_now_ns, [this] { wake_loop(); },
          [this](const Error &error) { refused(error); }),
      snapshots_(device_, queue_, scanout_.output(),
                 [this](bool attached) { return attach_writeback(attached); }),
      cache_(device_), description_(scanout_.describe())
{
  queue_.set_shared(joined_.has_value());
  queue_.set_fence_lost([this](const Error &error) { tell_(&DisplayListener::frame_lost, error); });
}

Result<std::shared_ptr<Display>> Display::open(const DeviceRequest &device_request,
                                               const OutputRequest &output_request,
                                               DisplayListener &listener)
{
  if (Result<void> free = check_compositor(device_request, output_request); !free)
    return free.error();
  Result<std::shared_ptr<Device>> device = Registry::get().open(device_request);
  if (!device)
    return device.error();
  if (Result<void> master = (*device)->require_master(); !master)
    return master.error();
  if (!(*device)->lease_holds())
    return (*device)->revoked();
  OutputRequest wanted = output_request;
  // an application that names its descriptor or a plane shows something of its own there
  wanted.may_join =
      wanted.plane_id != 0 || (device_request.fd >= 0 && device_request.lease.empty());
  Result<OutputChoice> choice = reserve_output(**device, wanted);
  if (!choice)
    return choice.error();
  const Connector &connector = choice->output.connector;
  if (output_request.mode.kind == ModeRequest::Kind::Exact)
    if (const auto mode = order_modes(connector.modes, output_request.mode, {}); !mode)
      return device_error("Connector " + connector.name + " of " + (*device)->name() + ": " +
                              mode.error().message,
                          EINVAL);
  const std::shared_ptr<Display> display(
      new Display(std::move(*device), std::move(*choice), output_request, listener));
  display->scanout_.probe_downscaling();
  display->scanout_.probe_covering();
  display->can_overlay_ = display->scanout_.can_overlay();
  display->expect_size();
  display->plug_.set_limits(display->size_limits(display->scanout_.output()));
  return display;
}

Display::~Display()
{
  (void)stop(); // nobody is left to hear of an error
}

// By whoever commits, without a lock.
void Display::refused(const Error &error)
{
  if (FlipQueue::is_stall(error)) {
    tell_(&DisplayListener::display_stalled, error);
    tell_(&DisplayListener::repaint_wanted); // no frame may come soon
    return;
  }
  const Error why = explain(error);
  // show() returns a refusal with the next frame, so that upstream can choose another format
  if (!is_refusal(why.sys_errno) && !MasterState::is_loss(why))
    tell_(&DisplayListener::display_failed, why);
}

// The reason why a commit failed: a revoked lease where there is one, else the commit's own error.
Error Display::explain(const Error &error) const
{
  return device_->lease_holds() ? error : device_->revoked();
}

std::optional<Error> Display::failure() const
{
  const std::optional<Error> failure = queue_.failure();
  return failure ? std::optional(explain(*failure)) : std::nullopt;
}

Result<void> Display::check_view(const View &view) const
{
  const Output &output = scanout_.output();
  std::string reasons;
  for (const Plane &plane : output.planes) {
    const std::string reason = why_no_zpos(plane, view.zpos);
    if (reason.empty())
      return {};
    reasons += " Plane " + std::to_string(plane.id) + " " + reason + ".";
  }
  return device_error("No plane for connector " + output.connector.name + " of " + device_->name() +
                          " can have zpos=" + std::to_string(view.zpos) + "." + reasons +
                          " Leave zpos out, or choose another.",
                      EINVAL);
}

void Display::set_view(const View &view)
{
  const std::lock_guard guard(view_lock_);
  view_changed_ |= view != view_;
  view_ = view;
}

// Whether the application wants another view than the one on screen.
bool Display::take_view()
{
  const std::lock_guard guard(view_lock_);
  if (!std::exchange(view_changed_, false))
    return false;
  scanout_.set_view(view_);
  return true;
}

Result<void> Display::start()
{
  overlays_shown_ = overlays_left_out_ = 0;
  overlay_refusal_told_ = false;
  can_overlay_ = scanout_.can_overlay();
  overlay_announced_ = can_overlay();
  queue_.set_flushing(false);
  queue_.reset_counters();
  queue_.accept_captures();
  look_again_at_ = monotonic_now_ns() + kLookAgain_ns;
  Result<std::unique_ptr<EventHub::Subscription>> loop =
      device_->events().subscribe(scanout_.output().crtc.id, *this);
  if (!loop)
    return loop.error();
  set_loop(std::move(*loop));
  frames_without_output_ = 0;
  state_is_foreign_ = false;
  was_master_ = true;
  Result<std::unique_ptr<HotplugMonitor>> hotplug = HotplugMonitor::start(device_->node(), *this);
  if (!hotplug) {
    set_loop(nullptr);
    return hotplug.error();
  }
  set_hotplug(std::move(*hotplug));
  snapshots_.start();
  return {};
}

Result<void> Display::take_output()
{
  if (reservation_.is_taken())
    return {};
  Result<void> taken = kms::take_output(*device_, reservation_, scanout_.output());
  if (taken && joined_)
    taken = check_joined_plane();
  if (!taken)
    reservation_.give_up();
  return taken;
}

FlipQueue::Counters Display::counters() const
{
  FlipQueue::Counters counters = queue_.counters();
  counters.dropped += frames_without_output_;
  return counters;
}

Result<void> Display::stop()
{
  repaint_at_ = kNever;
  queue_.set_flushing(true);
  queue_.cancel_capture();
  set_hotplug(nullptr);
  snapshots_.set_nothing_shown(); // ends a wait for the driver
  snapshots_.stop();
  set_loop(nullptr);
  // a device that is gone cannot be restored
  Result<void> restored = put_back();
  if (plug_.device_lost() || !device_->lease_holds())
    restored = {}; // nor can what is somebody else's again
  reservation_.give_up();
  plane_lock_.unlock();
  cache_.clear(); // before the buffers go: what could not be put back may be on screen
  queue_.clear();
  require_first_frame();
  proved_.reset();
  can_overlay_ = scanout_.can_overlay();
  offer_.forget_refusals();
  offer_.list(scanout_.output().formats()); // upstream asks again when the sink starts
  publish_nothing_shown();
  return restored;
}

Result<void> Display::give_up_output()
{
  Result<void> restored = stop(); // nothing where it has stopped
  reservation_ = Reservation();
  return restored;
}

// Updates the description of what is shown, which other threads read.
void Display::publish_nothing_shown()
{
  snapshots_.set_nothing_shown();
  const std::lock_guard guard(shown_lock_);
  description_ = scanout_.describe();
}

// The next frame is tested before it is committed.
void Display::require_first_frame() noexcept
{
  if (phase_ == Phase::Showing)
    phase_ = Phase::FirstFrame;
}

Result<void> Display::configure(const Picture &picture)
{
  if (plug_.changed()) // the picture may be meant for the new display
    (void)take_up_plug_change();
  if (picture.width < framebuffers_.min_width || picture.height < framebuffers_.min_height ||
      picture.width > framebuffers_.max_width || picture.height > framebuffers_.max_height)
    return Error{ErrorCode::Caps,
                 device_->name() + " makes no framebuffer of " + std::to_string(picture.width) +
                     "x" + std::to_string(picture.height) + " pixels.",
                 0};
  (void)take_view(); // the mode has to hold the picture as it is turned
  Result<std::vector<ModeTry>> modes = choose_modes(picture);
  if (!modes)
    return modes.error();
  picture_ = picture;
  modes_ = std::move(*modes);
  phase_ = Phase::FirstFrame;
  cache_.clear();
  return {};
}

Result<FramebufferCache::Import> Display::import(const FrameLayout &layout)
{
  cache_.advance();
  return cache_.import(layout);
}

Result<Display::Shown> Display::show(Frame &frame, FlipQueue::Overflow overflow)
{
  frame_came_ = true;
  repaint_at_ = kNever;
  if (Result<void> taken = take_output(); !taken)
    return taken.error();
  if (plug_.changed() && !take_up_plug_change()) {
    frames_without_output_++;
    return Shown::Dropped;
  }
  if (state_is_foreign_.exchange(false))
    forget_what_is_shown();
  if (joined_ && !look_at_joined_output()) {
    if (queue_.failure())
      return Shown::Failed;
    frames_without_output_++;
    return Shown::Dropped;
  }
  if (phase_ == Phase::ModeUnknown) {
    Result<std::vector<ModeTry>> modes = choose_modes(picture_);
    if (!modes)
      return modes.error();
    modes_ = std::move(*modes);
    phase_ = Phase::FirstFrame;
  }
  const bool other_view = take_view();
  // turned between the caps and the first frame, as tags of a stream do it: another mode may fit
  if (other_view && phase_ == Phase::FirstFrame && !scanout_.is_set())
    if (Result<std::vector<ModeTry>> modes = choose_modes(picture_); modes)
      modes_ = std::move(*modes);
  if (has_untested_rows(frame))
    require_first_frame();
  if (phase_ == Phase::FirstFrame)
    return show_wished(frame);
  if (other_view)
    return show_view(frame);
  draw_overlay(frame);
  switch (queue_.submit(frame, overflow)) {
  case FlipQueue::Outcome::Queued:
    return Shown::Yes;
  case FlipQueue::Outcome::Flushing:
    return Shown::Flushing;
  case FlipQueue::Outcome::Failed:
    break;
  }
  if (end_stall()) { // a frame that waited for its commit has gone with the failure
    frames_without_output_ += frame.framebuffer ? 0 : 1;
    return frame.framebuffer ? show_wished(frame) : Result<Shown>(Shown::Dropped);
  }
  const std::optional<Error> why = failure();
  if (why && MasterState::is_loss(*why))
    return drop_without_master(*why);
  if (why && is_refusal(why->sys_errno)) {
    queue_.forgive();
    if (joined_output_differs()) {
      frames_without_output_++;
      return Shown::Dropped; // the next frame looks at the output first
    }
    require_first_frame();
    return Error{ErrorCode::Unsupported, why->message, why->sys_errno};
  }
  return Shown::Failed;
}

Result<void> Display::set_cursor(const std::optional<CursorImage> &image)
{
  if (image && !has_cursor_)
    return device_error(
        device_->name() + " has no free cursor plane for connector " + output_request_.connector +
            " (vkms: load it with enable_cursor=1). Blend the cursor into the video.",
        ENOTSUP);
  if (Result<void> set = scanout_.cursor().set_image(image); !set)
    return set;
  if (scanout_.cursor().changed())
    queue_.refresh();
  return {};
}

void Display::move_cursor(std::int32_t x, std::int32_t y)
{
  scanout_.cursor().move(x, y);
  if (scanout_.cursor().changed())
    queue_.refresh();
}

int Display::attach_writeback(bool attached)
{
  int ret = 0;
  queue_.exclusively([&] { ret = scanout_.attach_writeback(attached); });
  return ret;
}

Result<Snapshot> Display::snapshot()
{
  if (on_event_thread())
    return device_error("This thread reads the display's events, which a snapshot waits for. Take "
                        "it in another thread than the one that was handed the message.",
                        EDEADLK);
  return snapshots_.take(describe());
}

} // namespace gstdrm::kms

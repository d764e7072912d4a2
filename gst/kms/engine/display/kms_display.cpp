// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_display.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <gst/drm/core/log.hpp>

#include "engine/card/kms_objects.hpp"
#include "engine/card/kms_refusal.hpp"
#include "engine/output/kms_registry.hpp"

namespace gstdrm::kms {

// Pictures may be larger than every mode where planes scale.
SizeLimits Display::size_limits(const Connector &connector) const
{
  if (scanout_.scales_down())
    return framebuffers_;
  SizeLimits limits{framebuffers_.min_width, framebuffers_.min_height, 0, 0};
  for (const drmModeModeInfo &mode : connector.modes) {
    limits.max_width = std::max<std::uint32_t>(limits.max_width, mode.hdisplay);
    limits.max_height = std::max<std::uint32_t>(limits.max_height, mode.vdisplay);
  }
  limits.max_width =
      std::max(std::min(limits.max_width, framebuffers_.max_width), limits.min_width);
  limits.max_height =
      std::max(std::min(limits.max_height, framebuffers_.max_height), limits.min_height);
  return limits;
}

SizeLimits Display::limits() const
{
  SizeLimits limits = plug_.limits();
  const bool by_modes =
      limits.max_width != framebuffers_.max_width || limits.max_height != framebuffers_.max_height;
  const std::lock_guard guard(view_lock_);
  if (by_modes && view_.is_turned()) { // what a framebuffer can be is no matter of its turn
    std::swap(limits.max_width, limits.max_height);
    limits.max_width = std::min(limits.max_width, framebuffers_.max_width);
    limits.max_height = std::min(limits.max_height, framebuffers_.max_height);
  }
  return limits;
}

namespace {

// The request with the connector that was chosen, which the sink keeps.
OutputRequest request_of(OutputRequest request, const Output &output)
{
  request.connector = output.connector.name;
  return request;
}

SizeLimits framebuffer_limits(const Resources &resources)
{
  return {std::max(resources.min_width, 1U), std::max(resources.min_height, 1U),
          resources.max_width, resources.max_height};
}

bool has_cursor_plane(const Output &output)
{
  return std::any_of(output.crtc_planes.begin(), output.crtc_planes.end(),
                     [](const Plane &plane) { return plane.type == PlaneType::Cursor; });
}

} // namespace

Display::Display(std::shared_ptr<Device> device, OutputChoice choice, const OutputRequest &request,
                 DisplayListener &listener)
    : listener_(listener), device_(std::move(device)), reservation_(std::move(choice.reservation)),
      output_request_(request_of(request, choice.output)),
      connector_id_(choice.output.connector.id), has_cursor_(has_cursor_plane(choice.output)),
      framebuffers_(framebuffer_limits(choice.resources)), offer_(choice.output.formats()),
      plug_(choice.output.connector.modes), scanout_(device_, std::move(choice.output)),
      queue_(
          scanout_, monotonic_now_ns, [this] { wake_loop(); },
          [this](const Error &error) {
            const Error why = explain(error);
            // show() returns a refusal with the next frame, so that upstream can choose another
            // format
            if (!is_refusal(why.sys_errno) && !MasterState::is_loss(why))
              listener_.display_failed(why);
          }),
      snapshots_(device_, queue_, scanout_.output()), cache_(device_),
      description_(scanout_.describe())
{
  queue_.set_fence_lost([this](const Error &error) { listener_.frame_lost(error); });
}

Result<std::shared_ptr<Display>> Display::open(const DeviceRequest &device_request,
                                               const OutputRequest &output_request,
                                               DisplayListener &listener)
{
  Result<std::shared_ptr<Device>> device = Registry::get().open(device_request);
  if (!device)
    return device.error();
  if (Result<void> master = (*device)->require_master(); !master)
    return master.error();
  Result<OutputChoice> choice = reserve_output(**device, output_request);
  if (!choice)
    return choice.error();
  const Connector &connector = choice->output.connector;
  if (output_request.mode.kind == ModeRequest::Kind::Exact)
    if (const auto mode = select_mode(connector.modes, output_request.mode, 0, 0, {}); !mode)
      return device_error("Connector " + connector.name + " of " + (*device)->name() + ": " +
                              mode.error().message,
                          EINVAL);
  const std::shared_ptr<Display> display(
      new Display(std::move(*device), std::move(*choice), output_request, listener));
  display->scanout_.probe_downscaling();
  display->can_overlay_ = display->scanout_.can_overlay();
  display->plug_.set_limits(display->size_limits(display->scanout_.output().connector));
  return display;
}

Display::~Display()
{
  (void)stop(); // nobody is left to hear of an error
}

std::string Display::describe() const
{
  const std::lock_guard guard(shown_lock_);
  return description_;
}

// The reason why a commit failed: a revoked lease where there is one, else the commit's own error.
Error Display::explain(const Error &error) const
{
  if (device_->lease_holds())
    return error;
  return device_error("The " + device_->name() +
                          " was revoked by its owner. Ask for another lease, and start again.",
                      ENODEV);
}

std::optional<Error> Display::failure() const
{
  const std::optional<Error> failure = queue_.failure();
  return failure ? std::optional(explain(*failure)) : std::nullopt;
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

void Display::wake_loop()
{
  const std::lock_guard guard(loop_lock_);
  if (loop_)
    loop_->wake();
}

// The old subscription ends without the lock: it waits for handlers that may wake the loop.
void Display::set_loop(std::unique_ptr<EventHub::Subscription> loop)
{
  const std::lock_guard guard(loop_lock_);
  loop_.swap(loop);
}

Result<void> Display::start()
{
  overlays_shown_ = overlays_left_out_ = 0;
  overlay_refusal_told_ = false;
  can_overlay_ = scanout_.can_overlay();
  overlay_announced_ = can_overlay();
  queue_.set_flushing(false);
  queue_.reset_counters();
  Result<std::unique_ptr<EventHub::Subscription>> loop =
      device_->events().subscribe(scanout_.output().crtc.id, *this);
  if (!loop)
    return loop.error();
  set_loop(std::move(*loop));
  frames_without_output_ = 0;
  Result<std::unique_ptr<HotplugMonitor>> hotplug = HotplugMonitor::start(device_->node(), *this);
  if (!hotplug) {
    set_loop(nullptr);
    return hotplug.error();
  }
  on_hotplug(); // for changes that happened before the hotplug thread ran
  hotplug_ = std::move(*hotplug);
  snapshots_.start();
  return {};
}

FlipQueue::Counters Display::counters() const
{
  FlipQueue::Counters counters = queue_.counters();
  counters.dropped += frames_without_output_;
  return counters;
}

Result<void> Display::stop()
{
  queue_.set_flushing(true);
  queue_.cancel_capture();
  hotplug_.reset();
  snapshots_.stop();
  set_loop(nullptr);
  // a device that is gone cannot be restored
  Result<void> restored = scanout_.restore();
  if (plug_.device_lost())
    restored = {};
  queue_.clear();
  cache_.clear();
  require_first_frame();
  proved_.reset();
  can_overlay_ = scanout_.can_overlay();
  offer_.forget_refusals();
  offer_.list(scanout_.output().formats()); // upstream asks again when the sink starts
  publish_nothing_shown();
  return restored;
}

void Display::give_up_output()
{
  (void)stop(); // nothing where it has stopped
  reservation_ = Reservation();
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
  (void)take_view(); // the mode has to hold the picture as it is turned
  Result<drmModeModeInfo> mode = scanout_.check(picture);
  if (!mode)
    return mode.error();
  picture_ = picture;
  mode_ = *mode;
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
  if (plug_.changed() && !take_up_plug_change()) {
    frames_without_output_++;
    return Shown::Dropped;
  }
  if (phase_ == Phase::ModeUnknown) {
    Result<drmModeModeInfo> mode = scanout_.check(picture_);
    if (!mode)
      return mode.error();
    mode_ = *mode;
    phase_ = Phase::FirstFrame;
  }
  const bool other_view = take_view();
  if (phase_ == Phase::FirstFrame)
    return show_first(frame);
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
  const std::optional<Error> failure = queue_.failure();
  if (failure && MasterState::is_loss(explain(*failure)))
    return drop_without_master(*failure);
  if (failure && is_refusal(failure->sys_errno)) {
    queue_.forgive();
    require_first_frame();
    return Error{ErrorCode::Unsupported, failure->message, failure->sys_errno};
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

void Display::on_flip(std::uint32_t crtc_id, std::uint64_t serial, std::uint32_t sequence,
                      std::int64_t time_ns) noexcept
try {
  if (crtc_id == scanout_.output().crtc.id)
    queue_.on_flip(serial, sequence, time_ns);
} catch (...) {
  queue_.give_up();
}

void Display::on_timer() noexcept
try {
  queue_.on_timer();
} catch (...) {
  queue_.give_up();
}

} // namespace gstdrm::kms

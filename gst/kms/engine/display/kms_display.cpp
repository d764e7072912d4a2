// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_display.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gst/drm/core/log.hpp>

#include "engine/card/kms_compositor.hpp"
#include "engine/card/kms_objects.hpp"
#include "engine/commit/kms_plan.hpp"
#include "engine/output/kms_choice.hpp"
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
  const std::string compositor = find_compositor();
  if (compositor.empty())
    return {};
  return device_error(
      "The sink chooses no display by itself, because " + compositor +
          " shows this program's pictures: waylandsink, glimagesink or xvimagesink show in a "
          "window. To show on a display that the session leaves alone, name it with "
          "device, driver-name, connector or fd.",
      EBUSY);
}

} // namespace

Display::Display(std::shared_ptr<Device> device, OutputChoice choice, const OutputRequest &request,
                 DisplayListener &listener)
    : listener_(listener), device_(std::move(device)), reservation_(std::move(choice.reservation)),
      output_request_(request_of(request, choice.output)), connector_(choice.output.connector),
      has_cursor_(choice.output.plane_of(PlaneType::Cursor) != nullptr),
      joined_(choice.output.joined ? std::optional(choice.output) : std::nullopt),
      balance_channels_(kms::balance_channels(choice.output)),
      framebuffers_(framebuffer_limits(choice.resources)), offer_(choice.output.formats()),
      plug_(Monitor{choice.output.connector.modes, choice.output.connector.edid}),
      scanout_(device_, std::move(choice.output)),
      queue_(
          scanout_, monotonic_now_ns, [this] { wake_loop(); },
          [this](const Error &error) { refused(error); }),
      snapshots_(device_, queue_, scanout_, screen_), cache_(framebuffer_cache(device_, releases_))
{
  publish_output();
  queue_.set_shared(joined_.has_value());
  queue_.set_fence_lost([this](const Error &error) { tell({Report::What::FrameLost, error}); });
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
  display->scanout_.probe();
  display->can_overlay_ = display->scanout_.can_overlay();
  display->publish_limits(display->scanout_.output());
  return display;
}

Display::~Display()
{
  (void)stop(); // nobody is left to hear of an error
}

// The display's own threads are outside of the engine meanwhile, so that nobody who ends them waits
// for what the application does there.
void Display::tell(const Report &report) noexcept
{
  const InApplicationCallback outside;
  listener_.report(report);
}

// Runs an event. The listener may let this display and itself go meanwhile.
template <typename Event> void Display::handle(const Event &event) noexcept
{
  listener_.ref();
  const auto unref = [](DisplayListener *listener) { listener->unref(); };
  const std::unique_ptr<DisplayListener, decltype(unref)> kept(&listener_, unref); // goes last
  const std::shared_ptr<Display> alive = weak_from_this().lock();
  try {
    event();
  } catch (...) {
    queue_.give_up();
  }
}

// By whoever commits, without a lock.
void Display::refused(const Error &error)
{
  if (FlipQueue::is_stall(error)) {
    tell({Report::What::Stalled, error});
    tell({Report::What::RepaintWanted}); // no frame may come soon
    return;
  }
  const Error why = explain(error);
  // show() returns a refusal with the next frame, so that upstream can choose another format
  if (!is_refusal(why.sys_errno) && !is_master_loss(why.sys_errno))
    tell({Report::What::Failed, why});
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
  screen_.change([&](Screen &screen) {
    if (view != screen.view)
      view_changed_ = true;
    screen.view = view;
  });
}

// Whether the application wants another view than the one on screen.
bool Display::take_view()
{
  if (!view_changed_.exchange(false))
    return false;
  scanout_.set_view(screen_.get().view);
  return true;
}

// The old one ends without the lock: it waits for its thread, or for handlers that may wake it.
template <typename Thread>
void Display::replace(std::unique_ptr<Thread> &thread, std::unique_ptr<Thread> next)
{
  const std::lock_guard guard(loop_lock_);
  thread.swap(next);
}

Result<void> Display::start(const FenceRules &rules)
{
  fence_rules_ = rules;
  queue_.set_fence_rules(rules);
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
  replace(loop_, std::move(*loop));
  frames_without_output_ = 0;
  state_is_foreign_ = false;
  was_master_ = true;
  master_loss_told_ = false; // each run tells of it
  joined_is_lit_ = true;
  Result<std::unique_ptr<HotplugMonitor>> hotplug = HotplugMonitor::start(device_->node(), *this);
  if (!hotplug) {
    replace(loop_, {});
    return hotplug.error();
  }
  replace(hotplug_, std::move(*hotplug));
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
  replace(hotplug_, {});
  screen_.change([](Screen &screen) { screen.mode.reset(); }); // ends a wait for the driver
  snapshots_.await_end();
  replace(loop_, {});
  // a device that is gone cannot be restored
  Result<void> restored = put_back();
  if (plug_.device_lost() || !device_->lease_holds())
    restored = {}; // a lease that was revoked cannot be restored either
  reservation_.give_up();
  plane_lock_.unlock();
  cache_.clear(); // before the buffers go: what could not be put back may be on screen
  forget_frames();
  proved_.reset();
  can_overlay_ = scanout_.can_overlay();
  offer_.forget_refusals();
  offer_.list(scanout_.output().formats()); // upstream asks again when the sink starts
  return restored;
}

Result<void> Display::give_up_output()
{
  Result<void> restored = stop(); // nothing where it has stopped
  reservation_ = Reservation();
  return restored;
}

// Gives every frame back: the display shows nothing of this sink's.
void Display::forget_frames()
{
  queue_.clear();
  require_first_frame();
  screen_.change([this](Screen &screen) {
    screen.mode.reset();
    screen.description = scanout_.describe();
  });
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
                 device_->name() + " makes no framebuffer of " +
                     describe_size(picture.width, picture.height) + " pixels.",
                 0};
  (void)take_view(); // the mode has to hold the picture as it is turned
  Result<void> chosen = choose_modes(picture);
  if (chosen)
    cache_.clear();
  return chosen;
}

Result<FramebufferCache::Import> Display::import(const FrameLayout &layout)
{
  cache_.advance();
  return cache_.import(layout);
}

Result<Shown> Display::show(Frame &frame, FlipQueue::Overflow overflow)
{
  frame_came_ = true;
  repaint_at_ = kNever;
  if (Result<void> taken = take_output(); !taken)
    return taken.error();
  if (plug_.changed() && !take_up_plug_change()) {
    return drop();
  }
  if (state_is_foreign_.exchange(false))
    forget_what_is_shown();
  if (joined_ && !look_at_joined_output()) {
    if (queue_.failure())
      return Shown::Failed;
    return drop();
  }
  if (phase_ == Phase::ModeUnknown)
    if (Result<void> chosen = choose_modes(picture_); !chosen)
      return chosen.error();
  const std::optional<View> before =
      phase_ == Phase::Showing ? std::optional(scanout_.view()) : std::nullopt;
  const bool other_view = take_view();
  // turned between the caps and the first frame, as tags of a stream do it: another mode may fit
  if (other_view && phase_ == Phase::FirstFrame && !scanout_.is_set())
    (void)choose_modes(picture_);
  if (has_untested_rows(frame) || other_view)
    require_first_frame();
  if (phase_ == Phase::FirstFrame)
    return show_tested(frame, other_view ? before : std::nullopt);
  draw_overlay(frame);
  if (const Shown shown = queue_.submit(frame, overflow); shown != Shown::Failed)
    return shown;
  if (end_stall()) { // a frame that waited for its commit has gone with the failure
    return frame.framebuffer ? show_tested(frame, std::nullopt) : Result<Shown>(drop());
  }
  const std::optional<Error> why = failure();
  if (!why || !(is_refusal(why->sys_errno) || is_master_loss(why->sys_errno)))
    return Shown::Failed;
  queue_.forgive();
  require_first_frame();
  return not_shown({ErrorCode::Unsupported, why->message, why->sys_errno});
}

// The device refused the commit of a frame: the error, unless somebody else is the reason.
Result<Shown> Display::not_shown(const Error &why)
{
  if (is_master_loss(why.sys_errno))
    return drop_without_master(why);
  if (joined_output_differs())
    return drop(); // the next frame looks at the output first
  return why;
}

Result<void> Display::set_cursor(const std::optional<CursorImage> &image)
{
  if (image && !has_cursor_)
    return device_error(
        device_->name() + " has no free cursor plane for connector " + output_request_.connector +
            " (vkms: load it with enable_cursor=1). Blend the cursor into the video.",
        ENOTSUP);
  std::shared_ptr<DumbBuffer> buffer;
  if (image) {
    Result<std::shared_ptr<DumbBuffer>> made = make_cursor(device_, *image);
    if (!made)
      return made.error();
    buffer = std::move(*made);
  }
  queue_.set_cursor_image(std::move(buffer));
  return {};
}

Result<Snapshot> Display::snapshot()
{
  if (on_event_thread())
    return device_error("This thread reads the display's events, which a snapshot waits for. Take "
                        "it in another thread than the one that was handed the message.",
                        EDEADLK);
  return snapshots_.take();
}

// ---- the offer ----
//
// Which pairs it offers to upstream, as planes are chosen and pairs refused, and what it
// says of itself.

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
    disprove(FormatSet::subtract(offer_.formats(), FormatSet::from_pairs({picture_.format})));
  }
  return offer_.formats() != before;
}

// Takes those out of the offer that test commits refuse in the picture's place.
void Display::disprove(const FormatSet &pairs)
{
  for (Refusal &refusal : scanout_.disprove(picture_, modes_, pairs))
    offer_.refuse(std::move(refusal));
}

void Display::refuse(const Error &why)
{
  const FormatSet before = offer_.formats();
  offer_.resize(picture_.width, picture_.height);
  offer_.refuse({picture_.format, picture_.width, picture_.height, why.message});
  disprove(offer_.formats()); // first, so that upstream's next choice is one that works
  if (offer_.formats() != before)
    tell({Report::What::FormatsChanged});
}

std::optional<Refusal> Display::refusal(const Picture &picture) const
{
  return offer_.refusal(picture.format, picture.width, picture.height);
}

// Before the first frame.
void Display::publish_output()
{
  const Output &output = scanout_.output();
  std::optional<drmModeModeInfo> mode = output.joined ? output.joined : output.found_mode;
  if (!mode)
    mode = own_mode(output.connector.modes);
  screen_.change([&](Screen &screen) {
    screen.description = scanout_.describe();
    screen.size = mode ? Screen::Size{mode->hdisplay, mode->vdisplay} : Screen::Size{};
    screen.writeback_formats = writeback_formats(output);
  });
}

// Publishes the sizes of pictures. They may be larger than every mode where planes scale. Where the
// only plane has to cover the CRTC, they are of a mode's size.
void Display::publish_limits(const Output &output)
{
  const auto publish = [this](const SizeLimits &limits) {
    screen_.change([&](Screen &screen) { screen.limits = limits; });
  };
  if (scanout_.scales_down() && !scanout_.covers_only())
    return publish(framebuffers_);
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
  publish(limits);
}

std::string Display::fix_for(Format format) const
{
  const FormatSet offered = formats();
  return offered.contains(format) ? "" : nearest_fix(offered, format);
}

SizeLimits Display::limits() const
{
  const Screen screen = screen_.get();
  SizeLimits limits = screen.limits;
  const View &wanted = screen.view;
  const bool by_modes =
      limits.max_width != framebuffers_.max_width || limits.max_height != framebuffers_.max_height;
  if (limits.mode_width != 0 && !may_crop(wanted.fit)) {
    limits.max_width = std::min(limits.max_width, limits.mode_width);
    limits.max_height = std::min(limits.max_height, limits.mode_height);
  }
  if (by_modes && wanted.rotation_is_optional) { // as it comes, or turned
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

// ---- the first frame ----
//
// The first frame of a picture, of a view or on a display, which is tested before it is
// committed, and may need a mode set.

namespace {

// A commit of another CRTC's client, or memory that a worker is about to free, are gone after a few
// refreshes: the mode is not set for them, which would blank the display.
constexpr std::chrono::milliseconds kBusyPause{4};
constexpr int kBusyTries = 25;

std::int64_t frame_duration_ns(Rate rate)
{
  if (rate.numerator == 0)
    return 0;
  return static_cast<std::int64_t>(std::uint64_t{1'000'000'000} * rate.denominator /
                                   rate.numerator);
}

// RowChange bits
constexpr unsigned kStrides = 1, kFirstOffset = 2, kPlaneDistances = 4;

unsigned row_changes(const FramebufferRows &before, const FramebufferRows &now)
{
  unsigned changes = before.strides_bytes != now.strides_bytes ? kStrides : 0;
  if (before.offsets_bytes[0] != now.offsets_bytes[0])
    changes |= kFirstOffset;
  for (std::size_t i = 1; i < now.offsets_bytes.size(); i++)
    if (now.strides_bytes[i] != 0 && before.offsets_bytes[i] - before.offsets_bytes[0] !=
                                         now.offsets_bytes[i] - now.offsets_bytes[0])
      changes |= kPlaneDistances;
  return changes;
}

} // namespace

// Waits until no commit is in flight and the frame's fence has signalled: the kernel would wait for
// both in the mode set, without a limit. This is the one place where the streaming thread sleeps on
// a fence; a flush or a stop ends the wait. Returns nullopt if the frame can
// be shown, else what became of it.
std::optional<Shown> Display::wait_before_mode_set(Frame &frame)
{
  (void)end_stall();
  if (scanout_.is_set() && !queue_.drain(kDrainTimeout_ns) && !end_stall()) {
    if (queue_.failure())
      return Shown::Failed;
    if (queue_.flushing())
      return Shown::Flushing;
    queue_.drop_waiting(); // of the old picture
  }
  if (!frame.acquire_fence)
    return {};
  const Shown awaited = queue_.await_fence(frame);
  if (awaited == Shown::Yes)
    return {};
  return awaited == Shown::Failed && end_stall() ? Shown::Dropped : awaited;
}

Result<Shown> Display::show_first(Frame &frame)
{
  if (const std::optional<Shown> ended = wait_before_mode_set(frame))
    return *ended;
  if (joined_) // the vblanks of its mode, for the turn of others
    queue_.set_timing(refresh_period_ns(modes_.front().mode), frame_duration_ns(picture_.rate));
  std::optional<Error> error;
  int ret = -EAGAIN;
  for (int left = kBusyTries; ret == -EAGAIN; left--) {
    if (left < kBusyTries)
      std::this_thread::sleep_for(kBusyPause);
    if (queue_.flushing())
      return Shown::Flushing;
    const auto patience = left > 0 ? Scanout::Patience::Wait : Scanout::Patience::SetMode;
    ret = queue_.submit_with(frame, [&](Commit &next) {
      Result<void> shown = scanout_.show_first(picture_, modes_, next, patience);
      if (!shown)
        error = shown.error();
      else
        count_overlay(next.frame);
      return shown ? 0 : error->sys_errno == EAGAIN ? -EAGAIN : -EIO;
    });
  }
  if (ret != 0)
    return not_shown(explain(*error));
  first_frame_shown();
  return Shown::Yes;
}

// True if the frame's rows differ from those of the frame before in a way that no test commit has
// passed with: imx-drm changes pitches, and the distances between planes, in a mode set alone.
bool Display::has_untested_rows(const Frame &frame)
{
  const FramebufferRows &rows = frame.framebuffer->rows();
  if (rows_ && phase_ == Phase::Showing)
    untested_changes_ |= row_changes(*rows_, rows) & ~tested_changes_;
  rows_ = rows;
  return untested_changes_ != 0;
}

// The first frame is committed, so the picture's mode and plane are known.
void Display::first_frame_shown()
{
  if (std::exchange(master_loss_told_, false)) {
    GSTDRM_DEBUG("this process is master of %s again", device_->name().c_str());
    wake_hotplug(); // to look for another display
    tell({Report::What::MasterRegained});
  }
  if (!scanout_.has_set_mode())
    tested_changes_ |= untested_changes_;
  untested_changes_ = 0;
  last_.clear(); // the commit of a first frame blocks until that is off the screen
  phase_ = Phase::Showing;
  const drmModeModeInfo &mode = scanout_.shown_mode();
  modes_ = {{mode, false}}; // another view is no reason for a mode set
  FenceRules rules = fence_rules_;
  rules.kernel_gets_fences = rules.kernel_gets_fences && scanout_.waits_for_fences();
  queue_.set_fence_rules(rules);
  queue_.set_timing(refresh_period_ns(mode), frame_duration_ns(picture_.rate),
                    scanout_.output().vrr);
  screen_.change([&](Screen &screen) {
    screen.description = scanout_.describe();
    screen.size = {mode.hdisplay, mode.vdisplay};
    screen.mode = scanout_.can_write_back() ? std::optional(mode) : std::nullopt;
  });
  tell({Report::What::PicturePlaced,
        {},
        scanout_.describe() + ", " + scanout_.describe_placement()});
  publish_overlays();
  if (narrow_offer())
    tell({Report::What::FormatsChanged});
}

// The modes to try for the picture in the view that the scanout has, or without its optional
// rotation.
Result<std::vector<ModeTry>> Display::modes_for(const Picture &picture)
{
  Result<std::vector<ModeTry>> modes = scanout_.check(picture);
  if (modes || !scanout_.drop_optional_rotation())
    return modes;
  Result<std::vector<ModeTry>> unturned = scanout_.check(picture);
  if (unturned)
    turn_left_out_ = modes.error();
  return unturned ? unturned : modes;
}

// The next frame is the first one of the picture. An error leaves everything as it was.
Result<void> Display::choose_modes(const Picture &picture)
{
  Result<std::vector<ModeTry>> modes = modes_for(picture);
  if (!modes)
    return modes.error();
  picture_ = picture;
  modes_ = std::move(*modes);
  phase_ = Phase::FirstFrame;
  return {};
}

// Shows the frame in the view that the scanout has. Where the display refuses that: without an
// optional rotation; then in the view of the frame `before`, if the view is what has changed.
// A warning tells of either.
Result<Shown> Display::show_tested(Frame &frame, const std::optional<View> &before)
{
  Result<Shown> shown = show_first(frame);
  const auto is_refused = [&] { return !shown && shown.error().code == ErrorCode::Unsupported; };
  if (is_refused() && scanout_.drop_optional_rotation()) {
    // another view is no reason for a mode set
    Result<std::vector<ModeTry>> modes = before ? std::move(modes_) : scanout_.check(picture_);
    if (!modes)
      return shown;
    modes_ = std::move(*modes);
    turn_left_out_ = shown.error();
    shown = show_first(frame);
  }
  if (is_refused() && before) {
    turn_left_out_.reset();
    tell({Report::What::ViewRefused, shown.error()});
    scanout_.set_view(*before);
    shown = show_first(frame);
  }
  if (shown && *shown == Shown::Yes)
    if (const auto left_out = std::exchange(turn_left_out_, std::nullopt))
      tell({Report::What::TurnLeftOut, *left_out});
  return shown;
}

// ---- overlays ----
//
// Overlays over the frames, and whether there is a plane for them.

bool Display::can_overlay() const
{
  if (!can_overlay_ || scanout_.overlay_refused())
    return false;
  return screen_.use([](const Screen &screen) { return screen.view.rotation; }) ==
         DRM_MODE_ROTATE_0;
}

Display::OverlayCounters Display::overlay_counters() const
{
  return {overlays_shown_, overlays_left_out_, scanout_.overlay_refusals()};
}

// A frame that flip() shows next. One whose overlay cannot be drawn is shown without it.
void Display::draw_overlay(Frame &frame)
{
  if (overlay_announced_ && scanout_.overlay_refused()) // by flip(), of an earlier frame
    publish_overlays();
  if (!frame.overlay)
    return;
  if (const Result<void> drawn = scanout_.draw_overlay(frame); !drawn)
    GSTDRM_DEBUG("a frame has no overlay: %s", drawn.error().message.c_str());
  if (frame.raster && scanout_.overlay_is_untried(*frame.raster)) {
    queue_.exclusively([&] { scanout_.try_overlay(frame.raster); });
    if (scanout_.overlay_refused())
      frame.raster.reset();
    publish_overlays();
  }
  count_overlay(frame);
}

void Display::count_overlay(const Frame &frame)
{
  if (frame.overlay)
    (frame.raster ? overlays_shown_ : overlays_left_out_)++;
}

// Tells the listener what has changed. By the streaming thread.
void Display::publish_overlays()
{
  can_overlay_ = scanout_.can_overlay();
  if (scanout_.overlay_refused() && !std::exchange(overlay_refusal_told_, true))
    tell({Report::What::OverlayRefused, scanout_.overlay_refusal()});
  const bool can = can_overlay();
  if (std::exchange(overlay_announced_, can) != can)
    tell({Report::What::FormatsChanged});
}

// ---- threads ----
//
// Its two threads, and what the event thread reports.

void Display::wake_loop()
{
  const std::lock_guard guard(loop_lock_);
  if (loop_)
    loop_->wake();
}

void Display::wake_hotplug()
{
  const std::lock_guard guard(loop_lock_);
  if (hotplug_)
    hotplug_->wake();
}

bool Display::on_event_thread() const
{
  const std::lock_guard guard(loop_lock_);
  return loop_ && loop_->is_current();
}

// A display that plays never reaches the second deadline: each flip moves it on, so that a look for
// a lost master costs a stream no system call.
std::int64_t Display::next_deadline() noexcept
{
  return std::min({queue_.next_deadline(), look_again_at_.load(), repaint_at_.load()});
}

// The loop has compared the CRTC: the scanout is the streaming thread's to read.
void Display::on_flip(std::uint32_t /*crtc_id*/, std::uint64_t serial, std::uint32_t sequence,
                      std::int64_t time_ns) noexcept
{
  if (scanout_.flips_by_fence())
    return; // the event is of another sink on the CRTC
  look_again_at_ = monotonic_now_ns() + kLookAgain_ns;
  handle([&] { queue_.on_flip(serial, sequence, time_ns); });
}

void Display::on_timer() noexcept
{
  const std::int64_t now = monotonic_now_ns();
  const bool idle = now >= look_again_at_;
  if (idle || scanout_.flips_by_fence()) // where a fence tells of flips, this is what a flip calls
    look_again_at_ = now + kLookAgain_ns;
  if (idle)
    wake_hotplug();
  std::int64_t repaint_at = repaint_at_;
  const bool repaints =
      now >= repaint_at && repaint_at_.compare_exchange_strong(repaint_at, kNever);
  handle([this, repaints] {
    queue_.on_timer();
    if (repaints) // last, as the listener may end this display
      tell({Report::What::RepaintWanted});
  });
}

void Display::want_repaint_at(std::int64_t time_ns)
{
  if (repaint_at_.exchange(time_ns) == kNever)
    wake_loop();
}

// ---- outputs of another program ----
//
// The output of another program that the sink has joined. That program may turn it off, or
// set another mode, at any time, and nothing tells of it but the CRTC itself. By the streaming
// thread.

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
    tell({Report::What::OutputLit});
    phase_ = Phase::ModeUnknown;
  }
  if (!same_mode(*mode, *output.joined)) {
    GSTDRM_DEBUG("CRTC %u has another mode: %s", output.crtc.id, describe_mode(*mode).c_str());
    queue_.drain(kDrainTimeout_ns);
    queue_.exclusively([&] { scanout_.set_joined_mode(*mode); });
    publish_limits(output);
    phase_ = Phase::ModeUnknown;
    proved_.reset();
    tell({Report::What::FormatsChanged}); // the sizes are among the caps
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
  tell({Report::What::OutputDark,
        device_error("Frames are dropped: the program that shows on connector " +
                         output.connector.name + " of " + device_->name() +
                         " has turned it off. They are shown again when it turns it on.",
                     ENODEV)});
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

// ---- unplugged, plugged in, lost ----
//
// Handles a display that is unplugged or plugged in, a device that is removed, and the
// loss of master to another program. Only the streaming thread changes the output; the other
// threads only record what has happened.

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
// with a real display. The listener may end this display, so it is told last. Returns true if it
// was told.
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
    tell({Report::What::Unplugged, {}, output_request_.connector});
    return true;
  }
  OutputRequest request = output_request_;
  request.connector = std::to_string(connector_.id);
  Result<Output> read = read_output_again(*device_, reservation_, request);
  if (!read && !joined_)
    return false; // unplugged again: another event follows
  // the program whose output is joined may light it later
  Output output = read ? std::move(*read) : *joined_;
  output.connector.modes = monitor.modes;
  output.connector.edid = monitor.edid;
  output.connector.colour = read_display_colour(monitor.edid);
  if (differs)
    offer_.forget_refusals();
  offer_.list(output.formats());
  publish_limits(output);
  plug_.plug(std::move(output));
  if (!differs) {
    GSTDRM_DEBUG("%s of %s asks for a mode set: its link is bad", output_request_.connector.c_str(),
                 device_->name().c_str());
    tell({Report::What::RepaintWanted});
    return true;
  }
  GSTDRM_DEBUG("hotplug: a display with %zu modes is connected to %s of %s", monitor.modes.size(),
               output_request_.connector.c_str(), device_->name().c_str());
  tell({Report::What::FormatsChanged});
  tell({Report::What::PluggedIn, {}, output_request_.connector});
  return true;
}

// On the hotplug thread.
void Display::on_woken() noexcept
{
  handle([this] { look_for_master(); });
}

// The kernel tells nobody that this process is master again. A frame finds it out by its commit,
// and has set everything then; only while none comes an ioctl has to. Another display may have been
// plugged in meanwhile: the kernel makes no probe for whoever is not master. The listener may end
// this display, so it is told last.
void Display::look_for_master()
{
  const bool frames_come = frame_came_.exchange(false);
  if (frames_come && was_master_)
    return;
  const bool is_master = drmIsMaster(device_->fd()) != 0;
  if (was_master_.exchange(is_master) || !is_master)
    return;
  if (!frames_come) {
    GSTDRM_DEBUG("this process is master of %s again: the picture has to be painted again",
                 device_->name().c_str());
    state_is_foreign_ = true;
  }
  // where another display is found the picture is painted anyway
  if (!look_at_connector(Probe::Always) && !frames_come)
    tell({Report::What::RepaintWanted});
}

void Display::on_device_lost(int error) noexcept
{
  handle([this, error] { lose_device(error); });
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
  if (!queue_.end_stall())
    return false;
  GSTDRM_DEBUG("setting %s up anew", scanout_.describe().c_str());
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
  screen_.change(
      [&](Screen &screen) { screen.writeback_formats = writeback_formats(*change.output); });
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
  // a framebuffer that goes takes the buffer off the screen, before upstream has it
  if (!queue_.exclusively([this] { return scanout_.turn_off(); }))
    cache_.clear();
  forget_frames();
}

void Display::blank()
{
  if (scanout_.is_set()) {
    queue_.drain(kDrainTimeout_ns);
    if (queue_.exclusively([this] { return scanout_.hide_picture(); }))
      forget_frames();
    else
      turn_off();
  }
  cache_.clear();
}

// Drops the frame, because another process is master. Each later frame is tried with a mode set,
// until this process is master again.
Shown Display::drop_without_master(const Error &error)
{
  state_is_foreign_ = true; // the other master may have set another mode
  was_master_ = false;
  if (!std::exchange(master_loss_told_, true)) {
    GSTDRM_DEBUG("%s has another master: %s", device_->name().c_str(),
                 errno_text(error.sys_errno).c_str());
    tell({Report::What::MasterLost, error});
  }
  return drop();
}

// ---- stopping ----
//
// What is on screen when the sink stops.

// The picture from before, or the last frame. While no other thread commits. Error: neither could
// be had.
Result<void> Display::put_back()
{
  if (!scanout_.has_saved_state() || reservation_.ids().empty())
    return {}; // this display has shown nothing, or has given its output up for good
  if (reservation_.take() != 0)
    return {}; // another sink shows its picture in place of the frame that was left there
  if (!restore_ && !plug_.device_lost()) {
    // the flip may be to come that takes the others off the screen, and nobody waits for it
    std::vector<Commit> last = queue_.take_shown();
    if (last.empty()) {
      scanout_.forget_shown(); // a picture that was hidden
      return {}; // nothing of this display's, or the frame that an earlier call has left there
    }
    const Result<void> left = scanout_.leave(last.front());
    if (left) {
      GSTDRM_DEBUG("the last frame stays on %s", scanout_.describe().c_str());
      last_ = std::move(last);
      return {};
    }
    Result<void> restored = scanout_.restore();
    if (!restored) // the frame may be on screen, and goes after its framebuffer
      cache_.clear();
    return restored ? left : restored;
  }
  Result<void> restored = scanout_.restore();
  // what an earlier call has left is on screen, where nothing came in its place: nobody may write
  // into its buffer
  if (restored || plug_.device_lost())
    last_.clear();
  return restored;
}

} // namespace gstdrm::kms

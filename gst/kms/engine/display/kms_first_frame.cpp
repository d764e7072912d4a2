// SPDX-License-Identifier: LGPL-2.1-or-later
// Display: the first frame of a picture, of a view or on a display, which is tested before it is
// committed, and may need a mode set.
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include <gst/drm/core/log.hpp>

#include "engine/card/kms_objects.hpp"
#include "kms_display.hpp"

namespace gstdrm::kms {

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
// a fence; a flush or a stop ends the wait. Returns what became of the frame, or nothing: it can be
// shown.
std::optional<Display::Shown> Display::wait_before_mode_set(Frame &frame)
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
  queue_.set_fence_rules(fence_rules_);
  switch (queue_.await_fence(frame)) {
  case FlipQueue::Awaited::Signalled:
    return {};
  case FlipQueue::Awaited::Lost:
    return Shown::Dropped;
  case FlipQueue::Awaited::Flushing:
    return Shown::Flushing;
  case FlipQueue::Awaited::Failed:
    break;
  }
  return end_stall() ? Shown::Dropped : Shown::Failed;
}

Result<Display::Shown> Display::show_first(Frame &frame)
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
    ret = queue_.submit_with(frame, [&](std::uint64_t serial) {
      Result<void> shown = scanout_.show_first(picture_, modes_, frame, serial, patience);
      if (!shown)
        error = shown.error();
      else
        count_overlay(frame);
      return shown ? 0 : scanout_.was_put_off() ? -EAGAIN : -EIO;
    });
  }
  if (ret != 0) {
    const Error why = explain(*error);
    if (MasterState::is_loss(why))
      return drop_without_master(why);
    if (joined_output_differs()) {
      frames_without_output_++;
      return Shown::Dropped;
    }
    return why;
  }
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
  was_master_ = true;
  if (master_.regain()) {
    GSTDRM_DEBUG("this process is master of %s again", device_->name().c_str());
    master_is_back_ = true; // whoever probes connectors looks at this one
    wake_hotplug();
    tell_(&DisplayListener::master_changed, Error{}, true);
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
  const std::string description = scanout_.describe();
  {
    const std::lock_guard guard(shown_lock_);
    description_ = description;
    display_size_ = {mode.hdisplay, mode.vdisplay};
  }
  if (scanout_.can_write_back())
    snapshots_.set_shown(mode);
  else
    snapshots_.set_nothing_shown();
  shown_view_ = scanout_.view();
  tell_(&DisplayListener::picture_placed, description + ", " + scanout_.describe_placement());
  if (scanout_.cursor().changed()) // a mode set does not contain the cursor
    queue_.refresh();
  publish_overlays();
  if (narrow_offer())
    tell_(&DisplayListener::formats_changed);
}

// The modes to try for the picture in the view that the scanout has, or without a turn that the
// view only wishes for.
Result<std::vector<ModeTry>> Display::choose_modes(const Picture &picture)
{
  Result<std::vector<ModeTry>> modes = scanout_.check(picture);
  if (modes || !scanout_.leave_wished_turn())
    return modes;
  Result<std::vector<ModeTry>> unturned = scanout_.check(picture);
  if (unturned)
    turn_left_out_ = modes.error();
  return unturned ? unturned : modes;
}

// A turn that the view only wishes for is left out, with one warning, where the display refuses it.
Result<Display::Shown> Display::show_wished(Frame &frame)
{
  Result<Shown> shown = show_first(frame);
  if (!shown && shown.error().code == ErrorCode::Unsupported && scanout_.leave_wished_turn()) {
    Result<std::vector<ModeTry>> modes = scanout_.check(picture_);
    if (!modes)
      return shown;
    modes_ = std::move(*modes);
    turn_left_out_ = shown.error();
    shown = show_first(frame);
  }
  if (shown && *shown == Shown::Yes)
    if (const auto left_out = std::exchange(turn_left_out_, std::nullopt))
      tell_(&DisplayListener::turn_left_out, *left_out);
  return shown;
}

// If the hardware rejects the new view, the sink warns and keeps the old one.
Result<Display::Shown> Display::show_view(Frame &frame)
{
  require_first_frame();
  Result<Shown> shown = show_first(frame);
  if (shown || shown.error().code != ErrorCode::Unsupported)
    return shown;
  tell_(&DisplayListener::view_refused, shown.error());
  scanout_.set_view(shown_view_);
  return show_first(frame);
}

} // namespace gstdrm::kms

// SPDX-License-Identifier: LGPL-2.1-or-later
// Display: its two threads, and what the event thread reports.
#include <algorithm>
#include <utility>

#include "kms_display.hpp"

namespace gstdrm::kms {

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

// The old subscription ends without the lock: it waits for handlers that may wake the loop.
void Display::set_loop(std::unique_ptr<EventHub::Subscription> loop)
{
  const std::lock_guard guard(loop_lock_);
  loop_.swap(loop);
}

// Likewise the old monitor, which waits for its thread.
void Display::set_hotplug(std::unique_ptr<HotplugMonitor> hotplug)
{
  const std::lock_guard guard(loop_lock_);
  hotplug_.swap(hotplug);
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
  if (flips_by_fence_)
    return; // the event is of another sink on the CRTC
  look_again_at_ = monotonic_now_ns() + kLookAgain_ns;
  handle([&] { queue_.on_flip(serial, sequence, time_ns); });
}

void Display::on_timer() noexcept
{
  const std::int64_t now = monotonic_now_ns();
  const bool idle = now >= look_again_at_;
  if (idle || flips_by_fence_) // where a fence tells of flips, this is what a flip calls
    look_again_at_ = now + kLookAgain_ns;
  if (idle)
    wake_hotplug();
  std::int64_t repaint_at = repaint_at_;
  const bool repaints =
      now >= repaint_at && repaint_at_.compare_exchange_strong(repaint_at, kNever);
  handle([this, repaints] {
    queue_.on_timer();
    if (repaints) // last, as the listener may end this display
      tell_(&DisplayListener::repaint_wanted);
  });
}

void Display::want_repaint_at(std::int64_t time_ns)
{
  if (repaint_at_.exchange(time_ns) == kNever)
    wake_loop();
}

void Display::on_device_lost(int error) noexcept
{
  handle([this, error] { lose_device(error); });
}

} // namespace gstdrm::kms

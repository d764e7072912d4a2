// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_flip_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <iterator>
#include <string>
#include <utility>

#include <gst/drm/core/log.hpp>

#include "engine/card/kms_objects.hpp"
#include "kms_fence_state.hpp"

namespace gstdrm::kms {

namespace {

// A second frame may wait when the flip is due within this fraction of a refresh, or is overdue.
constexpr std::int64_t kNearPartOfRefresh = 4;
// A frame that becomes due within this fraction of a refresh before a vblank cannot be shown at
// that vblank, because hardware latches its registers some lines earlier. Such a frame does not
// count as late when it is shown one vblank later.
constexpr std::int64_t kLatchPartOfRefresh = 8;

} // namespace

FlipQueue::FlipQueue(FlipTarget &target, Clock clock, std::function<void()> wake,
                     std::function<void(const Error &)> failed)
    : target_(target), clock_(std::move(clock)), wake_(std::move(wake)), failed_(std::move(failed))
{
}

void FlipQueue::set_timing(std::int64_t refresh_ns, std::int64_t frame_ns, bool refreshes_on_demand)
{
  const std::lock_guard guard(lock_);
  refresh_ns_ = refresh_ns;
  frame_ns_ = std::max(frame_ns, refresh_ns);
  refreshes_on_demand_ = refreshes_on_demand;
}

void FlipQueue::set_shared(bool shared)
{
  const std::lock_guard guard(lock_);
  shared_ = shared;
}

FlipQueue::Outcome FlipQueue::submit(Frame &frame, Overflow overflow)
{
  Deferred deferred;
  std::unique_lock guard(lock_);
  if (overflow == Overflow::Wait && !waiting_.empty() && !flushing_ && !failure_) {
    counters_.waits++;
    changed_.wait(guard, [this] { return waiting_.empty() || flushing_ || failure_; });
  }
  if (failure_)
    return Outcome::Failed;
  if (flushing_)
    return Outcome::Flushing;
  push(frame, overflow, deferred);
  pump(deferred);
  const SharedFence to_watch = fence_to_watch();
  const bool needs_wake = retry_at_ != kNever || (to_watch && to_watch != watched_);
  const bool failed = failure_.has_value();
  if (failed) // the caller gets the error of this frame, and counts the frame
    counters_.dropped--;
  guard.unlock();
  finish(deferred, needs_wake);
  return failed ? Outcome::Failed : Outcome::Queued;
}

void FlipQueue::push(Frame &frame, Overflow overflow, Deferred &deferred)
{
  while (waiting_.size() >= room()) {
    // While the display is idle, keep the front frame, or a slow producer's frames are all replaced
    // before their fences signal. Two frames wait then (room()).
    const bool keep_front = !busy() && !waiting_.front().hold.open;
    const auto victim = waiting_.begin() + (keep_front ? 1 : 0);
    counters_.dropped++;
    GSTDRM_LOG("dropped the frame of %" PRIu64 ": a newer one came before its commit",
               victim->frame.stamp);
    deferred.released.push_back(std::move(victim->frame));
    waiting_.erase(victim);
  }
  Waiting waiting;
  waiting.may_be_dropped = overflow == Overflow::Replace;
  waiting.hold = gate_.hold(frame.acquire_fence, clock_());
  waiting.frame = std::move(frame);
  waiting_.push_back(std::move(waiting));
}

// The number of frames that may wait at this moment.
std::size_t FlipQueue::room() const
{
  if (!busy() && !waiting_.empty() && (!waiting_.front().hold.open || turn_of_others() > 0))
    return 2; // the front frame is about to be committed
  if (!in_flight_ || counters_.last_flip_ns < 0)
    return 1;
  return flip_expected_at() - clock_() <= refresh_ns_ / kNearPartOfRefresh ? 2 : 1;
}

// The vblank at which the commit in flight completes. Where the display waits for frames, that is
// at once, unless the picture before is being scanned out.
std::int64_t FlipQueue::flip_expected_at() const
{
  if (refreshes_on_demand_)
    return std::max(committed_at_, counters_.last_flip_ns + refresh_ns_);
  const std::int64_t periods = (committed_at_ - counters_.last_flip_ns) / refresh_ns_ + 1;
  return counters_.last_flip_ns + periods * refresh_ns_;
}

bool FlipQueue::drain(std::int64_t timeout_ns)
{
  std::unique_lock guard(lock_);
  draining_++;
  changed_.wait_for(guard, std::chrono::nanoseconds(timeout_ns),
                    [this] { return idle() || flushing_ || failure_; });
  draining_--;
  return idle();
}

void FlipQueue::set_flushing(bool flushing)
{
  const std::lock_guard guard(lock_);
  flushing_ = flushing;
  changed_.notify_all();
}

void FlipQueue::clear()
{
  Deferred deferred; // released after the lock
  const std::lock_guard guard(lock_);
  for (std::optional<Frame> *frame : {&on_screen_, &in_flight_})
    if (*frame) {
      deferred.released.push_back(std::move(**frame));
      frame->reset();
    }
  for (Waiting &waiting : waiting_)
    deferred.released.push_back(std::move(waiting.frame));
  waiting_.clear();
  std::move(superseded_.begin(), superseded_.end(), std::back_inserter(deferred.released));
  superseded_.clear();
  late_.reset();
  flip_fence_.reset();
  repeat_in_flight_ = false;
  serial_++; // so that the event of a commit still in flight is ignored
  retry_at_ = kNever;
  put_off_since_ = kNever;
  stalls_ = 0;
  vblank_ns_ = -1;
  refresh_at_ = kNever;
  failure_.reset();
  changed_.notify_all();
}

void FlipQueue::drop_waiting()
{
  Deferred deferred; // released after the lock
  const std::lock_guard guard(lock_);
  while (!waiting_.empty())
    drop_front(deferred);
  changed_.notify_all();
}

std::shared_ptr<void> FlipQueue::shown_owner() const
{
  const std::lock_guard guard(lock_);
  return on_screen_ ? on_screen_->owner : nullptr;
}

void FlipQueue::reset_counters()
{
  const std::lock_guard guard(lock_);
  counters_ = {};
}

bool FlipQueue::flushing() const
{
  const std::lock_guard guard(lock_);
  return flushing_;
}

// Commits the frame that waits, or else the snapshot or cursor change whose time has come. Called
// with the lock held.
void FlipQueue::pump(Deferred &deferred)
{
  if (busy() || failure_)
    return;
  retry_at_ = kNever;
  const bool is_ready = front_is_ready(deferred);
  if (!knows_vblank() && (is_ready || own_commit_at() != kNever))
    ask_for_vblank();
  const std::int64_t wait_ns = turn_of_others();
  if (wait_ns > 0 && (is_ready || own_commit_at() != kNever))
    retry_at_ = clock_() + wait_ns;
  else if (is_ready)
    pump_waiting(deferred);
  else
    pump_capture(deferred);
}

void FlipQueue::commit_done(WritebackJob *job)
{
  serial_++;
  committed_at_ = clock_();
  flip_fence_ = target_.take_flip_fence();
  counters_.commits++;
  put_off_since_ = kNever;
  refresh_at_ = kNever;
  if (job)
    capture_.committed();
}

void FlipQueue::pump_waiting(Deferred &deferred)
{
  if (!gate_.kernel_gets_fences())
    waiting_.front().frame.acquire_fence.reset(); // it has signalled
  WritebackJob *job = capture_.writeback();
  int ret = flip_front(job, deferred);
  if (ret != 0 && ret != -EBUSY && job) {
    // the stream goes on without its snapshot
    fail_job("the display refused it: " + errno_text(-ret));
    job = nullptr;
    ret = flip_front(nullptr, deferred);
  }
  if (ret == -EINVAL && waiting_.front().frame.acquire_fence) {
    fences_refused();
    pump(deferred); // commits the frame again, without a fence
    return;
  }
  if (ret != 0) {
    if (!try_later(ret, deferred))
      fail(commit_error(ret), deferred);
    return;
  }
  in_flight_ = std::move(waiting_.front().frame);
  in_flight_->acquire_fence.reset(); // the kernel took its own reference (drm_atomic_uapi.c)
  waiting_.pop_front();
  commit_done(job);
}

// Called without the lock, because a thread that is woken here takes the lock at once.
void FlipQueue::finish(Deferred &deferred, bool wake)
{
  changed_.notify_all();
  deferred.released.clear();
  if (deferred.replaced) {
    auto &[frame, fence] = *deferred.replaced;
    frame.replaced(frame.owner.get(), std::move(fence));
    deferred.replaced.reset();
  }
  if (fence_lost_)
    for (const Error &lost : deferred.lost)
      fence_lost_(lost);
  if (deferred.failure)
    failed_(*deferred.failure);
  if (wake)
    wake_();
}

void FlipQueue::on_flip(std::uint64_t serial, std::uint32_t sequence, std::int64_t time_ns)
{
  Deferred deferred;
  {
    const std::lock_guard guard(lock_);
    if (claimed_ && serial == serial_ + 1)
      early_ = {serial, sequence, time_ns}; // before the mode set has returned
    if (serial != serial_ || (!in_flight_ && !repeat_in_flight_))
      return; // of a commit made before clear()
    if (repeat_in_flight_) {
      repeat_in_flight_ = false;
    } else {
      if (on_screen_)
        deferred.released.push_back(std::move(*on_screen_));
      std::move(superseded_.begin(), superseded_.end(), std::back_inserter(deferred.released));
      superseded_.clear();
      flipped(time_ns);
    }
    GSTDRM_LOG("flip %" PRIu64 " completed at %" PRId64 " ns, vblank %" PRIu32, serial, time_ns,
               sequence);
    stalls_ = 0;
    counters_.last_sequence = sequence;
    counters_.last_flip_ns = time_ns;
    vblank_ns_ = time_ns;
    pump(deferred);
    releasing_++;
  }
  finish(deferred, false); // the event thread itself is here
  releasing_--;
  if (draining_ > 0) { // finds every buffer given back
    const std::lock_guard guard(lock_);
    changed_.notify_all();
  }
}

// The frame that was in flight is on screen now.
void FlipQueue::flipped(std::int64_t time_ns)
{
  on_screen_ = std::move(*in_flight_);
  in_flight_.reset();
  counters_.shown++;
  if (on_screen_->due_ns == kNever)
    return;
  const std::int64_t late_ns = time_ns - on_screen_->due_ns;
  if (late_ns > refresh_ns_ + refresh_ns_ / kLatchPartOfRefresh) {
    counters_.late++;
    late_ = LateFrame{on_screen_->stamp, late_ns};
  }
}

std::optional<LateFrame> FlipQueue::take_late()
{
  const std::lock_guard guard(lock_);
  return std::exchange(late_, std::nullopt);
}

// When the flip in flight has completed, where a fence tells; with the lock held.
std::optional<std::int64_t> FlipQueue::flip_completed()
{
  if (!busy() || !flip_fence_)
    return std::nullopt;
  const std::optional<std::int64_t> time_ns = fence_signalled_at(flip_fence_->get());
  if (time_ns)
    flip_fence_.reset();
  return time_ns;
}

void FlipQueue::on_timer()
{
  Deferred deferred;
  {
    std::unique_lock guard(lock_);
    if (gate_.check_wait(clock_()))
      changed_.notify_all();
    if (const std::optional<std::int64_t> flip_ns = flip_completed()) {
      const std::uint64_t serial = serial_;
      guard.unlock();
      on_flip(serial, 0, *flip_ns);
      return;
    }
    if (clock_() >= flip_lost_at())
      stall("has not reported a flip for ", deferred);
    pump(deferred);
  }
  finish(deferred, false);
}

std::int64_t FlipQueue::next_deadline() const
{
  const std::lock_guard guard(lock_);
  if (gate_.awaited())
    return std::min(gate_.awaited_until(), flip_lost_at());
  if (busy() || failure_)
    return flip_lost_at();
  if (retry_at_ != kNever)
    return retry_at_;
  const std::int64_t fence =
      !waiting_.empty() && !waiting_.front().hold.open ? waiting_.front().hold.give_up_at : kNever;
  return std::min(own_commit_at(), fence);
}

FlipQueue::Counters FlipQueue::counters() const
{
  const std::lock_guard guard(lock_);
  Counters counters = counters_;
  // what is on screen may have been given back already
  counters.held = (on_screen_ && on_screen_->owner ? 1U : 0U) + (in_flight_ ? 1U : 0U) +
                  static_cast<unsigned>(waiting_.size() + superseded_.size());
  return counters;
}

} // namespace gstdrm::kms

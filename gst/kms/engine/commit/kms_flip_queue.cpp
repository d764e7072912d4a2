// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_flip_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <iterator>
#include <optional>
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

// ---- commits of another thread ----
//
// Commits of another thread than the queue's own, which may block, as a mode set does.

// While one lives, no other thread commits. Where others use the CRTC too, it sleeps for their
// turn.
class FlipQueue::Claim {
public:
  explicit Claim(FlipQueue &queue) : queue_(queue)
  {
    std::unique_lock guard(queue.lock_);
    queue.changed_.wait(guard, [&queue] { return !queue.claimed_; });
    queue.claimed_ = true;
    queue.ask_for_vblank(); // another mode has others
    if (const std::chrono::nanoseconds turn(queue.turn_of_others()); turn.count() > 0)
      queue.changed_.wait_for(guard, turn, [] { return false; });
  }
  // The event thread may have slept through the time of a commit.
  ~Claim()
  {
    {
      const std::lock_guard guard(queue_.lock_);
      queue_.claimed_ = false;
      // a frame of another thread's that came meanwhile, or whose turn came with a flip
      if (!queue_.waiting_.empty())
        queue_.retry_at_ = std::min(queue_.retry_at_, queue_.clock_());
    }
    queue_.changed_.notify_all();
    queue_.wake_();
  }
  Claim(const Claim &) = delete;
  Claim &operator=(const Claim &) = delete;

private:
  FlipQueue &queue_;
};

void FlipQueue::exclusively(const std::function<void()> &change)
{
  const Claim claim(*this);
  change();
}

std::vector<Frame> FlipQueue::take_shown()
{
  const std::lock_guard guard(lock_);
  std::vector<Frame> shown;
  for (std::optional<Frame> *frame : {&in_flight_, &on_screen_})
    if (*frame)
      shown.push_back(std::move(*std::exchange(*frame, std::nullopt)));
  std::move(superseded_.begin(), superseded_.end(), std::back_inserter(shown));
  superseded_.clear();
  return shown;
}

int FlipQueue::submit_with(Frame &frame, const std::function<int(std::uint64_t serial)> &commit)
{
  std::optional<Flip> early;
  {
    const Claim claim(*this);
    const int ret = commit(serial_ + 1); // which nobody else changes meanwhile
    const std::lock_guard guard(lock_);
    early = std::exchange(early_, std::nullopt);
    if (ret != 0)
      return ret;
    serial_++;
    frame.acquire_fence.reset();
    if (in_flight_)
      superseded_.push_back(std::move(*in_flight_));
    in_flight_ = std::move(frame);
    repeat_in_flight_ = false;
    put_off_since_ = kNever;
    committed_at_ = clock_();
    flip_fence_ = target_.take_flip_fence();
    counters_.commits++;
  }
  if (early) {
    on_flip(early->serial, early->sequence, early->time_ns);
    wake_(); // the event thread went to sleep while this commit was in flight
  }
  return 0;
}

// ---- fences ----
//
// Acquire fences, for which frames wait in the queue, and the
// release fence of a frame that is replaced. All functions but the public ones are called with the
// lock held.

void FlipQueue::set_fence_rules(const FenceRules &rules)
{
  const std::lock_guard guard(lock_);
  gate_.set_rules(rules);
}

// Counts the frame, and says why it was lost.
Error FlipQueue::lost_frame(FenceGate::Verdict verdict)
{
  counters_.dropped++;
  (verdict == FenceGate::Verdict::Broken ? counters_.fence_errors : counters_.fence_timeouts)++;
  return gate_.explain(verdict);
}

void FlipQueue::drop_front(Deferred &deferred)
{
  counters_.dropped++;
  deferred.released.push_back(std::move(waiting_.front().frame));
  waiting_.pop_front();
}

// Only while a frame waits.
FlipQueue::Front FlipQueue::look_at_front(Deferred &deferred)
{
  Waiting &waiting = waiting_.front();
  const FenceGate::Verdict verdict =
      gate_.look(waiting.frame.acquire_fence, waiting.hold, clock_());
  if (verdict == FenceGate::Verdict::Open)
    return Front::Ready;
  if (verdict == FenceGate::Verdict::Shut)
    return Front::Waits;
  deferred.lost.push_back(lost_frame(verdict));
  deferred.released.push_back(std::move(waiting.frame));
  waiting_.pop_front();
  return Front::Gone;
}

// Drops the front frame, whose fence is pending, when the frame behind it is ready: the front frame
// would be out of date once its fence signals. Not where every frame has to be shown.
bool FlipQueue::overtake_front(Deferred &deferred)
{
  if (!waiting_.front().may_be_dropped || waiting_.size() < 2)
    return false;
  Waiting &next = waiting_[1];
  if (gate_.look(next.frame.acquire_fence, next.hold, clock_()) != FenceGate::Verdict::Open)
    return false;
  drop_front(deferred);
  return true;
}

bool FlipQueue::front_is_ready(Deferred &deferred)
{
  while (!waiting_.empty())
    switch (look_at_front(deferred)) {
    case Front::Ready:
      return true;
    case Front::Waits:
      if (!overtake_front(deferred))
        return false;
      break;
    case Front::Gone:
      break;
    }
  return false;
}

// Driver workaround: a plane that lists IN_FENCE_FD and refuses a commit with a fence (EINVAL), as
// drivers that do not use the atomic helpers may. From then on frames are committed without their
// fences, which have signalled by then.
void FlipQueue::fences_refused()
{
  gate_.keep_fences_from_kernel();
}

SharedFence FlipQueue::fence_to_watch() const
{
  if (SharedFence awaited = gate_.awaited())
    return awaited;
  if (busy() && flip_fence_)
    return flip_fence_;
  if (busy() || failure_ || waiting_.empty() || waiting_.front().hold.open)
    return nullptr;
  return waiting_.front().frame.acquire_fence;
}

SharedFence FlipQueue::watched_fence()
{
  const std::lock_guard guard(lock_);
  watched_ = fence_to_watch();
  return watched_;
}

FlipQueue::Awaited FlipQueue::await_fence(Frame &frame)
{
  std::unique_lock guard(lock_);
  FenceGate::Verdict verdict = gate_.begin_wait(frame.acquire_fence, clock_());
  if (verdict == FenceGate::Verdict::Shut) {
    counters_.waits++;
    guard.unlock();
    wake_();
    guard.lock();
    changed_.wait(guard, [this] { return gate_.verdict() || flushing_ || failure_; });
    const std::optional<FenceGate::Verdict> found = gate_.verdict();
    gate_.end_wait();
    if (!found)
      return failure_ ? Awaited::Failed : Awaited::Flushing;
    verdict = *found;
  }
  if (verdict == FenceGate::Verdict::Open) {
    frame.acquire_fence.reset();
    return Awaited::Signalled;
  }
  const Error lost = lost_frame(verdict);
  guard.unlock();
  if (fence_lost_)
    fence_lost_(lost);
  return Awaited::Lost;
}

// Commits the frame that has waited longest. The frame that this commit replaces is given back at
// once, with the fence of the commit, where its owner wants release fences.
int FlipQueue::flip_front(WritebackJob *job, Deferred &deferred)
{
  const bool early = on_screen_ && on_screen_->owner && on_screen_->replaced;
  std::int32_t out_fence = -1;
  int ret = target_.flip(waiting_.front().frame, job, early ? &out_fence : nullptr, serial_ + 1);
  if (early && (ret == -EMFILE || ret == -ENFILE)) // no descriptor is left for the fence
    ret = target_.flip(waiting_.front().frame, job, nullptr, serial_ + 1);
  UniqueFd fence(out_fence); // ours (drm_atomic_uapi.c)
  if (ret == 0 && fence) {
    counters_.release_fences++;
    Frame given_back; // its framebuffer is kept until the flip
    given_back.owner = std::move(on_screen_->owner);
    given_back.replaced = on_screen_->replaced;
    deferred.replaced.emplace(std::move(given_back), std::move(fence));
  }
  return ret;
}

// ---- stalls ----
//
// Commits that the kernel puts off, and flips that never complete. All
// functions but the public ones are called with the lock held.

namespace {

// A commit that was put off is tried again after this fraction of a refresh.
constexpr std::int64_t kRetriesPerRefresh = 8;
// For so many refreshes a vblank tells when the later ones are: the clock of a mode and that of the
// machine differ by a thousandth at the most, which adds up to less than the fraction above.
constexpr std::int64_t kVblankLasts = 100;
// A flip takes one refresh. Drivers lose one now and then (i915, amdgpu, msm and rockchip log
// "flip_done timed out" after 10 s, drm_atomic_helper_wait_for_flip_done()), and never report it.
constexpr std::int64_t kLeastStall_ns = 3'000'000'000;
constexpr std::int64_t kStallRefreshes = 10;
// Memory, descriptors and bandwidth that others have for a moment are there again soon, or not at
// all.
constexpr std::int64_t kLackTime_ns = 100'000'000;

// What a flip, which changes nothing but the framebuffer, may lack at one time and not at another.
bool is_lack(int ret)
{
  return ret == -ENOMEM || ret == -ENOSPC || ret == -EMFILE || ret == -ENFILE;
}

} // namespace

std::int64_t FlipQueue::stall_time() const
{
  return std::max(kLeastStall_ns, kStallRefreshes * refresh_ns_);
}

// The kernel put the commit off: an earlier commit, perhaps of another client, is not complete
// (EBUSY), or something is short. Returns true if it is tried again, or has failed for good.
bool FlipQueue::try_later(int ret, Deferred &deferred)
{
  if (ret != -EBUSY && !is_lack(ret))
    return false;
  if (put_off_since_ == kNever)
    put_off_since_ = clock_();
  const std::int64_t passed = clock_() - put_off_since_;
  if (ret != -EBUSY && passed >= kLackTime_ns)
    return false;
  if (passed >= stall_time())
    stall("has been busy for ", deferred);
  else
    retry_later();
  return true;
}

void FlipQueue::retry_later()
{
  counters_.busy++;
  const std::int64_t now = clock_();
  retry_at_ = now + refresh_ns_ / kRetriesPerRefresh;
  if (!shared_ || vblank_ns_ < 0)
    return;
  if (since_vblank() > refresh_ns_ / kRetriesPerRefresh)
    retry_at_ += refresh_ns_ - since_vblank();
}

// Own flips tell of the vblanks. Before the first of them, and a while after the last, the device
// is asked.
bool FlipQueue::knows_vblank() const
{
  return vblank_ns_ >= 0 && clock_() - vblank_ns_ < kVblankLasts * refresh_ns_;
}

void FlipQueue::ask_for_vblank()
{
  if (const std::optional<std::int64_t> told = shared_ ? target_.last_vblank() : std::nullopt)
    vblank_ns_ = *told;
}

std::int64_t FlipQueue::since_vblank() const
{
  return std::max<std::int64_t>(clock_() - vblank_ns_, 0) % refresh_ns_;
}

// How long others on the CRTC come first, in ns: where a vblank is just over, they have the time to
// commit for the next one. A non-blocking commit of theirs after one of ours gets EBUSY
// (drm_atomic_helper.c, stall_checks()), and they lose a refresh. So they do after one that comes
// just before a vblank and that the hardware latches after it.
std::int64_t FlipQueue::turn_of_others() const
{
  if (!shared_ || vblank_ns_ < 0)
    return 0;
  const std::int64_t turn = refresh_ns_ / kRetriesPerRefresh, since = since_vblank();
  if (since >= refresh_ns_ - turn)
    return refresh_ns_ - since + turn;
  return std::max<std::int64_t>(turn - since, 0);
}

// When the flip in flight counts as lost. A mode set sleeps for as long as a display takes.
std::int64_t FlipQueue::flip_lost_at() const
{
  const bool is_awaited = !claimed_ && !failure_ && (in_flight_ || repeat_in_flight_);
  return is_awaited ? committed_at_ + stall_time() : kNever;
}

void FlipQueue::stall(std::string what, Deferred &deferred)
{
  const std::string since =
      "The display " + std::move(what) + std::to_string(stall_time() / 1'000'000'000) + " s";
  if (stalls_++ == 0)
    fail(Error{ErrorCode::Sync,
               since + ". It is set up anew. Look for flip_done in the kernel's log.", ETIMEDOUT},
         deferred);
  else
    fail(Error{ErrorCode::Device,
               since +
                   ", and setting it up anew did not help. Its driver hangs: look for flip_done "
                   "in the kernel's log.",
               ETIMEDOUT},
         deferred);
}

bool FlipQueue::is_stall(const Error &failure) noexcept
{
  return failure.code == ErrorCode::Sync && failure.sys_errno == ETIMEDOUT;
}

bool FlipQueue::is_stalled() const
{
  const std::lock_guard guard(lock_);
  return failure_ && is_stall(*failure_);
}

void FlipQueue::forget_lost_flip()
{
  const std::lock_guard guard(lock_);
  failure_.reset();
  put_off_since_ = kNever;
  retry_at_ = kNever;
  if (in_flight_)
    superseded_.push_back(std::move(*std::exchange(in_flight_, std::nullopt)));
  repeat_in_flight_ = false;
  flip_fence_.reset();
  changed_.notify_all();
}

// ---- commits without a new frame ----
//
// Commits without a new frame, for a picture to write back or a changed cursor. Such a
// change first waits for a time (own_commit_in_time()) for the commit of a frame, which it becomes
// a part of. All functions but the public ones are called with the lock held.

namespace {

// The longest time that a change waits for a frame, so that a stream of one picture a minute does
// not delay a snapshot by a minute.
constexpr std::int64_t kLongestCaptureWait_ns = 250'000'000;

} // namespace

// The time by which the next frame arrives, unless the stream has ended or is paused.
std::int64_t FlipQueue::own_commit_in_time() const
{
  return clock_() + std::min(frame_ns_ + refresh_ns_ / 2, kLongestCaptureWait_ns);
}

Result<UniqueFd> FlipQueue::capture(std::uint32_t framebuffer_id, std::int64_t timeout_ns)
{
  std::unique_lock guard(lock_);
  if (!capture_.idle())
    return device_error("Another snapshot is being taken.", EBUSY);
  if (failure_) // no commit will come
    return *failure_;
  if (captures_end_)
    return device_error("The sink was stopped.", ECANCELED);
  if (!on_screen_ && idle())
    return device_error("No picture is on screen.", ENODATA);
  capture_.start(framebuffer_id, own_commit_in_time());
  guard.unlock();
  wake_();
  guard.lock();
  changed_.wait_for(guard, std::chrono::nanoseconds(timeout_ns),
                    [this] { return !capture_.pending(); });
  return capture_.take();
}

void FlipQueue::refresh()
{
  {
    const std::lock_guard guard(lock_);
    if (refresh_at_ == kNever)
      refresh_at_ = own_commit_in_time();
  }
  wake_();
}

// When the picture on screen is committed again, because no frame has arrived.
std::int64_t FlipQueue::own_commit_at() const
{
  if (!on_screen_)
    return kNever;
  return capture_.pending() ? std::min(capture_.deadline_ns(), refresh_at_) : refresh_at_;
}

void FlipQueue::cancel_capture()
{
  const std::lock_guard guard(lock_);
  captures_end_ = true;
  if (capture_.pending())
    fail_job("the sink was stopped");
}

void FlipQueue::accept_captures()
{
  const std::lock_guard guard(lock_);
  captures_end_ = false;
}

void FlipQueue::fail_job(std::string why)
{
  capture_.fail(std::move(why));
  changed_.notify_all();
}

void FlipQueue::pump_capture(Deferred &deferred)
{
  if (clock_() < own_commit_at()) {
    put_off_since_ = kNever; // nothing waits for a commit
    return;
  }
  WritebackJob *job = capture_.writeback();
  const int ret = target_.flip(*on_screen_, job, nullptr, serial_ + 1);
  if (ret != 0 && (ret == -EBUSY || !job) && try_later(ret, deferred))
    return;
  if (ret != 0 && job) {
    fail_job("the display refused it: " + errno_text(-ret)); // a changed cursor comes without it
  } else if (ret != 0) {
    refresh_at_ = kNever; // the change becomes part of the next frame's commit
  } else {
    repeat_in_flight_ = true;
    commit_done(job);
  }
}

// ---- failures ----
//
// A commit that the kernel refused, a device that is gone, and a
// lack of memory.

Error FlipQueue::commit_error(int ret)
{
  const int error = -ret;
  std::string message =
      "The display refused a frame: " + errno_text(error) + " from the atomic commit. ";
  if (error == EACCES || error == EPERM)
    message += "Another program took the display over; stop it, or switch back to this terminal.";
  else if (error == ENODEV || error == EIO)
    message += "The device was removed.";
  else
    message += "Run with GST_DEBUG=kmsdmabufsink:6 to see what was asked of it.";
  return Error{ErrorCode::Device, std::move(message), error};
}

// Called with the lock held.
void FlipQueue::fail(Error error, Deferred &deferred)
{
  failure_ = std::move(error);
  deferred.failure = failure_;
  counters_.dropped += waiting_.size();
  for (Waiting &waiting : waiting_)
    deferred.released.push_back(std::move(waiting.frame));
  waiting_.clear();
  if (capture_.pending())
    fail_job("the display failed");
  changed_.notify_all();
}

void FlipQueue::abort(const Error &error)
{
  Deferred deferred;
  {
    const std::lock_guard guard(lock_);
    if (failure_)
      return;
    fail(error, deferred);
  }
  finish(deferred, false);
}

void FlipQueue::give_up() noexcept
{
  const Error error{ErrorCode::Device, "out of memory", ENOMEM}; // short: allocates nothing
  {
    const std::lock_guard guard(lock_);
    if (!failure_)
      failure_ = error;
    if (capture_.pending())
      fail_job(error.message);
    changed_.notify_all();
  }
  failed_(error);
}

void FlipQueue::forgive()
{
  const std::lock_guard guard(lock_);
  failure_.reset();
}

std::optional<Error> FlipQueue::failure() const
{
  const std::lock_guard guard(lock_);
  return failure_;
}

} // namespace gstdrm::kms

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
#include "kms_fence_wait.hpp"

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

Shown FlipQueue::submit(Frame &frame, Overflow overflow)
{
  std::unique_lock guard(lock_);
  if (overflow == Overflow::Wait && !waiting_.empty() && !flushing_ && !failure_) {
    counters_.waits++;
    changed_.wait(guard, [this] { return waiting_.empty() || flushing_ || failure_; });
  }
  if (failure_)
    return Shown::Failed;
  if (flushing_)
    return Shown::Flushing;
  push(frame, overflow);
  pump();
  const SharedFence to_watch = fence_to_watch();
  const bool needs_wake = retry_at_ != kNever || (to_watch && to_watch != watched_);
  const bool failed = failure_.has_value();
  if (failed) // the caller gets the error of this frame, and counts the frame
    counters_.dropped--;
  finish(guard, needs_wake);
  return failed ? Shown::Failed : Shown::Yes;
}

void FlipQueue::push(Frame &frame, Overflow overflow)
{
  while (waiting_.size() >= room()) {
    // While the display is idle, keep the front frame, or a slow producer's frames are all replaced
    // before their fences signal. Two frames wait then (room()).
    const bool keep_front = !busy() && waiting_.front().wait.is_pending();
    const auto victim = waiting_.begin() + (keep_front ? 1 : 0);
    counters_.dropped++;
    GSTDRM_LOG("dropped the frame of %" PRIu64 ": a newer one came before its commit",
               victim->frame.stamp);
    release(victim->frame);
    waiting_.erase(victim);
  }
  Waiting waiting;
  waiting.may_be_dropped = overflow == Overflow::Replace;
  waiting.wait = rules_.wait_for(frame.acquire_fence, clock_());
  waiting.frame = std::move(frame);
  waiting_.push_back(std::move(waiting));
}

// The number of frames that may wait at this moment.
std::size_t FlipQueue::room() const
{
  if (!busy() && !waiting_.empty() &&
      (waiting_.front().wait.is_pending() || shared_crtc_wait() > 0))
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
    return std::max(in_flight_->made_at, counters_.last_flip_ns + refresh_ns_);
  const std::int64_t periods = (in_flight_->made_at - counters_.last_flip_ns) / refresh_ns_ + 1;
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
  std::unique_lock guard(lock_);
  for (std::optional<Commit> *commit : {&on_screen_, &in_flight_})
    if (*commit)
      deferred_.released.push_back(std::move(*std::exchange(*commit, std::nullopt)));
  for (Waiting &waiting : waiting_)
    release(waiting.frame);
  waiting_.clear();
  release_superseded();
  late_.reset();
  serial_++; // so that the event of a commit still in flight is ignored
  retry_at_ = kNever;
  put_off_since_ = kNever;
  stalls_ = 0;
  vblank_ns_ = -1;
  refresh_at_ = kNever;
  failure_.reset();
  finish(guard, false);
}

void FlipQueue::drop_waiting()
{
  std::unique_lock guard(lock_);
  while (!waiting_.empty())
    drop_front();
  finish(guard, false);
}

std::shared_ptr<void> FlipQueue::shown_owner() const
{
  const std::lock_guard guard(lock_);
  return on_screen_ ? on_screen_->frame.owner : nullptr;
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
void FlipQueue::pump()
{
  if (busy() || failure_)
    return;
  retry_at_ = kNever;
  const bool is_ready = front_is_ready();
  if (!knows_vblank() && (is_ready || own_commit_at() != kNever))
    ask_for_vblank();
  const std::int64_t wait_ns = shared_crtc_wait();
  if (wait_ns > 0 && (is_ready || own_commit_at() != kNever))
    retry_at_ = clock_() + wait_ns;
  else if (is_ready)
    pump_waiting();
  else
    pump_own();
}

// With the cursor that is wanted and a picture for capture(); the caller adds the frame.
Commit FlipQueue::next_commit() const
{
  Commit next;
  next.serial = serial_ + 1;
  next.cursor = cursor_;
  next.writeback_framebuffer = capture_is_pending() ? capture_->framebuffer_id : 0;
  return next;
}

// Makes the commit of a frame. The frame that it replaces is given back at once, with the fence of
// the commit, where its owner wants release fences.
int FlipQueue::try_commit(Commit &next)
{
  next.wants_out_fence = on_screen_ && on_screen_->frame.owner && on_screen_->frame.replaced;
  int ret = target_.flip(next);
  if (next.wants_out_fence && (ret == -EMFILE || ret == -ENFILE)) {
    next.wants_out_fence = false; // no descriptor is left for the fence
    ret = target_.flip(next);
  }
  return ret;
}

// The device has accepted `next`: it is in flight now.
void FlipQueue::made(Commit &next)
{
  serial_ = next.serial;
  next.made_at = clock_();
  next.frame.acquire_fence.reset(); // the kernel took its own reference (drm_atomic_uapi.c)
  if (next.out_fence) {
    counters_.release_fences++;
    Frame given_back; // its framebuffer is kept until the flip
    given_back.owner = std::move(on_screen_->frame.owner);
    given_back.replaced = on_screen_->frame.replaced;
    deferred_.replaced.emplace(std::move(given_back), std::move(next.out_fence));
  }
  if (next.writeback_framebuffer != 0) {
    capture_->fence = std::move(next.writeback_fence);
    capture_->done = true;
  }
  counters_.commits++;
  put_off_since_ = kNever;
  in_flight_ = std::move(next);
}

void FlipQueue::pump_waiting()
{
  Frame &front = waiting_.front().frame;
  if (!rules_.kernel_gets_fences)
    front.acquire_fence.reset(); // it has signalled
  Commit next = next_commit();
  next.frame = std::move(front);
  int ret = try_commit(next);
  if (ret != 0 && ret != -EBUSY && next.writeback_framebuffer != 0) {
    // the stream goes on without its snapshot
    fail_capture("the display refused it: " + errno_text(-ret));
    next.writeback_framebuffer = 0;
    ret = try_commit(next);
  }
  if (ret == 0) {
    made(next);
    refresh_at_ = kNever;
    waiting_.pop_front();
    return;
  }
  front = std::move(next.frame);
  if (ret == -EINVAL && front.acquire_fence) {
    // Driver workaround: a plane that lists IN_FENCE_FD and refuses a commit with a fence, as
    // drivers that do not use the atomic helpers may. From then on frames are committed without
    // their fences, which have signalled by then.
    rules_.kernel_gets_fences = false;
    pump();
  } else if (!try_later(ret)) {
    fail(commit_error(ret));
  }
}

void FlipQueue::release(Frame &frame)
{
  deferred_.released.emplace_back().frame = std::move(frame);
}

void FlipQueue::release_superseded()
{
  std::move(superseded_.begin(), superseded_.end(), std::back_inserter(deferred_.released));
  superseded_.clear();
}

// Gives the lock back, and does what the thread has deferred under it.
void FlipQueue::finish(std::unique_lock<OrderedMutex> &guard, bool wake)
{
  Deferred deferred = std::exchange(deferred_, {});
  guard.unlock();
  changed_.notify_all(); // a thread that is woken takes the lock at once
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
  std::unique_lock guard(lock_);
  if (claimed_ && serial == serial_ + 1)
    early_ = {serial, sequence, time_ns}; // before the mode set has returned
  if (serial != serial_ || !in_flight_)
    return; // of a commit made before clear()
  flipped(time_ns);
  GSTDRM_LOG("flip %" PRIu64 " completed at %" PRId64 " ns, vblank %" PRIu32, serial, time_ns,
             sequence);
  stalls_ = 0;
  counters_.last_sequence = sequence;
  counters_.last_flip_ns = time_ns;
  vblank_ns_ = time_ns;
  pump();
  releasing_++;
  finish(guard, false); // the event thread itself is here
  releasing_--;
  if (draining_ > 0) { // finds every buffer given back
    guard.lock();
    changed_.notify_all();
  }
}

// The commit that was in flight is on screen now, in the place of those before it.
void FlipQueue::flipped(std::int64_t time_ns)
{
  if (on_screen_)
    deferred_.released.push_back(std::move(*on_screen_));
  release_superseded();
  on_screen_ = std::move(*std::exchange(in_flight_, std::nullopt));
  if (std::exchange(on_screen_->repeats, false))
    return;
  counters_.shown++;
  const Frame &frame = on_screen_->frame;
  if (frame.due_ns == kNever)
    return;
  const std::int64_t late_ns = time_ns - frame.due_ns;
  if (late_ns > refresh_ns_ + refresh_ns_ / kLatchPartOfRefresh) {
    counters_.late++;
    late_ = LateFrame{frame.stamp, late_ns};
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
  if (!in_flight_ || !in_flight_->flip_fence)
    return std::nullopt;
  const std::optional<std::int64_t> time_ns = fence_signalled_at(in_flight_->flip_fence->get());
  if (time_ns)
    in_flight_->flip_fence.reset();
  return time_ns;
}

void FlipQueue::on_timer()
{
  std::unique_lock guard(lock_);
  if (awaits_fence() && awaited_->look(clock_()) != FenceWait::Verdict::Pending)
    changed_.notify_all();
  if (const std::optional<std::int64_t> flip_ns = flip_completed()) {
    const std::uint64_t serial = serial_;
    guard.unlock();
    on_flip(serial, 0, *flip_ns);
    return;
  }
  if (clock_() >= flip_lost_at())
    stall("has not reported a flip for ");
  pump();
  finish(guard, false);
}

std::int64_t FlipQueue::next_deadline() const
{
  const std::lock_guard guard(lock_);
  if (awaits_fence())
    return std::min(awaited_->give_up_at, flip_lost_at());
  if (busy() || failure_)
    return flip_lost_at();
  if (retry_at_ != kNever)
    return retry_at_;
  const std::int64_t fence = !waiting_.empty() && waiting_.front().wait.is_pending()
                                 ? waiting_.front().wait.give_up_at
                                 : kNever;
  return std::min(own_commit_at(), fence);
}

FlipQueue::Counters FlipQueue::counters() const
{
  const std::lock_guard guard(lock_);
  Counters counters = counters_;
  // what is on screen may have been given back already, or may be in flight again
  counters.held = (on_screen_ && on_screen_->frame.owner ? 1U : 0U) +
                  (in_flight_ && !in_flight_->repeats ? 1U : 0U) +
                  static_cast<unsigned>(waiting_.size() + superseded_.size());
  return counters;
}

// ---- commits of another thread ----
//
// Commits of another thread than the queue's own, which may block, as a mode set does.

FlipQueue::Claim::Claim(FlipQueue &queue) : queue_(queue)
{
  std::unique_lock guard(queue.lock_);
  queue.changed_.wait(guard, [&queue] { return !queue.claimed_; });
  queue.claimed_ = true;
  queue.ask_for_vblank(); // another mode has others
  if (const std::chrono::nanoseconds turn(queue.shared_crtc_wait()); turn.count() > 0)
    queue.changed_.wait_for(guard, turn, [] { return false; });
}

// The event thread may have slept through the time of a commit.
FlipQueue::Claim::~Claim()
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

std::vector<Commit> FlipQueue::take_shown()
{
  const std::lock_guard guard(lock_);
  std::vector<Commit> shown;
  for (std::optional<Commit> *commit : {&in_flight_, &on_screen_})
    if (*commit)
      shown.push_back(std::move(*std::exchange(*commit, std::nullopt)));
  std::move(superseded_.begin(), superseded_.end(), std::back_inserter(shown));
  superseded_.clear();
  return shown;
}

int FlipQueue::submit_with(Frame &frame, const std::function<int(Commit &)> &commit)
{
  std::optional<Flip> early;
  {
    const Claim claim(*this);
    Commit next;
    next.serial = serial_ + 1; // which nobody else changes meanwhile
    next.frame = std::move(frame);
    const int ret = commit(next);
    const std::lock_guard guard(lock_);
    early = std::exchange(early_, std::nullopt);
    if (ret != 0) {
      frame = std::move(next.frame);
      return ret;
    }
    if (in_flight_)
      superseded_.push_back(std::move(*in_flight_));
    made(next);
    if (in_flight_->cursor != cursor_ && refresh_at_ == kNever)
      refresh_at_ = own_commit_in_time(); // a mode set leaves the cursor out
  }
  if (early) {
    on_flip(early->serial, early->sequence, early->time_ns);
    wake_(); // the event thread went to sleep while this commit was in flight
  }
  return 0;
}

// ---- fences ----
//
// Acquire fences, for which frames wait in the queue. All functions but the public ones are called
// with the lock held.

void FlipQueue::set_fence_rules(const FenceRules &rules)
{
  const std::lock_guard guard(lock_);
  rules_ = rules;
}

// Counts the frame, and says why it was lost.
Error FlipQueue::lost_frame(FenceWait::Verdict verdict)
{
  counters_.dropped++;
  (verdict == FenceWait::Verdict::Broken ? counters_.fence_errors : counters_.fence_timeouts)++;
  return rules_.explain(verdict);
}

void FlipQueue::drop_front()
{
  counters_.dropped++;
  release(waiting_.front().frame);
  waiting_.pop_front();
}

// Whether the front frame may be committed. Drops those before it whose fence was lost. One whose
// fence is pending is dropped when the frame behind it is ready: it would be out of date once its
// fence signals. Not where every frame has to be shown.
bool FlipQueue::front_is_ready()
{
  while (!waiting_.empty()) {
    Waiting &front = waiting_.front();
    const FenceWait::Verdict verdict = front.wait.look(clock_());
    if (verdict == FenceWait::Verdict::Signalled)
      return true;
    if (verdict != FenceWait::Verdict::Pending) {
      deferred_.lost.push_back(lost_frame(verdict));
      release(front.frame);
      waiting_.pop_front();
      continue;
    }
    if (!front.may_be_dropped || waiting_.size() < 2 ||
        waiting_[1].wait.look(clock_()) != FenceWait::Verdict::Signalled)
      return false;
    drop_front();
  }
  return false;
}

SharedFence FlipQueue::fence_to_watch() const
{
  if (awaits_fence())
    return awaited_->fence;
  if (in_flight_ && in_flight_->flip_fence)
    return in_flight_->flip_fence;
  if (busy() || failure_ || waiting_.empty() || !waiting_.front().wait.is_pending())
    return nullptr;
  return waiting_.front().frame.acquire_fence;
}

SharedFence FlipQueue::watched_fence()
{
  const std::lock_guard guard(lock_);
  watched_ = fence_to_watch();
  return watched_;
}

Shown FlipQueue::await_fence(Frame &frame)
{
  std::unique_lock guard(lock_);
  FenceWait wait = rules_.wait_for(frame.acquire_fence, clock_());
  if (wait.look(clock_()) == FenceWait::Verdict::Pending) {
    counters_.waits++;
    awaited_ = wait;
    guard.unlock();
    wake_();
    guard.lock();
    changed_.wait(guard, [this] { return !awaits_fence() || flushing_ || failure_; });
    wait = *std::exchange(awaited_, std::nullopt);
    if (wait.is_pending())
      return failure_ ? Shown::Failed : Shown::Flushing;
  }
  if (wait.verdict == FenceWait::Verdict::Signalled) {
    frame.acquire_fence.reset();
    return Shown::Yes;
  }
  const Error lost = lost_frame(wait.verdict);
  guard.unlock();
  if (fence_lost_)
    fence_lost_(lost);
  return Shown::Dropped;
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
bool is_shortage(int ret)
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
bool FlipQueue::try_later(int ret)
{
  if (ret != -EBUSY && !is_shortage(ret))
    return false;
  if (put_off_since_ == kNever)
    put_off_since_ = clock_();
  const std::int64_t passed = clock_() - put_off_since_;
  if (ret != -EBUSY && passed >= kLackTime_ns)
    return false;
  if (passed >= stall_time())
    stall("has been busy for ");
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
std::int64_t FlipQueue::shared_crtc_wait() const
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
  return in_flight_ && !claimed_ && !failure_ ? in_flight_->made_at + stall_time() : kNever;
}

void FlipQueue::stall(std::string what)
{
  const std::string since =
      "The display " + std::move(what) + std::to_string(stall_time() / 1'000'000'000) + " s";
  if (stalls_++ == 0)
    fail(Error{ErrorCode::Sync,
               since + ". It is set up anew. Look for flip_done in the kernel's log.", ETIMEDOUT});
  else
    fail(Error{ErrorCode::Device,
               since +
                   ", and setting it up anew did not help. Its driver hangs: look for flip_done "
                   "in the kernel's log.",
               ETIMEDOUT});
}

bool FlipQueue::is_stall(const Error &failure) noexcept
{
  return failure.code == ErrorCode::Sync && failure.sys_errno == ETIMEDOUT;
}

bool FlipQueue::end_stall()
{
  const std::lock_guard guard(lock_);
  if (!failure_ || !is_stall(*failure_))
    return false;
  failure_.reset();
  put_off_since_ = kNever;
  retry_at_ = kNever;
  if (in_flight_)
    superseded_.push_back(std::move(*std::exchange(in_flight_, std::nullopt)));
  changed_.notify_all();
  return true;
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
  if (capture_)
    return device_error("Another snapshot is being taken.", EBUSY);
  if (failure_) // no commit will come
    return *failure_;
  if (captures_end_)
    return device_error("The sink was stopped.", ECANCELED);
  if (!on_screen_ && idle())
    return device_error("No picture is on screen.", ENODATA);
  capture_.emplace();
  capture_->framebuffer_id = framebuffer_id;
  capture_->deadline_ns = own_commit_in_time();
  guard.unlock();
  wake_();
  guard.lock();
  changed_.wait_for(guard, std::chrono::nanoseconds(timeout_ns), [this] { return capture_->done; });
  Capture ended = std::move(*std::exchange(capture_, std::nullopt));
  if (!ended.done)
    return device_error("The display made no commit in time.", ETIMEDOUT);
  if (!ended.failure.empty())
    return device_error("No writeback: " + ended.failure + ".", EIO);
  return std::move(ended.fence);
}

void FlipQueue::fail_capture(std::string why)
{
  if (!capture_is_pending())
    return;
  capture_->failure = std::move(why);
  capture_->done = true;
  changed_.notify_all();
}

void FlipQueue::cancel_capture()
{
  const std::lock_guard guard(lock_);
  captures_end_ = true;
  fail_capture("the sink was stopped");
}

void FlipQueue::accept_captures()
{
  const std::lock_guard guard(lock_);
  captures_end_ = false;
}

void FlipQueue::set_cursor_image(std::shared_ptr<DumbBuffer> image)
{
  std::unique_lock guard(lock_);
  if (image == cursor_.image)
    return;
  cursor_.image.swap(image); // the old one is released without the lock
  refresh(guard);
}

void FlipQueue::move_cursor(std::int32_t x, std::int32_t y)
{
  std::unique_lock guard(lock_);
  const Cursor before = cursor_;
  cursor_.x = x;
  cursor_.y = y;
  if (cursor_ != before)
    refresh(guard);
}

// Commits the cursor once more.
void FlipQueue::refresh(std::unique_lock<OrderedMutex> &guard)
{
  const bool is_first = refresh_at_ == kNever;
  if (is_first)
    refresh_at_ = own_commit_in_time();
  guard.unlock();
  if (is_first)
    wake_();
}

// When the picture on screen is committed again, because no frame has arrived.
std::int64_t FlipQueue::own_commit_at() const
{
  if (!on_screen_)
    return kNever;
  return capture_is_pending() ? std::min(capture_->deadline_ns, refresh_at_) : refresh_at_;
}

void FlipQueue::pump_own()
{
  if (clock_() < own_commit_at()) {
    put_off_since_ = kNever; // nothing waits for a commit
    return;
  }
  Commit next = next_commit();
  next.frame = on_screen_->frame;
  next.repeats = true;
  const bool writes_back = next.writeback_framebuffer != 0;
  const int ret = target_.flip(next);
  if (ret != 0 && (ret == -EBUSY || !writes_back) && try_later(ret))
    return;
  if (ret != 0 && writes_back) {
    fail_capture("the display refused it: " + errno_text(-ret)); // a changed cursor comes without
    return;
  }
  refresh_at_ = kNever; // a change that was refused becomes part of the next frame's commit
  if (ret == 0)
    made(next);
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
  if (is_master_loss(error))
    message += "Another program took the display over; stop it, or switch back to this terminal.";
  else if (error == ENODEV || error == EIO)
    message += "The device was removed.";
  else
    message += "Run with GST_DEBUG=kmsdmabufsink:6 to see what was asked of it.";
  return Error{ErrorCode::Device, std::move(message), error};
}

// Called with the lock held.
void FlipQueue::fail(Error error)
{
  failure_ = std::move(error);
  deferred_.failure = failure_;
  while (!waiting_.empty())
    drop_front();
  fail_capture("the display failed");
  changed_.notify_all();
}

void FlipQueue::abort(const Error &error)
{
  std::unique_lock guard(lock_);
  if (failure_)
    return;
  fail(error);
  finish(guard, false);
}

void FlipQueue::give_up() noexcept
{
  const Error error{ErrorCode::Device, "out of memory", ENOMEM}; // short: allocates nothing
  {
    const std::lock_guard guard(lock_);
    if (!failure_)
      failure_ = error;
    fail_capture(error.message);
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

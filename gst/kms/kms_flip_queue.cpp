// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_flip_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>

#include "kms_objects.hpp"

namespace gstdrm::kms {

namespace {

// A commit of another client's on the same device is in the way: look again a part of a refresh later.
constexpr std::int64_t kBusyRetriesPerRefresh = 8;
// A second frame may wait when the flip is nearer than this part of a refresh, or overdue.
constexpr std::int64_t kNearPartOfRefresh = 4;
// A frame that becomes due with less than this part of a refresh left cannot make that vblank: hardware
// latches its registers some lines before it. Missing it is not late yet.
constexpr std::int64_t kLatchPartOfRefresh = 8;
// A stream of one picture a minute still gets its snapshot soon.
constexpr std::int64_t kLongestCaptureWait_ns = 250'000'000;

Error commit_error(int ret)
{
  const int error = -ret;
  std::string message = "The display refused a frame (atomic commit: " + errno_text(error) + "). ";
  if (error == EACCES || error == EPERM)
    message += "Another program took the display over; stop it, or switch back to this terminal.";
  else if (error == ENODEV || error == EIO)
    message += "The device was removed.";
  else
    message += "Run with GST_DEBUG=kmsdmabufsink:6 to see what was asked of it.";
  return Error{ErrorCode::Device, std::move(message), error};
}

} // namespace

FlipQueue::FlipQueue(FlipTarget &target, Clock clock, std::function<void()> wake,
                     std::function<void(const Error &)> failed)
    : target_(target), clock_(std::move(clock)), wake_(std::move(wake)), failed_(std::move(failed))
{
}

void FlipQueue::set_timing(std::int64_t refresh_ns, std::int64_t frame_ns)
{
  const std::lock_guard guard(lock_);
  refresh_ns_ = refresh_ns;
  frame_ns_ = std::max(frame_ns, refresh_ns);
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
  while (waiting_.size() >= room()) {
    counters_.dropped++;
    deferred.released.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  waiting_.push_back(std::move(frame));
  pump(deferred);
  const bool needs_timer = retry_at_ != kNever;
  const bool failed = failure_.has_value();
  guard.unlock();
  finish(deferred, needs_timer);
  return failed ? Outcome::Failed : Outcome::Queued;
}

// Frames that may wait now.
std::size_t FlipQueue::room() const
{
  if (!in_flight_ || counters_.last_flip_ns < 0)
    return 1;
  // the vblank that the commit in flight makes
  const std::int64_t periods = (committed_at_ - counters_.last_flip_ns) / refresh_ns_ + 1;
  const std::int64_t flip_at = counters_.last_flip_ns + periods * refresh_ns_;
  return flip_at - clock_() <= refresh_ns_ / kNearPartOfRefresh ? 2 : 1;
}

int FlipQueue::submit_with(Frame &frame, const std::function<int(std::uint64_t serial)> &commit)
{
  const std::lock_guard guard(lock_);
  const int ret = commit(serial_ + 1);
  if (ret != 0)
    return ret;
  serial_++;
  frame.acquire_fence.reset();
  in_flight_ = std::move(frame);
  repeat_in_flight_ = false;
  committed_at_ = clock_();
  counters_.commits++;
  return 0;
}

bool FlipQueue::drain(std::int64_t timeout_ns)
{
  std::unique_lock guard(lock_);
  changed_.wait_for(guard, std::chrono::nanoseconds(timeout_ns),
                    [this] { return idle() || flushing_ || failure_; });
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
  std::move(waiting_.begin(), waiting_.end(), std::back_inserter(deferred.released));
  waiting_.clear();
  repeat_in_flight_ = false;
  serial_++; // the event of a commit still in flight is nobody's
  retry_at_ = kNever;
  failure_.reset();
  changed_.notify_all();
}

void FlipQueue::forgive()
{
  const std::lock_guard guard(lock_);
  failure_.reset();
}

void FlipQueue::cancel_capture()
{
  const std::lock_guard guard(lock_);
  if (job_state_ == JobState::Pending)
    fail_job("the sink was stopped");
}

void FlipQueue::reset_counters()
{
  const std::lock_guard guard(lock_);
  counters_ = {};
}

Result<UniqueFd> FlipQueue::capture(std::uint32_t framebuffer_id, std::int64_t timeout_ns)
{
  std::unique_lock guard(lock_);
  if (job_state_ != JobState::None)
    return device_error("Another snapshot is being taken.", EBUSY);
  if (!on_screen_ && idle())
    return device_error("No picture is on screen.", ENODATA);
  job_ = WritebackJob{framebuffer_id, -1};
  job_state_ = JobState::Pending;
  job_deadline_ = clock_() + std::min(frame_ns_ + refresh_ns_ / 2, kLongestCaptureWait_ns);
  guard.unlock();
  wake_();
  guard.lock();
  changed_.wait_for(guard, std::chrono::nanoseconds(timeout_ns),
                    [this] { return job_state_ != JobState::Pending; });
  const JobState state = std::exchange(job_state_, JobState::None);
  job_deadline_ = kNever;
  if (state == JobState::Committed)
    return UniqueFd(std::exchange(job_.out_fence, -1));
  return device_error(state == JobState::Failed ? "No writeback: " + job_error_ + "."
                                                : "The display made no commit in time.",
                      state == JobState::Failed ? EIO : ETIMEDOUT);
}

bool FlipQueue::flushing() const
{
  const std::lock_guard guard(lock_);
  return flushing_;
}

void FlipQueue::fail_job(std::string why)
{
  job_state_ = JobState::Failed;
  job_error_ = std::move(why);
  changed_.notify_all();
}

// A commit of what waits, else of a snapshot whose time has come. Called with the lock held.
void FlipQueue::pump(Deferred &deferred)
{
  if (in_flight_ || repeat_in_flight_ || failure_)
    return;
  retry_at_ = kNever;
  if (waiting_.empty())
    pump_capture();
  else
    pump_waiting(deferred);
}

void FlipQueue::commit_done(WritebackJob *job)
{
  serial_++;
  committed_at_ = clock_();
  counters_.commits++;
  if (job)
    job_state_ = JobState::Committed;
  changed_.notify_all();
}

void FlipQueue::pump_waiting(Deferred &deferred)
{
  WritebackJob *job = job_state_ == JobState::Pending ? &job_ : nullptr;
  int ret = target_.flip(waiting_.front(), job, serial_ + 1);
  if (ret != 0 && ret != -EBUSY && job) {
    // the stream goes on without its snapshot
    fail_job("the display refused it (" + errno_text(-ret) + ")");
    job = nullptr;
    ret = target_.flip(waiting_.front(), nullptr, serial_ + 1);
  }
  if (ret == -EBUSY) {
    counters_.busy++;
    retry_at_ = clock_() + refresh_ns_ / kBusyRetriesPerRefresh;
    return;
  }
  if (ret != 0) {
    fail(commit_error(ret), deferred);
    return;
  }
  in_flight_ = std::move(waiting_.front());
  in_flight_->acquire_fence.reset(); // the kernel took its own reference (drm_atomic_uapi.c)
  waiting_.pop_front();
  commit_done(job);
}

void FlipQueue::pump_capture()
{
  if (job_state_ != JobState::Pending || !on_screen_ || clock_() < job_deadline_)
    return;
  const int ret = target_.flip(*on_screen_, &job_, serial_ + 1);
  if (ret == -EBUSY) {
    counters_.busy++;
    retry_at_ = clock_() + refresh_ns_ / kBusyRetriesPerRefresh;
  } else if (ret != 0) {
    fail_job("the display refused it (" + errno_text(-ret) + ")");
  } else {
    repeat_in_flight_ = true;
    commit_done(&job_);
  }
}

void FlipQueue::fail(Error error, Deferred &deferred)
{
  failure_ = std::move(error);
  deferred.failure = failure_;
  counters_.dropped += waiting_.size();
  std::move(waiting_.begin(), waiting_.end(), std::back_inserter(deferred.released));
  waiting_.clear();
  if (job_state_ == JobState::Pending)
    fail_job("the display failed");
  changed_.notify_all();
}

void FlipQueue::finish(Deferred &deferred, bool wake)
{
  deferred.released.clear();
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
    if (serial != serial_ || (!in_flight_ && !repeat_in_flight_))
      return; // of a commit made before clear()
    if (repeat_in_flight_) {
      repeat_in_flight_ = false;
    } else {
      if (on_screen_)
        deferred.released.push_back(std::move(*on_screen_));
      on_screen_ = std::move(*in_flight_);
      in_flight_.reset();
      counters_.shown++;
      if (on_screen_->due_ns != kNever &&
          time_ns - on_screen_->due_ns > refresh_ns_ + refresh_ns_ / kLatchPartOfRefresh)
        counters_.late++;
    }
    counters_.last_sequence = sequence;
    counters_.last_flip_ns = time_ns;
    pump(deferred);
    changed_.notify_all();
  }
  finish(deferred, false); // the event thread itself is here
}

void FlipQueue::on_timer()
{
  Deferred deferred;
  {
    const std::lock_guard guard(lock_);
    pump(deferred);
  }
  finish(deferred, false);
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

std::int64_t FlipQueue::next_deadline() const
{
  const std::lock_guard guard(lock_);
  if (in_flight_ || repeat_in_flight_ || failure_)
    return kNever;
  if (retry_at_ != kNever)
    return retry_at_;
  return job_state_ == JobState::Pending && on_screen_ ? job_deadline_ : kNever;
}

FlipQueue::Counters FlipQueue::counters() const
{
  const std::lock_guard guard(lock_);
  Counters counters = counters_;
  counters.held = (on_screen_ ? 1U : 0U) + (in_flight_ ? 1U : 0U) + static_cast<unsigned>(waiting_.size());
  return counters;
}

std::optional<Error> FlipQueue::failure() const
{
  const std::lock_guard guard(lock_);
  return failure_;
}

} // namespace gstdrm::kms

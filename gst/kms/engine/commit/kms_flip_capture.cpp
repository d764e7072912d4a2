// SPDX-License-Identifier: LGPL-2.1-or-later
// FlipQueue's commits without a new frame, for a picture to write back or a changed cursor. Such a
// change first waits for a time (own_commit_in_time()) for the commit of a frame, which it becomes
// a part of. All functions but the public ones are called with the lock held.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include "kms_flip_queue.hpp"

namespace gstdrm::kms {

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

} // namespace gstdrm::kms

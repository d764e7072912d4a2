// SPDX-License-Identifier: LGPL-2.1-or-later
// FlipQueue's part about acquire fences: frames wait in the queue until theirs has signalled, for a
// bounded time. Called with the lock held but for the public functions.
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "kms_flip_queue.hpp"

namespace gstdrm::kms {

namespace {

std::string seconds(std::int64_t ns)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f s", static_cast<double>(ns) / 1e9);
  return text;
}

} // namespace

void FlipQueue::set_fence_rules(const FenceRules &rules)
{
  const std::lock_guard guard(lock_);
  rules_ = rules;
}

FenceState FlipQueue::probe(const Frame &frame) const
{
  return frame.acquire_fence ? fence_state_(frame.acquire_fence->get()) : FenceState::Signalled;
}

// Counts it. Pending: time is over.
Error FlipQueue::lost_frame(FenceState state)
{
  counters_.dropped++;
  if (state == FenceState::Failed) {
    counters_.fence_errors++;
    return Error{ErrorCode::Sync,
                 "A frame was left out: its acquire fence signalled with an error, so the "
                 "producer's device did "
                 "not draw it. Look for a device reset in the kernel's log.",
                 EIO};
  }
  counters_.fence_timeouts++;
  return Error{ErrorCode::Sync,
               "A frame was left out: its acquire fence did not signal within " +
                   seconds(rules_.timeout_ns) +
                   ". The producer's device hangs or is slow; fence-timeout sets the limit.",
               ETIMEDOUT};
}

void FlipQueue::drop_front(Deferred &deferred)
{
  counters_.dropped++;
  deferred.released.push_back(std::move(waiting_.front().frame));
  waiting_.pop_front();
}

// Something has to wait.
FlipQueue::Front FlipQueue::look_at_front(Deferred &deferred)
{
  Waiting &waiting = waiting_.front();
  if (waiting.ready)
    return Front::Ready;
  const FenceState state = probe(waiting.frame);
  if (state == FenceState::Signalled) {
    waiting.ready = true;
    return Front::Ready;
  }
  if (state == FenceState::Pending && clock_() < waiting.give_up_at)
    return Front::Waits;
  deferred.lost.push_back(lost_frame(state));
  deferred.released.push_back(std::move(waiting.frame));
  waiting_.pop_front();
  return Front::Gone;
}

// Of several frames the newest that is ready goes to the screen: an older one whose fence is
// pending is out of date by then. Not where every frame has to be shown.
bool FlipQueue::overtake_front(Deferred &deferred)
{
  if (!waiting_.front().may_be_dropped || waiting_.size() < 2)
    return false;
  Waiting &next = waiting_[1];
  if (!next.ready && probe(next.frame) != FenceState::Signalled)
    return false;
  next.ready = true;
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

// Driver workaround: a plane that lists IN_FENCE_FD and refuses a commit with one (EINVAL), as
// drivers that do not use the atomic helpers may. From now on frames are held until their fences
// have signalled, by the event thread, for as long as fence-timeout says, and committed without.
void FlipQueue::fences_refused()
{
  rules_.kernel_waits = false;
  for (Waiting &waiting : waiting_) {
    waiting.ready = !waiting.frame.acquire_fence;
    if (!waiting.ready && rules_.timeout_ns != kNever && waiting.give_up_at == kNever)
      waiting.give_up_at = clock_() + rules_.timeout_ns;
  }
}

SharedFence FlipQueue::fence_to_watch() const
{
  if (awaited_ && !awaited_state_)
    return awaited_;
  if (busy() || failure_ || waiting_.empty() || waiting_.front().ready)
    return nullptr;
  return waiting_.front().frame.acquire_fence;
}

SharedFence FlipQueue::watched_fence()
{
  const std::lock_guard guard(lock_);
  watched_ = fence_to_watch();
  return watched_;
}

void FlipQueue::check_awaited()
{
  if (!awaited_ || awaited_state_)
    return;
  const FenceState state = fence_state_(awaited_->get());
  if (state == FenceState::Pending && clock_() < awaited_until_)
    return;
  awaited_state_ = state;
  changed_.notify_all();
}

FlipQueue::Awaited FlipQueue::await_fence(Frame &frame)
{
  std::unique_lock guard(lock_);
  FenceState state = probe(frame);
  if (state == FenceState::Pending) {
    counters_.waits++;
    awaited_ = frame.acquire_fence;
    awaited_until_ = rules_.timeout_ns == kNever ? kNever : clock_() + rules_.timeout_ns;
    awaited_state_.reset();
    guard.unlock();
    wake_();
    guard.lock();
    changed_.wait(guard, [this] { return awaited_state_ || flushing_ || failure_; });
    awaited_.reset();
    if (!awaited_state_)
      return failure_ ? Awaited::Failed : Awaited::Flushing;
    state = *awaited_state_;
  }
  if (state == FenceState::Signalled) {
    frame.acquire_fence.reset();
    return Awaited::Signalled;
  }
  const Error lost = lost_frame(state);
  guard.unlock();
  if (fence_lost_)
    fence_lost_(lost);
  return Awaited::Lost;
}

} // namespace gstdrm::kms

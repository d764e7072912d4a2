// SPDX-License-Identifier: LGPL-2.1-or-later
// FlipQueue's handling of fences: acquire fences, for which frames wait in the queue, and the
// release fence of a frame that is replaced. All functions but the public ones are called with the
// lock held.
#include <cerrno>
#include <optional>
#include <utility>

#include "kms_flip_queue.hpp"

namespace gstdrm::kms {

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

} // namespace gstdrm::kms

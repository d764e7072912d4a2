// SPDX-License-Identifier: LGPL-2.1-or-later
// FlipQueue: commits of another thread than the queue's own, which may block, as a mode set does.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "kms_flip_queue.hpp"

namespace gstdrm::kms {

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

} // namespace gstdrm::kms

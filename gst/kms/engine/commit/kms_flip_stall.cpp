// SPDX-License-Identifier: LGPL-2.1-or-later
// FlipQueue's patience: commits that the kernel puts off, and flips that never complete. All
// functions but the public ones are called with the lock held.
#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "kms_flip_queue.hpp"

namespace gstdrm::kms {

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
// (EBUSY), or something is short. true: it is tried again, or has failed for good.
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

} // namespace gstdrm::kms

// SPDX-License-Identifier: LGPL-2.1-or-later
// FlipQueue's handling of failures: a commit that the kernel refused, a device that is gone, and a
// lack of memory.
#include <cerrno>
#include <string>
#include <utility>

#include "engine/card/kms_objects.hpp"
#include "kms_flip_queue.hpp"

namespace gstdrm::kms {

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

// SPDX-License-Identifier: LGPL-2.1-or-later
// A request for one picture from the writeback connector. It is made by a thread that takes a
// snapshot, becomes part of a commit, and ends with the fence of that commit. Owned by FlipQueue
// and called under its lock.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "engine/card/kms_objects.hpp"

namespace gstdrm::kms {

// Where the display writes back what it scanned out.
struct WritebackJob {
  std::uint32_t framebuffer_id = 0;
  std::int32_t out_fence = -1; // WRITEBACK_OUT_FENCE_PTR: an s32; filled by a commit that succeeds
};

class CaptureJob {
public:
  // No picture is asked for.
  [[nodiscard]] bool idle() const noexcept { return state_ == State::Idle; }
  // The next commit has to contain the job.
  [[nodiscard]] bool pending() const noexcept { return state_ == State::Pending; }
  // When a commit is made for the job alone, CLOCK_MONOTONIC. Only while pending().
  [[nodiscard]] std::int64_t deadline_ns() const noexcept { return deadline_ns_; }

  // Only while idle().
  void start(std::uint32_t framebuffer_id, std::int64_t deadline_ns)
  {
    writeback_ = WritebackJob{framebuffer_id, -1};
    deadline_ns_ = deadline_ns;
    state_ = State::Pending;
  }
  // The writeback that the next commit has to contain; null if there is none.
  [[nodiscard]] WritebackJob *writeback() noexcept { return pending() ? &writeback_ : nullptr; }
  // The commit with writeback() succeeded.
  void committed() noexcept
  {
    fence_ = UniqueFd(std::exchange(writeback_.out_fence, -1));
    state_ = State::Committed;
  }
  // No commit with the job will be made. `why` completes the sentence "No writeback: ".
  void fail(std::string why) noexcept
  {
    error_ = std::move(why);
    state_ = State::Failed;
  }
  // The fence of the commit, or the reason why no commit was made. The job is idle afterwards.
  Result<UniqueFd> take()
  {
    switch (std::exchange(state_, State::Idle)) {
    case State::Committed:
      return std::move(fence_);
    case State::Failed:
      return device_error("No writeback: " + error_ + ".", EIO);
    case State::Idle:
    case State::Pending:
      break;
    }
    return device_error("The display made no commit in time.", ETIMEDOUT);
  }

private:
  enum class State { Idle, Pending, Committed, Failed };
  State state_ = State::Idle;
  WritebackJob writeback_;
  std::int64_t deadline_ns_ = 0;
  UniqueFd fence_;    // while committed
  std::string error_; // while failed
};

} // namespace gstdrm::kms

// SPDX-License-Identifier: LGPL-2.1-or-later
// Decides for how long a frame waits in the queue for its acquire fence. A commit cannot be
// cancelled, and one whose fence never signals blocks the display, each later commit and the way
// back for ever. So a frame whose fence is pending waits in the queue, with or without a time
// limit, and never in the kernel. A FenceGate holds no frame and has no lock: FlipQueue calls it
// under its own lock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <gst/drm/core/result.hpp>
#include <gst/drm/core/sync_file.hpp>
#include <gst/drm/core/unique_fd.hpp>

namespace gstdrm::kms {

inline constexpr std::int64_t kNever = INT64_MAX;

// A sync_file. Shared, as the event thread may be asleep on it when a frame is dropped.
using SharedFence = std::shared_ptr<const UniqueFd>;

// How acquire fences are waited for.
struct FenceRules {
  bool kernel_gets_fences = true;   // IN_FENCE_FD is there and wanted
  std::int64_t timeout_ns = kNever; // kNever: no limit
};

// Whether a commit without IN_FENCE_FD makes this driver wait for the write fences of a
// framebuffer's dma-bufs.
bool waits_for_implicit_fences(std::string_view driver);

class FenceGate {
public:
  enum class Verdict {
    Open,     // there is no fence, or it has signalled
    Shut,     // it is pending
    TimedOut, // it did not signal in time
    Broken,   // it signalled with an error, or is no fence
  };
  // The state of one frame's wait.
  struct Hold {
    bool open = true;                 // may be committed
    std::int64_t give_up_at = kNever; // CLOCK_MONOTONIC, while it is not open
  };

  void set_rules(const FenceRules &rules) { rules_ = rules; }
  [[nodiscard]] bool kernel_gets_fences() const noexcept { return rules_.kernel_gets_fences; }

  // The Hold of a frame that arrives now with this fence; null: the frame has no fence.
  [[nodiscard]] Hold hold(const SharedFence &fence, std::int64_t now_ns) const;
  // Checks the fence of a Hold that is not open, and opens the Hold where the fence has signalled.
  Verdict look(const SharedFence &fence, Hold &hold, std::int64_t now_ns) const;
  // The kernel refused a commit with a fence, so no later commit has one.
  void keep_fences_from_kernel() noexcept { rules_.kernel_gets_fences = false; }
  // The text for a frame that was lost: `verdict` is TimedOut or Broken.
  [[nodiscard]] Error explain(Verdict verdict) const;

  // Begins the wait of a thread that blocks until one fence has signalled. One wait at a time.
  // Returns Open or Broken where there is nothing to wait for; Shut: the wait has begun, and
  // end_wait() ends it.
  Verdict begin_wait(const SharedFence &fence, std::int64_t now_ns);
  // Checks the fence of the wait. Returns true if this call has found the verdict.
  bool check_wait(std::int64_t now_ns);
  // The fence and the time limit of a wait that has no verdict yet; null if there is no such wait.
  [[nodiscard]] SharedFence awaited() const { return verdict_ ? nullptr : awaited_; }
  [[nodiscard]] std::int64_t awaited_until() const noexcept { return wait_.give_up_at; }
  [[nodiscard]] std::optional<Verdict> verdict() const noexcept { return verdict_; }
  void end_wait() noexcept
  {
    awaited_.reset();
    verdict_.reset();
  }

private:
  [[nodiscard]] std::int64_t time_limit(std::int64_t now_ns) const
  {
    return rules_.timeout_ns >= kNever - now_ns ? kNever : now_ns + rules_.timeout_ns;
  }

  FenceRules rules_;
  SharedFence awaited_;
  Hold wait_;
  std::optional<Verdict> verdict_; // of the wait
};

// Does not wait. Failed: it has signalled with an error, or is no fence, which never signals.
FenceState ask_fence(int fence_fd);
// When the fence has signalled, on CLOCK_MONOTONIC in ns; nullopt if it has not. Does not wait. A
// fence of a commit has the time of the vblank (drm_vblank.c, drm_send_event_timestamp_locked()).
std::optional<std::int64_t> fence_signalled_at(int fence_fd);

} // namespace gstdrm::kms

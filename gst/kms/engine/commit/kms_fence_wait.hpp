// SPDX-License-Identifier: LGPL-2.1-or-later
// For how long a frame waits in the queue for its acquire fence. A commit cannot be cancelled, and
// one whose fence never signals blocks the display, each later commit and the way back for ever. So
// a frame whose fence is pending waits in the queue, with or without a time limit, and never in the
// kernel. Plain values: FlipQueue uses them under its lock.
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

struct FenceWait {
  enum class Verdict {
    Signalled, // or there is no fence
    Pending,
    TimedOut, // it did not signal in time
    Broken,   // it signalled with an error, or is no fence
  };
  SharedFence fence;
  std::int64_t give_up_at = kNever;     // CLOCK_MONOTONIC
  Verdict verdict = Verdict::Signalled; // of the last look()

  // Asks a fence that was pending. Does not sleep.
  Verdict look(std::int64_t now_ns);
  [[nodiscard]] bool is_pending() const noexcept { return verdict == Verdict::Pending; }
};

// How acquire fences are waited for.
struct FenceRules {
  bool kernel_gets_fences = true;   // IN_FENCE_FD is there and wanted
  std::int64_t timeout_ns = kNever; // kNever: no limit

  // The wait of a frame that arrives now with this fence, which nobody has asked yet; null: the
  // frame has none.
  [[nodiscard]] FenceWait wait_for(SharedFence fence, std::int64_t now_ns) const;
  // The text for a frame that was lost: `verdict` is TimedOut or Broken.
  [[nodiscard]] Error explain(FenceWait::Verdict verdict) const;
};

// Whether a commit without IN_FENCE_FD makes this driver wait for the write fences of a
// framebuffer's dma-bufs.
bool waits_for_implicit_fences(std::string_view driver);

// The two below have a source of their own, in whose place unit tests link fences whose state they
// set.
// Does not wait. Failed: it has signalled with an error, or is no fence, which never signals.
FenceState ask_fence(int fence_fd);
// When the fence has signalled, on CLOCK_MONOTONIC in ns; nullopt if it has not. Does not wait. A
// fence of a commit has the time of the vblank (drm_vblank.c, drm_send_event_timestamp_locked()).
std::optional<std::int64_t> fence_signalled_at(int fence_fd);

} // namespace gstdrm::kms

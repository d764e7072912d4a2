// SPDX-License-Identifier: LGPL-2.1-or-later
// Decides for how long a frame is kept from the display by its acquire fence. A commit cannot be
// taken back, and one whose fence never signals holds the display for good; so a frame whose fence
// is pending is held in the queue for a bounded time, and given to the kernel at once only where
// there is no limit (FenceRules). Holds no frame and knows no lock: FlipQueue calls it under its
// own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <gst/drm/core/result.hpp>
#include <gst/drm/core/sync_file.hpp>
#include <gst/drm/core/unique_fd.hpp>

namespace gstdrm::kms {

inline constexpr std::int64_t kNever = INT64_MAX;

// A sync_file. Shared, as the event thread may be asleep on it when a frame is dropped.
using SharedFence = std::shared_ptr<const UniqueFd>;

// How acquire fences are waited for.
struct FenceRules {
  bool kernel_waits = true;         // IN_FENCE_FD is there and wanted
  std::int64_t timeout_ns = kNever; // kNever: no limit, and the kernel gets pending fences
};

class FenceGate {
public:
  using Probe = std::function<FenceState(int fence_fd)>;
  enum class Verdict {
    Open,     // the fence has signalled, or the kernel waits for it
    Shut,     // it is pending
    TimedOut, // it did not signal in time
    Broken,   // it signalled with an error, or is no fence
  };
  // How long one frame is held.
  struct Hold {
    bool open = true;                 // may be committed
    std::int64_t give_up_at = kNever; // CLOCK_MONOTONIC, while it is not open
  };

  FenceGate();
  void set_probe(Probe probe) { probe_ = std::move(probe); }
  void set_rules(const FenceRules &rules) { rules_ = rules; }
  [[nodiscard]] bool kernel_waits() const noexcept { return rules_.kernel_waits; }

  // The hold of a frame with this fence, null for none, that comes now.
  [[nodiscard]] Hold hold(const SharedFence &fence, std::int64_t now_ns) const;
  // Asks the fence where the hold is not open yet, and opens it where the fence has signalled.
  Verdict look(const SharedFence &fence, Hold &hold, std::int64_t now_ns) const;
  // The kernel refused a commit with a fence: it gets none from now on. Each frame that is held
  // needs rehold().
  void refuse_kernel_waits() noexcept { rules_.kernel_waits = false; }
  void rehold(const SharedFence &fence, Hold &hold, std::int64_t now_ns) const;
  // What became of a frame: TimedOut or Broken, in words.
  [[nodiscard]] Error explain(Verdict verdict) const;

  // A wait for one fence by a thread that sleeps meanwhile; one at a time.
  // Open, Broken: there is nothing to wait for. Shut: the wait has begun; end_wait() ends it.
  Verdict begin_wait(const SharedFence &fence, std::int64_t now_ns);
  // Asks the fence. true: the wait's verdict has just been found.
  bool check_wait(std::int64_t now_ns);
  // The fence and the time limit of a wait that has no verdict yet; null: there is no such wait.
  [[nodiscard]] SharedFence awaited() const { return verdict_ ? nullptr : awaited_; }
  [[nodiscard]] std::int64_t awaited_until() const noexcept { return wait_.give_up_at; }
  [[nodiscard]] std::optional<Verdict> verdict() const noexcept { return verdict_; }
  void end_wait() noexcept
  {
    awaited_.reset();
    verdict_.reset();
  }

private:
  [[nodiscard]] bool holds_fences() const
  {
    return !rules_.kernel_waits || rules_.timeout_ns != kNever;
  }
  [[nodiscard]] std::int64_t time_limit(std::int64_t now_ns) const
  {
    return rules_.timeout_ns == kNever ? kNever : now_ns + rules_.timeout_ns;
  }

  Probe probe_;
  FenceRules rules_;
  SharedFence awaited_;
  Hold wait_;
  std::optional<Verdict> verdict_; // of the wait
};

} // namespace gstdrm::kms

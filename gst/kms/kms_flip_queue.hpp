// SPDX-License-Identifier: LGPL-2.1-or-later
// Which frame is on screen, which is on its way there, and which comes next. One commit is in flight at
// a time and one frame waits; a second one may for as long as the flip is about to come, so that a
// stream of the display's own rate loses nothing to a little jitter. Knows nothing of threads but the lock, nor of libdrm: commits
// go through FlipTarget, events come in through on_flip(). Any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "kms_framebuffer.hpp"

namespace gstdrm::kms {

inline constexpr std::int64_t kNever = INT64_MAX;

struct Frame {
  std::shared_ptr<Framebuffer> framebuffer;
  UniqueFd acquire_fence;      // sync_file the display waits for; empty: none, or implicit
  std::int64_t due_ns = kNever; // CLOCK_MONOTONIC; kNever: as soon as possible, never late
  std::shared_ptr<void> owner; // released when the flip that replaced the frame has completed
};

// Where the display writes back what it scanned out.
struct WritebackJob {
  std::uint32_t framebuffer_id = 0;
  std::int32_t out_fence = -1; // WRITEBACK_OUT_FENCE_PTR: an s32; filled by a commit that succeeds
};

class FlipTarget {
public:
  virtual ~FlipTarget() = default;
  // Non-blocking commit with an event that brings `serial` back. 0, or a negative errno.
  virtual int flip(const Frame &frame, WritebackJob *job, std::uint64_t serial) = 0;
};

class FlipQueue {
public:
  using Clock = std::function<std::int64_t()>; // CLOCK_MONOTONIC in ns
  enum class Overflow {
    Replace, // the frame that waits longest is dropped
    Wait,    // the caller sleeps until it was committed
  };
  enum class Outcome { Queued, Flushing, Failed };

  struct Counters {
    std::uint64_t shown = 0;   // frames whose flip completed
    std::uint64_t dropped = 0; // frames replaced before they were committed
    std::uint64_t late = 0;    // shown more than one refresh (and an eighth) after they were due
    std::uint64_t commits = 0;
    std::uint64_t waits = 0; // submissions that had to sleep
    std::uint64_t busy = 0;  // commits that the kernel put off with EBUSY
    unsigned held = 0;       // frames held now: on screen, in flight, waiting
    std::uint32_t last_sequence = 0; // vblank counter of the last flip
    std::int64_t last_flip_ns = -1;  // CLOCK_MONOTONIC
  };

  // `wake`: the event thread shall ask next_deadline() again. `failed`: a commit was refused; called
  // once until clear(), without the lock.
  FlipQueue(FlipTarget &target, Clock clock, std::function<void()> wake,
            std::function<void(const Error &)> failed);

  void set_timing(std::int64_t refresh_ns, std::int64_t frame_ns);
  // Takes the frame only when it returns Queued.
  Outcome submit(Frame &frame, Overflow overflow);
  // For a mode set: `commit` (0 or -errno) makes `frame` the one in flight. Nothing may be in flight
  // or waiting: drain() first.
  int submit_with(Frame &frame, const std::function<int(std::uint64_t serial)> &commit);
  // Runs it while nobody commits.
  void exclusively(const std::function<void()> &change)
  {
    const std::lock_guard guard(lock_);
    change();
  }
  // Sleeps until nothing is in flight or waiting. false: flushing, failed or out of time.
  bool drain(std::int64_t timeout_ns);
  // While set, nobody sleeps in submit() or drain().
  void set_flushing(bool flushing);
  // Drops every frame, forgets the failure. After it events of old commits are
  // ignored. The counters stay until reset_counters().
  void clear();
  void reset_counters();
  // Forgets the failure alone: what is on screen stays, and frames are taken again.
  void forgive();

  // The next commit, or one of its own when none comes within a frame time, also fills
  // framebuffer `framebuffer_id`. Returns the writeback's out fence.
  Result<UniqueFd> capture(std::uint32_t framebuffer_id, std::int64_t timeout_ns);

  void cancel_capture();

  void on_flip(std::uint64_t serial, std::uint32_t sequence, std::int64_t time_ns);
  void on_timer();
  // The display is lost: every later submit() fails.
  void abort(const Error &error);
  [[nodiscard]] std::int64_t next_deadline() const;
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] std::optional<Error> failure() const;
  [[nodiscard]] bool flushing() const;

private:
  enum class JobState { None, Pending, Committed, Failed };
  // what a step leaves to be done once the lock is let go
  struct Deferred {
    std::vector<Frame> released;
    std::optional<Error> failure;
  };
  [[nodiscard]] std::size_t room() const;
  [[nodiscard]] bool idle() const { return !in_flight_ && !repeat_in_flight_ && waiting_.empty(); }
  void pump(Deferred &deferred);
  void pump_waiting(Deferred &deferred);
  void pump_capture();
  void commit_done(WritebackJob *job);
  void fail(Error error, Deferred &deferred);
  void finish(Deferred &deferred, bool wake);
  void fail_job(std::string why);

  FlipTarget &target_;
  const Clock clock_;
  const std::function<void()> wake_;
  const std::function<void(const Error &)> failed_;

  mutable std::mutex lock_; // guards everything below
  std::condition_variable changed_;
  std::optional<Frame> on_screen_;
  std::optional<Frame> in_flight_;
  std::deque<Frame> waiting_; // oldest first
  std::int64_t committed_at_ = 0; // what is in flight
  bool repeat_in_flight_ = false; // a commit of the frame that is on screen already
  std::uint64_t serial_ = 0;      // of the last commit
  std::int64_t refresh_ns_ = 16'666'667;
  std::int64_t frame_ns_ = 16'666'667;
  std::int64_t retry_at_ = kNever; // after EBUSY
  bool flushing_ = false;
  std::optional<Error> failure_;
  JobState job_state_ = JobState::None;
  WritebackJob job_;
  std::int64_t job_deadline_ = kNever; // own commit then
  std::string job_error_;
  Counters counters_;
};

} // namespace gstdrm::kms

// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps the frame that is on screen, the frame in flight (committed, its flip not complete), and
// the frame that waits for its commit. One commit is in flight at a time, and one frame waits. A
// second frame may wait while the flip is about to complete, so that a stream at the display's rate
// loses no frame to a little jitter. The queue starts no thread and calls no libdrm: it commits
// through FlipTarget, and its owner passes flip events to on_flip(). Any thread.
//
// A frame whose acquire fence is pending waits in the queue for as long as the FenceRules say,
// while the event thread polls the fence.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/core/sync_file.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "kms_commit.hpp"
#include "kms_fence_wait.hpp"

namespace gstdrm::kms {

// A frame that was shown later than it was due.
struct LateFrame {
  std::uint64_t stamp = 0;
  std::int64_t late_ns = 0; // flip - due
};

class FlipTarget {
public:
  virtual ~FlipTarget() = default;
  // Makes the commit, without blocking. What the device refuses beside the picture is left out:
  // then `next` has what is shown in place of it. A commit for a writeback is refused whole. 0, or
  // a negative errno, which leaves `next.frame` as it was.
  virtual int flip(Commit &next) = 0;
  // When the display's last vblank was, CLOCK_MONOTONIC in ns; nullopt if the device does not tell.
  // Called with the queue's lock held.
  virtual std::optional<std::int64_t> last_vblank() { return {}; }
};

class FlipQueue {
public:
  using Clock = std::function<std::int64_t()>; // CLOCK_MONOTONIC in ns
  enum class Overflow {
    Replace, // the frame that waits longest is dropped; a frame that is ready overtakes one that is
             // not
    Wait,    // the caller sleeps until it was committed
  };
  struct Counters {
    std::uint64_t shown = 0;   // frames whose flip completed
    std::uint64_t dropped = 0; // frames replaced before they were committed
    std::uint64_t late = 0;    // shown more than one refresh (and an eighth) after they were due
    std::uint64_t commits = 0;
    std::uint64_t waits = 0;          // submissions that had to sleep
    std::uint64_t busy = 0;           // commits that are tried again: EBUSY, or a passing lack
    std::uint64_t fence_timeouts = 0; // frames dropped since their fence did not signal in time
    std::uint64_t fence_errors = 0;   // frames dropped since their fence signalled with an error
    std::uint64_t release_fences = 0; // frames given back with a fence, before they were replaced
    unsigned held = 0;                // frames held now: on screen, in flight, waiting
    std::uint32_t last_sequence = 0;  // vblank counter of the last flip
    std::int64_t last_flip_ns = -1;   // CLOCK_MONOTONIC
  };

  // `wake`: the event thread shall ask next_deadline() again. `failed`: a commit was refused;
  // called once until clear(), without the lock.
  FlipQueue(FlipTarget &target, Clock clock, std::function<void()> wake,
            std::function<void(const Error &)> failed);
  // The function that is called for each frame that is dropped because of its fence: without the
  // lock, on any thread. Set it before the first frame.
  void set_fence_lost(std::function<void(const Error &)> lost) { fence_lost_ = std::move(lost); }

  // `refreshes_on_demand`: the display refreshes when a frame comes, at most once in refresh_ns.
  void set_timing(std::int64_t refresh_ns, std::int64_t frame_ns, bool refreshes_on_demand = false);
  // Others commit on the same CRTC, which takes one commit per refresh, and draw when they see a
  // vblank: nothing is committed right after one, so that they come first. After EBUSY the next try
  // is made when theirs has completed.
  void set_shared(bool shared);
  void set_fence_rules(const FenceRules &rules);
  // Takes the frame only when it returns Yes.
  Shown submit(Frame &frame, Overflow overflow);
  // For a mode set: `commit` (0 or -errno) makes the commit with `frame`, which is the one in
  // flight then. drain() first: a frame that is in flight nevertheless is kept until the flip of
  // `commit`. As exclusively(). Takes the frame only when it returns 0.
  int submit_with(Frame &frame, const std::function<int(Commit &)> &commit);
  // For a mode set, which blocks in the kernel: blocks until the frame's fence signals or
  // FenceRules::timeout_ns passes. Yes: the frame has no fence from then on. Counted in
  // Counters::waits.
  Shown await_fence(Frame &frame);
  // Runs `change` while no thread commits. Without the lock, since a mode set sleeps for as long as
  // a display takes: no other function waits for that, and the event thread goes on.
  template <typename Change> auto exclusively(const Change &change)
  {
    const Claim claim(*this);
    return change();
  }
  // Sleeps until nothing is in flight or waiting. false: flushing, failed or out of time.
  bool drain(std::int64_t timeout_ns);
  // What may be on screen, taken out: the last commit, and behind it those that are on screen until
  // its flip. Empty if there is nothing. While nothing commits.
  std::vector<Commit> take_shown();
  // Drops the frames that are not committed yet.
  void drop_waiting();
  // While this is set, submit() and drain() do not block.
  void set_flushing(bool flushing);
  // Drops every frame and forgets the failure. Events of earlier commits are ignored from then on.
  // The counters stay until reset_counters().
  void clear();
  void reset_counters();
  // Forgets the failure alone: what is on screen stays, and frames are taken again.
  void forgive();

  // The failure of a display that has not answered for stall_time(): a flip that was never
  // reported, or EBUSY without an end. Once since the last flip that was reported: a mode set may
  // bring it back to life. A second time in a row is a failure as any other.
  [[nodiscard]] static bool is_stall(const Error &failure) noexcept;
  // After a stall: forgives, and waits for the lost flip no more. Its frame, and what it was to
  // replace, are kept until the next flip. Returns false if there was no stall.
  bool end_stall();

  // Has the framebuffer filled by the next commit, or by a commit for it alone when no frame comes
  // within a frame time and half a refresh. Returns the writeback's out fence.
  Result<UniqueFd> capture(std::uint32_t framebuffer_id, std::int64_t timeout_ns);

  // What the cursor plane shows from the next commit on: that of the next frame, or one for the
  // cursor alone after a frame time and half a refresh. Kept until the queue goes.
  void set_cursor_image(std::shared_ptr<DumbBuffer> image);
  void move_cursor(std::int32_t x, std::int32_t y);

  // Ends a capture() that waits for its commit with an error, and so each that comes before
  // accept_captures(): whoever stops the display does not wait for one.
  void cancel_capture();
  void accept_captures();

  void on_flip(std::uint64_t serial, std::uint32_t sequence, std::int64_t time_ns);
  void on_timer();
  // The display is lost: every later submit() fails.
  void abort(const Error &error);
  // The same as abort(), for a thread that is out of memory and that no exception may leave. It
  // allocates nothing. clear() releases the frames that wait.
  void give_up() noexcept;
  [[nodiscard]] std::int64_t next_deadline() const;
  // The fence whose signal the event thread has to report with on_timer(); null if there is none.
  [[nodiscard]] SharedFence watched_fence();
  // The last frame that was late. Each is returned once.
  [[nodiscard]] std::optional<LateFrame> take_late();
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] std::optional<Error> failure() const;
  [[nodiscard]] bool flushing() const;
  // The owner of the frame on screen; null if there is none, or it was released.
  [[nodiscard]] std::shared_ptr<void> shown_owner() const;

private:
  struct Waiting {
    Frame frame;
    bool may_be_dropped = true; // Overflow::Replace
    FenceWait wait;             // for its acquire fence
  };
  // A picture that a thread waits for in capture().
  struct Capture {
    std::uint32_t framebuffer_id = 0;
    std::int64_t deadline_ns = 0; // a commit is made for it alone then
    bool done = false;            // a commit was made with it, or none will be
    UniqueFd fence;               // of that commit
    std::string failure;          // why none will be
  };
  // What finish() does without the lock.
  struct Deferred {
    std::vector<Commit> released;
    std::optional<std::pair<Frame, UniqueFd>> replaced; // given back with a release fence
    std::vector<Error> lost;                            // frames
    std::optional<Error> failure;
  };
  [[nodiscard]] std::size_t room() const;
  [[nodiscard]] std::int64_t flip_expected_at() const;
  // While one lives, no other thread commits. Where others use the CRTC too, it sleeps for their
  // turn.
  class Claim {
  public:
    explicit Claim(FlipQueue &queue);
    ~Claim();
    Claim(const Claim &) = delete;
    Claim &operator=(const Claim &) = delete;

  private:
    FlipQueue &queue_;
  };
  // A flip event.
  struct Flip {
    std::uint64_t serial = 0;
    std::uint32_t sequence = 0;
    std::int64_t time_ns = 0;
  };
  [[nodiscard]] bool busy() const { return claimed_ || in_flight_; }
  [[nodiscard]] bool idle() const { return !busy() && waiting_.empty() && releasing_ == 0; }
  void push(Frame &frame, Overflow overflow);
  void pump();
  void pump_waiting();
  void flipped(std::int64_t time_ns);
  [[nodiscard]] std::optional<std::int64_t> flip_completed();
  void release(Frame &frame);
  void release_superseded();
  [[nodiscard]] Commit next_commit() const;
  int try_commit(Commit &next);
  void made(Commit &next);
  void finish(std::unique_lock<OrderedMutex> &guard, bool wake);
  // commits that the kernel puts off, and flips that never complete
  bool try_later(int ret);
  void retry_later();
  [[nodiscard]] bool knows_vblank() const;
  void ask_for_vblank();
  [[nodiscard]] std::int64_t since_vblank() const;
  [[nodiscard]] std::int64_t shared_crtc_wait() const;
  [[nodiscard]] std::int64_t stall_time() const;
  [[nodiscard]] std::int64_t flip_lost_at() const;
  void stall(std::string what);
  // failures
  static Error commit_error(int ret);
  void fail(Error error);
  // commits without a new frame
  [[nodiscard]] std::int64_t own_commit_in_time() const;
  [[nodiscard]] std::int64_t own_commit_at() const;
  void refresh(std::unique_lock<OrderedMutex> &guard);
  void pump_own();
  [[nodiscard]] bool capture_is_pending() const { return capture_ && !capture_->done; }
  void fail_capture(std::string why);
  // acquire fences
  Error lost_frame(FenceWait::Verdict verdict);
  bool front_is_ready();
  void drop_front();
  [[nodiscard]] bool awaits_fence() const { return awaited_ && awaited_->is_pending(); }
  [[nodiscard]] SharedFence fence_to_watch() const;

  FlipTarget &target_;
  const Clock clock_;
  const std::function<void()> wake_;
  const std::function<void(const Error &)> failed_;
  std::function<void(const Error &)> fence_lost_;

  mutable OrderedMutex lock_{60, "FlipQueue::lock_"}; // guards everything below
  OrderedCondition changed_;
  std::atomic<int> releasing_{0}; // calls of on_flip() that give back buffers, without the lock
  std::atomic<int> draining_{0};  // threads in drain()
  Deferred deferred_;             // of the thread that has the lock
  std::optional<Commit> on_screen_;
  std::optional<Commit> in_flight_;
  std::vector<Commit> superseded_; // by a mode set, in flight: perhaps on screen until its flip
  bool claimed_ = false;           // by exclusively() or submit_with()
  std::optional<Flip> early_;      // of the commit that submit_with() is in
  std::deque<Waiting> waiting_;    // oldest first
  FenceRules rules_;
  std::optional<FenceWait> awaited_; // by the thread in await_fence()
  SharedFence watched_;              // by the event thread, as far as is known
  std::optional<LateFrame> late_;
  std::uint64_t serial_ = 0; // of the last commit
  std::int64_t refresh_ns_ = 16'666'667;
  std::int64_t frame_ns_ = 16'666'667;
  bool refreshes_on_demand_ = false;
  std::int64_t retry_at_ = kNever;      // after a commit that was put off
  std::int64_t put_off_since_ = kNever; // by the first of those commits in a row
  int stalls_ = 0;                      // since the last flip
  bool shared_ = false;                 // the CRTC
  std::int64_t vblank_ns_ = -1;         // CLOCK_MONOTONIC; the last that is known; -1: none
  bool flushing_ = false;
  std::optional<Error> failure_;
  std::optional<Capture> capture_;
  bool captures_end_ = false;        // at once
  Cursor cursor_;                    // that is wanted
  std::int64_t refresh_at_ = kNever; // own commit then, for refresh()
  Counters counters_;
};

} // namespace gstdrm::kms

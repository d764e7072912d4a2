// SPDX-License-Identifier: LGPL-2.1-or-later
// The engine's front: one sink's display. Opens a device and an output, shows frames, takes
// snapshots.
//
// Threads:
// - One streaming thread at a time calls configure(), take_output(), import(), show(), drain(),
//   refuse(), refusal() and failure(). Another thread may take its place while it is in none of
//   them (a frame that is repeated).
// - start() and stop() are called while no thread is in one of those. They may be called by another
//   thread than the streaming thread.
// - Everything else is for any thread at any time.
// - The event thread calls on_flip(), on_timer(), next_deadline(), watched_fence() and
//   on_device_lost(); the hotplug thread calls on_hotplug() and on_device_removed(). They run from
//   start() to stop(). What they share with the streaming thread is in the classes PlugState and
//   FlipQueue; all that this class keeps itself without a lock is the streaming thread's.
// - Listeners are called without a lock, so they may call back. On the event thread and on the
//   hotplug thread they may also call stop() and let the display go; what would wait for an event
//   on the event thread is refused or fails. stop() does not wait for a thread that is in a
//   listener: that may wait for whoever calls stop().
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gst/drm/core/format_offer.hpp>
#include <gst/drm/core/format_set.hpp>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/result.hpp>

#include "engine/card/kms_device.hpp"
#include "engine/card/kms_event_loop.hpp"
#include "engine/card/kms_framebuffer.hpp"
#include "engine/card/kms_hotplug.hpp"
#include "engine/commit/kms_flip_queue.hpp"
#include "engine/commit/kms_scanout.hpp"
#include "engine/output/kms_choice.hpp"
#include "kms_plug_state.hpp"
#include "kms_snapshots.hpp"

namespace gstdrm::kms {

// What a display tells.
struct Report {
  enum class What {
    // By the thread that calls show():
    PicturePlaced,  // `text`: where the picture is now, and why it is not scaled
    OverlayRefused, // no plane takes the overlay of the frames, which can_overlay() tells
    ViewRefused,    // a new view cannot be had; the old one stays
    TurnLeftOut,    // the picture is shown without its optional rotation
    MasterLost,     // another program is master, so that frames are dropped
    MasterRegained,
    OutputDark, // the program that has lit the joined output turned it off: frames are dropped
    OutputLit,
    // On any thread:
    Failed,         // a frame was refused or the device was lost; once until the next start(), and
                    // perhaps after show() has returned Failed on another thread
    FormatsChanged, // formats(): upstream may have to choose again
    Stalled,        // no answer for seconds: the display is set up anew with the next frame
    FrameLost,      // a frame was left out since its acquire fence failed or did not signal
    Unplugged,      // `text`: the connector
    PluggedIn,      // `text`: the connector
    RepaintWanted,  // show the picture once more, because no frame may come soon
  };
  What what;
  Error error{}; // why; empty where What needs no reason
  std::string text{};
};

class DisplayListener {
public:
  virtual ~DisplayListener() = default;
  // Around the reports of one event, on the threads of the display: an application's bus handler
  // may let the last reference to the listener's owner go in the first of them. unref() may end the
  // listener.
  virtual void ref() noexcept {}
  virtual void unref() noexcept {}
  // Without a lock of the engine's.
  virtual void report(const Report &report) noexcept = 0;
};

class Display final : private EventHandler,
                      private HotplugHandler,
                      public std::enable_shared_from_this<Display> {
public:
  // `listener` outlives the display.
  static Result<std::shared_ptr<Display>>
  open(const DeviceRequest &device, const OutputRequest &output, DisplayListener &listener);
  Display(const Display &) = delete;
  Display &operator=(const Display &) = delete;
  ~Display() override;

  [[nodiscard]] const Device &device() const noexcept { return *device_; }
  // The picture cannot be shown, or its frames not imported, because of its format and size: the
  // pair, and others that test commits refuse now as well, are offered no more. By the streaming
  // thread.
  void refuse(const Error &why);
  // Why this format and modifier were withdrawn; nullopt if they are still offered.
  [[nodiscard]] std::optional<Refusal> refusal(const Picture &picture) const;
  // What is offered now: the union over the usable planes until one is chosen, then that plane's
  // pairs; without those that were refused.
  [[nodiscard]] FormatSet formats() const { return offer_.formats(); }
  // What to use in place of a format that is not among them; empty if it is.
  [[nodiscard]] std::string fix_for(Format format) const;
  // Of pictures, as they are before the view turns them.
  [[nodiscard]] SizeLimits limits() const;
  // Of the frames that carry them, whatever planes and modes can do with those.
  [[nodiscard]] const SizeLimits &frame_limits() const noexcept { return framebuffers_; }
  [[nodiscard]] std::string describe() const { return screen_.get().description; }
  [[nodiscard]] Screen::Size display_size() const { return screen_.get().size; }

  // Whether another program has lit the output. The same until the display is closed.
  [[nodiscard]] bool is_joined() const noexcept { return joined_.has_value(); }

  // What a View can balance. Any thread; the same until the display is closed.
  [[nodiscard]] const std::vector<BalanceChannel> &balance_channels() const noexcept
  {
    return balance_channels_;
  }

  // IN_FENCE_FD is used where the plane has it and the rules want it.
  Result<void> start(const FenceRules &rules = {});
  // Before a frame. Several displays may have chosen one output, or one plane beside another
  // program: the first that has a frame to show takes it until stop(). Error: another one has taken
  // it. By the streaming thread.
  Result<void> take_output();
  // Puts the display back as it was, releases every frame, and lets others take the output. Error:
  // the display could not be put back. The next call tries that again.
  Result<void> stop();
  // Whether stop() puts the display back; else the last frame stays on screen, its buffer in use
  // until another is shown or the display is closed. Any thread; true at first.
  void set_restore(bool restore) { restore_ = restore; }
  // stop(), for good: lets go of the output although other threads may still hold this display.
  Result<void> give_up_output();

  // Error: no plane for the picture can have what the view asks for, whatever the picture is.
  // Before start().
  [[nodiscard]] Result<void> check_view(const View &view) const;
  // Sets how the viewer wants the picture, from the next frame on and without a mode set. Any
  // thread.
  void set_view(const View &view);

  // Sets the format and size of the next frames. The hardware is set up with the first frame.
  Result<void> configure(const Picture &picture);
  // `layout` must have passed check_layout().
  Result<FramebufferCache::Import> import(const FrameLayout &layout);
  // How many imports are no longer kept. Any thread.
  [[nodiscard]] std::uint64_t releases() const { return releases_; }
  // Whether a plane over the picture shows the overlays of frames. Any thread; FormatsChanged is
  // reported where the answer changes. A frame with an overlay is shown without it where it is
  // false.
  [[nodiscard]] bool can_overlay() const;
  struct OverlayCounters {
    std::uint64_t shown = 0;    // frames handed to the display with an overlay on a plane
    std::uint64_t left_out = 0; // frames that had one, and no plane for it
    std::uint64_t refusals = 0; // commits that the device refused because of one
  };
  [[nodiscard]] OverlayCounters overlay_counters() const;
  // RepaintWanted is reported at that time (CLOCK_MONOTONIC), unless show() is
  // called before. Any thread.
  void want_repaint_at(std::int64_t time_ns);
  // Takes the frame only when it returns Yes. Failed was reported where it returns that; a failed
  // mode set returns Error instead.
  Result<Shown> show(Frame &frame, FlipQueue::Overflow overflow);
  // Why show() returned Failed; nullopt if it did not.
  [[nodiscard]] std::optional<Error> failure() const;
  // The owner of the frame on screen; null if there is none, or it was released.
  [[nodiscard]] std::shared_ptr<void> shown_owner() const { return queue_.shown_owner(); }
  // Gives back every frame and every dma-buf: the display shows nothing until the next frame. The
  // mode stays where the device can do that. By the streaming thread.
  void blank();
  // Forgets the imported dma-bufs of frames that are not shown. By the streaming thread.
  void forget_imports() { cache_.clear(); }
  // Those of memory that nobody uses any more; a frame on screen is in use.
  void forget_unused_imports() { cache_.drop_unused(); }
  // Sleeps until the last frame is on screen.
  bool drain(std::int64_t timeout_ns) { return queue_.drain(timeout_ns); }
  void set_flushing(bool flushing) { queue_.set_flushing(flushing); }

  // The cursor goes with the frames' commits, or with one of its own when none comes. Any thread;
  // kept until the display is closed. Error: there is no cursor plane, or the image is too large
  // for it.
  Result<void> set_cursor(const std::optional<CursorImage> &image);
  void move_cursor(std::int32_t x, std::int32_t y) { queue_.move_cursor(x, y); }
  // What the display scans out next, through the writeback connector. Sleeps. An error (EDEADLK) on
  // the event thread, which makes the commit.
  Result<Snapshot> snapshot();
  // The present thread is the one that reads this display's events: a listener was called on it,
  // and no flip completes before it returns.
  [[nodiscard]] bool on_event_thread() const;
  [[nodiscard]] FlipQueue::Counters counters() const;
  [[nodiscard]] std::optional<LateFrame> take_late() { return queue_.take_late(); }

private:
  // How far the picture of the last configure() is. A view that changes, a loss of master, a
  // display that is plugged in, and a frame that is refused bring back an earlier phase.
  enum class Phase {
    ModeUnknown, // which mode fits the picture has to be found first: another display is connected
    FirstFrame,  // the next frame is tested before it is committed, with a mode set where needed
    Showing,     // frames are committed by the queue
  };
  // The conditions under which the pairs of formats() were test-committed.
  struct Proved {
    std::uint32_t plane_id = 0;
    drmModeModeInfo mode{};
    std::uint32_t width = 0; // of the picture
    std::uint32_t height = 0;
    friend bool operator==(const Proved &a, const Proved &b)
    {
      return a.plane_id == b.plane_id && same_mode(a.mode, b.mode) && a.width == b.width &&
             a.height == b.height;
    }
  };
  // How long to wait for a flip, which normally takes one refresh. After this time a mode set is
  // tried, or the output turned off, although the flip has not completed.
  static constexpr std::int64_t kDrainTimeout_ns = 2'000'000'000;
  // How long after the last flip it is looked whether this program is still master, and again.
  static constexpr std::int64_t kLookAgain_ns = 1'000'000'000;
  Display(std::shared_ptr<Device> device, OutputChoice choice, const OutputRequest &request,
          DisplayListener &listener);
  void publish_limits(const Output &output);
  void publish_output();
  bool narrow_offer();
  void disprove(const FormatSet &pairs);
  bool take_view();
  void tell(const Report &report) noexcept;
  template <typename Event> void handle(const Event &event) noexcept;
  void forget_frames();
  void require_first_frame() noexcept;
  // what the event thread reports
  void wake_loop();
  void wake_hotplug();
  template <typename Thread>
  void replace(std::unique_ptr<Thread> &thread, std::unique_ptr<Thread> next);
  // overlays
  void draw_overlay(Frame &frame);
  void count_overlay(const Frame &frame);
  void publish_overlays();
  // the first frame of a picture
  std::optional<Shown> wait_before_mode_set(Frame &frame);
  Result<Shown> show_first(Frame &frame);
  void first_frame_shown();
  bool has_untested_rows(const Frame &frame);
  Result<Shown> show_tested(Frame &frame, const std::optional<View> &before);
  Result<Shown> not_shown(const Error &why);
  Result<std::vector<ModeTry>> modes_for(const Picture &picture);
  Result<void> choose_modes(const Picture &picture);
  [[nodiscard]] Error explain(const Error &error) const;
  // an output that another program has lit
  Result<void> check_joined_plane();
  bool look_at_joined_output();
  void joined_output_went_dark();
  [[nodiscard]] bool joined_output_differs();
  // what is on screen when the sink stops
  Result<void> put_back();
  // displays that are unplugged and plugged in, a lost master
  bool take_up_plug_change();
  void turn_off();
  bool end_stall();
  void refused(const Error &error);
  void lose_device(int error);
  Shown drop() // a frame that the display cannot show at the moment
  {
    frames_without_output_++;
    return Shown::Dropped;
  }
  Shown drop_without_master(const Error &error);
  Result<Connector> read_own_connector(Probe probe);
  bool look_at_connector(Probe probe);
  void look_for_master();
  void forget_what_is_shown();
  void on_begin() noexcept override;
  void on_hotplug() noexcept override;
  void on_woken() noexcept override;
  void on_device_removed() noexcept override { on_device_lost(ENODEV); }

  void on_flip(std::uint32_t crtc_id, std::uint64_t serial, std::uint32_t sequence,
               std::int64_t time_ns) noexcept override;
  void on_timer() noexcept override;
  std::int64_t next_deadline() noexcept override;
  bool reads_events() const noexcept override { return !scanout_.flips_by_fence(); }
  SharedFence watched_fence() noexcept override { return queue_.watched_fence(); }
  void on_device_lost(int error) noexcept override;

  DisplayListener &listener_;
  std::shared_ptr<Device> device_;
  Reservation reservation_;            // likewise released after what uses it
  PlaneLock plane_lock_;               // likewise; of a joined output, while that is taken
  const OutputRequest output_request_; // names the connector
  Connector connector_;                // as it was found last; by start() and the hotplug thread
  const bool has_cursor_;
  const std::optional<Output> joined_; // as it was found; nullopt if the sink sets the mode
  const std::vector<BalanceChannel> balance_channels_;
  const SizeLimits framebuffers_; // what the driver makes framebuffers of
  FormatOffer offer_;
  PlugState plug_;
  std::atomic<bool> state_is_foreign_{false}; // another program may have set the display
  // Master, as far as is known: false from a frame that was dropped or a look that found so, until
  // a look finds otherwise.
  std::atomic<bool> was_master_{true};
  std::atomic<bool> frame_came_{false};          // since the last look
  std::atomic<std::int64_t> look_again_at_{0};   // CLOCK_MONOTONIC
  std::atomic<std::int64_t> repaint_at_{kNever}; // likewise
  // Frames that were dropped since nothing is connected or another process is master.
  std::atomic<std::uint64_t> frames_without_output_{0};

  std::atomic<bool> view_changed_{false}; // since the streaming thread has read the screen's
  std::atomic<bool> restore_{true};
  std::atomic<bool> can_overlay_{false}; // unless the view turns the picture
  std::atomic<std::uint64_t> overlays_shown_{0};
  std::atomic<std::uint64_t> overlays_left_out_{0};

  Scanout scanout_; // by the streaming thread and, under the queue's lock, by whoever commits
  FlipQueue queue_;
  SharedScreen screen_;
  Snapshots snapshots_;

  // Used by the streaming thread only.
  bool master_loss_told_ = false;
  bool joined_is_lit_ = true;
  std::int64_t look_at_joined_at_ = 0; // CLOCK_MONOTONIC
  std::atomic<std::uint64_t> releases_{0};
  FramebufferCache cache_;
  std::vector<Commit> last_; // left on screen by stop(), or there until a flip that nobody reads
  Phase phase_ = Phase::ModeUnknown;
  Picture picture_;
  std::vector<ModeTry> modes_;   // of picture_, best first; once it is shown: the mode on screen.
                                 // Not valid in the phase ModeUnknown
  std::optional<Proved> proved_; // nullopt: not tested with the display that is connected
  std::optional<FramebufferRows> rows_; // of the last frame
  unsigned untested_changes_ = 0;       // RowChange bits that the next frame's test commit is for
  unsigned tested_changes_ = 0; // RowChange bits that need no mode set, as a test commit showed
  FenceRules fence_rules_;
  // Why the optional rotation was left out; to be told with the next frame.
  std::optional<Error> turn_left_out_;
  bool overlay_announced_ = false; // what can_overlay() was when FormatsChanged was reported last
  bool overlay_refusal_told_ = false;

  // Guards the change of loop_, which any thread wakes that moves the cursor, and of hotplug_,
  // which the event thread and the streaming thread wake, and their use by those. A leaf: each
  // wake() is one write(2).
  mutable OrderedMutex loop_lock_{kLeafLockRank, "Display::loop_lock_"};
  // Declared last, so released first: their threads use all the rest.
  std::unique_ptr<EventHub::Subscription> loop_;
  std::unique_ptr<HotplugMonitor> hotplug_;
};

} // namespace gstdrm::kms

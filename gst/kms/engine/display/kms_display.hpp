// SPDX-License-Identifier: LGPL-2.1-or-later
// The engine's front: one sink's display. Opens a device and an output, shows frames, takes
// snapshots.
//
// Threads: one streaming thread calls configure(), import(), show(), drain(); start() and stop()
// are not called while it does; the rest is for any thread.
#pragma once

#include <atomic>
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

#include "engine/output/kms_choice.hpp"
#include "engine/card/kms_device.hpp"
#include "engine/card/kms_event_loop.hpp"
#include "engine/commit/kms_flip_queue.hpp"
#include "engine/card/kms_framebuffer.hpp"
#include "engine/card/kms_hotplug.hpp"
#include "engine/commit/kms_scanout.hpp"

namespace gstdrm::kms {

struct Snapshot {
  std::uint32_t fourcc = 0; // XR24 or AR24
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> pixels; // rows without padding
};

// Sizes that this output can show, in pixels.
struct SizeLimits {
  std::uint32_t min_width = 1, min_height = 1;
  std::uint32_t max_width = 0, max_height = 0;
};

class DisplayListener {
public:
  virtual ~DisplayListener() = default;
  // A frame was refused or the device was lost, on any thread; once until the next start(), and
  // perhaps after show() has returned Failed on another thread.
  virtual void display_failed(const Error &error) noexcept = 0;
  // formats() answers something else than before: upstream may have to choose again. On any thread,
  // without a lock of the engine's.
  virtual void formats_changed() noexcept = 0;
  // A frame was left out since its acquire fence failed or did not signal, on any thread.
  virtual void frame_lost(const Error &error) noexcept { (void)error; }
  // The display's cable was pulled, or a display plugged in. On any thread, without a lock of the
  // engine's.
  virtual void connector_changed(const std::string &connector, bool connected) noexcept
  {
    (void)connector, (void)connected;
  }
  // Another program is master, so that frames are dropped (`error` says which call told), or this
  // one is again. By the streaming thread.
  virtual void master_changed(const Error &error, bool master) noexcept
  {
    (void)error, (void)master;
  }
  // By the thread that calls show(): where the picture is now, and why it is not scaled.
  virtual void picture_placed(const std::string & /*where*/) noexcept {}
  // A new view cannot be had; the old one stays. By the thread that calls show().
  virtual void view_refused(const Error & /*error*/) noexcept {}
};

class Display final : private EventHandler, private HotplugHandler {
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
  // Why the picture's pair was taken out of the offer; nothing: it was not.
  [[nodiscard]] std::optional<Refusal> refusal(const Picture &picture) const;
  // What is offered now: the union over the usable planes until one is chosen, then that plane's
  // pairs; without those that were refused.
  [[nodiscard]] FormatSet formats() const { return offer_.formats(); }
  [[nodiscard]] SizeLimits limits() const
  {
    const std::lock_guard guard(plug_lock_);
    return limits_;
  }
  [[nodiscard]] std::string describe() const;

  Result<void> start();
  // Puts the display back as it was and releases every frame. Error: the display could not be put
  // back.
  Result<void> stop();

  // How the viewer wants the picture: from the next frame on, without a mode set. Any thread.
  void set_view(const View &view);

  // What comes next. Touches no hardware: the first frame does.
  Result<void> configure(const Picture &picture);
  // Before the first frame. IN_FENCE_FD is used where the plane has it and the rules want it.
  void set_fence_rules(const FenceRules &rules) { fence_rules_ = rules; }
  // `layout` must have passed check_layout().
  Result<FramebufferCache::Import> import(const FrameLayout &layout);
  enum class Shown {
    Yes,     // the frame goes to the screen, unless a newer one replaces it before its commit
    Dropped, // left out: nothing is connected, another program is master, or the frame's acquire
             // fence was lost; the stream goes on
    Flushing,
    Failed,
  };
  // Takes the frame only when it returns Yes. Failed: display_failed() was called; a failed mode
  // set returns Error instead.
  Result<Shown> show(Frame &frame, FlipQueue::Overflow overflow);
  // Why show() returned Failed; nothing: it did not.
  [[nodiscard]] std::optional<Error> failure() const;
  // Sleeps until the last frame is on screen.
  bool drain(std::int64_t timeout_ns) { return queue_.drain(timeout_ns); }
  void set_flushing(bool flushing) { queue_.set_flushing(flushing); }

  // The cursor goes with the frames' commits, or with one of its own when none comes. Any thread;
  // kept until the display is closed. Error: there is no cursor plane, or the image is too large
  // for it.
  Result<void> set_cursor(const std::optional<CursorImage> &image);
  void move_cursor(std::int32_t x, std::int32_t y);
  // What the display scans out next, through the writeback connector. Sleeps.
  Result<Snapshot> snapshot();
  [[nodiscard]] FlipQueue::Counters counters() const;
  [[nodiscard]] std::optional<LateFrame> take_late() { return queue_.take_late(); }

private:
  Display(std::shared_ptr<Device> device, OutputChoice choice, const OutputRequest &request,
          DisplayListener &listener);
  [[nodiscard]] SizeLimits size_limits(const Connector &connector) const;
  Result<Shown> show_first(Frame &frame);
  Result<Shown> show_view(Frame &frame);
  bool narrow_offer();
  std::optional<Shown> wait_before_mode_set(Frame &frame);
  bool take_view();
  // kms_snapshot.cpp
  Result<std::uint32_t> writeback_fourcc() const;
  [[nodiscard]] std::optional<drmModeModeInfo> mode_to_write_back() const;
  Result<Snapshot> write_back(std::uint32_t fourcc, const drmModeModeInfo &mode);
  [[nodiscard]] Error explain(const Error &error) const;
  // kms_replug.cpp
  bool take_up_plug_change();
  void turn_off();
  [[nodiscard]] bool is_denied(const Error &error) const;
  Shown deny(const Error &error);
  void on_hotplug() noexcept override;
  void on_device_removed() noexcept override;

  void on_flip(std::uint32_t crtc_id, std::uint64_t serial, std::uint32_t sequence,
               std::int64_t time_ns) noexcept override;
  void on_timer() noexcept override;
  std::int64_t next_deadline() noexcept override { return queue_.next_deadline(); }
  SharedFence watched_fence() noexcept override { return queue_.watched_fence(); }
  void on_device_lost(int error) noexcept override;

  DisplayListener &listener_;
  std::shared_ptr<Device> device_;
  Reservation reservation_;            // given back when all the rest is
  const OutputRequest output_request_; // names the connector
  const std::uint32_t connector_id_;
  const bool has_cursor_;
  const SizeLimits framebuffers_; // what the driver makes framebuffers of
  FormatOffer offer_;

  // Guards the four below.
  mutable OrderedMutex plug_lock_{kLeafLockRank, "Display::plug_lock_"};
  bool connected_ = true;
  std::vector<drmModeModeInfo> modes_; // of what is connected
  SizeLimits limits_;
  std::optional<Output> replugged_;       // for the streaming thread to take up
  std::atomic<bool> plug_changed_{false}; // the streaming thread has to look
  std::atomic<bool> lost_{false};
  std::atomic<std::uint64_t> unplugged_frames_{0}; // dropped, as there was nothing to show them on
  bool denied_ = false;                            // not master now

  Scanout scanout_; // by the streaming thread and, under the queue's lock, by whoever commits
  FlipQueue queue_;
  FramebufferCache cache_;
  Picture picture_;
  drmModeModeInfo mode_{};    // for picture_
  bool mode_chosen_ = false;  // mode_ is one of the present display's
  bool first_pending_ = true; // picture_ has not been shown yet
  std::string proved_for_;    // what the pairs of formats() were test-committed for last
  FenceRules fence_rules_;

  // Guards the two below it.
  OrderedMutex view_lock_{kLeafLockRank, "Display::view_lock_"};
  View view_;
  bool view_changed_ = false;
  View shown_view_; // of the streaming thread: what is on screen

  // Guards the three below.
  mutable OrderedMutex shown_lock_{kLeafLockRank, "Display::shown_lock_"};
  std::string description_;
  drmModeModeInfo shown_mode_{};
  bool can_write_back_ = false;

  // One snapshot at a time; taken before any other.
  OrderedMutex snapshot_lock_{kSnapshotLockRank, "Display::snapshot_lock_"};
  // last: their threads use all the rest
  std::unique_ptr<EventHub::Subscription> loop_;
  std::unique_ptr<HotplugMonitor> hotplug_;
};

} // namespace gstdrm::kms

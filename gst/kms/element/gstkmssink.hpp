// SPDX-License-Identifier: LGPL-2.1-or-later
// What stands behind the functions of GstKmsDmabufSink.
//
// Threads: the application changes states and sets properties, the streaming thread brings caps and
// frames, and the display's own threads report what happens. Each function says which thread calls
// it. Locks are taken in this order: GStreamer's preroll lock, repeat_lock_, SinkDisplay's lock,
// the engine's (docs/architecture.md).
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>
#include <gst/video/gstvideosink.h>

#include "gstkmssinkbalance.hpp"
#include "gstkmssinkdisplay.hpp"
#include "gstkmssinkframes.hpp"
#include "gstkmssinknegotiation.hpp"

namespace gstdrm {

class KmsSink final : private kms::DisplayListener {
public:
  explicit KmsSink(GstVideoSink *element);
  KmsSink(const KmsSink &) = delete;
  KmsSink &operator=(const KmsSink &) = delete;

  // What the properties set and get. Any thread.
  [[nodiscard]] SinkDisplay &display() noexcept { return display_; }
  // nullptr: no cursor. A warning on the bus where the display does not take the image. Any thread.
  void set_cursor_image(GstSample *image);
  // (transfer full) The value of `drm-stats`. Any thread.
  [[nodiscard]] GstStructure *stats_structure() const;

  // Its GstColorBalance. Any thread.
  [[nodiscard]] SinkBalance &balance() noexcept { return balance_; }

  // (transfer full) Takes a message of the element that may not be posted now, and posts it later.
  // Returns false if it is to be posted now. Any thread.
  bool keep_message(GstMessage *message);

  // Changes of state. false: the reason is on the bus.
  bool open();
  void close();
  bool start();
  void stop();
  // Between start() and stop(). Any thread.
  [[nodiscard]] bool is_started();
  // From unlock() to unlock_stop(): show_frame() does not sleep. Any thread.
  void unlock() { set_flushing(true); }
  void unlock_stop() { set_flushing(false); }

  // (transfer full) Any thread.
  GstCaps *query_caps(GstCaps *filter) { return negotiation_.query_caps(filter); }
  // The display offers something else than before. Any thread, without a lock.
  void request_choice();

  // The functions from here to with_flip_time() are called by the streaming thread.
  // Another producer may have taken the place of the one before.
  void begin_stream();
  bool set_caps(GstCaps *caps);
  bool propose_allocation(GstQuery *query);
  // When the buffer is shown. The base class would take the frame rate from caps that only it has
  // parsed.
  void get_times(GstBuffer *buffer, GstClockTime *start, GstClockTime *end);
  // Around GstBaseSink's preroll of one buffer, which calls show_frame().
  void begin_preroll() noexcept { in_preroll_ = true; }
  void end_preroll() noexcept { in_preroll_ = false; }
  GstFlowReturn show_frame(GstBuffer *buffer);
  // The pipeline was flushed: none of the frames before will be rendered or shown again.
  void forget_frames();
  // Sleeps until the last frame is on screen.
  void drain();
  // Gives every buffer of upstream's back, as a DRAIN query asks: the picture stays, in a copy of
  // the sink's own, or the screen is dark where the CPU cannot copy it.
  void give_back();
  // (transfer full) The QoS event of the base class with what the display saw, where that is worse;
  // nullptr: it is not.
  GstEvent *with_flip_time(GstEvent *event);

  // Shows the last frame once more, where and how the properties say now, if there is one and
  // neither the caps nor the state change at the moment. Never sleeps for a lock: another thread
  // does it later where this one would have to, so a bus handler may call it for any message.
  // Any thread.
  void repeat_frame();
  // (transfer full) (nullable) What the display scans out. Sleeps. Any thread.
  GstSample *snapshot();

private:
  static constexpr int kRepeatLockRank = 10; // before every other lock of the sink
  class DeferMessages;

  void set_flushing(bool flushing);
  // Of the display, on threads of its own.
  void ref() noexcept override { gst_object_ref(element_); }
  void unref() noexcept override { gst_object_unref(element_); } // which may end this
  void report(const kms::Report &report) noexcept override;
  void connector_changed(const std::string &connector, bool connected);
  GstFlowReturn wait_preroll();
  Result<void> start_display();
  Result<std::shared_ptr<kms::Display>> take_output(const std::shared_ptr<kms::Display> &chosen);
  GstFlowReturn show_now(GstBuffer *buffer);
  void repeat_later() noexcept;
  void repeat_now();
  void show_last(kms::Display &display);
  void keep_if_late(GstBuffer *buffer);
  struct DueTime {
    std::int64_t time_ns = 0; // CLOCK_MONOTONIC
    GstClockTime running = 0;
  };
  [[nodiscard]] std::optional<DueTime> due_time(GstBuffer *buffer) const;
  struct Picture {
    const GstBuffer *buffer = nullptr; // only compared
    // The pool may reuse the buffer if the base class dropped it.
    GstClockTime pts = GST_CLOCK_TIME_NONE;
    friend bool operator==(const Picture &, const Picture &) = default;
  };
  Result<kms::Frame> make_frame(kms::Display &display, GstBuffer *buffer);
  GstFlowReturn show(kms::Display &display, GstBuffer *buffer, kms::Frame &frame,
                     kms::FlipQueue::Overflow overflow);
  GstFlowReturn fail(const Error &error);
  // A warning on the bus; `more` is for its debug text.
  void warn(GstResourceError code, const std::string &text, const Error &why,
            const char *more = "") const;
  void warn_of_cursor(const Result<void> &set);
  void warn_of_display(const Result<void> &put_back);

  GstVideoSink *element_;                 // borrowed: it owns this
  std::atomic<bool> repeat_asked_{false}; // of repeat_later(), which has not begun
  // Why the display failed: once for each failure. The message is on the bus before upstream hears
  // of the failure and posts a message that says less. Before the display, which reports until it
  // is closed, as the two below.
  OncePerFailure failure_;
  std::atomic<bool> lost_announced_{false}; // a warning for a lost frame is on the bus
  std::atomic<bool> stall_announced_{false};
  Stats stats_;
  SinkDisplay display_;
  SinkBalance balance_{display_};
  SinkFences fences_;
  SinkNegotiation negotiation_;
  SinkFrames frames_;

  // Held while a frame is repeated, and while the caps change or the display stops.
  OrderedMutex repeat_lock_{kRepeatLockRank, "KmsSink::repeat_lock_"};
  bool started_ = false;        // under repeat_lock_
  bool display_warned_ = false; // of what stop() could not put back; of the changes of state

  // Of the streaming thread:
  bool in_preroll_ = false;
  // Under the preroll lock:
  GstPtr<GstBuffer> kept_; // on screen in place of the base class's last buffer
  GstPtr<GstBuffer> late_; // may be dropped by the base class; shown if no other frame comes
  Picture prerolled_;      // rendered next, and on screen already
};

// Defers what the present thread has the sink send under GStreamer's preroll lock, messages and
// RECONFIGURE, until the lock is released: an application's synchronous bus handler, and whoever
// handles the event upstream, finds no lock in its way.
class KmsSink::DeferMessages {
public:
  // The caller holds the preroll lock.
  explicit DeferMessages(KmsSink &sink) noexcept : sink_(sink) { resume(); }
  ~DeferMessages() { send(); }
  DeferMessages(const DeferMessages &) = delete;
  DeferMessages &operator=(const DeferMessages &) = delete;
  // That of the present thread; nullptr: what the sink sends is sent at once.
  static DeferMessages *of(const KmsSink &sink) noexcept
  {
    return current_ && &current_->sink_ == &sink ? current_ : nullptr;
  }
  void add(GstMessage *message) { messages_.push_back(GstPtr<GstMessage>::adopt(message)); }
  void add_choice() noexcept { asks_for_choice_ = true; }
  // Releases the preroll lock to send what there is, and retakes it. Nothing is deferred from then
  // on, until resume(). Returns true if the lock was released.
  bool send() noexcept;
  void resume() noexcept { outer_ = std::exchange(current_, this); }

private:
  static inline thread_local DeferMessages *current_ = nullptr;
  KmsSink &sink_;
  DeferMessages *outer_ = nullptr;           // of another sink, or of a thread that is in send()
  std::vector<GstPtr<GstMessage>> messages_; // in order
  bool asks_for_choice_ = false;             // upstream is to be sent RECONFIGURE
};

// The element's properties, in its class.
void install_sink_properties(GObjectClass *klass);

} // namespace gstdrm

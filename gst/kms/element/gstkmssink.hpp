// SPDX-License-Identifier: LGPL-2.1-or-later
// What stands behind the functions of GstKmsDmabufSink.
//
// Threads: the application changes states and sets properties, the streaming thread brings caps and
// frames, and the display's own threads report what happens. Each function says which thread calls
// it. Locks are taken in this order: GStreamer's preroll lock, repeat_lock_, SinkDisplay's lock,
// the engine's (docs/architecture.md).
#pragma once

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/gst.h>
#include <gst/video/gstvideosink.h>

#include "gstkmssinkdisplay.hpp"
#include "gstkmssinkfences.hpp"
#include "gstkmssinkframes.hpp"
#include "gstkmssinknegotiation.hpp"
#include "gstkmssinkreports.hpp"

namespace gstdrm {

class KmsSink {
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

  // Changes of state. false: the reason is on the bus.
  bool open();
  void close() { display_.close(); }
  bool start();
  void stop();
  // Between start() and stop(). Any thread.
  [[nodiscard]] bool is_started();
  // From unlock() to unlock_stop(): show_frame() does not sleep. Any thread.
  void set_flushing(bool flushing);

  // (transfer full) Any thread.
  GstCaps *query_caps(GstCaps *filter) const { return negotiation_.query_caps(filter); }
  // The display offers something else than before. Any thread, without a lock.
  void request_choice() { negotiation_.request_choice(); }

  // The functions from here to with_flip_time() are called by the streaming thread.
  bool set_caps(GstCaps *caps);
  bool propose_allocation(GstQuery *query);
  // When the buffer is shown, without parsing the caps once more.
  void get_times(GstBuffer *buffer, GstClockTime *start, GstClockTime *end) const;
  // Around GstBaseSink's preroll of one buffer, which calls show_frame().
  void begin_preroll() noexcept { in_preroll_ = true; }
  void end_preroll() noexcept { in_preroll_ = false; }
  GstFlowReturn show_frame(GstBuffer *buffer);
  // The frame that was prerolled will not be rendered next: the pipeline was flushed.
  void forget_prerolled() noexcept { prerolled_ = nullptr; }
  // Sleeps until the last frame is on screen.
  void drain();
  // (transfer full) The QoS event of the base class with what the display saw, where that is worse;
  // nullptr: it is not.
  GstEvent *with_flip_time(GstEvent *event);

  // Shows the last frame once more, where and how the properties say now, if there is one and
  // neither the caps nor the state change at the moment. Any thread but the streaming one.
  void repeat_frame();
  // (transfer full) (nullable) What the display scans out. Sleeps. Any thread.
  GstSample *snapshot();

private:
  static constexpr int kRepeatLockRank = 10; // before every other lock of the sink

  GstFlowReturn show(kms::Display &display, kms::Frame &frame, kms::FlipQueue::Overflow overflow);
  GstFlowReturn fail(const Error &error);
  void set_due_time(GstBuffer *buffer, kms::Frame &frame);
  void warn_of_cursor(const Result<void> &set);
  [[nodiscard]] bool can_repeat(const GstCaps *last) const;

  GstVideoSink *element_; // borrowed: it owns this
  SinkReports reports_;   // before the display, which reports until it is closed
  Stats stats_;
  SinkDisplay display_;
  SinkFences fences_;
  SinkNegotiation negotiation_;
  SinkFrames frames_;

  // Held while a frame is repeated, and while the caps change or the display stops.
  OrderedMutex repeat_lock_{kRepeatLockRank, "KmsSink::repeat_lock_"};
  bool started_ = false; // under repeat_lock_

  // Of the streaming thread:
  bool in_preroll_ = false;
  const GstBuffer *prerolled_ = nullptr; // only compared: rendered next, and on screen already
};

} // namespace gstdrm

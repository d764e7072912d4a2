// SPDX-License-Identifier: LGPL-2.1-or-later
// What metisdmabufinfer does, without its GObject.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/failed_negotiation.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-private.hpp>

#include "engine/inference_queue.hpp"
#include "gstmetisinferframes.hpp"
#include "gstmetisinferlatency.hpp"
#include "gstmetisinfersettings.hpp"

namespace gstdrm::metis {

// metisdmabufinfer without GObject. start() and stop() run while the pads are inactive. The
// streaming thread calls chain(), and sink_event() with serialized events; the source pad's task
// calls loop(); any thread calls the rest. Frames and serialized events leave in the order in which
// they came.
class Inferer {
public:
  Inferer(GstElement *element, GstPad *sink, GstPad *src);

  bool start(const InferSettings &settings);
  void stop();
  bool activate_src(GstPadMode mode, bool active);
  // Deactivation wakes a streaming thread that sleeps in chain().
  bool activate_sink(GstPadMode mode, bool active);

  GstFlowReturn chain(GstBuffer *taken);
  bool sink_event(GstEvent *event);
  // The result of the last push downstream.
  [[nodiscard]] GstFlowReturn flow() const { return flow_; }
  void explain_refused_caps(GstEvent *caps);
  bool src_event(GstEvent *event);
  bool sink_query(GstQuery *query);
  bool src_query(GstQuery *query);

  [[nodiscard]] GstStructure *stats() const;

private:
  void set_flushing(bool flushing);
  bool resume();
  static void run_task(gpointer inferer) noexcept;
  void loop();
  bool flush_start(GstEvent *event);
  bool flush_stop(GstEvent *event);
  bool start_task_again();
  void pause_task();
  bool take_caps(GstEvent *event);
  [[nodiscard]] Mismatch explain(const GstCaps *caps) const;
  bool queue_event(GstEvent *event);
  bool answer_caps(GstPad *pad, GstQuery *query);
  bool answer_accept_caps(GstQuery *query);
  bool answer_allocation(GstQuery *query);
  [[nodiscard]] GstPtr<GstCaps> own_caps() const;
  [[nodiscard]] bool is_late(GstBuffer *buffer) const;
  void forget_qos() { earliest_ = GST_CLOCK_TIME_NONE; }
  Result<std::unique_ptr<InferenceQueue>> open(const InferSettings &settings);
  void set_queue(std::shared_ptr<InferenceQueue> queue, GstPtr<GstCaps> caps);
  [[nodiscard]] std::shared_ptr<InferenceQueue> queue_of_any_thread() const;
  GstFlowReturn push_event(QueuedData &data);
  GstFlowReturn push_frame(Outcome outcome);
  GstFlowReturn fail_frame(const Error &error);
  void end_task(GstFlowReturn flow);
  GstFlowReturn fail(const Error &error);

  GstElement *const element_;
  GstPad *const sink_, *const src_;
  // Guarded by the sink pad's stream lock, because GStreamer sends serialized queries to an
  // inactive pad, too. queue_ changes under the object's lock as well, for threads without the
  // stream lock.
  InferSettings settings_;
  std::shared_ptr<InferenceQueue> queue_;
  std::atomic<unsigned> places_{1}; // InferenceSetup::places
  GstPtr<GstCaps> caps_;            // of the back end; guarded by the object's lock
  InferFrames frames_;
  FailedNegotiation negotiation_;
  InferLatency latency_;
  Stats stats_;
  InferenceCounters counters_;
  std::atomic<std::uint64_t> passed_through_{0};
  std::atomic<GstFlowReturn> flow_{GST_FLOW_FLUSHING};
  std::atomic<bool> failed_{false}; // an error was posted since the last flush
  std::atomic<bool> eos_{false};    // upstream has sent EOS
  bool has_format_ = false;         // streaming thread
  std::uint64_t frame_number_ = 0;  // streaming thread, for `interval`
  GstSegment segment_{};            // streaming thread
  // With `leaky`: frames up to this running time would be too late downstream.
  std::atomic<GstClockTime> earliest_{GST_CLOCK_TIME_NONE};
  std::atomic<bool> warned_{false}; // that frames pass without results
};

} // namespace gstdrm::metis

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

// One per element. start() and stop() run while the pads are inactive. The streaming thread calls
// chain() and sink_event() with serialized events, the source pad's task calls loop(); any thread
// calls the rest. Frames, events and queries leave in the order in which they came.
class Inferer {
public:
  Inferer(GstElement *element, GstPad *sink, GstPad *src);

  bool start(const InferSettings &settings);
  void stop();
  // The source pad begins or ends to push.
  bool activate_src(GstPadMode mode, bool active);
  // A streaming thread that sleeps in chain() wakes when the sink pad is closed.
  bool activate_sink(GstPadMode mode, bool active);

  GstFlowReturn chain(GstBuffer *taken);
  bool sink_event(GstEvent *event);
  // Of the last push downstream.
  [[nodiscard]] GstFlowReturn flow() const { return flow_; }
  void explain_refused_caps(GstEvent *caps);
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
  Result<std::unique_ptr<InferenceQueue>> open(const InferSettings &settings);
  void set_queue(std::shared_ptr<InferenceQueue> queue, GstPtr<GstCaps> caps);
  [[nodiscard]] std::shared_ptr<InferenceQueue> queue_of_any_thread() const;
  GstFlowReturn push_event(QueuedData &carried);
  GstFlowReturn push_frame(Outcome outcome);
  GstFlowReturn fail_frame(const Error &error);
  void end_task(GstFlowReturn flow);
  GstFlowReturn fail(const Error &error);

  GstElement *const element_;
  GstPad *const sink_, *const src_;
  // Both are of the start, and change under the sink pad's stream lock: GStreamer asks serialized
  // queries of an inactive pad, too. The queue changes under the object's lock besides, for threads
  // without the stream lock.
  InferSettings settings_;
  std::shared_ptr<InferenceQueue> queue_;
  std::atomic<unsigned> places_{1}; // frames inside, at most
  GstPtr<GstCaps> caps_;            // what the back end takes; guarded by the object's lock
  InferFrames frames_;
  FailedNegotiation negotiation_;
  InferLatency latency_;
  Stats stats_;
  InferenceCounters counters_;
  std::atomic<std::uint64_t> passed_through_{0};
  std::atomic<GstFlowReturn> flow_{GST_FLOW_FLUSHING}; // of the last push downstream
  std::atomic<bool> failed_{false};                    // and said so, since the last flush
  std::atomic<bool> eos_{false};                       // upstream has ended
  bool has_format_ = false;                            // streaming thread
  std::uint64_t frame_number_ = 0;                     // streaming thread, for `interval`
  std::atomic<bool> warned_{false};                    // of frames without a result
};

} // namespace gstdrm::metis

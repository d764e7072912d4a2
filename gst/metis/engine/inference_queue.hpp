// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames on their way through a back end, and what has to stay in order with them.
#pragma once

#include <memory>
#include <optional>

#include <gst/drm/core/result.hpp>

#include "inference_worker.hpp"
#include "item_line.hpp"

namespace gstdrm::metis {

// The streaming thread pushes, one other thread pops, a worker does the rest. Items come out in the
// order in which they went in.
class InferenceQueue {
public:
  using Passage = ItemLine::Passage;

  // Error: the process has no descriptor left. `counters` is borrowed.
  static Result<std::unique_ptr<InferenceQueue>> start(InferenceSetup setup,
                                                       InferenceCounters &counters)
  {
    auto wake = WakeFd::create();
    if (!wake)
      return wake.error();
    return std::unique_ptr<InferenceQueue>(
        new InferenceQueue(std::move(setup), std::move(*wake), counters));
  }
  InferenceQueue(const InferenceQueue &) = delete;
  InferenceQueue &operator=(const InferenceQueue &) = delete;
  // No thread is in push(), pop() or drain(). Takes no longer than the back end's destructor and
  // the frame that is being preprocessed.
  ~InferenceQueue() { line_.set_flushing(true); }

  [[nodiscard]] const Backend &backend() const noexcept { return worker_.backend(); }

  // See ItemLine.
  Passage push(Item item) { return line_.push(std::move(item)); }
  std::optional<Outcome> pop() { return line_.pop(); }
  Passage drain() { return line_.drain(); }
  void set_flushing(bool flushing) { line_.set_flushing(flushing); }

private:
  InferenceQueue(InferenceSetup setup, WakeFd wake, InferenceCounters &counters)
      : line_(setup.places, std::move(wake)), worker_(std::move(setup), line_, counters)
  {
  }
  ItemLine line_;
  InferenceWorker worker_; // ends first
};

} // namespace gstdrm::metis

// SPDX-License-Identifier: LGPL-2.1-or-later
// The class behind the GObject of in_place_filter.hpp.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/core/device_wait.hpp>

#include "failed_negotiation.hpp"
#include "frame_copy.hpp"
#include "in_place_filter.hpp"
#include "properties.hpp"
#include "stats.hpp"

namespace gstdrm {

// Owned by the element. The streaming thread calls everything, except where a function says
// otherwise. The only lock is
// that of Interrupt.
class InPlaceFrames {
public:
  InPlaceFrames(GstBaseTransform *element, std::unique_ptr<InPlaceFilter> filter,
                const char *suggestion);

  // Any thread.
  [[nodiscard]] InPlaceFilter &filter() noexcept { return *filter_; }
  [[nodiscard]] const InPlaceFilter &filter() const noexcept { return *filter_; }
  void set_zero_copy(ZeroCopy zero_copy) noexcept { zero_copy_ = zero_copy; }
  [[nodiscard]] ZeroCopy zero_copy() const noexcept { return zero_copy_; }
  [[nodiscard]] GstStructure *stats() const { return stats_.to_structure(); }
  // Any thread: the streaming thread leaves a wait for a fence, and waits for none until start() or
  // the end of a flush.
  void end_waits() { interrupt_.raise(); }
  // Any thread: downstream changed what it asks of frames.
  void ask_again() noexcept { copier_.ask_again(); }

  // The application's thread, while the streaming thread does not run.
  void start();
  void stop();
  // A flush comes from any thread. `pass_on` is the handler of GstBaseTransform.
  bool sink_event(GstEvent *event, const std::function<bool(GstEvent *)> &pass_on);
  bool set_caps(GstCaps *caps, GstCaps *);
  // `output` is the frame to change: `input`, or a copy where another element holds its memory too.
  GstFlowReturn make_writable(GstBuffer *input, GstBuffer **output);
  GstFlowReturn process(GstBuffer *frame);

private:
  [[nodiscard]] Mismatch mismatch(const GstCaps *caps) const;
  GstFlowReturn fail(const Error &error);
  GstFlowReturn fail_frame(const Error &error, const char *advice);
  GstFlowReturn copy(GstBuffer *input, GstBuffer **output);

  GstBaseTransform *const element_; // owns this
  const std::unique_ptr<InPlaceFilter> filter_;
  const char *const suggestion_;
  std::atomic<ZeroCopy> zero_copy_{ZeroCopy::Prefer};
  Stats stats_;
  FailedNegotiation failure_;
  Interrupt interrupt_;    // of the wait for a producer
  GstDrmVideoInfo info_{}; // of the caps of both pads
  FrameCopier copier_;
};

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
// Buffers on their way into the queue of metisdmabufinfer, and out of it with results.
#pragma once

#include <chrono>
#include <memory>

#include <gst/drm/core/device_wait.hpp>
#include <gst/drm/element/frame_copy.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/video/video.h>

#include "engine/inference_item.hpp"
#include "gstmetisinferformat.hpp"

namespace gstdrm::metis {

// What the queue carries: one event, or one buffer with what keeps its pixels readable. A sticky
// event that a flush drops is stored on `src`, for upstream sends it once only: the next buffer
// brings it downstream.
class QueuedData {
public:
  QueuedData(GstPtr<GstEvent> carried, GstPad *src)
      : event(std::move(carried)), src_(GstPtr<GstPad>::share(src))
  {
  }
  explicit QueuedData(GstPtr<GstBuffer> carried) : buffer(std::move(carried)) {}
  QueuedData(const QueuedData &) = delete;
  QueuedData &operator=(const QueuedData &) = delete;
  ~QueuedData();

  // For frames in system memory.
  bool map(const GstVideoInfo &info);
  void unmap() noexcept;
  [[nodiscard]] const GstVideoFrame &frame() const noexcept { return frame_; }

  GstPtr<GstEvent> event;
  GstPtr<GstBuffer> buffer;
  GstPtr<GstBuffer> copy; // what is read in the place of the buffer: a copy, or its visible part
  [[nodiscard]] GstBuffer *read() const noexcept { return copy ? copy.get() : buffer.get(); }

private:
  GstPtr<GstPad> src_; // of an event
  GstVideoFrame frame_{};
  bool is_mapped_ = false;
};

// Takes ownership.
Payload payload_of(std::unique_ptr<QueuedData> carried);
QueuedData &carried_in(const Payload &payload);

// Makes items of buffers. The streaming thread's.
class InferFrames {
public:
  explicit InferFrames(GstElement *element) : element_(element) {}

  // Any thread: raised, the streaming thread waits for no fence.
  Interrupt waits;

  // New caps. `copies`: the back end reads frames that are copied first, and a copy waits for its
  // frame's fence as long as `limit`.
  void set_format(InferFormat format, bool copies, std::chrono::milliseconds limit);
  void reset();

  // Before a copy, which reads the frame on the streaming thread. Error: the frame is not drawn.
  Result<void> wait_before_copy(GstBuffer *buffer) const;

  // A frame to infer. Error: the buffer is not what the caps say.
  Result<Item> item_of(GstPtr<GstBuffer> buffer, Stats &stats);

private:
  Result<void> crop(QueuedData &carried) const;
  Result<void> fill_from_dmabufs(GstBuffer *buffer, FrameItem &frame) const;
  Result<void> fill_from_surface(GstBuffer *buffer, FrameItem &frame) const;
  Result<void> fill_from_system(QueuedData &carried, FrameItem &frame) const;
  Result<void> fill_from_copy(QueuedData &carried, FrameItem &frame, Stats &stats);
  [[nodiscard]] Result<void> check_readable(GstBuffer *buffer) const;

  GstElement *const element_;
  InferFormat format_;
  bool copies_ = false;
  std::chrono::milliseconds fence_limit_{0};
  FrameCopier copier_;
};

} // namespace gstdrm::metis

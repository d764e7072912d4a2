// SPDX-License-Identifier: LGPL-2.1-or-later
// Buffers on their way into the queue of metisdmabufinfer, and out of it with results.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <gst/drm/core/device_wait.hpp>
#include <gst/drm/element/frame_copy.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/video/video.h>

#include "engine/inference_queue.hpp"
#include "gstmetisinferformat.hpp"

namespace gstdrm::metis {

// Payload of the queue: an event, or a buffer with the mapping of its pixels. Stores a sticky event
// that a flush drops on `src`, because upstream sends it only once; the pad sends it with the next
// buffer.
class QueuedData {
public:
  QueuedData(GstPtr<GstEvent> its_event, GstPad *src)
      : event(std::move(its_event)), src_(GstPtr<GstPad>::share(src))
  {
  }
  explicit QueuedData(GstPtr<GstBuffer> its_buffer) : buffer(std::move(its_buffer)) {}
  QueuedData(const QueuedData &) = delete;
  QueuedData &operator=(const QueuedData &) = delete;
  ~QueuedData();

  // For frames in system memory.
  bool map(const GstVideoInfo &info);
  void unmap() noexcept;
  [[nodiscard]] const GstVideoFrame &frame() const noexcept { return frame_; }

  GstPtr<GstEvent> event;
  GstPtr<GstBuffer> buffer;
  std::uint64_t number = 0;   // of the frame
  std::optional<gint> region; // the item is this region of the frame, which comes after it
  GstPtr<GstBuffer> copy;     // read instead of `buffer`: a copy, or a view of its visible part
  [[nodiscard]] GstBuffer *read() const noexcept { return copy ? copy.get() : buffer.get(); }

private:
  GstPtr<GstPad> src_; // for an event
  GstVideoFrame frame_{};
  bool is_mapped_ = false;
};

// Takes ownership.
Payload payload_of(std::unique_ptr<QueuedData> data);
QueuedData &data_in(const Payload &payload);

// Makes items of buffers. Streaming thread.
class InferFrames {
public:
  explicit InferFrames(GstElement *element) : element_(element) {}

  // Ends wait_before_copy(). Any thread.
  Interrupt waits;

  // For new caps. With `copies` the back end reads a copy of each frame; `limit` is for the wait
  // for the frame's fence before it.
  void set_format(InferFormat format, bool copies, std::chrono::milliseconds limit);
  void reset();

  // If frames are copied, waits until the frame is drawn. Returns an Error if it will not be.
  Result<void> wait_before_copy(GstBuffer *buffer) const;

  // Returns an Error if the buffer does not agree with the caps.
  Result<Item> item_of(GstPtr<GstBuffer> buffer, Stats &stats);
  // The regions of interest for the model within the frame, in the order of their metas.
  [[nodiscard]] std::vector<Region> regions_of(GstBuffer *buffer,
                                               const InferSettings &settings) const;
  // Likewise for a region. It shares the buffer, and takes no place in the queue.
  Result<Item> item_of(GstBuffer *buffer, const Region &region, const Model &model, Stats &stats);

private:
  Result<void> crop(QueuedData &data) const;
  Result<void> fill_from_dmabufs(GstBuffer *buffer, FrameItem &frame) const;
  Result<void> fill_from_surface(GstBuffer *buffer, FrameItem &frame) const;
  Result<void> fill_from_system(QueuedData &data, FrameItem &frame) const;
  Result<void> fill_from_copy(QueuedData &data, FrameItem &frame, Stats &stats);
  [[nodiscard]] Result<void> check_readable(GstBuffer *buffer) const;

  GstElement *const element_;
  InferFormat format_;
  bool copies_ = false;
  std::chrono::milliseconds fence_limit_{0};
  FrameCopier copier_;
};

} // namespace gstdrm::metis

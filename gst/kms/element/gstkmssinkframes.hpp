// SPDX-License-Identifier: LGPL-2.1-or-later
// From a GstBuffer to a frame that the display can show: imported as it is, or copied into scanout
// memory. By the streaming thread, or under a lock that keeps it away.
#pragma once

#include <gst/drm/element/stats.hpp>
#include <gst/gst.h>

#include "gstkmssinkdisplay.hpp"
#include "gstkmssinkfences.hpp"
#include "gstkmssinkpicture.hpp"

namespace gstdrm {

class SinkFrames {
public:
  SinkFrames(GstElement *element, const SinkDisplay &display, SinkFences &fences, Stats &stats);

  // New caps.
  void begin(const SinkStream &stream);
  // The display has stopped. Gives back the memory that frames were copied into.
  void release_pool();
  // Of the present caps.
  [[nodiscard]] const GstVideoInfo &video_info() const noexcept { return stream_.info.vinfo; }

  Result<kms::Frame> make(kms::Display &display, GstBuffer *buffer);

private:
  [[nodiscard]] bool may_copy() const;
  Result<kms::Frame> import(kms::Display &display, GstBuffer *buffer);
  Result<GstPtr<GstBuffer>> copy(const kms::Display &display, GstBuffer *buffer,
                                 const char *reason);
  Result<void> activate_pool(const kms::Display &display);
  Result<void> copy_pixels(GstBuffer *to, GstBuffer *from) const;

  GstElement *element_;        // borrowed: it owns this
  const SinkDisplay &display_; // for zero-copy
  SinkFences &fences_;
  Stats &stats_;
  SinkStream stream_{};
  bool imports_refused_ = false; // the driver took none of upstream's dma-bufs: copy
  GstPtr<GstBufferPool> pool_;   // what system memory is copied into; null: not needed so far
};

} // namespace gstdrm

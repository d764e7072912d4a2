// SPDX-License-Identifier: LGPL-2.1-or-later
// Fences of kmsdmabufsink, from GstDrmSyncMeta and the dma-bufs to the display and back. By the
// streaming thread, and while none runs.
#pragma once

#include <utility>

#include <gst/gst.h>

#include "engine/display/kms_display.hpp"
#include "gstkmssinkdisplay.hpp"

namespace gstdrm {

class SinkFences {
public:
  explicit SinkFences(GstElement *element) noexcept : element_(element) {}

  // The display starts. `timeout_ns` is the property: 0 for no limit.
  void start(SyncMode mode, guint64 timeout_ns) noexcept;
  // How the display treats the fences, since start().
  [[nodiscard]] kms::FenceRules rules() const noexcept;
  // Whether the producer of the stream waits for the release fences of buffers. Returns what held
  // so far.
  bool set_release_fences(bool honoured) noexcept
  {
    return std::exchange(release_fences_, honoured);
  }

  // Gives the frame what it has to wait for, and what happens to its buffer when it is replaced.
  // ErrorCode::Sync where that is not known.
  Result<void> attach(const kms::Display &display, GstBuffer *buffer, const FrameLayout &layout,
                      kms::Frame &frame);

private:
  [[nodiscard]] bool exports_implicit_fences(const kms::Display &display) const;

  GstElement *element_; // borrowed, for the log
  SyncMode mode_ = SyncMode::Auto;
  guint64 timeout_ns_ = kDefaultFenceTimeout;
  bool exports_refused_ = false; // the kernel has no ioctls for fences of dma-bufs
  bool release_fences_ = false;
};

} // namespace gstdrm

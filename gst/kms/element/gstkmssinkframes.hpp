// SPDX-License-Identifier: LGPL-2.1-or-later
// From a GstBuffer to a frame that the display can show: imported as it is, or copied into scanout
// memory. By the streaming thread, or under a lock that keeps it away.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include <gst/drm/core/device_wait.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/element/crop.hpp>
#include <gst/drm/element/pool.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/gst.h>

#include "engine/display/kms_display.hpp"
#include "gstkmssinkcaps.hpp"
#include "gstkmssinkcomposition.hpp"
#include "gstkmssinkdisplay.hpp"

namespace gstdrm {

// Fences, from GstDrmSyncMeta and the dma-bufs to the display and back. By the streaming thread,
// and while none runs.
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

// The pool is not active. `least_size` is how many bytes system memory of these caps takes; the
// buffers of the pool are larger where the display wants padded rows.
Result<ConfiguredPool> make_scanout_pool(const kms::Display &display, GstCaps *caps,
                                         guint least_size, guint min_buffers);

class SinkFrames {
public:
  SinkFrames(GstElement *element, const SinkDisplay &display, SinkFences &fences, Stats &stats);

  // The display starts.
  void restart();
  // The display has stopped. Gives back its memory.
  void stop();
  // New caps.
  void begin(const SinkStream &stream);
  // What is shown of the frame, which may be a part of the caps' size.
  Result<GstVideoRectangle> shown_part(GstBuffer *buffer) const
  {
    return visible_rectangle(buffer, whole_);
  }
  // From the next frame on, parts of another size are shown: that of `stream`.
  void show_parts(const SinkStream &stream);
  // Of the present caps, in the size that is shown.
  [[nodiscard]] const GstVideoInfo &video_info() const noexcept { return stream_.info.vinfo; }

  // `part` is where shown_part() begins.
  Result<kms::Frame> make(kms::Display &display, GstBuffer *buffer, kms::Origin part);
  // The display shows no part of such a frame: from now on a part is imported by itself, where it
  // begins at a byte. false: the frame is no part of a larger one, or was imported so.
  bool shift_instead_of(const kms::Frame &refused)
  {
    return refused.origin != kms::Origin{} && !std::exchange(shifts_, true);
  }
  // The frame on screen with its overlay, in memory of the sink's own, where the CPU can copy it.
  // Between two caps there is none.
  Result<GstPtr<GstBuffer>> keep(const kms::Display &display, GstBuffer *shown);
  [[nodiscard]] bool is_own(const GstBuffer *buffer) const noexcept;
  // Ends a wait for a frame's fence. Any thread.
  void set_flushing(bool flushing) { flushing ? interrupt_.raise() : interrupt_.clear(); }
  // Frames whose overlay was drawn on a copy, since restart(). Any thread.
  [[nodiscard]] std::uint64_t overlays_blended() const noexcept { return overlays_blended_; }

private:
  [[nodiscard]] bool may_copy() const;
  [[nodiscard]] GstPtr<GstBuffer> with_whole_size(GstBuffer *buffer) const;
  GstPtr<GstBuffer> with_overlays_of_part(GstBuffer *buffer, kms::Origin part);
  Result<void> crop(GstPtr<GstBuffer> &frame) const;
  Result<kms::Frame> make_plain(kms::Display &display, GstBuffer *buffer, kms::Origin part);
  Result<kms::Frame> blend(kms::Display &display, GstBuffer *buffer, kms::Origin part,
                           const std::vector<GstVideoOverlayComposition *> &compositions);
  Result<kms::Frame> import(kms::Display &display, GstBuffer *buffer, kms::Origin origin);
  Result<GstPtr<GstBuffer>> copy(const kms::Display &display, GstBuffer *buffer,
                                 GstPtr<GstBufferPool> &pool, guint buffers, const char *reason);
  void release_pool();
  Result<void> copy_pixels(GstBuffer *to, GstBuffer *from) const;

  GstElement *element_;        // borrowed: it owns this
  const SinkDisplay &display_; // for zero-copy
  SinkFences &fences_;
  Stats &stats_;
  GstVideoInfo whole_;           // of the caps
  SinkStream stream_{};          // of what is shown of the frames
  bool shifts_ = false;          // a part of a frame is imported by itself
  kms::Origin part_;             // of the last frame that was
  bool imports_refused_ = false; // the driver took none of upstream's dma-bufs: copy
  SinkCompositions compositions_;
  std::atomic<std::uint64_t> overlays_blended_{0};
  std::atomic<bool> left_out_announced_{false}; // a warning is on the bus
  Interrupt interrupt_;
  bool is_between_caps_ = true;     // no frame of the present caps was made yet
  GstPtr<GstBufferPool> kept_pool_; // of one buffer, for keep(); null: not needed so far
  GstPtr<GstBufferPool> pool_;      // what system memory is copied into; null: not needed so far
};

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
// What vadmabufconvert does with each frame: import once, wait for the producer, draw, fences.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include <gst/drm/core/device_wait.hpp>
#include <gst/drm/core/import_cache.hpp>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/element/frame_copy.hpp>
#include <gst/drm/element/properties.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmvideoinfo.h>

#include "engine/va_converter.hpp"
#include "engine/va_sync_worker.hpp"
#include "gstvadmabuffences.hpp"

namespace gstdrm::va {

struct ConvertStream {
  GstDrmVideoInfo in{};
  GstDrmVideoInfo out{};
  Conversion conversion;
  std::string colours_off;           // how the picture differs from its caps; empty: it does not
  bool takes_release_fences = false; // upstream announced that it waits for them
};

// Belongs to the streaming thread.
class ConvertFrames {
public:
  ConvertFrames(GstElement *element, Stats &stats) : element_(element), stats_(stats) {}
  ConvertFrames(const ConvertFrames &) = delete;
  ConvertFrames &operator=(const ConvertFrames &) = delete;
  ~ConvertFrames() { end(nullptr); }

  // The frames that follow are of this stream. Imports of another stream are let go.
  Result<void> begin(const Device &device, GstCaps *in_caps, const ConvertStream &stream,
                     SyncWorker &worker);
  // Lets go of everything. With a worker, after the device has read what it was given; a flush ends
  // that wait, and the worker keeps the frames for as long.
  void end(SyncWorker *worker);
  // The next frame is not compared with those before it.
  void forget_before()
  {
    before_ = {};
    sources_before_ = {};
  }
  // Upstream's answer may come after begin().
  void take_release_fences(bool takes) { stream_.takes_release_fences = takes; }

  // Draws a frame of the device's own into another one of this stream: some drivers allocate what
  // they cannot draw. Frames that the device cannot allocate are not tried.
  Result<void> try_draw(const Device &device);

  // False where a flush ended a wait. ErrorCode::Import: frames of this stream cannot be imported;
  // ErrorCode::Allocation: this one could not, and others were.
  Result<bool> convert(GstBuffer *in, GstBuffer *out, ZeroCopy zero_copy, SyncWorker &worker,
                       const Interrupt &interrupt);

private:
  using Source = std::shared_ptr<Converter::Source>;
  using Cache = ImportCache<Source>;
  using Before = std::array<GstPtr<GstBuffer>, kMostBefore>; // newest first
  // What the device reads for one frame: that frame, and those it is compared with.
  struct Read {
    GstPtr<GstBuffer> frame;
    Before before;
  };

  Result<GstPtr<GstBuffer>> in_dma_bufs(GstBuffer *in, ZeroCopy zero_copy);
  Result<Rect> part_of(GstBuffer *in, GstDrmVideoInfo &described) const;
  Result<bool> finish(Read read, GstBuffer *out, const std::shared_ptr<Surface> &target,
                      SyncWorker &worker);
  Result<void> release(Read read, GstBuffer *out, const std::shared_ptr<Surface> &target,
                       SyncWorker &worker);
  static Result<bool> announce_release(const Read &read, UniqueFd &fence);
  [[nodiscard]] Converter::Before sources_before() const;
  // As one of the last `count` frames.
  void remember(GstPtr<GstBuffer> frame, Source source, std::size_t count);

  GstElement *const element_; // borrowed: the element owns this
  Stats &stats_;
  ConvertStream stream_;
  std::unique_ptr<Converter> converter_;
  bool imported_ = false;      // a frame of this stream
  std::optional<Cache> cache_; // let go of before the converter
  FrameCopier copier_;
  DrawFences fences_;
  // Frames that the next one is compared with.
  Before before_;
  std::array<Source, kMostBefore> sources_before_; // let go of before the converter
};

} // namespace gstdrm::va

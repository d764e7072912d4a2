// SPDX-License-Identifier: LGPL-2.1-or-later
// The frames of vadmabufconvert: imports each input buffer once, waits for its producer, draws, and
// passes fences on.
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
#include "engine/va_surface.hpp"
#include "gstvadmabufallocator.hpp"

namespace gstdrm::va {

struct ConvertStream {
  GstDrmVideoInfo in{};
  GstDrmVideoInfo out{};
  Conversion conversion;
  std::string colours_off; // how the colours differ from the output caps; empty if they do not
  bool takes_release_fences = false; // upstream waits for release fences
};

// Used by the streaming thread.
class ConvertFrames {
public:
  ConvertFrames(GstElement *element, Stats &stats) : element_(element), stats_(stats) {}
  ConvertFrames(const ConvertFrames &) = delete;
  ConvertFrames &operator=(const ConvertFrames &) = delete;
  ~ConvertFrames() { end(nullptr); }

  // Starts a stream; drops the imports of the last one.
  Result<void> begin(const Device &device, GstCaps *in_caps, const ConvertStream &stream,
                     SyncWorker &worker);
  // Drops all imports. With a worker, waits first until the device has read its frames; a flush
  // ends the wait, and the worker keeps the frames until then.
  void end(SyncWorker *worker);
  // Drops the imports of memory that nobody uses any more, or, with `all`, every import, which
  // upstream asks for that frees its memory. Waits as end() does, so that frames go back before.
  void forget_imports(SyncWorker &worker, bool all);
  // Deinterlaces the next frame without the frames before it.
  void forget_before()
  {
    before_ = {};
    sources_before_ = {};
  }
  // Upstream's answer may come after begin().
  void take_release_fences(bool takes) { stream_.takes_release_fences = takes; }

  // Draws a frame of this device into another one, both with the caps of this stream: some drivers
  // allocate formats that they cannot draw. Succeeds untried if the device cannot allocate the
  // input.
  Result<void> try_draw(const Device &device);

  // Returns false if a flush ended a wait. ErrorCode::Import: the driver imports no frames of this
  // stream. ErrorCode::Allocation: it failed for this frame, after it had imported others.
  Result<bool> convert(GstBuffer *in, GstBuffer *out, ZeroCopy zero_copy, SyncWorker &worker,
                       const Interrupt &interrupt);

private:
  using Source = std::shared_ptr<Converter::Source>;
  using Cache = ImportCache<Source>;
  using Before = std::array<GstPtr<GstBuffer>, kMostBefore>; // newest first
  // The buffers that the device reads to draw one frame.
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
  // Keeps the frame as the newest of `count` frames before the next one.
  void remember(GstPtr<GstBuffer> frame, Source source, std::size_t count);

  GstElement *const element_; // borrowed: the element owns this
  Stats &stats_;
  ConvertStream stream_;
  std::unique_ptr<Converter> converter_;
  bool imported_ = false;      // a frame of this stream was imported
  std::optional<Cache> cache_; // destroyed before the converter
  FrameCopier copier_;
  DrawFences fences_;
  // The frames before the next one, which some algorithms deinterlace it with.
  Before before_;
  std::array<Source, kMostBefore> sources_before_; // destroyed before the converter
};

} // namespace gstdrm::va

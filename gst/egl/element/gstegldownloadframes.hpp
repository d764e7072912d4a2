// SPDX-License-Identifier: LGPL-2.1-or-later
// What egldmabufdownload does with each frame: one hop to the GL thread, in which the texture is
// drawn into the dma-buf and a fence made; or the copy.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include <gst/drm/core/device_wait.hpp>
#include <gst/drm/core/import_cache.hpp>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmvideoinfo.h>
#include <gst/gl/gl.h>

#include "engine/gl_draw.hpp"
#include "gsteglconverter.hpp"
#include "gstglthread.hpp"

namespace gstdrm {

struct DownloadStream {
  GstVideoInfo in{};
  egl::Target in_target = egl::Target::Texture2D; // of the caps
  GstDrmVideoInfo out{};
  GstVideoColorimetry colorimetry{}; // of the output, for a copy
  egl::YuvConversion conversion;     // for a draw
  const char *copy_reason = nullptr; // every frame is copied; a string literal. nullptr: drawn
  bool takes_fences = false;         // downstream reads GstDrmSyncMeta
};

// The streaming thread, except where a function says otherwise.
class DownloadFrames {
public:
  DownloadFrames(GstElement *element, Stats &stats) : element_(element), stats_(stats) {}
  DownloadFrames(const DownloadFrames &) = delete;
  DownloadFrames &operator=(const DownloadFrames &) = delete;
  ~DownloadFrames() { end(); }

  // The frames that follow are of this stream, on this GL thread; copies alone need none. What was
  // imported for another stream is let go. Error of code Device where a shader is not compiled.
  Result<void> begin(std::shared_ptr<GlThread> thread, const DownloadStream &stream);
  // Whether the CPU copies them.
  [[nodiscard]] bool copies() const noexcept { return stream_.copy_reason != nullptr; }
  // Lets go of everything. Buffers that downstream has live on.
  void end();

  // Imports a buffer as a render target, and keeps it for the frame that will be drawn there. Does
  // nothing where frames are copied.
  Result<void> prove(GstBuffer *buffer);
  // Fills `out` with the picture of `in`; false where a wait was ended.
  Result<bool> make(GstBuffer *in, GstBuffer *out);

  // Any thread: ends a wait, and those that begin later, until it is cleared.
  void set_flushing(bool flushing) { flushing ? interrupt_.raise() : interrupt_.clear(); }

  // Since start. Any thread.
  void reset_counters() noexcept;
  [[nodiscard]] std::uint64_t hops() const noexcept { return hops_; }
  [[nodiscard]] std::uint64_t draws() const noexcept { return draws_; }

private:
  using Target = std::shared_ptr<egl::DrawTarget>;
  using Cache = ImportCache<Target>;

  Result<bool> draw(GstBuffer *in, GstBuffer *out);
  Result<void> draw_on_gl_thread(GstBuffer *in, const FrameLayout &layout, Cache::Import &import,
                                 UniqueFd &fence);
  Result<bool> attach(GstBuffer *out, UniqueFd fence);
  Result<bool> copy(GstBuffer *in, GstBuffer *out);
  void count(GstBuffer *out, const Cache::Import &import);

  GstElement *const element_; // borrowed: the element owns this
  Stats &stats_;
  Interrupt interrupt_;
  std::shared_ptr<GlThread> thread_;
  std::shared_ptr<egl::Painter> painter_;
  DownloadStream stream_;
  std::optional<Cache> cache_; // used on the GL thread while the streaming thread waits for it
  std::unique_ptr<FrameConverter> converter_;
  GstVideoInfo copied_{}; // what a copy writes
  std::atomic<std::uint64_t> hops_{0};
  std::atomic<std::uint64_t> draws_{0};
};

} // namespace gstdrm

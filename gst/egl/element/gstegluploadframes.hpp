// SPDX-License-Identifier: LGPL-2.1-or-later
// What egldmabufupload does with each frame: import once, fences, GL memory; or the copy.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <gst/drm/core/device_wait.hpp>
#include <gst/drm/core/import_cache.hpp>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/element/crop.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmvideoinfo.h>
#include <gst/gl/gl.h>

#include "engine/gl_planes.hpp"
#include "gsteglcaps.hpp"
#include "gsteglconverter.hpp"
#include "gsteglrelease.hpp"
#include "gstegltexturepool.hpp"
#include "gstglthread.hpp"

namespace gstdrm {

struct UploadStream {
  GstDrmVideoInfo in{};
  GstPtr<GstCaps> out_caps;        // memory:GLMemory, fixed
  std::optional<TextureForm> form; // nullopt: every frame is copied
  egl::ColorHints hints;           // for the driver
  egl::YuvColours colours;         // of frames that are drawn
  bool may_copy = true;            // a frame that cannot be imported is copied, where it is linear
  const char *copy_reason = "";    // why all frames are copied; a string literal
  std::string import_refusal;      // what the driver says against an import; empty: nothing
  bool is_plain = false;           // the caps do not promise DMA buffers
  bool copies_system_memory = false; // among the DMA buffers of plain caps
  guint kept_downstream = 0;         // buffers, as downstream's answer to the allocation query says
  bool takes_release_fences = false; // upstream announced that it waits for them
};

// The order of a lock under which FrameReleases takes its own.
inline constexpr int kReleasesRank = 90;

// The streaming thread, except where a function says otherwise.
class UploadFrames {
public:
  UploadFrames(GstElement *element, Stats &stats)
      : element_(element), stats_(stats), copy_pool_(element), drawn_pool_(element)
  {
  }
  UploadFrames(const UploadFrames &) = delete;
  UploadFrames &operator=(const UploadFrames &) = delete;
  ~UploadFrames() { end(); }

  // The frames that follow are of this stream, on this GL thread. Imports of another stream or of
  // another context are let go.
  Result<void> begin(std::shared_ptr<GlThread> thread, UploadStream stream);
  // Lets go of everything. Frames that downstream still has live on, and so do their textures.
  void end();

  // Lets go of all imports, or of those whose memory is no longer in use, before this returns.
  void forget_imports();
  void forget_unused_imports();

  // A new buffer of GL memory with the metas of `in` that hold for it, which keeps `in` until GL
  // has read it. In the steady state: no hop to the GL thread, no EGL or GL call before a reader
  // maps a texture (gsteglmemory.cpp); with an acquire fence, or where the frame is drawn, one hop.
  // Empty where a flush ended a wait. ErrorCode::Import where no copy was tried: the driver refuses
  // this frame, so that the pair should leave the offer.
  Result<GstPtr<GstBuffer>> upload(GstBuffer *in);
  // Why the driver refused the frame that upload() has copied for that, and the rest of the stream
  // with it: once. The pair should leave the offer.
  [[nodiscard]] std::optional<Error> take_refusal() { return std::exchange(refusal_, {}); }
  // What to do about the error of the last upload(); empty where that is up to the frame's sender.
  [[nodiscard]] const char *advice() const noexcept { return advice_; }
  // Whether the last upload() came to a copy, whose error says nothing of the driver.
  [[nodiscard]] bool tried_copy() const noexcept { return tried_copy_; }
  // Whether the producer waits for release fences, for the frames that follow.
  void set_release_fences(bool taken);

  // Any thread. Frames that GL drew of their planes, since reset_draws().
  [[nodiscard]] std::uint64_t draws() const noexcept { return draws_; }
  void reset_draws() noexcept { draws_ = 0; }

  // Any thread: ends waits, and those that begin later, until it is cleared.
  void set_flushing(bool flushing);

private:
  // The GL memory of one imported frame, one for each texture, shared by all buffers that show it;
  // or the textures of planes that are drawn.
  struct Imported;
  using Cache = ImportCache<std::shared_ptr<const Imported>>;
  struct Hop;

  void make_releases();
  void watch_context();
  [[nodiscard]] bool may_copy_one() const;
  Result<GstPtr<GstBuffer>> visible_part(GstBuffer *in, Corner &corner);
  Result<GstPtr<GstBuffer>> upload_picture(GstBuffer *in, Corner corner);
  Result<GstPtr<GstBuffer>> instead_of_import(GstBuffer *in, Corner corner, const Error &error);
  Result<GstPtr<GstBuffer>> import(GstBuffer *in, const FrameLayout &layout);
  Result<GstPtr<GstBuffer>> copy(GstBuffer *in, const char *reason);
  Result<GstPtr<GstBuffer>> copy_pixels(GstBuffer *in);
  Result<void> make_converter();
  Result<void> fill_copy(GstBuffer *made, GstBuffer *in);
  Result<UniqueFd> writers_of(GstBuffer *in, const FrameLayout &layout);
  Result<Waited> acquire(GstBuffer *in, const FrameLayout &layout, Hop &hop);
  Result<std::shared_ptr<const Imported>> make_imported(const FrameLayout &layout);
  Result<Waited> show(GstBuffer *in, const Imported &imported, Hop &hop);
  Result<GstPtr<GstBuffer>> draw(GstBuffer *in, const Imported &imported, Hop &hop);
  Result<void> draw_into(GstBuffer *out, const egl::ImportedFrame &planes);
  void fill(GstBuffer *out, const Imported &imported) const;

  GstElement *const element_; // borrowed: the element owns this
  Stats &stats_;
  Interrupt interrupt_;
  std::shared_ptr<GlThread> thread_;
  UploadStream stream_;
  GstVideoInfo out_{};
  std::optional<Cache> cache_;
  // Linear frames of a GstVideoFormat, which the CPU copies into textures of a pool. GStreamer
  // fills a texture when somebody maps it for GL.
  bool can_copy_ = false;
  GstVideoInfo copied_{}; // of the frame
  TexturePool copy_pool_;
  std::unique_ptr<FrameConverter> converter_; // none where the format downstream is the frame's
  // textures of RGBA that GL draws of imported planes
  TexturePool drawn_pool_;
  std::shared_ptr<egl::PlanesPainter> painter_;
  std::atomic<std::uint64_t> draws_{0};
  unsigned unwatched_ = 0; // frames since the context was asked whether it is lost
  // What the driver said against an import since begin(): the rest of the stream is copied.
  std::optional<std::string> imports_refused_;
  std::optional<Error> refusal_; // see take_refusal()
  const char *advice_ = "";      // see advice()
  bool tried_copy_ = false;      // see tried_copy()
  // guards releases_, which set_flushing() reads; the streaming thread alone writes it
  OrderedMutex releases_lock_{kReleasesRank, "UploadFrames::releases_lock_"};
  std::shared_ptr<FrameReleases> releases_;
  Hop *hop_ = nullptr; // of the frame that is being imported
};

} // namespace gstdrm

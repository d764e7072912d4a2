// SPDX-License-Identifier: LGPL-2.1-or-later
// What egldmabufupload does with each frame: import once, fences, GL memory; or the copy.
#pragma once

#include <memory>
#include <optional>

#include <gst/drm/core/device_wait.hpp>
#include <gst/drm/core/import_cache.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmvideoinfo.h>
#include <gst/gl/gl.h>

#include "gsteglcaps.hpp"
#include "gstglthread.hpp"

namespace gstdrm {

struct UploadStream {
  GstDrmVideoInfo in{};
  GstPtr<GstCaps> out_caps;        // memory:GLMemory, fixed
  std::optional<TextureForm> form; // nothing: every frame is copied
  egl::ColorHints hints;
  bool may_copy = true;         // a frame that cannot be imported is copied, where it is linear
  const char *copy_reason = ""; // why all frames are copied; a string literal
  bool takes_release_fences = false; // upstream announced that it waits for them
};

// The streaming thread, except where a function says otherwise.
class UploadFrames {
public:
  UploadFrames(GstElement *element, Stats &stats) : element_(element), stats_(stats) {}

  // The frames that follow are of this stream, on this GL thread. Imports of another stream or of
  // another context are let go.
  Result<void> begin(std::shared_ptr<GlThread> thread, UploadStream stream);
  // Lets go of everything. Frames that downstream still has live on, and so do their textures.
  void end();

  // A new buffer of GL memory with the metas of `in` that hold for it, which keeps `in` until GL
  // has read it. In the steady state: no hop to the GL thread, no EGL or GL call; with an acquire
  // fence one hop. ErrorCode::Import: the driver refuses this frame, so that the pair should leave
  // the offer.
  Result<GstPtr<GstBuffer>> upload(GstBuffer *in);

  // Any thread: ends waits, and those that begin later, until it is cleared.
  void set_flushing(bool flushing);

private:
  // The GL memory of one imported frame, one for each texture. Shared by all buffers that show it.
  struct Imported;
  using Cache = ImportCache<std::shared_ptr<const Imported>>;

  GstElement *const element_; // borrowed: the element owns this
  Stats &stats_;
  Interrupt interrupt_;
  std::shared_ptr<GlThread> thread_;
  UploadStream stream_;
  std::optional<Cache> cache_;
};

} // namespace gstdrm

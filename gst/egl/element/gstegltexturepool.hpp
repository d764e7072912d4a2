// SPDX-License-Identifier: LGPL-2.1-or-later
// Textures of GStreamer's own for frames that are no import.
#pragma once

#include <memory>

#include <gst/drm/element/pool.hpp>
#include <gst/drm/element/pool_watch.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/gl/gl.h>

namespace gstdrm {

enum class SyncPoints { None, OfEachBuffer }; // a GstGLSyncMeta that stays with the buffer

// A pool of 2D textures, which grows as downstream keeps buffers, up to a bound. Belongs to the
// streaming thread, except where a function says otherwise.
class TexturePool {
public:
  explicit TexturePool(GstElement *element) : element_(element) {}

  // The textures that follow have these caps; downstream keeps so many. Nothing is allocated before
  // the first one.
  void begin(GstGLContext *context, GstCaps *caps, SyncPoints sync_points, guint kept_downstream);
  // What is out is freed when it comes back.
  void close();

  // The next buffer. Waits for one where downstream has all, and the element says so after a
  // second; empty where a flush ended the wait. Error of code Allocation.
  Result<GstPtr<GstBuffer>> acquire();

  // Any thread: ends a wait, and those that begin later, until it is cleared.
  void set_flushing(bool flushing) { pool_.set_flushing(flushing); }

private:
  Result<void> open();
  GstFlowReturn wait(GstPtr<GstBuffer> &buffer);

  GstElement *const element_; // borrowed: the element owns this
  GstPtr<GstGLContext> context_;
  GstPtr<GstCaps> caps_;
  SyncPoints sync_points_ = SyncPoints::None;
  guint kept_downstream_ = 0;
  ActivePool pool_;
  std::shared_ptr<PoolNotices> notices_;
};

} // namespace gstdrm

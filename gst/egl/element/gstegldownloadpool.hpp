// SPDX-License-Identifier: LGPL-2.1-or-later
// The pool of egldmabufdownload: how many buffers it may make, which messages are posted when that
// is too few or memory ends, and how a wait for a buffer ends.
#pragma once

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmallocator.h>

namespace gstdrm {

// One pool at a time. acquire(), open() and drop() are the streaming thread's, set_flushing() is
// any thread's.
class DownloadPool {
public:
  explicit DownloadPool(GstElement *element) : element_(element) {}
  DownloadPool(const DownloadPool &) = delete;
  DownloadPool &operator=(const DownloadPool &) = delete;
  ~DownloadPool() { drop(); }

  struct Setup {
    GstCaps *caps;
    guint kept_downstream; // buffers
    bool video_meta;       // downstream reads GstVideoMeta, so rows may be padded
    guint stride_align;    // bytes, 0: as the allocator likes; only together with video_meta
    guint least_size;      // bytes of a buffer
  };
  // A pool of this allocator takes the place of the last one.
  Result<void> open(GstDrmAllocator *allocator, const Setup &setup);
  // Buffers that are in use stay valid.
  void drop();
  GstFlowReturn acquire(GstPtr<GstBuffer> &buffer);

  // Ends a wait, and refuses those that begin later, until it is cleared.
  void set_flushing(bool flushing);

private:
  [[nodiscard]] GstPtr<GstBufferPool> pool();

  GstElement *const element_; // borrowed: the element owns this
  // GstBufferPool's own locks are taken under it.
  OrderedMutex lock_{10, "DownloadPool::lock_"};
  GstPtr<GstBufferPool> pool_; // active
  bool flushing_ = false;
};

} // namespace gstdrm

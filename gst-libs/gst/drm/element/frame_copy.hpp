// SPDX-License-Identifier: LGPL-2.1-or-later
// A copy of a frame for an element that has to change a frame whose memory another element holds
// too.
#pragma once

#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmallocator.h>
#include <gst/drm/gstdrmvideoinfo.h>

namespace gstdrm {

// Copies frames into linear DMA buffers of a pool of its own. The pool is made for the first copy
// and has no limit, so that copy() never waits for a buffer to come back. Belongs to the streaming
// thread.
class FrameCopier {
public:
  // The frames that follow have these caps, with linear planes; nullptr: there are none.
  void set_caps(GstCaps *caps);
  // The pixels of a checked frame, whose GstVideoMeta may name the pseudo-format of DMA_DRM; the
  // caller copies metas, flags and times. Code Allocation where there is no memory, Import where
  // the CPU cannot map one of the two buffers.
  Result<GstPtr<GstBuffer>> copy(GstBuffer *frame, const GstVideoInfo &info);

private:
  Result<void> open_pool();
  [[nodiscard]] Error no_memory() const;

  GstPtr<GstCaps> caps_;
  GstPtr<GstDrmAllocator> allocator_; // of the pool
  GstPtr<GstBufferPool> pool_;        // active
};

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
// A copy of a frame for an element that has to change a frame whose memory another element holds
// too.
#pragma once

#include <atomic>
#include <functional>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmallocator.h>
#include <gst/drm/gstdrmvideoinfo.h>

#include "needs.hpp"

namespace gstdrm {

// Copies frames into linear DMA buffers of a pool of its own. The pool is made for the first copy
// and has no limit, so that copy() never waits for a buffer to come back. Belongs to the streaming
// thread, except where a function says otherwise.
class FrameCopier {
public:
  // The copies stay inside the element.
  FrameCopier() = default;
  // The copies leave through the source pad: before the first one, downstream's allocation answer
  // says how their rows may lie. Where what it asks for is impossible, one error is posted, if
  // `claim` returns true. For the element's init; the copier's owner lives as long as the pad.
  FrameCopier(GstBaseTransform *element, std::function<bool()> claim);

  // The frames that follow have these caps, with linear planes, also where the caps name no
  // modifier; nullptr: there are none.
  void set_caps(GstCaps *caps);
  // Any thread: downstream may answer differently, and is asked again before the next copy.
  void ask_again() noexcept { ask_again_ = true; }
  // The pixels of a checked frame, whose GstVideoMeta may name the pseudo-format of DMA_DRM; the
  // caller copies metas, flags and times. Code Allocation where there is no memory, Import where
  // the CPU cannot map one of the two buffers, Conflict where downstream cannot be suited.
  Result<GstPtr<GstBuffer>> copy(GstBuffer *frame, const GstVideoInfo &info);

private:
  void close_pool();
  Result<void> open_pool();
  Result<void> suit_downstream(struct PoolSetup &setup);
  Result<void> check_pool();
  [[nodiscard]] Error no_memory() const;

  GstBaseTransform *const element_ = nullptr; // whose source pad the copies leave through
  const std::function<bool()> claim_;
  std::atomic<bool> ask_again_{false};
  GstPtr<GstCaps> caps_, pool_caps_;  // the latter name LINEAR, as no allocator makes implicit ones
  GstPtr<GstDrmAllocator> allocator_; // of the pool
  GstPtr<GstBufferPool> pool_;        // active
  AgreedNeeds agreed_;                // what downstream asks for beyond its caps
};

} // namespace gstdrm

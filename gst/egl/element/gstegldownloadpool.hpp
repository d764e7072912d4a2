// SPDX-License-Identifier: LGPL-2.1-or-later
// The pool of egldmabufdownload: how many buffers it may make, and which messages are posted when
// that is too few or memory ends.
#pragma once

#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmallocator.h>

namespace gstdrm {

struct DownloadPoolSetup {
  GstCaps *caps;
  guint kept_downstream; // buffers
  bool video_meta;       // downstream reads GstVideoMeta, so rows may be padded
  guint stride_align;    // bytes, 0: as the allocator likes; only together with video_meta
  guint offset_align;    // bytes, of each plane, likewise
  guint least_stride;    // bytes, likewise
  guint most;            // buffers that downstream wants the pool to have; 0: any number
};
// An active pool, which may outlive the element in downstream's buffers.
Result<GstPtr<GstBufferPool>> open_download_pool(GstElement *element, GstDrmAllocator *allocator,
                                                 const DownloadPoolSetup &setup);

} // namespace gstdrm

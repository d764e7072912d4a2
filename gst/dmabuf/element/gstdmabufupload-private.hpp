// SPDX-License-Identifier: LGPL-2.1-or-later
// What the files of dmabufupload share.
#pragma once

#include <mutex>
#include <string>

#include <gst/drm/drm.h>

#include "gstdmabufpools.hpp"
#include "gstdmabufupload.hpp"

// What upstream did about the pool, for messages.
enum class Offer { NotAsked, Declined, Made };

struct GstDmaBufUploadState {
  explicit GstDmaBufUploadState(GstElement *self) : pools(self) {}

  // properties; read at negotiation
  std::mutex properties_lock;
  GstDrmAllocatorKind kind = GST_DRM_ALLOCATOR_KIND_AUTO;
  std::string device;
  guint max_buffers = 0;

  gstdrm::UploadPools pools;

  // streaming thread, from set_caps() and the allocation queries on
  GstDrmVideoInfo info{}; // of the input: of plain video its linear layout
  gstdrm::GstPtr<GstCaps> plain_caps;
  bool plain_output = false;
  bool takes_video_meta = false; // downstream reads GstVideoMeta
  bool takes_crop_meta = false;  // downstream crops
  guint held_downstream = 0;     // buffers that downstream keeps
  gstdrm::GstPtr<GstDrmAllocator> allocator;
  Offer offer = Offer::NotAsked;
  bool memfd_announced = false;
};

namespace gstdrm {

bool is_dmabuf_caps(const GstCaps *caps);

// DMA_DRM always goes with a GstVideoMeta; a reader of plain video may know the default layout
// alone.
bool may_pad_rows(const GstDmaBufUploadState &state);

// Buffers of one pool: what downstream keeps, and one for the frame that is being written; and what
// max-buffers allows.
guint fewest_buffers(const GstDmaBufUploadState &state);
guint most_buffers(GstDmaBufUploadState &state);

// GstBaseTransformClass's functions of the same names.
gboolean upload_decide_allocation(GstBaseTransform *trans, GstQuery *query) noexcept;
gboolean upload_propose_allocation(GstBaseTransform *trans, GstQuery *decide_query,
                                   GstQuery *query) noexcept;

} // namespace gstdrm

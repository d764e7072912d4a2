// SPDX-License-Identifier: LGPL-2.1-or-later
// What dmabufupload and dmabufdownload have in common: caps queries answered from format sets, the
// `drm-stats` and `zero-copy` properties, and failed negotiation that explains itself.
#pragma once

#include <string>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/properties.hpp>
#include <gst/drm/element/stats.hpp>

#include "engine/dmabuf_wait.hpp"
#include "gstdmabufcaps.hpp"

G_BEGIN_DECLS

#define GST_TYPE_DMABUF_TRANSFORM (gst_dmabuf_transform_get_type())
#define GST_DMABUF_TRANSFORM(obj)                                                                  \
  (G_TYPE_CHECK_INSTANCE_CAST((obj), GST_TYPE_DMABUF_TRANSFORM, GstDmaBufTransform))
#define GST_DMABUF_TRANSFORM_CLASS(klass)                                                          \
  (G_TYPE_CHECK_CLASS_CAST((klass), GST_TYPE_DMABUF_TRANSFORM, GstDmaBufTransformClass))
#define GST_DMABUF_TRANSFORM_GET_CLASS(obj)                                                        \
  (G_TYPE_INSTANCE_GET_CLASS((obj), GST_TYPE_DMABUF_TRANSFORM, GstDmaBufTransformClass))

struct GstDmaBufTransformState;

struct GstDmaBufTransform {
  GstBaseTransform parent;
  GstDmaBufTransformState *common;
};

struct GstDmaBufTransformClass {
  GstBaseTransformClass parent_class;
  const gstdrm::CapsRules *rules;
  // The nearest fix, as one sentence, for caps that upstream sent (or offers) and downstream
  // refuses.
  std::string (*suggest)(const GstCaps *upstream, const GstCaps *downstream);
};

GType gst_dmabuf_transform_get_type(void);

G_END_DECLS

namespace gstdrm {

// The counters of the element.
Stats &stats_of(GstDmaBufTransform *self) noexcept;
ZeroCopy zero_copy_of(GstDmaBufTransform *self) noexcept;

// Ends the streaming thread's waits while the sink pad is flushing or inactive.
const Interrupt &interrupt_of(GstDmaBufTransform *self) noexcept;

// A free buffer of an active pool; FLUSHING, without a message, where the wait for it was
// interrupted.
GstFlowReturn acquire_from(GstDmaBufTransform *self, GstBufferPool *pool,
                           GstPtr<GstBuffer> &buffer);

// What becomes of a GstVideoCropMeta of a frame that is not padded.
enum class CropMeta { Keep, Drop };

// Pixels, timestamps, flags and every meta that does not describe memory, from a checked buffer
// into one with planes of its own; counted, and announced the first time. A GstVideoCropMeta of a
// padded frame was acted on, and is left out.
Result<void> copy_buffer(GstDmaBufTransform *self, GstBuffer *to, GstBuffer *from,
                         const GstVideoInfo &info, CropMeta crop, const char *reason);

// True for the first failure of the negotiation under way: its error message is the only one.
// Upstream may try the same caps again with every buffer.
bool claim_error(GstDmaBufTransform *self) noexcept;

} // namespace gstdrm

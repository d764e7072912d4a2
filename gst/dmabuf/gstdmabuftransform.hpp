// SPDX-License-Identifier: LGPL-2.1-or-later
// What dmabufupload and dmabufdownload have in common: caps queries answered from format sets, the
// `drm-stats` and `zero-copy` properties, and failed negotiation that explains itself.
#pragma once

#include <string>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/gstdrmstats-private.hpp>

#include "gstdmabufcaps.hpp"
#include "gstdmabufchain.hpp"

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

// Pixels, timestamps, flags and every meta that does not describe memory, from a checked buffer
// into one with planes of its own; counted, and announced the first time. A GstVideoCropMeta that
// was acted on is left out.
Result<void> copy_buffer(GstDmaBufTransform *self, GstBuffer *to, GstBuffer *from,
                         const GstVideoInfo &info, const char *reason);

// True for the first failure of the negotiation under way: its error message is the only one.
// Upstream may try the same caps again with every buffer.
bool claim_error(GstDmaBufTransform *self) noexcept;

} // namespace gstdrm

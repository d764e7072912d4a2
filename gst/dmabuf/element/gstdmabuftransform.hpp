// SPDX-License-Identifier: LGPL-2.1-or-later
// The GObject shell of dmabufupload and dmabufdownload: an abstract type with all of
// GstBaseTransform's functions, each of which calls the method of the same name.
#pragma once

#include <memory>

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_DMABUF_TRANSFORM (gst_dmabuf_transform_get_type())
#define GST_DMABUF_TRANSFORM(obj)                                                                  \
  (G_TYPE_CHECK_INSTANCE_CAST((obj), GST_TYPE_DMABUF_TRANSFORM, GstDmaBufTransform))

namespace gstdrm {
class Transformer;
}

struct GstDmaBufTransform {
  GstBaseTransform parent;
  gstdrm::Transformer *transformer; // made in the subclass's init, deleted in finalize
};

struct GstDmaBufTransformClass {
  GstBaseTransformClass parent_class;
};

GType gst_dmabuf_transform_get_type(void);

G_END_DECLS

namespace gstdrm {

// Gives the element what stands behind it; the subclass's init calls this once.
void set_transformer(GstDmaBufTransform *self, std::unique_ptr<Transformer> transformer);

// GstBaseTransform's own class, for methods that go on where it does.
GstBaseTransformClass *base_transform_class() noexcept;

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabuftransform.hpp"

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-log-private.hpp>

#include "gstdmabuftransformer.hpp"

using gstdrm::logging;
using gstdrm::posting;
using gstdrm::Transformer;

GST_DEBUG_CATEGORY(dmabuf_transform_debug);
#define GST_CAT_DEFAULT dmabuf_transform_debug

enum { PROP_0, PROP_ZERO_COPY, PROP_DRM_STATS, PROP_IMPLICIT_MODIFIER };

G_DEFINE_ABSTRACT_TYPE(GstDmaBufTransform, gst_dmabuf_transform, GST_TYPE_BASE_TRANSFORM)

static Transformer &transformer_of(gpointer object) noexcept
{
  return *GST_DMABUF_TRANSFORM(object)->transformer;
}

// Metas that describe memory never get here; all others stay true, as the picture is the same.
static gboolean gst_dmabuf_transform_transform_meta(GstBaseTransform *, GstBuffer *, GstMeta *,
                                                    GstBuffer *) noexcept
{
  return TRUE;
}

static void gst_dmabuf_transform_set_property(GObject *object, guint id, const GValue *value,
                                              GParamSpec *pspec) noexcept
{
  if (id == PROP_ZERO_COPY)
    transformer_of(object).set_zero_copy(gstdrm::zero_copy_from(value));
  else if (id == PROP_IMPLICIT_MODIFIER)
    transformer_of(object).set_implicit_modifier(gstdrm::implicit_modifier_from(value));
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void gst_dmabuf_transform_get_property(GObject *object, guint id, GValue *value,
                                              GParamSpec *pspec)
{
  const Transformer &transformer = transformer_of(object);
  if (id == PROP_ZERO_COPY)
    gstdrm::set_zero_copy(value, transformer.zero_copy());
  else if (id == PROP_DRM_STATS)
    g_value_take_boxed(value, transformer.stats_structure());
  else if (id == PROP_IMPLICIT_MODIFIER)
    gstdrm::set_implicit_modifier(value, transformer.implicit_modifier());
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void gst_dmabuf_transform_finalize(GObject *object) noexcept
{
  delete GST_DMABUF_TRANSFORM(object)->transformer;
  G_OBJECT_CLASS(gst_dmabuf_transform_parent_class)->finalize(object);
}

static GstDebugCategory *debug_category() noexcept
{
  return dmabuf_transform_debug;
}

static void gst_dmabuf_transform_class_init(GstDmaBufTransformClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(dmabuf_transform_debug, "dmabuftransform", 0,
                          "dmabuf upload and download: caps");
  gstdrm::connect_log<debug_category>(); // of the core
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = gst_dmabuf_transform_set_property;
  object_class->get_property = logging<gst_dmabuf_transform_get_property>;
  object_class->finalize = gst_dmabuf_transform_finalize;
  gstdrm::install_common_properties(
      object_class, {PROP_ZERO_COPY, "Whether frames may be copied by the CPU", PROP_DRM_STATS,
                     "Counters since start: frames, imports, import-hits, copies, bytes-copied, "
                     "last-copy-reason, waits",
                     PROP_IMPLICIT_MODIFIER,
                     "Caps that name no modifier (memory:DMABuf without DMA_DRM): of linear frames "
                     "(linear), or never used (all others: a CPU has no driver that knows)"});

  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  trans_class->query = logging<transformer_of, &Transformer::query>;
  trans_class->transform_caps = posting<transformer_of, &Transformer::transform_caps>;
  trans_class->fixate_caps = posting<transformer_of, &Transformer::fixate_caps>;
  trans_class->set_caps = posting<transformer_of, &Transformer::set_caps>;
  trans_class->decide_allocation = posting<transformer_of, &Transformer::decide_allocation>;
  trans_class->propose_allocation = logging<transformer_of, &Transformer::propose_allocation>;
  trans_class->submit_input_buffer = posting<transformer_of, &Transformer::submit_input_buffer>;
  trans_class->generate_output = posting<transformer_of, &Transformer::generate_output>;
  // Without transform() GstBaseTransform would take the element for one that works in place, and
  // ask downstream nothing about buffers.
  trans_class->transform = posting<transformer_of, &Transformer::transform>;
  trans_class->transform_meta = gst_dmabuf_transform_transform_meta;
  trans_class->sink_event = posting<transformer_of, &Transformer::sink_event>;
  trans_class->src_event = posting<transformer_of, &Transformer::src_event>;
  trans_class->start = posting<transformer_of, &Transformer::start>;
  trans_class->stop = logging<transformer_of, &Transformer::stop>;

  gst_type_mark_as_plugin_api(GST_TYPE_DMABUF_TRANSFORM, static_cast<GstPluginAPIFlags>(0));
}

static void gst_dmabuf_transform_init(GstDmaBufTransform *self)
{
  gst_base_transform_set_gap_aware(GST_BASE_TRANSFORM(self), TRUE);
}

namespace gstdrm {

void set_transformer(GstDmaBufTransform *self, std::unique_ptr<Transformer> transformer)
{
  self->transformer = transformer.release();
  GstPad *sink = GST_BASE_TRANSFORM_SINK_PAD(self);
  gst_pad_set_activatemode_function(sink,
                                    (posting<transformer_of, &Transformer::activate_sink_mode>));
  watch_caps_events<transformer_of, &Transformer::explain_refused_caps>(sink, self);
}

GstBaseTransformClass *base_transform_class() noexcept
{
  return GST_BASE_TRANSFORM_CLASS(gst_dmabuf_transform_parent_class);
}

} // namespace gstdrm

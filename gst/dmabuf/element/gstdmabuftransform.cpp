// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabuftransform.hpp"

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-log-private.hpp>

#include "gstdmabuftransformer.hpp"

using gstdrm::GstPtr;
using gstdrm::Transformer;

GST_DEBUG_CATEGORY(dmabuf_transform_debug);
#define GST_CAT_DEFAULT dmabuf_transform_debug

enum { PROP_0, PROP_ZERO_COPY, PROP_DRM_STATS };

G_DEFINE_ABSTRACT_TYPE(GstDmaBufTransform, gst_dmabuf_transform, GST_TYPE_BASE_TRANSFORM)

static Transformer &transformer_of(gpointer object) noexcept
{
  return *GST_DMABUF_TRANSFORM(object)->transformer;
}

// --- caps ----------------------------------------------------------------------------------------

static gboolean gst_dmabuf_transform_query(GstBaseTransform *trans, GstPadDirection direction,
                                           GstQuery *query) noexcept
try {
  return transformer_of(trans).query(direction, query);
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

static GstCaps *gst_dmabuf_transform_transform_caps(GstBaseTransform *trans,
                                                    GstPadDirection direction, GstCaps *caps,
                                                    GstCaps *filter) noexcept
try {
  return transformer_of(trans).transform_caps(direction, caps, filter);
} catch (...) {
  return gstdrm::caught_in(trans, gst_caps_new_empty(), __func__);
}

// DMA_DRM where the peer takes it, then the peer's own order.
static GstCaps *gst_dmabuf_transform_fixate_caps(GstBaseTransform *, GstPadDirection, GstCaps *,
                                                 GstCaps *othercaps) noexcept
{
  guint best = 0;
  for (guint i = 0; i < gst_caps_get_size(othercaps); i++) {
    if (gst_caps_features_contains(gst_caps_get_features(othercaps, i),
                                   GST_CAPS_FEATURE_MEMORY_DMABUF)) {
      best = i;
      break;
    }
  }
  GstCaps *chosen =
      gst_caps_is_empty(othercaps) ? gst_caps_new_empty() : gst_caps_copy_nth(othercaps, best);
  gst_caps_unref(othercaps);
  return gst_caps_is_empty(chosen) ? chosen : gst_caps_fixate(chosen);
}

static gboolean gst_dmabuf_transform_set_caps(GstBaseTransform *trans, GstCaps *incaps,
                                              GstCaps *outcaps) noexcept
try {
  return transformer_of(trans).set_caps(incaps, outcaps);
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

static GstPadProbeReturn explain_refused_caps(GstPad *pad, GstPadProbeInfo *info,
                                              gpointer user_data) noexcept
try {
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS)
    transformer_of(user_data).explain_refused_caps(pad, event);
  return GST_PAD_PROBE_OK;
} catch (...) {
  return gstdrm::caught(GST_PAD_PROBE_OK, __func__);
}

// --- buffers -------------------------------------------------------------------------------------

static gboolean gst_dmabuf_transform_decide_allocation(GstBaseTransform *trans,
                                                       GstQuery *query) noexcept
try {
  return transformer_of(trans).decide_allocation(query);
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

static gboolean gst_dmabuf_transform_propose_allocation(GstBaseTransform *trans,
                                                        GstQuery *decide_query,
                                                        GstQuery *query) noexcept
try {
  return transformer_of(trans).propose_allocation(decide_query, query);
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

static GstFlowReturn gst_dmabuf_transform_submit_input_buffer(GstBaseTransform *trans,
                                                              gboolean discont,
                                                              GstBuffer *buffer) noexcept
try {
  return transformer_of(trans).submit_input_buffer(discont != FALSE, buffer);
} catch (...) {
  return gstdrm::caught_in(trans, GST_FLOW_ERROR, __func__);
}

static GstFlowReturn gst_dmabuf_transform_generate_output(GstBaseTransform *trans,
                                                          GstBuffer **outbuf) noexcept
try {
  return transformer_of(trans).generate_output(outbuf);
} catch (...) {
  return gstdrm::caught_in(trans, GST_FLOW_ERROR, __func__);
}

// Without this function GstBaseTransform would take the element for one that works in place, and
// ask downstream nothing about buffers.
static GstFlowReturn gst_dmabuf_transform_transform(GstBaseTransform *trans, GstBuffer *inbuf,
                                                    GstBuffer *outbuf) noexcept
try {
  return transformer_of(trans).transform(inbuf, outbuf);
} catch (...) {
  return gstdrm::caught_in(trans, GST_FLOW_ERROR, __func__);
}

// Metas that describe memory never get here; all others stay true, as the picture is the same.
static gboolean gst_dmabuf_transform_transform_meta(GstBaseTransform *, GstBuffer *, GstMeta *,
                                                    GstBuffer *) noexcept
{
  return TRUE;
}

// --- events and states ---------------------------------------------------------------------------

static gboolean gst_dmabuf_transform_sink_event(GstBaseTransform *trans, GstEvent *event) noexcept
try {
  return transformer_of(trans).sink_event(event);
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

static gboolean gst_dmabuf_transform_src_event(GstBaseTransform *trans, GstEvent *event) noexcept
try {
  return transformer_of(trans).src_event(event);
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

static gboolean activate_sink_mode(GstPad *pad, GstObject *parent, GstPadMode mode,
                                   gboolean active) noexcept
try {
  return transformer_of(parent).activate_sink_mode(pad, mode, active != FALSE);
} catch (...) {
  return gstdrm::caught_in(parent, FALSE, __func__);
}

static gboolean gst_dmabuf_transform_start(GstBaseTransform *trans) noexcept
try {
  return transformer_of(trans).start();
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

static gboolean gst_dmabuf_transform_stop(GstBaseTransform *trans) noexcept
try {
  return transformer_of(trans).stop();
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

// --- GObject -------------------------------------------------------------------------------------

static void gst_dmabuf_transform_set_property(GObject *object, guint id, const GValue *value,
                                              GParamSpec *pspec) noexcept
{
  if (id == PROP_ZERO_COPY)
    transformer_of(object).set_zero_copy(gstdrm::zero_copy_from(value));
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void gst_dmabuf_transform_get_property(GObject *object, guint id, GValue *value,
                                              GParamSpec *pspec) noexcept
try {
  const Transformer &transformer = transformer_of(object);
  if (id == PROP_ZERO_COPY)
    gstdrm::set_zero_copy(value, transformer.zero_copy());
  else if (id == PROP_DRM_STATS)
    g_value_take_boxed(value, transformer.stats_structure());
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
} catch (...) {
  gstdrm::caught(__func__);
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
  object_class->get_property = gst_dmabuf_transform_get_property;
  object_class->finalize = gst_dmabuf_transform_finalize;
  gstdrm::install_common_properties(
      object_class, {PROP_ZERO_COPY, "Whether frames may be copied by the CPU", PROP_DRM_STATS,
                     "Counters since start: frames, imports, import-hits, copies, bytes-copied, "
                     "last-copy-reason, waits"});

  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  trans_class->query = gst_dmabuf_transform_query;
  trans_class->transform_caps = gst_dmabuf_transform_transform_caps;
  trans_class->fixate_caps = gst_dmabuf_transform_fixate_caps;
  trans_class->set_caps = gst_dmabuf_transform_set_caps;
  trans_class->decide_allocation = gst_dmabuf_transform_decide_allocation;
  trans_class->propose_allocation = gst_dmabuf_transform_propose_allocation;
  trans_class->submit_input_buffer = gst_dmabuf_transform_submit_input_buffer;
  trans_class->generate_output = gst_dmabuf_transform_generate_output;
  trans_class->transform = gst_dmabuf_transform_transform;
  trans_class->transform_meta = gst_dmabuf_transform_transform_meta;
  trans_class->sink_event = gst_dmabuf_transform_sink_event;
  trans_class->src_event = gst_dmabuf_transform_src_event;
  trans_class->start = gst_dmabuf_transform_start;
  trans_class->stop = gst_dmabuf_transform_stop;

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
  gst_pad_set_activatemode_function(sink, activate_sink_mode);
  gst_pad_add_probe(sink, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, ::explain_refused_caps, self,
                    nullptr);
}

GstBaseTransformClass *base_transform_class() noexcept
{
  return GST_BASE_TRANSFORM_CLASS(gst_dmabuf_transform_parent_class);
}

} // namespace gstdrm

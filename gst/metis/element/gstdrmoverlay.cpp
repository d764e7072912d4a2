// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-drmoverlay
 * @title: drmoverlay
 * @short_description: boxes and labels over a frame
 *
 * Draws the #GstVideoRegionOfInterestMeta of each buffer. Where downstream shows
 * #GstVideoOverlayCompositionMeta, the frame passes untouched with the drawing beside it; else the
 * CPU draws on a copy, which `drm-stats` counts. Frames without regions pass as they are.
 *
 * ## Example
 * |[
 * gst-launch-1.0 … ! metisdmabufinfer model=faces.onnx ! drmtensordecode ! drmoverlay !
 * kmsdmabufsink
 * ]|
 *
 * Since: 0.1
 */
#include "gstdrmoverlay.hpp"

#include <memory>

#include <gst/drm/gstdrm-guard-private.hpp>

#include "gstdrmoverlayer.hpp"
#include "gstdrmpassquery.hpp"

using gstdrm::GstPtr;
using gstdrm::logging;
using gstdrm::Overlayer;
using gstdrm::posting;

GST_DEBUG_CATEGORY(gst_drm_overlay_debug);

struct _GstDrmOverlay {
  GstBaseTransform parent;
  Overlayer *overlayer; // made in init, deleted in finalize
};

enum { OVERLAY_LABELS = 1, OVERLAY_ZERO_COPY, OVERLAY_DRM_STATS, OVERLAY_IMPLICIT_MODIFIER };

G_DEFINE_TYPE(GstDrmOverlay, gst_drm_overlay, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(drmoverlay, "drmoverlay", GST_RANK_NONE, GST_TYPE_DRM_OVERLAY)

static Overlayer &overlayer_of(gpointer element) noexcept
{
  return *static_cast<GstDrmOverlay *>(element)->overlayer;
}

static void gst_drm_overlay_set_property(GObject *object, guint id, const GValue *value,
                                         GParamSpec *spec) noexcept
{
  if (id == OVERLAY_LABELS)
    overlayer_of(object).labels = g_value_get_boolean(value) != FALSE;
  else if (id == OVERLAY_ZERO_COPY)
    overlayer_of(object).zero_copy = gstdrm::zero_copy_from(value);
  else if (id == OVERLAY_IMPLICIT_MODIFIER)
    overlayer_of(object).implicit_modifier = gstdrm::implicit_modifier_from(value);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

static void gst_drm_overlay_get_property(GObject *object, guint id, GValue *value,
                                         GParamSpec *spec) noexcept
{
  if (id == OVERLAY_LABELS)
    g_value_set_boolean(value, overlayer_of(object).labels);
  else if (id == OVERLAY_ZERO_COPY)
    gstdrm::set_zero_copy(value, overlayer_of(object).zero_copy);
  else if (id == OVERLAY_IMPLICIT_MODIFIER)
    gstdrm::set_implicit_modifier(value, overlayer_of(object).implicit_modifier);
  else if (id == OVERLAY_DRM_STATS)
    g_value_take_boxed(value, overlayer_of(object).stats());
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

static gboolean gst_drm_overlay_query(GstBaseTransform *trans, GstPadDirection direction,
                                      GstQuery *query)
{
  if (const auto passed = gstdrm::pass_query(trans, direction, query))
    return *passed;
  const gboolean answered =
      GST_BASE_TRANSFORM_CLASS(gst_drm_overlay_parent_class)->query(trans, direction, query);
  if (direction == GST_PAD_SINK && GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION)
    overlayer_of(trans).state_needs(query);
  return answered;
}

static gboolean gst_drm_overlay_sink_event(GstBaseTransform *trans, GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START)
    overlayer_of(trans).waits.raise();
  else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
    overlayer_of(trans).waits.clear();
  GstBaseTransformClass *base = GST_BASE_TRANSFORM_CLASS(gst_drm_overlay_parent_class);
  return GST_EVENT_TYPE(event) == GST_EVENT_CAPS ? overlayer_of(trans).caps.take(event, base)
                                                 : base->sink_event(trans, event);
}

static gboolean gst_drm_overlay_src_event(GstBaseTransform *trans, GstEvent *event) noexcept
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE)
    overlayer_of(trans).ask_again();
  return GST_BASE_TRANSFORM_CLASS(gst_drm_overlay_parent_class)->src_event(trans, event);
}

static GstStateChangeReturn gst_drm_overlay_change_state(GstElement *element,
                                                         GstStateChange transition) noexcept
{
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    overlayer_of(element).waits.raise();
  return GST_ELEMENT_CLASS(gst_drm_overlay_parent_class)->change_state(element, transition);
}

// Passes caps and queries on as they are.
static GstFlowReturn gst_drm_overlay_submit(GstBaseTransform *trans, gboolean discont,
                                            GstBuffer *input)
{
  auto buffer = GstPtr<GstBuffer>::adopt(input);
  const GstFlowReturn flow = overlayer_of(trans).process(buffer);
  return flow != GST_FLOW_OK ? flow
                             : GST_BASE_TRANSFORM_CLASS(gst_drm_overlay_parent_class)
                                   ->submit_input_buffer(trans, discont, buffer.release());
}

static void gst_drm_overlay_finalize(GObject *object) noexcept
{
  std::default_delete<Overlayer>()(&overlayer_of(object));
  G_OBJECT_CLASS(gst_drm_overlay_parent_class)->finalize(object);
}

static void gst_drm_overlay_class_init(GstDrmOverlayClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(gst_drm_overlay_debug, "drmoverlay", 0, "Boxes and labels over a frame");
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = gst_drm_overlay_set_property;
  object_class->get_property = gst_drm_overlay_get_property;
  object_class->finalize = gst_drm_overlay_finalize;
  g_object_class_install_property(
      object_class, OVERLAY_LABELS,
      g_param_spec_boolean("labels", "Labels", "Write what each box is, and how certain that is",
                           TRUE,
                           static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                    GST_PARAM_MUTABLE_PLAYING)));
  gstdrm::install_common_properties(
      object_class,
      {OVERLAY_ZERO_COPY, "What to do where boxes have to be drawn on a copy of the frame",
       OVERLAY_DRM_STATS,
       "Counters since start: frames, objects, compositions, drawn, copies, bytes-copied, "
       "last-copy-reason, waits",
       OVERLAY_IMPLICIT_MODIFIER,
       "Frames of caps that name no modifier (memory:DMABuf without DMA_DRM): drawn on by the CPU "
       "as linear ones (linear), or never (all others)"});

  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  const auto video = GstPtr<GstCaps>::adopt(gst_caps_from_string("video/x-raw(ANY)"));
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, video.get()));
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, video.get()));
  gst_element_class_set_static_metadata(
      element_class, "Overlay of detections", "Filter/Editor/Video",
      "Draws boxes and labels beside the frame or on a copy", "gst-drm contributors");
  element_class->change_state = gst_drm_overlay_change_state;

  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS(klass);
  transform_class->start = posting<overlayer_of, &Overlayer::start>;
  transform_class->stop = logging<overlayer_of, &Overlayer::stop>;
  transform_class->set_caps = posting<overlayer_of, &Overlayer::set_caps>;
  transform_class->query = posting<gst_drm_overlay_query>;
  transform_class->sink_event = posting<gst_drm_overlay_sink_event>;
  transform_class->src_event = gst_drm_overlay_src_event;
  transform_class->submit_input_buffer = posting<gst_drm_overlay_submit>;
}

static void gst_drm_overlay_init(GstDrmOverlay *self)
{
  self->overlayer = std::make_unique<Overlayer>(GST_BASE_TRANSFORM(self)).release();
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), TRUE);
  self->overlayer->caps.watch();
}

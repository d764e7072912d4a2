// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-drmtensordecode
 * @title: drmtensordecode
 * @short_description: the tensors of a model to objects in the frame
 *
 * Reads the #GstDrmTensorMeta of each buffer, decodes its tensors as those of BlazeFace, SSD or
 * YOLOv8 and adds the objects to the buffer as #GstVideoRegionOfInterestMeta and, with GStreamer
 * 1.24 or newer, #GstAnalyticsRelationMeta. Frames of all caps pass, and no pixel is touched.
 *
 * ## Example
 * |[
 * gst-launch-1.0 … ! metisdmabufinfer model=faces.onnx ! drmtensordecode ! drmoverlay !
 * kmsdmabufsink
 * ]|
 *
 * Since: 0.1
 */
#include "gstdrmtensordecode.hpp"

#include <memory>

#include <gst/drm/gstdrm-guard-private.hpp>

#include "gstdrmpassquery.hpp"
#include "gstdrmtensordecoder.hpp"

using gstdrm::GstPtr;
using gstdrm::logging;
using gstdrm::posting;
using gstdrm::TensorDecoder;
using gstdrm::metis::DecoderKind;

GST_DEBUG_CATEGORY(gst_drm_tensor_decode_debug);

struct _GstDrmTensorDecode {
  GstBaseTransform parent;
  TensorDecoder *decoder; // made in init, deleted in finalize
};

enum {
  PROP_0,
  PROP_DECODER,
  PROP_LABELS_FILE,
  PROP_THRESHOLD,
  PROP_IOU_THRESHOLD,
  PROP_MAX_DETECTIONS,
  PROP_POST_MESSAGES,
  PROP_ZERO_COPY,
  PROP_DRM_STATS
};

G_DEFINE_TYPE(GstDrmTensorDecode, gst_drm_tensor_decode, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(drmtensordecode, "drmtensordecode", GST_RANK_NONE,
                            GST_TYPE_DRM_TENSOR_DECODE)

namespace {

enum DecoderProperty { DECODER_AUTO, DECODER_BLAZEFACE, DECODER_SSD, DECODER_YOLOV8 };

GType decoder_type() noexcept
{
  static const GEnumValue values[] = {
      {DECODER_AUTO,
       "As the model's description says, else by the names and dimensions of the tensors", "auto"},
      {DECODER_BLAZEFACE, "BlazeFace: faces with key points", "blazeface"},
      {DECODER_SSD, "SSD with its boxes already selected", "ssd"},
      {DECODER_YOLOV8, "YOLOv8", "yolov8"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstDrmTensorDecoderKind", values);
  return type;
}

std::optional<DecoderKind> kind_of(gint property)
{
  switch (property) {
  case DECODER_BLAZEFACE:
    return DecoderKind::BlazeFace;
  case DECODER_SSD:
    return DecoderKind::Ssd;
  case DECODER_YOLOV8:
    return DecoderKind::YoloV8;
  default:
    return std::nullopt;
  }
}

gint property_of(std::optional<DecoderKind> kind)
{
  return !kind                             ? DECODER_AUTO
         : *kind == DecoderKind::BlazeFace ? DECODER_BLAZEFACE
         : *kind == DecoderKind::Ssd       ? DECODER_SSD
                                           : DECODER_YOLOV8;
}

TensorDecoder &decoder_of(gpointer element) noexcept
{
  return *static_cast<GstDrmTensorDecode *>(element)->decoder;
}

} // namespace

static void gst_drm_tensor_decode_set_property(GObject *object, guint id, const GValue *value,
                                               GParamSpec *spec)
{
  TensorDecoder &decoder = decoder_of(object);
  const gchar *given = id == PROP_LABELS_FILE ? g_value_get_string(value) : nullptr;
  std::string text = given ? given : ""; // made before the lock is held
  GST_OBJECT_LOCK(object);
  switch (id) {
  case PROP_DECODER:
    decoder.settings.decoder = kind_of(g_value_get_enum(value));
    break;
  case PROP_LABELS_FILE:
    decoder.settings.labels_file.swap(text);
    break;
  case PROP_THRESHOLD:
    decoder.settings.threshold = g_value_get_float(value);
    break;
  case PROP_IOU_THRESHOLD:
    decoder.settings.iou_threshold = g_value_get_float(value);
    break;
  case PROP_MAX_DETECTIONS:
    decoder.settings.max_detections = g_value_get_uint(value);
    break;
  case PROP_POST_MESSAGES:
    decoder.settings.post_messages = g_value_get_boolean(value) != FALSE;
    break;
  case PROP_ZERO_COPY:
    decoder.zero_copy = gstdrm::zero_copy_from(value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
  GST_OBJECT_UNLOCK(object);
}

static void gst_drm_tensor_decode_get_property(GObject *object, guint id, GValue *value,
                                               GParamSpec *spec) noexcept
{
  const TensorDecoder &decoder = decoder_of(object);
  GST_OBJECT_LOCK(object);
  switch (id) {
  case PROP_DECODER:
    g_value_set_enum(value, property_of(decoder.settings.decoder));
    break;
  case PROP_LABELS_FILE:
    if (const std::string &file = decoder.settings.labels_file; !file.empty())
      g_value_set_string(value, file.c_str()); // else NULL, which is the default
    break;
  case PROP_THRESHOLD:
    g_value_set_float(value, decoder.settings.threshold);
    break;
  case PROP_IOU_THRESHOLD:
    g_value_set_float(value, decoder.settings.iou_threshold);
    break;
  case PROP_MAX_DETECTIONS:
    g_value_set_uint(value, decoder.settings.max_detections);
    break;
  case PROP_POST_MESSAGES:
    g_value_set_boolean(value, decoder.settings.post_messages);
    break;
  case PROP_ZERO_COPY:
    gstdrm::set_zero_copy(value, decoder.zero_copy);
    break;
  case PROP_DRM_STATS:
    g_value_take_boxed(value, decoder.stats());
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
  GST_OBJECT_UNLOCK(object);
}

static gboolean gst_drm_tensor_decode_query(GstBaseTransform *trans, GstPadDirection direction,
                                            GstQuery *query) noexcept
{
  const auto passed = gstdrm::pass_query(trans, direction, query);
  return passed ? *passed
                : GST_BASE_TRANSFORM_CLASS(gst_drm_tensor_decode_parent_class)
                      ->query(trans, direction, query);
}

static gboolean gst_drm_tensor_decode_sink_event(GstBaseTransform *trans, GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START)
    decoder_of(trans).waits.raise();
  else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
    decoder_of(trans).waits.clear();
  GstBaseTransformClass *base = GST_BASE_TRANSFORM_CLASS(gst_drm_tensor_decode_parent_class);
  return GST_EVENT_TYPE(event) == GST_EVENT_CAPS ? decoder_of(trans).caps.take(event, base)
                                                 : base->sink_event(trans, event);
}

static GstStateChangeReturn gst_drm_tensor_decode_change_state(GstElement *element,
                                                               GstStateChange transition) noexcept
{
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    decoder_of(element).waits.raise();
  return GST_ELEMENT_CLASS(gst_drm_tensor_decode_parent_class)->change_state(element, transition);
}

// Passes buffers, caps and queries on as they are; only what comes in gets more metas.
static GstFlowReturn gst_drm_tensor_decode_submit(GstBaseTransform *trans, gboolean discont,
                                                  GstBuffer *input)
{
  auto buffer = GstPtr<GstBuffer>::adopt(input);
  const GstFlowReturn flow = decoder_of(trans).process(buffer);
  return flow != GST_FLOW_OK ? flow
                             : GST_BASE_TRANSFORM_CLASS(gst_drm_tensor_decode_parent_class)
                                   ->submit_input_buffer(trans, discont, buffer.release());
}

static void gst_drm_tensor_decode_finalize(GObject *object) noexcept
{
  std::default_delete<TensorDecoder>()(&decoder_of(object));
  G_OBJECT_CLASS(gst_drm_tensor_decode_parent_class)->finalize(object);
}

static void install_properties(GObjectClass *klass)
{
  const auto live = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                             GST_PARAM_MUTABLE_PLAYING);
  const auto ready = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_MUTABLE_READY);
  g_object_class_install_property(klass, PROP_DECODER,
                                  g_param_spec_enum("decoder", "Decoder",
                                                    "The kind of model that the tensors come from",
                                                    decoder_type(), DECODER_AUTO, live));
  g_object_class_install_property(
      klass, PROP_LABELS_FILE,
      g_param_spec_string("labels-file", "Labels file",
                          "The names of the classes, one per line, from class 0 on", nullptr,
                          ready));
  g_object_class_install_property(klass, PROP_THRESHOLD,
                                  g_param_spec_float("threshold", "Threshold",
                                                     "The least score of an object", 0, 1, 0.5F,
                                                     live));
  g_object_class_install_property(
      klass, PROP_IOU_THRESHOLD,
      g_param_spec_float("iou-threshold", "IoU threshold",
                         "Boxes of one class that overlap by more, as intersection over union, are "
                         "one object",
                         0, 1, 0.45F, live));
  g_object_class_install_property(klass, PROP_MAX_DETECTIONS,
                                  g_param_spec_uint("max-detections", "Most detections",
                                                    "Objects per frame and model, at most", 1, 1000,
                                                    100, live));
  g_object_class_install_property(
      klass, PROP_POST_MESSAGES,
      g_param_spec_boolean("post-messages", "Post messages",
                           "Post an element message drm-detections for each frame with tensors",
                           FALSE, live));
  gstdrm::install_common_properties(
      klass, {PROP_ZERO_COPY, "Of no effect: frames are never copied", PROP_DRM_STATS,
              "Counters since start: frames, detections, waits, decoding-ns"});
}

static void gst_drm_tensor_decode_class_init(GstDrmTensorDecodeClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(gst_drm_tensor_decode_debug, "drmtensordecode", 0, "Tensors to objects");
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = logging<gst_drm_tensor_decode_set_property>;
  object_class->get_property = gst_drm_tensor_decode_get_property;
  object_class->finalize = gst_drm_tensor_decode_finalize;
  install_properties(object_class);

  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  const auto any = GstPtr<GstCaps>::adopt(gst_caps_new_any());
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, any.get()));
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, any.get()));
  gst_element_class_set_static_metadata(element_class, "Tensor decoder", "Filter/Analyzer/Video",
                                        "Finds objects in the tensors of a buffer",
                                        "gst-drm contributors");
  element_class->change_state = gst_drm_tensor_decode_change_state;
  gst_type_mark_as_plugin_api(decoder_type(), static_cast<GstPluginAPIFlags>(0));

  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS(klass);
  transform_class->start = posting<decoder_of, &TensorDecoder::start>;
  transform_class->set_caps = posting<decoder_of, &TensorDecoder::set_caps>;
  transform_class->query = gst_drm_tensor_decode_query;
  transform_class->sink_event = posting<gst_drm_tensor_decode_sink_event>;
  transform_class->submit_input_buffer = posting<gst_drm_tensor_decode_submit>;
}

static void gst_drm_tensor_decode_init(GstDrmTensorDecode *self)
{
  self->decoder = std::make_unique<TensorDecoder>(GST_ELEMENT(self)).release();
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), TRUE);
  self->decoder->caps.watch();
}

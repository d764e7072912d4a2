// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-vadmabufconvert
 * @title: vadmabufconvert
 *
 * Scales, converts, turns and retiles DMA buffers of other elements on a GPU, by VA-API's video
 * processing. Each buffer is imported once; frames leave in the format and modifier that downstream
 * takes and the driver chose.
 *
 * ## Example
 * |[
 * gst-launch-1.0 vadmabufsrc ! vadmabufconvert video-direction=90r ! kmsdmabufsink
 * ]|
 */
#include <string>

#include <gst/drm/element/producer.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>

#include "gstvadmabufconverter.hpp"
#include "gstvaelement.hpp"

GST_DEBUG_CATEGORY(gst_va_dmabuf_convert_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_va_dmabuf_convert_debug

G_DECLARE_FINAL_TYPE(GstVaDmabufConvert, gst_va_dmabuf_convert, GST, VA_DMABUF_CONVERT,
                     GstBaseTransform)

using gstdrm::logging;
using gstdrm::posting;
using gstdrm::va::ColourPolicy;
using gstdrm::va::Deinterlace;
using gstdrm::va::DmabufConverter;

struct _GstVaDmabufConvert {
  GstBaseTransform parent;
  DmabufConverter *converter; // made in init, deleted in finalize
};

G_DEFINE_TYPE_WITH_CODE(GstVaDmabufConvert, gst_va_dmabuf_convert, GST_TYPE_BASE_TRANSFORM,
                        G_IMPLEMENT_INTERFACE(GST_TYPE_VIDEO_DIRECTION, nullptr))

namespace {

enum Property {
  PROP_0,
  PROP_DEVICE,
  PROP_VIDEO_DIRECTION,
  PROP_ADD_BORDERS,
  PROP_DEINTERLACE,
  PROP_COLOUR_CONVERSION,
  PROP_NUM_SURFACES,
  PROP_ZERO_COPY,
  PROP_IMPLICIT_MODIFIER,
  PROP_DRM_STATS,
};

GType deinterlace_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(Deinterlace::Off), "Interlaced frames are not accepted", "off"},
      {static_cast<gint>(Deinterlace::Auto),
       "The driver's best algorithm that needs one frame alone, where downstream takes progressive "
       "frames only",
       "auto"},
      {static_cast<gint>(Deinterlace::Weave), "Both fields as they are", "weave"},
      {static_cast<gint>(Deinterlace::Bob), "The lines of one field, interpolated", "bob"},
      {static_cast<gint>(Deinterlace::Adaptive), "Motion adaptive, with the frames before",
       "adaptive"},
      {static_cast<gint>(Deinterlace::Compensated), "Motion compensated, with the frames before",
       "compensated"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstVaDmabufConvertDeinterlace", values);
  return type;
}

GType colour_conversion_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(ColourPolicy::Exact), "As the caps say, or not at all", "exact"},
      {static_cast<gint>(ColourPolicy::Any),
       "As the driver does it where it does not do what the caps say, with a warning", "any"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstVaDmabufConvertColourConversion", values);
  return type;
}

DmabufConverter &converter_of(gpointer object)
{
  return *GST_VA_DMABUF_CONVERT(object)->converter;
}

} // namespace

static void gst_va_dmabuf_convert_set_property(GObject *object, guint id, const GValue *value,
                                               GParamSpec *spec)
{
  bool known = true;
  // Change one property under the lock: another thread may set another one at the same time.
  converter_of(object).change_settings([&](gstdrm::va::ConvertSettings &settings) {
    switch (id) {
    case PROP_DEVICE:
      settings.device = g_value_get_string(value) ? g_value_get_string(value) : "";
      break;
    case PROP_VIDEO_DIRECTION:
      settings.direction = static_cast<GstVideoOrientationMethod>(g_value_get_enum(value));
      break;
    case PROP_ADD_BORDERS:
      settings.add_borders = g_value_get_boolean(value) != FALSE;
      break;
    case PROP_DEINTERLACE:
      settings.deinterlace = static_cast<Deinterlace>(g_value_get_enum(value));
      break;
    case PROP_COLOUR_CONVERSION:
      settings.colours = static_cast<ColourPolicy>(g_value_get_enum(value));
      break;
    case PROP_NUM_SURFACES:
      settings.num_surfaces = g_value_get_uint(value);
      break;
    case PROP_ZERO_COPY:
      settings.zero_copy = gstdrm::zero_copy_from(value);
      break;
    case PROP_IMPLICIT_MODIFIER:
      settings.implicit_modifier = gstdrm::implicit_modifier_from(value);
      break;
    default:
      known = false;
      break;
    }
  });
  if (!known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  if (id == PROP_VIDEO_DIRECTION || id == PROP_ADD_BORDERS || id == PROP_DEINTERLACE ||
      id == PROP_COLOUR_CONVERSION)
    gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(object));
}

static void gst_va_dmabuf_convert_get_property(GObject *object, guint id, GValue *value,
                                               GParamSpec *spec)
{
  const auto &converter = converter_of(object);
  const auto settings = converter.settings();
  switch (id) {
  case PROP_DEVICE:
    g_value_set_string(value, settings.device.empty() ? nullptr : settings.device.c_str());
    break;
  case PROP_VIDEO_DIRECTION:
    g_value_set_enum(value, settings.direction);
    break;
  case PROP_ADD_BORDERS:
    g_value_set_boolean(value, settings.add_borders);
    break;
  case PROP_DEINTERLACE:
    g_value_set_enum(value, static_cast<gint>(settings.deinterlace));
    break;
  case PROP_COLOUR_CONVERSION:
    g_value_set_enum(value, static_cast<gint>(settings.colours));
    break;
  case PROP_NUM_SURFACES:
    g_value_set_uint(value, settings.num_surfaces);
    break;
  case PROP_ZERO_COPY:
    gstdrm::set_zero_copy(value, settings.zero_copy);
    break;
  case PROP_IMPLICIT_MODIFIER:
    gstdrm::set_implicit_modifier(value, settings.implicit_modifier);
    break;
  case PROP_DRM_STATS:
    g_value_take_boxed(value, converter.stats_structure());
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    break;
  }
}

// End waits of the streaming thread before its pads are deactivated.
static GstStateChangeReturn gst_va_dmabuf_convert_change_state(GstElement *element,
                                                               GstStateChange transition)
{
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    converter_of(element).set_flushing(true);
  return GST_ELEMENT_CLASS(gst_va_dmabuf_convert_parent_class)->change_state(element, transition);
}

static void gst_va_dmabuf_convert_finalize(GObject *object) noexcept
{
  delete GST_VA_DMABUF_CONVERT(object)->converter;
  G_OBJECT_CLASS(gst_va_dmabuf_convert_parent_class)->finalize(object);
}

static void install_properties(GObjectClass *klass)
{
  constexpr auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  constexpr auto playing = static_cast<GParamFlags>(flags | GST_PARAM_MUTABLE_PLAYING);
  gstdrm::va::install_device_properties(klass, PROP_DEVICE, PROP_NUM_SURFACES);
  g_object_class_override_property(klass, PROP_VIDEO_DIRECTION, "video-direction");
  g_object_class_install_property(
      klass, PROP_ADD_BORDERS,
      g_param_spec_boolean("add-borders", "Add borders",
                           "Black borders where downstream's size has another shape than the "
                           "picture; off: the picture is stretched",
                           TRUE, playing));
  g_object_class_install_property(
      klass, PROP_DEINTERLACE,
      g_param_spec_enum(
          "deinterlace", "Deinterlace",
          "How a progressive frame is made of the two fields of an interlaced one; an "
          "algorithm that the driver does not have, or has with later frames only, "
          "is off",
          deinterlace_type(), static_cast<gint>(Deinterlace::Auto), playing));
  g_object_class_install_property(
      klass, PROP_COLOUR_CONVERSION,
      g_param_spec_enum("colour-conversion", "Colour conversion",
                        "What to do where the driver does not convert between the matrices and "
                        "ranges of the colours that the caps say",
                        colour_conversion_type(), static_cast<gint>(ColourPolicy::Exact), playing));
  gstdrm::install_common_properties(
      klass, {PROP_ZERO_COPY, "What to do where frames come in system memory", PROP_DRM_STATS,
              "Counters since start: frames, imports, import-hits, copies, bytes-copied, "
              "last-copy-reason, waits, surfaces, exports, va-calls",
              PROP_IMPLICIT_MODIFIER,
              "Caps that name no modifier (memory:DMABuf without DMA_DRM): used where the driver "
              "names none (auto), never (refuse), for linear frames too (linear), or taken and "
              "imported without a modifier (driver)"});
}

static void set_functions(GstBaseTransformClass *klass)
{
  klass->query = logging<converter_of, &DmabufConverter::query>;
  klass->transform_caps = posting<converter_of, &DmabufConverter::transform_caps>;
  klass->fixate_caps = posting<converter_of, &DmabufConverter::fixate_caps>;
  klass->set_caps = posting<converter_of, &DmabufConverter::set_caps>;
  klass->decide_allocation = posting<converter_of, &DmabufConverter::decide_allocation>;
  klass->propose_allocation = logging<converter_of, &DmabufConverter::propose_allocation>;
  klass->submit_input_buffer = posting<converter_of, &DmabufConverter::submit_input_buffer>;
  klass->prepare_output_buffer = posting<converter_of, &DmabufConverter::prepare_output>;
  klass->transform = posting<converter_of, &DmabufConverter::transform>;
  klass->transform_meta = logging<converter_of, &DmabufConverter::transform_meta>;
  klass->sink_event = posting<converter_of, &DmabufConverter::sink_event>;
  klass->start = posting<converter_of, &DmabufConverter::start>;
  klass->stop = logging<converter_of, &DmabufConverter::stop>;
}

static void gst_va_dmabuf_convert_class_init(GstVaDmabufConvertClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(gst_va_dmabuf_convert_debug, "vadmabufconvert", 0,
                          "VA-API DMA buffer converter");
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = logging<gst_va_dmabuf_convert_set_property>;
  object_class->get_property = logging<gst_va_dmabuf_convert_get_property>;
  object_class->finalize = gst_va_dmabuf_convert_finalize;
  install_properties(object_class);
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(
      element_class, "VA-API DMA buffer converter", "Filter/Converter/Video/Scaler/Hardware",
      "Scales, converts, turns and retiles DMA buffers on the GPU", "gst-drm contributors");
  for (const GType type : {deinterlace_type(), colour_conversion_type()})
    gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
  element_class->change_state = posting<gst_va_dmabuf_convert_change_state>;
  gstdrm::va::add_machine_template(element_class, "sink", GST_PAD_SINK);
  gstdrm::va::add_machine_template(element_class, "src", GST_PAD_SRC);
  set_functions(GST_BASE_TRANSFORM_CLASS(klass));
}

static void gst_va_dmabuf_convert_init(GstVaDmabufConvert *self)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM(self);
  // The pool waits for a frame's release fences before it reuses the frame.
  gstdrm::set_up_producer_pad(GST_BASE_TRANSFORM_SRC_PAD(trans), [trans] {
    return gst_base_transform_is_passthrough(trans) == FALSE;
  });
  self->converter =
      new DmabufConverter(trans, GST_BASE_TRANSFORM_CLASS(gst_va_dmabuf_convert_parent_class));
}

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
#include <array>

#include <gst/drm/element/producer.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>

#include "gstvadmabufconverter.hpp"
#include "gstvaelement.hpp"

GST_DEBUG_CATEGORY(gst_va_dmabuf_convert_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_va_dmabuf_convert_debug

G_DECLARE_FINAL_TYPE(GstVaDmabufConvert, gst_va_dmabuf_convert, GST, VA_DMABUF_CONVERT,
                     GstBaseTransform)

using gstdrm::common_property;
using gstdrm::logging;
using gstdrm::posting;
using gstdrm::property;
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

const auto &convert_properties()
{
  using S = gstdrm::va::ConvertSettings;
  constexpr auto playing = gstdrm::kPlayingProperty;
  static constexpr std::array rows{
      common_property<&S::zero_copy>(),
      common_property<&S::implicit_modifier>(),
      common_property<&S::direction>(), // of GstVideoDirection
      gstdrm::va::device_property<&S::device>(),
      gstdrm::va::num_surfaces_property<&S::num_surfaces>(),
      property<&S::add_borders>("add-borders", "Add borders",
                                "Black borders where downstream's size has another shape than the "
                                "picture; off: the picture is stretched",
                                playing),
      property<&S::deinterlace>(
          "deinterlace", "Deinterlace",
          "How a progressive frame is made of the two fields of an interlaced one; an algorithm "
          "that the driver does not have, or has with later frames only, is off",
          playing, {.type = deinterlace_type}),
      property<&S::colours>("colour-conversion", "Colour conversion",
                            "What to do where the driver does not convert between the matrices "
                            "and ranges of the colours that the caps say",
                            playing, {.type = colour_conversion_type}),
  };
  return rows;
}

constexpr guint kDirectionId = gstdrm::row_id<2>; // its GParamSpec is GstVideoDirection's

DmabufConverter &converter_of(gpointer object)
{
  return *GST_VA_DMABUF_CONVERT(object)->converter;
}

} // namespace

static void gst_va_dmabuf_convert_set_property(GObject *object, guint id, const GValue *value,
                                               GParamSpec *spec)
{
  gstdrm::set_property(object, convert_properties(), id, value, spec,
                       [object](const auto &set) { converter_of(object).change_settings(set); });
  if (id == kDirectionId || (spec->flags & GST_PARAM_MUTABLE_PLAYING) != 0)
    gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(object));
}

static void gst_va_dmabuf_convert_get_property(GObject *object, guint id, GValue *value,
                                               GParamSpec *spec)
{
  const auto &converter = converter_of(object);
  if (id == gstdrm::kStatsId)
    g_value_take_boxed(value, converter.stats_structure());
  else
    gstdrm::get_property(object, convert_properties(), id, value, spec, converter.settings());
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
  gstdrm::install_properties(klass, convert_properties());
  g_object_class_override_property(klass, kDirectionId, "video-direction");
  gstdrm::install_common_properties(
      klass, {gstdrm::row_id<0>, "What to do where frames come in system memory", gstdrm::kStatsId,
              "Counters since start: frames, imports, import-hits, releases, copies, "
              "bytes-copied, last-copy-reason, waits, surfaces, exports, va-calls",
              gstdrm::row_id<1>,
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

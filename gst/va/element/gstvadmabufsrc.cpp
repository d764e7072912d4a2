// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-vadmabufsrc
 * @title: vadmabufsrc
 *
 * Draws test patterns on a GPU through VA-API and pushes them as DMA buffers, in a format and
 * modifier that downstream takes and the driver chose.
 *
 * ## Example
 * |[
 * gst-launch-1.0 vadmabufsrc pattern=ball ! video/x-raw(memory:DMABuf),width=1280,height=720 !
 * kmsdmabufsink
 * ]|
 */
#include "gstvadmabufsrc.hpp"

#include <memory>
#include <string>
#include <utility>

#include <gst/drm/element/producer_pad.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>

#include "gstvadmabufsrc-source.hpp"
#include "gstvaproperties.hpp"

GST_DEBUG_CATEGORY(gst_va_dmabuf_src_debug);
#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

using gstdrm::logging;
using gstdrm::posting;
using gstdrm::va::Pattern;
using gstdrm::va::Source;

struct _GstVaDmabufSrc {
  GstPushSrc parent;
  Source *source; // made in init, deleted in finalize
};

G_DEFINE_TYPE(GstVaDmabufSrc, gst_va_dmabuf_src, GST_TYPE_PUSH_SRC)

namespace {

enum Property {
  PROP_0,
  PROP_DEVICE,
  PROP_PATTERN,
  PROP_COLOR,
  PROP_NUM_SURFACES,
  PROP_IS_LIVE,
  PROP_ZERO_COPY,
  PROP_IMPLICIT_MODIFIER,
  PROP_DRM_STATS,
};

GType pattern_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(Pattern::Smpte), "SMPTE colour bars", "smpte"},
      {static_cast<gint>(Pattern::Checkers), "Black and white squares of 8 pixels", "checkers"},
      {static_cast<gint>(Pattern::Gradient), "Grey gradient that moves by 2 pixels a frame",
       "gradient"},
      {static_cast<gint>(Pattern::Ball), "White ball that moves on black", "ball"},
      {static_cast<gint>(Pattern::Solid), "One colour", "solid"},
      {static_cast<gint>(Pattern::FrameCounter), "Machine-readable frame number and timestamp",
       "frame-counter"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstVaDmabufSrcPattern", values);
  return type;
}

Source &source_of(gpointer object)
{
  return *GST_VA_DMABUF_SRC(object)->source;
}

} // namespace

static void gst_va_dmabuf_src_set_property(GObject *object, guint id, const GValue *value,
                                           GParamSpec *spec)
{
  auto &properties = source_of(object).properties;
  if (id == PROP_IS_LIVE) {
    gst_base_src_set_live(GST_BASE_SRC(object), g_value_get_boolean(value));
    return;
  }
  std::string device; // made before the lock is held
  if (id == PROP_DEVICE && g_value_get_string(value))
    device = g_value_get_string(value);
  GST_OBJECT_LOCK(object);
  switch (id) {
  case PROP_DEVICE:
    properties.device = std::move(device);
    break;
  case PROP_PATTERN:
    properties.pattern = static_cast<Pattern>(g_value_get_enum(value));
    break;
  case PROP_COLOR:
    properties.argb = g_value_get_uint(value);
    break;
  case PROP_NUM_SURFACES:
    properties.num_surfaces = g_value_get_uint(value);
    break;
  case PROP_ZERO_COPY:
    properties.zero_copy = gstdrm::zero_copy_from(value);
    break;
  case PROP_IMPLICIT_MODIFIER:
    properties.implicit_modifier = gstdrm::implicit_modifier_from(value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    break;
  }
  GST_OBJECT_UNLOCK(object);
}

static void gst_va_dmabuf_src_get_property(GObject *object, guint id, GValue *value,
                                           GParamSpec *spec)
{
  auto &source = source_of(object);
  if (id == PROP_DRM_STATS) {
    g_value_take_boxed(value, source.stats_structure());
    return;
  }
  if (id == PROP_IS_LIVE) {
    g_value_set_boolean(value, gst_base_src_is_live(GST_BASE_SRC(object)));
    return;
  }
  GST_OBJECT_LOCK(object);
  const auto &properties = source.properties;
  switch (id) {
  case PROP_DEVICE:
    g_value_set_string(value, properties.device.empty() ? nullptr : properties.device.c_str());
    break;
  case PROP_PATTERN:
    g_value_set_enum(value, static_cast<gint>(properties.pattern));
    break;
  case PROP_COLOR:
    g_value_set_uint(value, properties.argb);
    break;
  case PROP_NUM_SURFACES:
    g_value_set_uint(value, properties.num_surfaces);
    break;
  case PROP_ZERO_COPY:
    gstdrm::set_zero_copy(value, properties.zero_copy);
    break;
  case PROP_IMPLICIT_MODIFIER:
    gstdrm::set_implicit_modifier(value, properties.implicit_modifier);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    break;
  }
  GST_OBJECT_UNLOCK(object);
}

// The messages of the base class come here too.
static gboolean gst_va_dmabuf_src_post_message(GstElement *element, GstMessage *message)
{
  auto owned = gstdrm::GstPtr<GstMessage>::adopt(message);
  return source_of(element).replace(message) ||
         GST_ELEMENT_CLASS(gst_va_dmabuf_src_parent_class)->post_message(element, owned.release());
}

// Whether a CAPS event could have them, and the patterns are drawn with what they say.
static bool can_be_sent(const GstCaps *caps)
{
  GstDrmVideoInfo info;
  return caps && !gst_caps_is_any(caps) && gst_caps_is_fixed(caps) &&
         (!gst_drm_video_info_from_caps(&info, caps) || gstdrm::va::not_drawn(info).empty());
}

static gboolean gst_va_dmabuf_src_query(GstBaseSrc *src, GstQuery *query)
{
  if (GST_QUERY_TYPE(query) == GST_QUERY_ACCEPT_CAPS) {
    GstCaps *caps = nullptr;
    gst_query_parse_accept_caps(query, &caps);
    if (!can_be_sent(caps)) {
      gst_query_set_accept_caps_result(query, FALSE);
      return TRUE;
    }
  }
  if (source_of(src).answer(query))
    return TRUE;
  return GST_BASE_SRC_CLASS(gst_va_dmabuf_src_parent_class)->query(src, query);
}

static gboolean gst_va_dmabuf_src_is_seekable(GstBaseSrc *src) noexcept
{
  return !gst_base_src_is_live(src);
}

static void gst_va_dmabuf_src_get_times(GstBaseSrc *src, GstBuffer *buffer, GstClockTime *start,
                                        GstClockTime *end) noexcept
{
  *start = *end = GST_CLOCK_TIME_NONE;
  if (!gst_base_src_is_live(src))
    return;
  *start = GST_BUFFER_PTS(buffer);
  if (GST_BUFFER_DURATION_IS_VALID(buffer))
    *end = *start + GST_BUFFER_DURATION(buffer);
}

static void gst_va_dmabuf_src_finalize(GObject *object) noexcept
{
  delete GST_VA_DMABUF_SRC(object)->source;
  G_OBJECT_CLASS(gst_va_dmabuf_src_parent_class)->finalize(object);
}

static void install_properties(GObjectClass *klass)
{
  constexpr auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  constexpr auto playing = static_cast<GParamFlags>(flags | GST_PARAM_MUTABLE_PLAYING);
  constexpr auto ready = static_cast<GParamFlags>(flags | GST_PARAM_MUTABLE_READY);
  gstdrm::va::install_device_properties(klass, {PROP_DEVICE, PROP_NUM_SURFACES});
  g_object_class_install_property(
      klass, PROP_PATTERN,
      g_param_spec_enum("pattern", "Pattern", "What is drawn", pattern_type(), 0, playing));
  g_object_class_install_property(klass, PROP_COLOR,
                                  g_param_spec_uint("color", "Colour",
                                                    "Colour of pattern=solid, 0xAARRGGBB", 0,
                                                    G_MAXUINT32, 0xff0000ff, playing));
  g_object_class_install_property(klass, PROP_IS_LIVE,
                                  g_param_spec_boolean("is-live", "Is live",
                                                       "Push each frame when its time has come",
                                                       FALSE, ready));
  gstdrm::install_common_properties(
      klass, {PROP_ZERO_COPY, "What to do where the CPU would have to write frames", PROP_DRM_STATS,
              "Counters since start: frames, copies, bytes-copied, last-copy-reason, waits, "
              "surfaces, exports, va-calls",
              PROP_IMPLICIT_MODIFIER,
              "Caps that name no modifier (memory:DMABuf without DMA_DRM): sent where the driver "
              "names none (auto, driver), never (refuse), or for linear frames too (linear)"});
}

static void gst_va_dmabuf_src_class_init(GstVaDmabufSrcClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  GstBaseSrcClass *base_class = GST_BASE_SRC_CLASS(klass);
  object_class->set_property = logging<gst_va_dmabuf_src_set_property>;
  object_class->get_property = logging<gst_va_dmabuf_src_get_property>;
  object_class->finalize = gst_va_dmabuf_src_finalize;
  install_properties(object_class);
  gst_element_class_set_static_metadata(
      element_class, "VA-API DMA buffer source", "Source/Video/Hardware",
      "Draws test patterns on the GPU into DMA buffers", "gst-drm contributors");
  gstdrm::va::add_machine_template(element_class, "src", GST_PAD_SRC);
  gst_type_mark_as_plugin_api(pattern_type(), static_cast<GstPluginAPIFlags>(0));
  element_class->post_message = logging<gst_va_dmabuf_src_post_message>;
  base_class->start = posting<source_of, &Source::start>;
  base_class->stop = logging<source_of, &Source::stop>;
  base_class->unlock = logging<source_of, &Source::unlock>;
  base_class->unlock_stop = logging<source_of, &Source::unlock_stop>;
  base_class->get_caps = posting<source_of, &Source::query_caps>;
  base_class->query = logging<gst_va_dmabuf_src_query>;
  base_class->negotiate = posting<source_of, &Source::negotiate>;
  base_class->set_caps = posting<source_of, &Source::set_caps>;
  base_class->decide_allocation = posting<source_of, &Source::decide_allocation>;
  base_class->is_seekable = gst_va_dmabuf_src_is_seekable;
  base_class->do_seek = posting<source_of, &Source::seek>;
  base_class->get_times = gst_va_dmabuf_src_get_times;
  GST_PUSH_SRC_CLASS(klass)->create = posting<source_of, &Source::create>;
}

static void gst_va_dmabuf_src_init(GstVaDmabufSrc *self)
{
  // The pool waits for the release fences of a frame before it hands it out again.
  gstdrm::set_up_producer_pad(GST_BASE_SRC_PAD(self));
  self->source = new Source(GST_BASE_SRC(self));
  gst_base_src_set_format(GST_BASE_SRC(self), GST_FORMAT_TIME);
}

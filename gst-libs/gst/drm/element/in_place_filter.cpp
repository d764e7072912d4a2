// SPDX-License-Identifier: LGPL-2.1-or-later
#include "in_place_filter.hpp"

#include <gst/base/gstbasetransform.h>
#include <gst/drm/gstdrm-guard-private.hpp>

#include "in_place_frames.hpp"
#include "properties.hpp"
#include "transform_query.hpp"

namespace gstdrm {
namespace {

enum { PROP_0, PROP_ZERO_COPY, PROP_DRM_STATS, PROP_FIRST_OWN };

struct Shell {
  GstBaseTransform parent;
  InPlaceFrames *frames; // made in init, deleted in finalize
};
struct ShellClass {
  GstBaseTransformClass parent_class;
  const InPlaceFilterClass *what;
};

InPlaceFrames &frames_of(gpointer element) noexcept
{
  return *static_cast<Shell *>(element)->frames;
}

template <typename Class> Class *base_class() noexcept
{
  return static_cast<Class *>(g_type_class_peek(GST_TYPE_BASE_TRANSFORM));
}

void set_property(GObject *object, guint id, const GValue *value, GParamSpec *)
{
  InPlaceFrames &frames = frames_of(object);
  if (id == PROP_ZERO_COPY)
    frames.set_zero_copy(zero_copy_from(value));
  else
    frames.filter().set_property(id, value);
}

void get_property(GObject *object, guint id, GValue *value, GParamSpec *)
{
  const InPlaceFrames &frames = frames_of(object);
  if (id == PROP_ZERO_COPY)
    set_zero_copy(value, frames.zero_copy());
  else if (id == PROP_DRM_STATS)
    g_value_take_boxed(value, frames.stats());
  else
    frames.filter().get_property(id, value);
}

// Caps that a CAPS event could bring: fixed, and with all that a frame's layout needs.
bool can_be_set(const GstCaps *caps) noexcept
{
  GstDrmVideoInfo info;
  return caps && !gst_caps_is_any(caps) && gst_caps_is_fixed(caps) &&
         gst_drm_video_info_from_caps(&info, caps);
}

gboolean filter_query(GstBaseTransform *trans, GstPadDirection direction, GstQuery *query)
{
  return query_transform(trans, base_class<GstBaseTransformClass>(), direction, query, can_be_set);
}

gboolean filter_sink_event(GstBaseTransform *trans, GstEvent *event)
{
  return frames_of(trans).sink_event(event, [trans](GstEvent *passed) {
    return base_class<GstBaseTransformClass>()->sink_event(trans, passed) != FALSE;
  });
}

gboolean filter_src_event(GstBaseTransform *trans, GstEvent *event) noexcept
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE)
    frames_of(trans).ask_again();
  return base_class<GstBaseTransformClass>()->src_event(trans, event);
}

// Metas that describe memory never get here; all others stay true of a copy, which is the same
// picture.
gboolean transform_meta(GstBaseTransform *, GstBuffer *, GstMeta *, GstBuffer *) noexcept
{
  return TRUE;
}

GstFlowReturn prepare_output_buffer(GstBaseTransform *trans, GstBuffer *input, GstBuffer **output)
{
  const GstFlowReturn flow = frames_of(trans).make_writable(input, output);
  if (flow == GST_FLOW_OK && *output != input)
    GST_BASE_TRANSFORM_GET_CLASS(trans)->copy_metadata(trans, input, *output);
  return flow;
}

// A state change may have to end the wait of a streaming thread: before the pads are deactivated.
GstStateChangeReturn change_state(GstElement *element, GstStateChange transition)
{
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    frames_of(element).end_waits();
  return base_class<GstElementClass>()->change_state(element, transition);
}

void finalize(GObject *object) noexcept
{
  delete static_cast<Shell *>(static_cast<gpointer>(object))->frames;
  base_class<GObjectClass>()->finalize(object);
}

void describe(GstElementClass *element_class, const InPlaceFilterClass &what)
{
  const GstPtr<GstCaps> caps = what.caps();
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps.get()));
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps.get()));
  gst_element_class_set_static_metadata(element_class, what.long_name, what.classification,
                                        what.description, what.author);
}

void class_init(gpointer klass, gpointer class_data) noexcept
{
  const auto &what = *static_cast<const InPlaceFilterClass *>(class_data);
  static_cast<ShellClass *>(klass)->what = &what;

  auto *object_class = static_cast<GObjectClass *>(klass);
  object_class->set_property = logging<set_property>;
  object_class->get_property = logging<get_property>;
  object_class->finalize = finalize;
  install_common_properties(
      object_class, {PROP_ZERO_COPY, "Whether a frame that another element holds may be copied",
                     PROP_DRM_STATS, "Counters since start"});
  if (what.install_properties)
    what.install_properties(object_class, PROP_FIRST_OWN);

  auto *element_class = static_cast<GstElementClass *>(klass);
  element_class->change_state = posting<change_state>;
  describe(element_class, what);

  auto *transform_class = static_cast<GstBaseTransformClass *>(klass);
  transform_class->query = posting<filter_query>;
  transform_class->sink_event = posting<filter_sink_event>;
  transform_class->src_event = filter_src_event;
  transform_class->set_caps = posting<frames_of, &InPlaceFrames::set_caps>;
  transform_class->start = posting<frames_of, &InPlaceFrames::start>;
  transform_class->stop = logging<frames_of, &InPlaceFrames::stop>;
  transform_class->transform_meta = transform_meta;
  transform_class->prepare_output_buffer = posting<prepare_output_buffer>;
  transform_class->transform_ip = posting<frames_of, &InPlaceFrames::process>;
}

void instance_init(GTypeInstance *instance, gpointer klass) noexcept
{
  const auto &what = *static_cast<const ShellClass *>(klass)->what;
  auto *shell = static_cast<Shell *>(static_cast<gpointer>(instance));
  shell->frames = new InPlaceFrames(&shell->parent, what.make(), what.suggestion);
}

} // namespace

bool register_in_place_filter(GstPlugin *plugin, const InPlaceFilterClass &klass)
{
  GType type = g_type_from_name(klass.type_name);
  if (type == G_TYPE_INVALID) {
    const GTypeInfo info{sizeof(ShellClass), nullptr, nullptr,       class_init, nullptr, &klass,
                         sizeof(Shell),      0,       instance_init, nullptr};
    type = g_type_register_static(GST_TYPE_BASE_TRANSFORM, klass.type_name, &info,
                                  static_cast<GTypeFlags>(0));
  }
  return gst_element_register(plugin, klass.element_name, GST_RANK_NONE, type) != FALSE;
}

} // namespace gstdrm

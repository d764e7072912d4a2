// SPDX-License-Identifier: LGPL-2.1-or-later
// Queries and events that nobody should send, thrown at a pad: caps that are NULL, ANY, EMPTY, not
// fixed, of other media types, with fields of other types. Under G_DEBUG=fatal-criticals a
// CRITICAL ends the test; what is accepted has to be something that the element could honour.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-private.hpp>

#include "support/check_main.hpp"

namespace gstdrm::test {

struct OddCaps {
  const char *name;
  const char *text; // nullptr: no caps at all
};

inline constexpr OddCaps kOddCaps[] = {
    {"NULL", nullptr},
    {"ANY", "ANY"},
    {"EMPTY", "EMPTY"},
    {"plain video", "video/x-raw, format=NV12, width=64, height=48, framerate=30/1"},
    {"plain video, no rate", "video/x-raw, format=NV12, width=64, height=48"},
    {"DMA_DRM", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=64, height=48"},
    {"DMA_DRM, tiled",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0100000000000002, width=64, "
     "height=48"},
    {"media type alone", "video/x-raw"},
    {"any features", "video/x-raw(ANY)"},
    {"any features, fixed", "video/x-raw(ANY), format=NV12, width=64, height=48"},
    {"dmabuf alone", "video/x-raw(memory:DMABuf)"},
    {"DMA_DRM alone", "video/x-raw(memory:DMABuf), format=DMA_DRM"},
    {"no drm-format", "video/x-raw(memory:DMABuf), format=DMA_DRM, width=64, height=48"},
    {"a list of drm-formats",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={NV12, XR24}, width=64, height=48"},
    {"a list of formats", "video/x-raw, format={NV12, I420}, width=64, height=48"},
    {"an empty list", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={}"},
    {"a list in a list", "video/x-raw, format={(string){NV12, I420}}, width=64, height=48"},
    {"ranges", "video/x-raw, format=NV12, width=[1, 100], height=[2, 100, 2]"},
    {"no size", "video/x-raw, format=NV12"},
    {"width 0", "video/x-raw, format=NV12, width=0, height=48"},
    {"width -1", "video/x-raw, format=NV12, width=-1, height=48"},
    {"the largest size", "video/x-raw, format=NV12, width=2147483647, height=2147483647"},
    {"width is text", "video/x-raw, format=NV12, width=(string)64, height=48"},
    {"format is a number", "video/x-raw, format=(int)23, width=64, height=48"},
    {"no such format", "video/x-raw, format=NOTHING, width=64, height=48"},
    {"drm-format is a number",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=(int)7, width=64, height=48"},
    {"no such drm-format",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=\"?\", width=64, height=48"},
    {"written linear",
     "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0000000000000000, width=64, "
     "height=48"},
    {"implicit modifier", "video/x-raw(memory:DMABuf), format=NV12, width=64, height=48"},
    {"other memory", "video/x-raw(memory:CUDAMemory), format=RGBA, width=64, height=48"},
    {"two features", "video/x-raw(memory:DMABuf, meta:GstVideoOverlayComposition), format=DMA_DRM, "
                     "drm-format=NV12, width=64, height=48"},
    {"rate 0/0", "video/x-raw, format=NV12, width=64, height=48, framerate=(string)x"},
    {"two structures",
     "video/x-raw, format=NV12, width=64, height=48; video/x-raw, format=I420, width=64, "
     "height=48"},
    {"audio", "audio/x-raw, format=S16LE, rate=48000, channels=2, layout=interleaved"},
    {"other media", "image/jpeg, width=64, height=48"},
    {"no fields", "application/x-nothing"},
};
inline constexpr int kOddCapsCount = static_cast<int>(G_N_ELEMENTS(kOddCaps));

inline GstPtr<GstCaps> odd_caps(const OddCaps &row)
{
  GstCaps *caps = row.text ? gst_caps_from_string(row.text) : nullptr;
  fail_unless(!row.text || caps, "%s: no caps", row.name);
  return GstPtr<GstCaps>::adopt(caps);
}

// A list with a string that is NULL, as no text can say it.
inline GstPtr<GstCaps> caps_with_null_string(const char *field)
{
  GValue list = G_VALUE_INIT;
  g_value_init(&list, GST_TYPE_LIST);
  for (const char *text : {static_cast<const char *>(nullptr), "NV12"}) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, G_TYPE_STRING);
    g_value_set_string(&item, text);
    gst_value_list_append_and_take_value(&list, &item);
  }
  GstCaps *caps = gst_caps_new_empty_simple("video/x-raw");
  gst_structure_take_value(gst_caps_get_structure(caps, 0), field, &list);
  return GstPtr<GstCaps>::adopt(caps);
}

// What an element could do with these caps in a CAPS event.
inline bool can_be_honoured(const GstCaps *caps)
{
  GstDrmVideoInfo info;
  return caps && !gst_caps_is_any(caps) && gst_caps_is_fixed(caps) &&
         gst_drm_video_info_from_caps(&info, caps);
}

// GStreamer does not find a list in a list in itself.
inline bool has_nested_list(const GstCaps *caps)
{
  for (guint i = 0; i < gst_caps_get_size(caps); i++) {
    const GValue *value = gst_structure_get_value(gst_caps_get_structure(caps, i), "format");
    if (value && GST_VALUE_HOLDS_LIST(value) && gst_value_list_get_size(value) > 0 &&
        GST_VALUE_HOLDS_LIST(gst_value_list_get_value(value, 0)))
      return true;
  }
  return false;
}

inline void ask_caps(GstPad *pad, GstCaps *filter, const char *name)
{
  const auto query = GstPtr<GstQuery>::adopt(gst_query_new_caps(filter));
  if (!gst_pad_query(pad, query.get()))
    return;
  GstCaps *answer = nullptr;
  gst_query_parse_caps_result(query.get(), &answer);
  fail_unless(answer != nullptr, "%s: no answer", name);
  if (filter && !has_nested_list(filter) && !has_nested_list(answer) &&
      !gst_caps_is_subset(answer, filter)) {
    g_autofree gchar *text = gst_caps_to_string(answer);
    fail("%s: %s", name, text);
  }
}

// Elements that refuse a CAPS event with a message accept all that could be one.
inline bool could_be_sent(const GstCaps *caps)
{
  return caps && !gst_caps_is_any(caps) && gst_caps_is_fixed(caps);
}

inline void ask_whether_accepted(GstPad *pad, GstCaps *caps, const char *name,
                                 bool (*may_be)(const GstCaps *))
{
  // gst_query_new_accept_caps() takes fixed caps only
  const auto query = GstPtr<GstQuery>::adopt(gst_query_new_custom(
      GST_QUERY_ACCEPT_CAPS, gst_structure_new("GstQueryAcceptCaps", "caps", GST_TYPE_CAPS, caps,
                                               "result", G_TYPE_BOOLEAN, FALSE, nullptr)));
  if (!gst_pad_query(pad, query.get()))
    return;
  gboolean accepted = FALSE;
  gst_query_parse_accept_caps_result(query.get(), &accepted);
  fail_if(accepted && !may_be(caps), "%s is accepted by %s", name, GST_PAD_NAME(pad));
}

inline void ask_allocation_of(GstPad *pad, GstCaps *caps, const char *name,
                              bool (*may_be)(const GstCaps *))
{
  if (!GST_PAD_IS_SINK(pad))
    return; // GstPad knows the direction of this query
  for (const bool need_pool : {false, true}) {
    const auto query = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps, need_pool));
    const bool answered = gst_pad_query(pad, query.get());
    fail_if(answered && !may_be(caps), "%s: an allocation query is answered by %s", name,
            GST_PAD_NAME(pad));
  }
}

// Queries about anything but caps.
inline void ask_everything_else(GstPad *pad)
{
  GstQuery *const queries[] = {
      gst_query_new_position(GST_FORMAT_TIME),
      gst_query_new_position(GST_FORMAT_DEFAULT),
      gst_query_new_duration(GST_FORMAT_BYTES),
      gst_query_new_latency(),
      gst_query_new_seeking(GST_FORMAT_TIME),
      gst_query_new_segment(GST_FORMAT_TIME),
      gst_query_new_formats(),
      gst_query_new_convert(GST_FORMAT_TIME, 1, GST_FORMAT_BYTES),
      gst_query_new_context("gst.no.such.context"),
      gst_query_new_uri(),
      gst_query_new_custom(GST_QUERY_CUSTOM, gst_structure_new_empty("odd")),
      gst_query_new_custom(GST_QUERY_CUSTOM, nullptr),
  };
  for (GstQuery *query : queries) {
    gst_pad_query(pad, query);
    gst_query_unref(query);
  }
}

// Every query that is here, at one pad.
inline void ask_everything(GstPad *pad, bool (*may_be_accepted)(const GstCaps *) = can_be_honoured,
                           bool (*may_have_buffers)(const GstCaps *) = can_be_honoured)
{
  for (const OddCaps &row : kOddCaps) {
    const auto caps = odd_caps(row);
    ask_caps(pad, caps.get(), row.name);
    ask_whether_accepted(pad, caps.get(), row.name, may_be_accepted);
    ask_allocation_of(pad, caps.get(), row.name, may_have_buffers);
  }
  for (const char *field : {"format", "drm-format"})
    ask_caps(pad, caps_with_null_string(field).get(), "a NULL in a list");
  ask_everything_else(pad);
}

// Reads every property of the element's own, and writes the same values back. Not those of its base
// classes: GstGLBaseFilter reads its "context" without the lock under which another thread drops it.
inline void touch_properties(GObject *object)
{
  guint n = 0;
  const std::unique_ptr<GParamSpec *, decltype(&g_free)> specs(
      g_object_class_list_properties(G_OBJECT_GET_CLASS(object), &n), g_free);
  for (guint i = 0; i < n; i++) {
    const GParamSpec *spec = specs.get()[i];
    if ((spec->flags & G_PARAM_READABLE) == 0 || spec->owner_type != G_OBJECT_TYPE(object))
      continue;
    GValue value = G_VALUE_INIT;
    g_value_init(&value, spec->value_type);
    g_object_get_property(object, spec->name, &value);
    if (spec->flags & G_PARAM_WRITABLE)
      g_object_set_property(object, spec->name, &value);
    g_value_unset(&value);
  }
}

// Events of every direction; those of the wrong one are refused by GstPad. A CAPS event that no
// constructor would make is among them.
inline void send_odd_events(GstPad *pad)
{
  std::vector<GstEvent *> events;
  if (GST_PAD_IS_SINK(pad)) {
    events = {gst_event_new_flush_start(),
              gst_event_new_flush_stop(TRUE),
              gst_event_new_stream_start("odd"),
              gst_event_new_tag(gst_tag_list_new_empty()),
              gst_event_new_gap(0, GST_CLOCK_TIME_NONE),
              gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM, nullptr),
              gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty("odd")),
              gst_event_new_custom(GST_EVENT_CUSTOM_BOTH_OOB, gst_structure_new_empty("odd")),
              gst_event_new_stream_group_done(1)};
  } else {
    events = {gst_event_new_reconfigure(),
              gst_event_new_latency(0),
              gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1e300, G_MININT64, G_MAXUINT64 - 1),
              gst_event_new_navigation(gst_structure_new_empty("application/x-gst-navigation")),
              gst_event_new_step(GST_FORMAT_BUFFERS, 1, 1.0, TRUE, FALSE),
              gst_event_new_custom(GST_EVENT_CUSTOM_UPSTREAM, nullptr),
              gst_event_new_custom(GST_EVENT_CUSTOM_BOTH, gst_structure_new_empty("odd"))};
  }
  for (GstEvent *event : events)
    gst_pad_send_event(pad, event);
}

inline void send_odd_caps(GstPad *pad, const OddCaps &row)
{
  const auto caps = odd_caps(row);
  if (!caps || gst_caps_is_any(caps.get()) || !gst_caps_is_fixed(caps.get()))
    return; // gst_event_new_caps() makes no such event
  const bool taken = gst_pad_send_event(pad, gst_event_new_caps(caps.get()));
  fail_if(taken && !can_be_honoured(caps.get()), "the CAPS event of %s is taken", row.name);
}

} // namespace gstdrm::test

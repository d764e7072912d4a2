// SPDX-License-Identifier: LGPL-2.1-or-later
// What GStreamer's leaks tracer (GST_TRACERS=leaks) still sees alive. Objects that are to live as
// long as the process are marked GST_OBJECT_FLAG_MAY_BE_LEAKED and not listed.
#pragma once

#include <string>

#include <gst/gst.h>

namespace gstdrm::test {

namespace detail {

// The tracer, transfer full; NULL: it was not asked for.
inline GstTracer *leaks_tracer()
{
  GList *active = gst_tracing_get_active_tracers();
  GstTracer *found = nullptr;
  for (GList *item = active; item; item = item->next)
    if (std::string(G_OBJECT_TYPE_NAME(item->data)) == "GstLeaksTracer")
      found = GST_TRACER(gst_object_ref(item->data));
  g_list_free_full(active, gst_object_unref);
  return found;
}

} // namespace detail

// Says each on stderr. How many: none where the tracer is not there.
inline unsigned report_live_objects()
{
  GstTracer *tracer = detail::leaks_tracer();
  if (!tracer)
    return 0;
  GstStructure *live = nullptr;
  g_signal_emit_by_name(tracer, "get-live-objects", &live);
  gst_object_unref(tracer);
  const GValue *list = live ? gst_structure_get_value(live, "live-objects-list") : nullptr;
  const guint n = list ? gst_value_list_get_size(list) : 0;
  for (guint i = 0; i < n; ++i) {
    gchar *text = gst_value_serialize(gst_value_list_get_value(list, i));
    g_printerr("leaked: %s\n", text ? text : "an object that cannot be written");
    g_free(text);
  }
  g_clear_pointer(&live, gst_structure_free);
  return n;
}

} // namespace gstdrm::test

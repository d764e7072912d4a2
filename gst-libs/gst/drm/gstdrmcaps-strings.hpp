// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps fields that are one string or a list of them. Never installed.
#pragma once

#include <gst/gst.h>

namespace gstdrm {

// Calls `each` with every string of a string or list value; NULL and values of other types are left
// out.
template <typename Each> void for_each_string(const GValue *value, Each &&each)
{
  if (G_VALUE_HOLDS_STRING(value)) {
    if (const gchar *text = g_value_get_string(value))
      each(text);
  } else if (GST_VALUE_HOLDS_LIST(value)) {
    for (guint i = 0; i < gst_value_list_get_size(value); ++i)
      for_each_string(gst_value_list_get_value(value, i), each);
  }
}

inline void append_string(GValue *list, gchar *taken)
{
  GValue item = G_VALUE_INIT;
  g_value_init(&item, G_TYPE_STRING);
  g_value_take_string(&item, taken);
  gst_value_list_append_and_take_value(list, &item);
}

// One string as a string, several as a list.
template <typename Range, typename ToString>
void set_strings(GstStructure *structure, const char *field, const Range &range,
                 ToString &&to_string)
{
  GValue value = G_VALUE_INIT;
  if (range.size() == 1) {
    g_value_init(&value, G_TYPE_STRING);
    g_value_take_string(&value, to_string(range.front()));
  } else {
    gst_value_list_init(&value, static_cast<guint>(range.size()));
    for (const auto &item : range)
      append_string(&value, to_string(item));
  }
  gst_structure_take_value(structure, field, &value);
}

} // namespace gstdrm

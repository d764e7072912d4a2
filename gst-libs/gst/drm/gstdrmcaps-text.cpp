// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps in errors. gst_caps_to_string() says CRITICAL of values that it cannot write: NULL strings
// in lists, and types without a text. Caps with such values come from plugins that were never
// tested.
#include "gstdrm-private.hpp"
#include "gstdrmcaps-private.hpp"

namespace gstdrm {

namespace {

bool all_writable(const GstStructure *structure);

bool is_number(const GValue *value)
{
  static const GType kTypes[] = {
      G_TYPE_INT,         G_TYPE_UINT,          G_TYPE_INT64,          G_TYPE_UINT64,
      G_TYPE_BOOLEAN,     G_TYPE_DOUBLE,        G_TYPE_FLOAT,          GST_TYPE_FRACTION,
      GST_TYPE_INT_RANGE, GST_TYPE_INT64_RANGE, GST_TYPE_DOUBLE_RANGE, GST_TYPE_FRACTION_RANGE,
      GST_TYPE_BITMASK};
  for (const GType type : kTypes) {
    if (G_VALUE_TYPE(value) == type)
      return true;
  }
  return false;
}

bool is_writable(const GValue *value)
{
  if (G_VALUE_HOLDS_STRING(value))
    return g_value_get_string(value) != nullptr;
  if (GST_VALUE_HOLDS_LIST(value)) {
    for (guint i = 0; i < gst_value_list_get_size(value); ++i)
      if (!is_writable(gst_value_list_get_value(value, i)))
        return false;
    return true;
  }
  if (GST_VALUE_HOLDS_ARRAY(value)) {
    for (guint i = 0; i < gst_value_array_get_size(value); ++i)
      if (!is_writable(gst_value_array_get_value(value, i)))
        return false;
    return true;
  }
  if (GST_VALUE_HOLDS_STRUCTURE(value))
    return gst_value_get_structure(value) && all_writable(gst_value_get_structure(value));
  return is_number(value);
}

bool all_writable(const GstStructure *structure)
{
  for (gint i = 0; i < gst_structure_n_fields(structure); ++i) {
    const gchar *field = gst_structure_nth_field_name(structure, static_cast<guint>(i));
    if (!is_writable(gst_structure_get_value(structure, field)))
      return false;
  }
  return true;
}

std::string take(gchar *text)
{
  const g_autofree gchar *owned = text;
  return owned ? owned : "?";
}

// As gst_caps_to_string() would, a value that it cannot write by its type alone.
std::string structure_text(const GstCaps *caps, guint index)
{
  const GstStructure *structure = gst_caps_get_structure(caps, index);
  const GstCapsFeatures *features = gst_caps_get_features(caps, index);
  std::string text = gst_structure_get_name(structure);
  if (!gst_caps_features_is_equal(features, GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY))
    text.append("(").append(take(gst_caps_features_to_string(features))).append(")");
  for (gint i = 0; i < gst_structure_n_fields(structure); ++i) {
    const gchar *field = gst_structure_nth_field_name(structure, static_cast<guint>(i));
    const GValue *value = gst_structure_get_value(structure, field);
    text += std::string(", ") + field + "=(" + G_VALUE_TYPE_NAME(value) + ")";
    text += is_writable(value) ? take(gst_value_serialize(value)) : "unreadable";
  }
  return text;
}

} // namespace

std::string caps_text(const GstCaps *caps)
{
  bool writable = true;
  for (guint i = 0; i < gst_caps_get_size(caps); ++i)
    writable = writable && all_writable(gst_caps_get_structure(caps, i));
  if (writable)
    return take(gst_caps_to_string(caps));
  std::string text;
  for (guint i = 0; i < gst_caps_get_size(caps); ++i)
    text += (i > 0 ? "; " : "") + structure_text(caps, i);
  return text;
}

} // namespace gstdrm

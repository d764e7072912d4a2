// SPDX-License-Identifier: LGPL-2.1-or-later
// What every element's pad templates promise.
#pragma once

#include <gst/check/gstcheck.h>

namespace gstdrm::test {

// Widths and heights end at what the library allocates and known devices import.
inline void check_template_sizes(const char *element_name)
{
  constexpr int kMost = 16384;
  GstElementFactory *factory = gst_element_factory_find(element_name);
  fail_unless(factory != nullptr, "no element %s", element_name);
  int structures = 0;
  for (const GList *l = gst_element_factory_get_static_pad_templates(factory); l; l = l->next) {
    GstCaps *caps = gst_static_pad_template_get_caps(static_cast<GstStaticPadTemplate *>(l->data));
    for (guint i = 0; i < gst_caps_get_size(caps); ++i, ++structures)
      for (const char *field : {"width", "height"}) {
        const GValue *value = gst_structure_get_value(gst_caps_get_structure(caps, i), field);
        fail_unless(value && GST_VALUE_HOLDS_INT_RANGE(value), "%s: no range of %s", element_name,
                    field);
        fail_unless_equals_int(gst_value_get_int_range_max(value), kMost);
      }
    gst_caps_unref(caps);
  }
  fail_unless(structures > 0);
  gst_object_unref(factory);
}

} // namespace gstdrm::test

// SPDX-License-Identifier: LGPL-2.1-or-later
// drm-format fields as pairs, and back.
#include <vector>

#include "gstdrm-private.hpp"
#include "gstdrmcaps-strings.hpp"
#include "gstdrmformatset-private.hpp"

#define GST_CAT_DEFAULT gstdrm::library_debug_category()

namespace gstdrm {

void collect_drm_formats(const GValue *value, std::vector<Format> &pairs)
{
  if (GST_VALUE_HOLDS_LIST(value))
    pairs.reserve(pairs.size() + gst_value_list_get_size(value));
  for_each_string(value, [&pairs](const gchar *text) {
    const Result<Format> format = parse_format(text);
    if (format)
      pairs.push_back(*format);
    else
      GST_DEBUG("left out of a format set: %s", format.error().message.c_str());
  });
}

void set_drm_formats(GstStructure *structure, std::span<const Format> pairs)
{
  set_strings(structure, "drm-format", pairs, [](const Format &format) {
    const FormatText text = format_to_text(format);
    return g_strndup(text.chars.data(), text.length);
  });
}

} // namespace gstdrm

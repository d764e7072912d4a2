// SPDX-License-Identifier: LGPL-2.1-or-later
// The two properties that every element here has: `zero-copy` and `drm-stats`.
#pragma once

#include <gst/drm/gstdrmzerocopy.h>
#include <gst/gst.h>

namespace gstdrm {

enum class ZeroCopy { Prefer = GST_DRM_ZERO_COPY_PREFER, Require = GST_DRM_ZERO_COPY_REQUIRE };

// The ids are places in the element's own list of properties; the texts are string literals.
struct CommonProperties {
  guint zero_copy_id;
  const char *zero_copy_blurb; // what the element does where it would have to copy
  guint stats_id;
  const char *stats_blurb; // the fields of the structure
};

void install_common_properties(GObjectClass *klass, const CommonProperties &properties);

// The value of `zero-copy`, both ways.
inline ZeroCopy zero_copy_from(const GValue *value)
{
  return static_cast<ZeroCopy>(g_value_get_enum(value));
}
inline void set_zero_copy(GValue *value, ZeroCopy zero_copy)
{
  g_value_set_enum(value, static_cast<gint>(zero_copy));
}

} // namespace gstdrm

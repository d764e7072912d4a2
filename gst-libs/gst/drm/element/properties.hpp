// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties that every element here has, `zero-copy` and `drm-stats`, and the one of those
// that negotiate a format with DMA buffers, `implicit-modifier`.
#pragma once

#include <gst/drm/gstdrmzerocopy.h>
#include <gst/gst.h>

#include "implicit_modifier.hpp"

namespace gstdrm {

enum class ZeroCopy { Prefer = GST_DRM_ZERO_COPY_PREFER, Require = GST_DRM_ZERO_COPY_REQUIRE };

// The ids are places in the element's own list of properties; the texts are string literals.
struct CommonProperties {
  guint zero_copy_id;
  const char *zero_copy_blurb; // what the element does where it would have to copy
  guint stats_id;
  const char *stats_blurb;                       // the fields of the structure
  guint implicit_modifier_id = 0;                // 0: the element has no such property
  const char *implicit_modifier_blurb = nullptr; // what `linear` and `driver` do in the element
};

void install_common_properties(GObjectClass *klass, const CommonProperties &properties);

} // namespace gstdrm

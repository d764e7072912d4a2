// SPDX-License-Identifier: LGPL-2.1-or-later
// The pairs of a GstDrmSource, to compare with a table.
#pragma once

#include <set>

#include <gst/drm/drm.h>

#include "gst/drm/core/format.hpp"

namespace gstdrm::test {

using Pairs = std::set<Format>;

inline Pairs pairs_of(const GstDrmSource *source)
{
  Pairs pairs;
  g_autoptr(GstDrmFormatSet) set = gst_drm_source_get_formats(source);
  Format format;
  for (guint i = 0; gst_drm_format_set_get(set, i, &format.fourcc, &format.modifier); i++)
    pairs.insert(format);
  return pairs;
}

} // namespace gstdrm::test

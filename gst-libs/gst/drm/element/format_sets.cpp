// SPDX-License-Identifier: LGPL-2.1-or-later
#include "format_sets.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include <gst/drm/gstdrm-private.hpp>

namespace gstdrm {

FormatSetPtr to_public(const FormatSet &formats)
{
  FormatSetPtr set(made(gst_drm_format_set_new()));
  for (const Format &format : formats.pairs())
    gst_drm_format_set_add(set.get(), format.fourcc, format.modifier);
  return set;
}

FormatSet from_public(const GstDrmFormatSet &formats)
{
  std::vector<Format> pairs(gst_drm_format_set_get_size(&formats));
  for (std::size_t i = 0; i < pairs.size(); ++i)
    gst_drm_format_set_get(&formats, static_cast<guint>(i), &pairs[i].fourcc, &pairs[i].modifier);
  return FormatSet::from_pairs(std::move(pairs));
}

} // namespace gstdrm

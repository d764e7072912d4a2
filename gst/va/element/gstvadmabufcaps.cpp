// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvadmabufcaps.hpp"

#include <utility>
#include <vector>

#include <gst/drm/element/format_sets.hpp>
#include <gst/drm/element/producer.hpp>
#include <gst/drm/gstdrmformatset.h>

namespace gstdrm::va {

GstPtr<GstCaps> device_caps(const Capabilities &capabilities, const FormatSet &formats)
{
  return producer_caps(&formats, {capabilities.min_width, capabilities.min_height,
                                  capabilities.max_width, capabilities.max_height});
}

FormatSet readable(const Capabilities &capabilities, const FormatSet &drawn)
{
  return FormatSet::unite(drawn, capabilities.sources);
}

FormatSet untried_pairs(const GstCaps *downstream, const Capabilities &capabilities,
                        const FormatSet &known, const FormatSet &tried)
{
  const FormatSetPtr set(gst_drm_format_set_new_from_caps(downstream));
  if (!set) // any format: nothing is listed
    return {};
  const auto listed = FormatSet::subtract(FormatSet::subtract(from_public(*set), known), tried);
  std::vector<Format> pairs;
  for (const Format &pair : listed.pairs()) {
    if (pair.modifier != kModImplicit && capabilities.formats.contains_fourcc(pair.fourcc))
      pairs.push_back(pair);
  }
  return FormatSet::from_pairs(std::move(pairs));
}

} // namespace gstdrm::va

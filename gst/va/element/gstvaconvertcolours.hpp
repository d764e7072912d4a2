// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufconvert's colours: what a conversion gives, and what is refused.
#pragma once

#include <string>

#include <gst/drm/core/result.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmvideoinfo.h>

#include "engine/va_colours.hpp"

namespace gstdrm::va {

// Caps with the colorimetry that the driver gives a conversion from `in`, where they do not say
// any.
GstPtr<GstCaps> with_colours(const GstCaps *caps, const GstDrmVideoInfo &in,
                             const ColourRules &rules);

// The values of the property.
enum class ColourPolicy {
  Exact, // what the caps say is what is drawn
  Any,   // matrices and ranges that the driver does not draw become those that it draws
};

struct DrawnColours {
  ColourConversion told; // to the driver
  std::string off;       // how the picture differs from its caps; empty: it does not
};

// The colours of both sides, for the driver. Error of code Format, which another format may not
// have: to or from PQ, HLG or wide primaries, which are not converted, RGB of narrow range, and,
// with ColourPolicy::Exact, matrices and ranges that the driver does not draw.
Result<DrawnColours> read_colours(const GstDrmVideoInfo &in, const GstDrmVideoInfo &out,
                                  const ColourRules &rules, ColourPolicy policy);

} // namespace gstdrm::va

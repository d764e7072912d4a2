// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufconvert's caps: which formats, sizes and colours a conversion can give.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gst/drm/core/result.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmvideoinfo.h>

#include "engine/va_colours.hpp"
#include "engine/va_converter.hpp"
#include "engine/va_probe.hpp"

namespace gstdrm::va {

// How a conversion changes interlace-mode, from the given caps to the resulting ones.
enum class Interlacing {
  Kept,    // frames are not deinterlaced: progressive frames only
  Removed, // from the sink pad to the source pad
  Added,   // from the source pad to the sink pad
};

// The caps of the other pad for `caps`: every format and size of `other`, with those fields of
// `caps` that a conversion keeps. `same` and `other` are all caps of the two pads, from
// device_caps() or idle_caps(). Omits structures that cannot be converted (interlaced frames, for
// Interlacing::Kept).
GstPtr<GstCaps> convertible_caps(const GstCaps *caps, GstPtr<GstCaps> same, GstPtr<GstCaps> other,
                                 Interlacing interlacing);

// The answer of a pad to a CAPS query: `made`, the caps that can be converted from or to those of
// the other pad's `peer`, within `offer`, the pad's template. Caps that the peer takes unconverted
// come first. Takes linear time in the length of the lists, unlike GstBaseTransform's answer.
// `filter` may be NULL.
GstPtr<GstCaps> offered_caps(GstPadDirection direction, const GstCaps *peer, const GstCaps *made,
                             const GstCaps *offer, const GstCaps *filter);

// The output caps for the fixed `in_caps` in these formats, with a range of sizes.
GstPtr<GstCaps> output_caps(const GstCaps *in_caps, const Capabilities &capabilities,
                            const FormatSet &formats);
// Returns true if frames of these fixed caps may be interlaced.
bool is_interlaced(const GstCaps *caps);

// A size in pixels and their aspect ratio.
struct PictureSize {
  int width = 0;
  int height = 0;
  int par_n = 1;
  int par_d = 1;
};
// The size of the caps after the rotation.
PictureSize picture_of(const GstVideoInfo &info, Orientation orientation);

// Fixes width, height and pixel-aspect-ratio of one structure to those of the picture if they are
// allowed, else to the nearest that keep its display aspect ratio.
void fix_size(GstStructure *structure, const PictureSize &picture);

// The area of the frame that shows the picture: the whole frame, or with borders the largest
// centred area with the picture's aspect ratio, at even pixels.
Rect picture_area(const PictureSize &picture, const PictureSize &frame, bool add_borders);

// The sizes that the common caps allow for the picture, in their order, without duplicates.
std::vector<PictureSize> sizes_for(const PictureSize &picture, const GstCaps *common);
GstPtr<GstCaps> with_size(GstPtr<GstCaps> caps, const PictureSize &size);

// The matrix of YUV; nullopt for those that VA-API has no name for.
std::optional<Matrix> matrix_of(const GstVideoColorimetry &colorimetry);
// PQ and HLG
bool is_hdr(const GstVideoColorimetry &colorimetry);

// Adds the colorimetry that a conversion from `in` has with this driver, unless the caps have one.
GstPtr<GstCaps> with_colours(const GstCaps *caps, const GstDrmVideoInfo &in,
                             const ColourRules &rules);

// The property colour-conversion.
enum class ColourPolicy {
  Exact, // only conversions that the driver draws as the caps say
  Any,   // also those that it draws with another matrix or range
};

struct DrawnColours {
  ColourConversion told; // passed to the driver
  std::string off;       // how the colours differ from the caps; empty if they do not
};

// The colours of a conversion. Error of code Format if this format cannot be converted: PQ, HLG or
// wide primaries to or from others, RGB of narrow range, and, with ColourPolicy::Exact, matrices
// and ranges that the driver does not draw. Another format may work.
Result<DrawnColours> read_colours(const GstDrmVideoInfo &in, const GstDrmVideoInfo &out,
                                  const ColourRules &rules, ColourPolicy policy);

} // namespace gstdrm::va

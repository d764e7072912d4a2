// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufconvert's caps: what can become of frames, and which size and colours they get.
#pragma once

#include <vector>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmvideoinfo.h>

#include "engine/va_converter.hpp"
#include "engine/va_probe.hpp"

namespace gstdrm::va {

// What becomes of the fields of interlaced frames between two sides.
enum class Interlacing {
  Kept,    // nothing is deinterlaced: progressive frames only
  Removed, // `caps` come in, the result goes out
  Added,   // the other way round
};

// What frames of `caps` can be made into, or out of: every format and size of the `other` side,
// with the fields that a conversion does not touch. `same` is what the side of `caps` can be at
// all; both are device_caps() or idle_caps(). Structures that ask for what is not converted
// (interlaced frames, with Interlacing::Kept) are left out.
GstPtr<GstCaps> convertible_caps(const GstCaps *caps, GstPtr<GstCaps> same, GstPtr<GstCaps> other,
                                 Interlacing interlacing);

// The answer of a pad to a CAPS query: of what can be `made` of the `peer` behind the other pad,
// all that the pad's template (`offer`) has; what the peer takes as it is comes first. In time
// linear in the lists, as GstBaseTransform's answer is not. `filter` may be NULL.
GstPtr<GstCaps> offered_caps(GstPadDirection direction, const GstCaps *peer, const GstCaps *made,
                             const GstCaps *offer, const GstCaps *filter);

// What leaves for frames of the fixed `in_caps`, in these formats, the size still open.
GstPtr<GstCaps> output_caps(const GstCaps *in_caps, const Capabilities &capabilities,
                            const FormatSet &formats);
// Whether frames of these fixed caps may have fields.
bool is_interlaced(const GstCaps *caps);

// A picture on the screen: pixels, and the shape of one.
struct PictureSize {
  int width = 0;
  int height = 0;
  int par_n = 1;
  int par_d = 1;
};
// The picture of the caps, turned.
PictureSize picture_of(const GstVideoInfo &info, Orientation orientation);

// Fixes width, height and pixel-aspect-ratio of one structure: those of the picture where they are
// allowed, else the nearest that keep its shape on the screen.
void fix_size(GstStructure *structure, const PictureSize &picture);

// Where the picture lies in a frame of that size: all of it, or, with borders, the largest area of
// the picture's shape in the middle, at even pixels.
Rect picture_area(const PictureSize &picture, const PictureSize &frame, bool add_borders);

// The sizes that downstream leaves for the picture, in downstream's order, each once.
std::vector<PictureSize> sizes_for(const PictureSize &picture, const GstCaps *common);
GstPtr<GstCaps> with_size(GstPtr<GstCaps> caps, const PictureSize &size);

} // namespace gstdrm::va

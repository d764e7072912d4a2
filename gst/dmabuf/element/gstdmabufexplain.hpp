// SPDX-License-Identifier: LGPL-2.1-or-later
// The text of a failed negotiation: who offered what, who refused it, what would help.
#pragma once

#include <string>

#include "gstdmabuftransform.hpp"

namespace gstdrm {

struct Mismatch {
  std::string text;  // for a person
  std::string debug; // both caps in full
};

// What upstream's caps (fixed, or a list) and those downstream have to do with each other:
// capsfilters, queues, tees and bins are seen through, and the one that refuses is named.
Mismatch describe_mismatch(GstDmaBufTransform *self, const GstCaps *upstream);

// Caps in the words of a user: "DMA_DRM {NV12, XR24:0x…}; plain {NV12, I420}", no more than `limit`
// bytes.
std::string describe_caps(const GstCaps *caps, std::size_t limit = 400);

// The first field other than the format that no structure of `downstream` agrees on with the fixed
// `upstream`, as "width 641 against [ 1, 600 ]"; empty where every field agrees.
std::string differing_field(const GstCaps *upstream, const GstCaps *downstream);

// The nearest fix, one sentence, for GstDmaBufTransformClass::suggest.
std::string suggest_for_upload(const GstCaps *upstream, const GstCaps *downstream);
std::string suggest_for_download(const GstCaps *upstream, const GstCaps *downstream);

} // namespace gstdrm

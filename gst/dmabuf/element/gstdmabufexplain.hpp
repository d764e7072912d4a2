// SPDX-License-Identifier: LGPL-2.1-or-later
// What dmabufupload and dmabufdownload say of a failed negotiation: who is at odds, and what helps.
#pragma once

#include <string>

#include <gst/drm/element/explain.hpp>

#include "gstdmabuftransform.hpp"

namespace gstdrm {

// What upstream's caps (fixed, or a list) and those downstream have to do with each other:
// capsfilters, queues, tees and bins are seen through, and the one that refuses is named.
Mismatch explain_mismatch(GstDmaBufTransform *self, const GstCaps *upstream);

// The nearest fix, one sentence, for GstDmaBufTransformClass::suggest.
std::string suggest_for_upload(const GstCaps *upstream, const GstCaps *downstream);
std::string suggest_for_download(const GstCaps *upstream, const GstCaps *downstream);

} // namespace gstdrm

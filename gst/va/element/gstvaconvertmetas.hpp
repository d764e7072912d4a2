// SPDX-License-Identifier: LGPL-2.1-or-later
// Which metas of a frame vadmabufconvert passes on.
#pragma once

#include <gst/gst.h>

#include "gstvaconvertframes.hpp"

namespace gstdrm::va {

// Whether GstBaseTransform is to copy the meta. What is said of memory ends here; what is said of
// places in the picture is scaled with it, onto `out`, by this call.
bool keeps_meta(const GstMeta *meta, GstBuffer *in, GstBuffer *out, const ConvertStream &stream);

} // namespace gstdrm::va

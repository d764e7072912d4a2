// SPDX-License-Identifier: LGPL-2.1-or-later
// What the two sources of GstDrmVideoInfo share. Never installed.
#pragma once

#include <gst/video/video.h>

#include "core/format.hpp"
#include "gstdrmvideoinfo.h"

namespace gstdrm {

// What GStreamer is told to parse or print in place of an opaque layout: the fourcc's linear
// format; for a fourcc without a name one of the same colour model, which is all that defaults
// depend on.
GstVideoFormat stand_in_format(const Format &format);

// Keeps all but the format and what follows from it.
void make_opaque(GstVideoInfo &vinfo);

void fill_video_info(GstDrmVideoInfo *info, const GstVideoInfo &vinfo, const Format &pair);

} // namespace gstdrm

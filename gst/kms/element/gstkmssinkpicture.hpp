// SPDX-License-Identifier: LGPL-2.1-or-later
// Fixed caps of kmsdmabufsink, as the display engine and the frame path need them.
#pragma once

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/element/implicit_modifier.hpp>
#include <gst/drm/gstdrmvideoinfo.h>
#include <gst/gst.h>

#include "engine/display/kms_display.hpp"

namespace gstdrm {

// What upstream sends.
struct SinkStream {
  GstDrmVideoInfo info;
  Format format; // as the planes list it: with the implicit modifier where the driver knows none
  bool plain;    // without memory:DMABuf: system memory may come
};

// Error: the caps cannot be read, or implicit-modifier=refuse forbids them.
Result<SinkStream> read_stream(const GstCaps *caps, const FormatSet &listed,
                               ImplicitModifier implicit_modifier);

// The size, the colours and the rate of what is shown.
kms::Picture picture_of(const SinkStream &stream, const GstCaps *caps);

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps of kmsdmabufsink: what it offers, and what fixed caps mean for the display and the frames.
#pragma once

#include <string>

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/element/implicit_modifier.hpp>
#include <gst/drm/element/properties.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmvideoinfo.h>
#include <gst/gst.h>

#include "engine/display/kms_display.hpp"

namespace gstdrm {

// (transfer floating)
GstPadTemplate *sink_pad_template();

// Everything that the display takes at the moment: DMA_DRM caps first, then those with the implicit
// modifier, then plain caps unless zero-copy=require forbids the copy.
GstPtr<GstCaps> display_caps(const kms::Display &display, ZeroCopy zero_copy,
                             ImplicitModifier implicit_modifier);

// The pairs that the display offers, as text for the log.
std::string describe_formats(const kms::Display &display);

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

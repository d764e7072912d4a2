// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps that kmsdmabufsink offers.
#pragma once

#include <string>

#include <gst/drm/element/properties.hpp>
#include <gst/drm/gstdrm-private.hpp>
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

} // namespace gstdrm

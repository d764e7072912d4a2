// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps: what the device can do.
#pragma once

#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>

#include "engine/va_probe.hpp"

namespace gstdrm::va {

// Caps of these formats, in the device's sizes.
GstPtr<GstCaps> device_caps(const Capabilities &capabilities, const FormatSet &formats);
// What may come in: `drawn`, and what the device reads without drawing into it.
FormatSet readable(const Capabilities &capabilities, const FormatSet &drawn);
// The pairs of downstream's caps whose fourcc the device makes, and whose modifier is not in
// `known` and not in `tried`.
FormatSet untried_pairs(const GstCaps *downstream, const Capabilities &capabilities,
                        const FormatSet &known, const FormatSet &tried);

} // namespace gstdrm::va

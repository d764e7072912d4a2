// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc's caps: what the device can do.
#pragma once

#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>

#include "engine/va_formats.hpp"

namespace gstdrm::va {

// Caps of the device's formats and sizes. Without a device the caps allow every format.
GstPtr<GstCaps> device_caps(const Capabilities *capabilities);

} // namespace gstdrm::va

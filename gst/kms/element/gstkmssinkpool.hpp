// SPDX-License-Identifier: LGPL-2.1-or-later
// The sink's own scanout memory: a pool of dumb buffers of its device.
#pragma once

#include <gst/drm/core/result.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>

#include "engine/display/kms_display.hpp"

namespace gstdrm {

// Configured, not active. `size` is what system memory of these caps takes, and gets the size of
// the pool's buffers, whose rows may be padded.
Result<GstPtr<GstBufferPool>> make_scanout_pool(const kms::Display &display, GstCaps *caps,
                                                guint &size, guint min_buffers);

} // namespace gstdrm

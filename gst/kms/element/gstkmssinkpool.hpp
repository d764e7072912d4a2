// SPDX-License-Identifier: LGPL-2.1-or-later
// The sink's own scanout memory: a pool of dumb buffers of its device.
#pragma once

#include <gst/drm/core/result.hpp>
#include <gst/drm/element/pool.hpp>
#include <gst/gst.h>

#include "engine/display/kms_display.hpp"

namespace gstdrm {

// The pool is not active. `least_size` is how many bytes system memory of these caps takes; the
// buffers of the pool are larger where the display wants padded rows.
Result<ConfiguredPool> make_scanout_pool(const kms::Display &display, GstCaps *caps,
                                         guint least_size, guint min_buffers);

} // namespace gstdrm

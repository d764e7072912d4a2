// SPDX-License-Identifier: LGPL-2.1-or-later
// The picture of the cursor, from a GstSample to what a cursor plane shows.
#pragma once

#include <optional>

#include <gst/drm/core/result.hpp>
#include <gst/gst.h>

#include "engine/commit/kms_cursor.hpp"

namespace gstdrm {

// Nothing for nullptr: no cursor. Error: the sample is not a picture of 8-bit RGB with alpha.
Result<std::optional<kms::CursorImage>> read_cursor_image(GstSample *sample);

} // namespace gstdrm

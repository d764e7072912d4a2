// SPDX-License-Identifier: LGPL-2.1-or-later
// What a KMS plane says it can scan out, as the kernel writes it. Pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "format_set.hpp"
#include "result.hpp"

namespace gstdrm {

// Pairs of an IN_FORMATS blob (struct drm_format_modifier_blob, drm_mode.h). Drivers list pairs
// twice, and fourccs that are no text: both are tolerated. A blob that points outside itself is an
// Error.
Result<FormatSet> parse_in_formats(std::span<const std::uint8_t> blob);

// A plane without IN_FORMATS: its fourccs, each with the implicit modifier.
FormatSet implicit_formats(std::span<const std::uint32_t> fourccs);

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
// Pixel formats under their V4L2 and DRM names.
#pragma once

#include <cstdint>
#include <optional>

#include "../core/format.hpp"

namespace gstdrm {

// The pair that lies in memory as V4L2's format does; none for compressed pictures, and for what
// has no DRM name.
std::optional<Format> format_of_v4l2(std::uint32_t pixelformat) noexcept;

} // namespace gstdrm

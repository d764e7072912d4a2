// SPDX-License-Identifier: LGPL-2.1-or-later
// The factors of YCbCr to RGB (preprocess.hpp, step 3).
#pragma once

#include "engine/preprocess.hpp"
#include "rows.hpp"

namespace gstdrm::metis {

ColourFactors colour_factors(ColorMatrix matrix, bool full_range) noexcept;

} // namespace gstdrm::metis

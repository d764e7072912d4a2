// SPDX-License-Identifier: LGPL-2.1-or-later
// Which sources take which pairs, as a table.
#pragma once

#include <string>

#include "machine.hpp"

namespace inspect {

enum class Form { Text, Svg, Html, Json };

// Returns a Failure if the text or picture would be too large to read, and perhaps for the memory:
// a hostile file can name thousands of modifiers, formats and sources. JSON has no limit, because
// it has only the pairs that exist.
Outcome<std::string> draw_matrix(const std::vector<Source> &sources, Form form);

} // namespace inspect

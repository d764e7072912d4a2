// SPDX-License-Identifier: LGPL-2.1-or-later
// Which sources take which pairs, as a table.
#pragma once

#include <string>

#include "machine.hpp"

namespace inspect {

enum class Form { Text, Svg, Html, Json };

// A Failure for what would be no picture for a person any more, and might not fit into memory: a
// hostile file names thousands of modifiers, formats and sources. JSON has a member for each pair
// that is there, and is always drawn.
Outcome<std::string> draw_matrix(const std::vector<Source> &sources, Form form);

} // namespace inspect

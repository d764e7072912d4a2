// SPDX-License-Identifier: LGPL-2.1-or-later
// Which sources take which pairs, as a table.
#pragma once

#include <string>

#include "machine.hpp"

namespace inspect {

enum class Form { Text, Svg, Html, Json };

std::string draw_matrix(const std::vector<Source> &sources, Form form);

} // namespace inspect

// SPDX-License-Identifier: LGPL-2.1-or-later
// A display of a saved machine as settings of the fake libdrm (unit/kms/fake_model.hpp).
#pragma once

#include <string>
#include <vector>

#include "saved_machine.hpp"

namespace gstdrm::test {

// The planes of a card, "card0", in the order of the file: their types, and each pair that they
// list. The other properties of a display are in no saved machine. Throws std::runtime_error where
// the machine has no such card, or a plane that facts cannot say: a fourcc with a space, explicit
// modifiers on one plane and none on another.
std::vector<std::string> facts_of_card(const std::vector<SavedSource> &machine,
                                       const std::string &card);

// The sources of that card's planes.
std::vector<SavedSource> planes_of_card(const std::vector<SavedSource> &machine,
                                        const std::string &card);

} // namespace gstdrm::test

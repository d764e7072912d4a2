// SPDX-License-Identifier: LGPL-2.1-or-later
// The planes of a saved machine on the fake libdrm's device.
#pragma once

#include <string>
#include <vector>

#include "support/saved_machine.hpp"

namespace gstdrm::test::fakedrm {

// Gives the fake's primary and its overlay plane the pairs (IN_FORMATS) of the first such planes of a
// card, "card0". A plane that the machine does not have takes nothing; one that names no modifiers has
// no IN_FORMATS, and the fake's own fourccs. For displays opened from now on. false: the machine has no
// primary plane of that card.
bool play_machine(const std::vector<SavedSource> &machine, const std::string &card);

} // namespace gstdrm::test::fakedrm

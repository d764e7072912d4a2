// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "support/check_main.hpp"

// Many imports, bad input, fences and the probe.
void add_import_edges(TCase *tcase);

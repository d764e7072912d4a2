// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "support/check_main.hpp"

TCase *gathering_tcase();

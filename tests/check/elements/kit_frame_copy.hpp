// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

struct TCase; // of <check.h>, whose macros stand in the way of C++ headers that come after it

// Copies of frames by the CPU.
TCase *frame_copy_tcase();

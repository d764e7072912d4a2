// SPDX-License-Identifier: LGPL-2.1-or-later
// Ties a token to the life of a GstMemory. An import cache hands out such tokens, and lets go of
// what it imported when the memory that it was imported from is gone.
#pragma once

#include <memory>

#include <gst/gst.h>

namespace gstdrm {

// The memory holds a share of `token` until it is freed; a part of another memory
// (gst_memory_share()) has that one hold it. A token that the memory holds already is not added
// again. Tokens of the memory that nobody else holds any more are let go. Any thread.
void hold_while_alive(GstMemory *memory, const std::shared_ptr<const void> &token);

} // namespace gstdrm

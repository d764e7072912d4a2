// SPDX-License-Identifier: LGPL-2.1-or-later
// Ties a token to the life of a GstMemory.
#pragma once

#include <memory>

#include <gst/gst.h>

namespace gstdrm {

// The memory holds a share of `token` until it is freed. A token that it holds already is not added
// again; tokens that nobody else holds any more are let go. Any thread.
void hold_while_alive(GstMemory *memory, const std::shared_ptr<const void> &token);

} // namespace gstdrm

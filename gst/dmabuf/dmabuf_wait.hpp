// SPDX-License-Identifier: LGPL-2.1-or-later
// Waiting for a device before the CPU reads what it wrote.
#pragma once

#include <chrono>

#include <gst/drm/core/result.hpp>

namespace gstdrm {

enum class Waited { No, Yes };

// Waits until every device that writes to the dma-buf is done: poll(2) with POLLIN does that, by
// the implicit fences (driver-api/dma-buf.rst, "Implicit Fence Poll Support"). A memfd is always
// ready. Error of code Sync when the limit is over.
Result<Waited> wait_for_writers(int dmabuf_fd, std::chrono::milliseconds limit);

} // namespace gstdrm

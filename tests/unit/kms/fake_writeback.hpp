// SPDX-License-Identifier: LGPL-2.1-or-later
// The fake libdrm's writebacks.
#pragma once

#include <atomic>

namespace gstdrm::test::fakedrm {

// Their fences never signal, on any device.
extern std::atomic<bool> writebacks_hang;

} // namespace gstdrm::test::fakedrm

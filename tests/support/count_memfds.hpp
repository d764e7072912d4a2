// SPDX-License-Identifier: LGPL-2.1-or-later
// How many memfds this program made: one for each frame of the allocators memfd and udmabuf.
#pragma once

#include <cstdint>

namespace gstdrm::test {

std::uint64_t memfds_made() noexcept;

} // namespace gstdrm::test

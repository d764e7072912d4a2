// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstdint>

#include "../core/result.hpp"
#include "../core/unique_fd.hpp"

namespace gstdrm {

// Anonymous shared memory (memfd_create(2)) that cannot shrink any more: a peer that maps it cannot
// be killed by SIGBUS later, and udmabuf takes nothing else. `size_bytes` is a whole number of
// pages.
Result<UniqueFd> create_sealed_memfd(std::uint64_t size_bytes);

} // namespace gstdrm

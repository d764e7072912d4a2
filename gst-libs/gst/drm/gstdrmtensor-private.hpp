// SPDX-License-Identifier: LGPL-2.1-or-later
// What a GstDrmTensor has to be before anything is read through it. Never installed.
#pragma once

#include <cerrno>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "gstdrmtensormeta.h"

namespace gstdrm {

// Error of code Layout: more than the memory has, numbers that no tensor has.
Result<void> check_tensor(const GstDrmTensor &tensor);

// Elements less the padding, of a tensor whose dimensions are checked; 0 where they are not valid.
gsize values_of(const GstDrmTensor &tensor);

// "tensor scores", for messages.
std::string name_of(const GstDrmTensor &tensor);

// A descriptor of its own for the caller; -1 with errno, which is 0 where there is no fence.
inline int dup_or_none(const std::shared_ptr<const UniqueFd> &fence) noexcept
{
  errno = 0;
  return fence ? fence->dup().release() : -1;
}

} // namespace gstdrm

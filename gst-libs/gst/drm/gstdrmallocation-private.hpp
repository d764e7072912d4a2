// SPDX-License-Identifier: LGPL-2.1-or-later
// Buffers by reconciled constraints, for the pool and the C functions. Never installed.
#pragma once

#include <memory>

#include "core/format.hpp"
#include "core/result.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmallocation.h"

namespace gstdrm {

// Reconciled constraints that buffers share.
using Agreed = std::shared_ptr<const GstDrmConstraints>;

// Of a pool's configuration; null where it has none.
Agreed agreed_in(const GstStructure *config);

// Whether the buffers are pictures; else they are bytes with a size.
bool is_picture(const GstDrmConstraints &agreed);

// One buffer that carries what was agreed on. `pair` is the format of a pool's caps; null: any that
// was agreed on, which a driver chooses among. `align` may be null, or the padding that a decoder
// asks for.
Result<GstPtr<GstBuffer>> allocate_agreed(GstDrmAllocator *allocator, const Agreed &agreed,
                                          const Format *pair, const GstVideoAlignment *align);

// Compares the buffer with what was agreed on: an allocator lays out as it likes. Error of code
// Conflict.
Result<void> check_agreed(GstDrmAllocator *allocator, GstBuffer *buffer);

} // namespace gstdrm

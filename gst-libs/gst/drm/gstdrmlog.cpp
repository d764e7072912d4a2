// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the lines of core/ and alloc/ go in the library. Plugins, which link the core as well,
// connect categories of their own.
#include "gstdrm-log-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmallocator-buffer.hpp"

namespace gstdrm {

namespace {

// The decisions that C++ code logs by itself are those of the allocators; what the C functions log
// goes to library_debug_category(), which exists from the start too, for --gst-debug-help.
[[maybe_unused]] const bool connected =
    (connect_log<allocator_debug_category>(), library_debug_category() != nullptr);

} // namespace

} // namespace gstdrm

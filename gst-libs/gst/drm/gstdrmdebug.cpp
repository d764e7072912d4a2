// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrm-log-private.hpp"
#include "gstdrm-private.hpp"

namespace gstdrm {

GstDebugCategory *library_debug_category() noexcept
{
  static GstDebugCategory *const category =
      _gst_debug_category_new("drmformat", 0, "DRM formats, format sets, frames and fences");
  return category;
}

namespace {

// What the core logs in this module. A plugin with an engine connects its own category later.
[[maybe_unused]] const bool connected = (connect_log<library_debug_category>(), true);

} // namespace

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrm-private.hpp"

namespace gstdrm {

GstDebugCategory *library_debug_category() noexcept
{
  static GstDebugCategory *const category =
      _gst_debug_category_new("drmformat", 0, "DRM formats, format sets, frames and fences");
  return category;
}

} // namespace gstdrm

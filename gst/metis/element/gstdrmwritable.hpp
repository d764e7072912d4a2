// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <utility>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>

namespace gstdrm {

// The buffer itself where nobody else holds it, else a copy with the same memory. The copy keeps
// the buffer, so that its pool does not take memory back that is still in use.
inline GstPtr<GstBuffer> writable(GstPtr<GstBuffer> buffer)
{
  if (gst_buffer_is_writable(buffer.get()))
    return buffer;
  auto copy = GstPtr<GstBuffer>::adopt(gst_buffer_copy(buffer.get()));
  gst_buffer_add_parent_buffer_meta(copy.get(), buffer.get());
  return copy;
}

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <utility>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>

namespace gstdrm {

// The buffer itself where nobody else holds it, else a copy with the same memory that keeps the
// buffer, and with it the buffer's place in its pool, alive.
inline Result<void> make_writable(GstPtr<GstBuffer> &buffer)
{
  if (gst_buffer_is_writable(buffer.get()))
    return {};
  auto copy = GstPtr<GstBuffer>::adopt(gst_buffer_copy(buffer.get()));
  const guint n_memories = gst_buffer_n_memory(buffer.get());
  bool shared = copy && gst_buffer_n_memory(copy.get()) == n_memories;
  for (guint i = 0; shared && i < n_memories; i++)
    shared = gst_buffer_peek_memory(copy.get(), i) == gst_buffer_peek_memory(buffer.get(), i);
  if (!shared)
    return Error{
        ErrorCode::Unsupported,
        "Another element holds the frame, and its memory cannot be shared. Put the element "
        "before the tee.",
        0};
  gst_buffer_add_parent_buffer_meta(copy.get(), buffer.get());
  buffer = std::move(copy);
  return {};
}

} // namespace gstdrm

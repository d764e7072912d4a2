// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_import.hpp"

#include <gst/allocators/gstdmabuf.h>

namespace gstdrm {

MemoryKind memory_kind(GstBuffer *buffer)
{
  const guint total = gst_buffer_n_memory(buffer);
  guint dmabufs = 0;
  for (guint i = 0; i < total; i++)
    dmabufs += gst_is_dmabuf_memory(gst_buffer_peek_memory(buffer, i)) ? 1 : 0;
  if (dmabufs == 0)
    return MemoryKind::NoDmaBuf;
  return dmabufs == total ? MemoryKind::DmaBuf : MemoryKind::Mixed;
}

} // namespace gstdrm

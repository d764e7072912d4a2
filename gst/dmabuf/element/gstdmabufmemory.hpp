// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the buffers of dmabufupload come from.
#pragma once

#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-private.hpp>

namespace gstdrm {

// The allocator that downstream's answer to an allocation query offers, if it makes frames of this
// linear fourcc that devices can import; `may_pad` is false where rows must not be padded.
GstPtr<GstDrmAllocator> downstream_allocator(GstQuery *query, guint32 fourcc, bool may_pad);

} // namespace gstdrm

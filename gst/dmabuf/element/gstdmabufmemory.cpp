// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabufmemory.hpp"

#include <utility>

#include <gst/drm/element/allocation_query.hpp>

namespace gstdrm {

// Downstream's own allocator knows best where its device can read. Its pool is left alone: one pool
// cannot serve both upstream and the copies here, nor hold caps of both dialects, an allocator can.
GstPtr<GstDrmAllocator> downstream_allocator(GstQuery *query, guint32 fourcc, bool may_pad)
{
  const auto usable = [=](GstDrmAllocator *allocator) {
    if (gst_drm_allocator_get_kind(allocator) == GST_DRM_ALLOCATOR_KIND_MEMFD)
      return false;
    if (!may_pad && GST_OBJECT_FLAG_IS_SET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC))
      return false; // whole frames only, with the rows that its device wants
    GstDrmFormatSet *formats = gst_drm_allocator_get_formats(allocator);
    const bool found = gst_drm_format_set_contains(formats, fourcc, GST_DRM_MODIFIER_LINEAR);
    gst_drm_format_set_unref(formats);
    return found;
  };
  for (GstPtr<GstDrmAllocator> &allocator : allocators_offered(query))
    if (usable(allocator.get()))
      return std::move(allocator);
  return {};
}

} // namespace gstdrm

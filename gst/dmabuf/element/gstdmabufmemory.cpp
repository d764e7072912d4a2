// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabufmemory.hpp"

namespace gstdrm {

// Downstream's own allocator knows best where its device can read. Its pool is left alone: one pool
// cannot serve both upstream and the copies here, nor hold caps of both dialects, an allocator can.
GstPtr<GstDrmAllocator> downstream_allocator(GstQuery *query, guint32 fourcc, bool may_pad)
{
  const auto usable = [=](GstAllocator *allocator) {
    if (!allocator || !GST_IS_DRM_ALLOCATOR(allocator) ||
        gst_drm_allocator_get_kind(GST_DRM_ALLOCATOR(allocator)) == GST_DRM_ALLOCATOR_KIND_MEMFD)
      return false;
    if (!may_pad && GST_OBJECT_FLAG_IS_SET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC))
      return false; // whole frames only, with the rows that its device wants
    GstDrmFormatSet *formats = gst_drm_allocator_get_formats(GST_DRM_ALLOCATOR(allocator));
    const bool found = gst_drm_format_set_contains(formats, fourcc, GST_DRM_MODIFIER_LINEAR);
    gst_drm_format_set_unref(formats);
    return found;
  };
  for (guint i = 0; i < gst_query_get_n_allocation_params(query); i++) {
    GstAllocator *param = nullptr;
    gst_query_parse_nth_allocation_param(query, i, &param, nullptr);
    const auto allocator = GstPtr<GstAllocator>::adopt(param);
    if (usable(param))
      return GstPtr<GstDrmAllocator>::share(GST_DRM_ALLOCATOR(param));
  }
  for (guint i = 0; i < gst_query_get_n_allocation_pools(query); i++) {
    GstBufferPool *pool = nullptr;
    gst_query_parse_nth_allocation_pool(query, i, &pool, nullptr, nullptr, nullptr);
    const auto owned = GstPtr<GstBufferPool>::adopt(pool);
    if (!pool)
      continue;
    GstStructure *config = gst_buffer_pool_get_config(pool);
    GstAllocator *borrowed = nullptr;
    gst_buffer_pool_config_get_allocator(config, &borrowed, nullptr);
    GstPtr<GstDrmAllocator> found;
    if (usable(borrowed))
      found = GstPtr<GstDrmAllocator>::share(GST_DRM_ALLOCATOR(borrowed));
    gst_structure_free(config);
    if (found)
      return found;
  }
  return {};
}

} // namespace gstdrm

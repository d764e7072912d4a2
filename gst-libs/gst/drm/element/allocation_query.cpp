// SPDX-License-Identifier: LGPL-2.1-or-later
#include "allocation_query.hpp"

#include <algorithm>

namespace gstdrm {

guint buffers_kept(GstQuery *query)
{
  guint most = 0;
  for (guint i = 0; i < gst_query_get_n_allocation_pools(query); i++) {
    guint min = 0;
    gst_query_parse_nth_allocation_pool(query, i, nullptr, nullptr, &min, nullptr);
    most = std::max(most, min);
  }
  return most;
}

std::vector<GstPtr<GstDrmAllocator>> allocators_offered(GstQuery *query)
{
  std::vector<GstPtr<GstDrmAllocator>> found;
  const auto add = [&](GstAllocator *allocator) {
    if (allocator && GST_IS_DRM_ALLOCATOR(allocator))
      found.push_back(GstPtr<GstDrmAllocator>::share(GST_DRM_ALLOCATOR(allocator)));
  };
  for (guint i = 0; i < gst_query_get_n_allocation_params(query); i++) {
    GstAllocator *param = nullptr;
    gst_query_parse_nth_allocation_param(query, i, &param, nullptr);
    const auto owned = GstPtr<GstAllocator>::adopt(param);
    add(param);
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
    add(borrowed);
    gst_structure_free(config);
  }
  return found;
}

void remove_offers(GstQuery *query)
{
  while (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_remove_nth_allocation_pool(query, 0);
  while (gst_query_get_n_allocation_params(query) > 0)
    gst_query_remove_nth_allocation_param(query, 0);
}

} // namespace gstdrm

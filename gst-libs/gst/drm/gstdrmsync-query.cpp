// SPDX-License-Identifier: LGPL-2.1-or-later
// Who honours release fences: said in the allocation query, in the parameters of an entry for the
// meta.
#include "gstdrmsync.h"

namespace {

// Name and field of the parameters (docs/buffers.md). A consumer's own entry has none.
constexpr const char *kSyncStructure = "GstDrmSyncMeta";
constexpr const char *kSyncField = "release-fences";

bool is_announcement(const GstStructure *params)
{
  gboolean value = FALSE;
  return params && gst_structure_get_boolean(params, kSyncField, &value) && value;
}

} // namespace

/**
 * gst_drm_query_announce_release_fences:
 * @query: (transfer none): a writable allocation query, on its way downstream
 *
 * A producer says that it waits for the release fences of a buffer's #GstDrmSyncMeta before it
 * writes into the memory again, as the buffer pool of this library does. A consumer then may give
 * such a buffer back while its device still reads, with a fence for that.
 *
 * Adds an entry for #GST_DRM_SYNC_META_API_TYPE with the parameters `GstDrmSyncMeta,
 * release-fences=(boolean)true`, where there is none yet. The announcement holds until the next
 * STREAM_START or CAPS event, or the next allocation query of the stream. For a pad whose base
 * class makes the query, and for appsrc, which makes it before it has caps, there is
 * gst_drm_pad_announce_release_fences(). An element that passes other elements' buffers on must not
 * add the entry.
 *
 * Since: 0.1
 */
void gst_drm_query_announce_release_fences(GstQuery *query) noexcept
{
  g_return_if_fail(GST_IS_QUERY(query));
  g_return_if_fail(GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION);

  if (gst_drm_query_has_release_fences(query))
    return;
  GstStructure *params = gst_structure_new(kSyncStructure, kSyncField, G_TYPE_BOOLEAN, TRUE, nullptr);
  gst_query_add_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, params);
  gst_structure_free(params);
}

/**
 * gst_drm_query_has_release_fences:
 * @query: (transfer none): an allocation query
 *
 * Reads the announcement of gst_drm_query_announce_release_fences().
 *
 * Returns: whether the producer announced that it honours release fences
 *
 * Since: 0.1
 */
gboolean gst_drm_query_has_release_fences(GstQuery *query) noexcept
{
  g_return_val_if_fail(GST_IS_QUERY(query), FALSE);
  g_return_val_if_fail(GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION, FALSE);

  for (guint i = 0; i < gst_query_get_n_allocation_metas(query); i++) {
    const GstStructure *params = nullptr;
    if (gst_query_parse_nth_allocation_meta(query, i, &params) == GST_DRM_SYNC_META_API_TYPE &&
        is_announcement(params))
      return TRUE;
  }
  return FALSE;
}

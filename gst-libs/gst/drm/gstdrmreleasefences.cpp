// SPDX-License-Identifier: LGPL-2.1-or-later
// Who waits for release fences: a producer says so in the allocation query, in the parameters of an
// entry for the meta.
#include <atomic>
#include <memory>

#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmsync.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gstdrm::library_debug_category()

using gstdrm::GstPtr;

namespace {

// Name and field of the parameters (docs/buffers.md). A consumer's own entry has none.
constexpr const char *kSyncStructure = "GstDrmSyncMeta";
constexpr const char *kSyncField = "release-fences";

bool is_announcement(const GstStructure *params)
{
  gboolean value = FALSE;
  return params && gst_structure_get_boolean(params, kSyncField, &value) && value;
}

// The state of one probe. `stale`: downstream may have no announcement for the current caps. Set in
// the streaming thread, and in the thread of an upstream event; read in the streaming thread.
struct Announcer {
  std::atomic<bool> stale{true};
};

GstPtr<GstCaps> current_caps(GstPad *pad)
{
  return GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(pad));
}

// Every allocation query gets the announcement. After a query with the current caps, downstream has
// the announcement for these caps.
void on_query(GstPad *pad, Announcer &announcer, GstQuery *query)
{
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return;
  gst_drm_query_announce_release_fences(query);
  GstCaps *asked = nullptr;
  gst_query_parse_allocation(query, &asked, nullptr);
  const GstPtr<GstCaps> caps = current_caps(pad);
  if (asked && caps && gst_caps_is_equal(asked, caps.get()))
    announcer.stale = false;
}

// A CAPS event, also one that is sent again to a new peer, and a RECONFIGURE event end the
// announcement.
void on_event(Announcer &announcer, const GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS || GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE)
    announcer.stale = true;
}

// Where downstream has no announcement for the current caps, makes an allocation query before the
// buffer; on_query() adds the announcement. The answer is not used: the producer has its own
// buffers.
void on_buffer(GstPad *pad, Announcer &announcer)
{
  if (!announcer.stale.exchange(false))
    return;
  const GstPtr<GstCaps> caps = current_caps(pad);
  if (!caps)
    return;
  const auto query = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps.get(), FALSE));
  const gboolean answered = gst_pad_peer_query(pad, query.get());
  GST_DEBUG_OBJECT(pad, "announced release fences for %" GST_PTR_FORMAT ", %s", caps.get(),
                   answered ? "answered" : "not answered");
}

GstPadProbeReturn on_data(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  auto &announcer = *static_cast<Announcer *>(data);
  if ((info->type & GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM) != 0)
    on_query(pad, announcer, GST_PAD_PROBE_INFO_QUERY(info));
  else if ((info->type & GST_PAD_PROBE_TYPE_EVENT_BOTH) != 0)
    on_event(announcer, GST_PAD_PROBE_INFO_EVENT(info));
  else
    on_buffer(pad, announcer);
  return GST_PAD_PROBE_OK;
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
  GstStructure *params =
      gst_structure_new(kSyncStructure, kSyncField, G_TYPE_BOOLEAN, TRUE, nullptr);
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

/**
 * gst_drm_pad_announce_release_fences:
 * @pad: a source #GstPad, such as that of an appsrc
 *
 * Has @pad announce for all of its buffers what gst_drm_query_announce_release_fences() announces
 * in one query: whoever makes them waits for the release fences of their #GstDrmSyncMeta before it
 * writes into the memory again. For producers that do not make the allocation query themselves, or
 * make it before they have caps, as appsrc does: its only query has no caps, so no consumer looks
 * at it.
 *
 * Adds the announcement to every allocation query that leaves @pad. Where none went out since the
 * last CAPS event or the last RECONFIGURE event, the next buffer is preceded by one; its answer is
 * not used. Call this at any time from any thread; buffers that are pushed afterwards are covered.
 *
 * An announcement holds downstream until the next STREAM_START or CAPS event, or the next
 * allocation query of the stream. Of buffers that were pushed before the probe was removed, release
 * fences still have to be waited for. The announcement is for buffers with a #GstDrmSyncMeta: the
 * producer adds it (gst_buffer_add_drm_sync_meta()) before it pushes a buffer, or takes its buffers
 * from a #GstDrmBufferPool, which adds it and waits.
 *
 * Returns: the id of a pad probe, for gst_pad_remove_probe()
 *
 * Since: 0.1
 */
gulong gst_drm_pad_announce_release_fences(GstPad *pad) noexcept
try {
  g_return_val_if_fail(GST_IS_PAD(pad), 0);
  g_return_val_if_fail(GST_PAD_IS_SRC(pad), 0);

  const auto mask = static_cast<GstPadProbeType>(
      GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_EVENT_BOTH |
      GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST | GST_PAD_PROBE_TYPE_PUSH);
  return gst_pad_add_probe(pad, mask, gstdrm::logging<on_data>,
                           std::make_unique<Announcer>().release(), [](gpointer data) noexcept {
                             std::default_delete<Announcer>()(static_cast<Announcer *>(data));
                           });
} catch (...) {
  return gstdrm::caught(gulong{0}, __func__);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufupload: which allocator makes the buffers, and what upstream is offered.
#include <string>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/gstdrm-guard-private.hpp>

#include "gstdmabufexplain.hpp"
#include "gstdmabufmemory.hpp"
#include "gstdmabufupload-private.hpp"

GST_DEBUG_CATEGORY_EXTERN(dmabuf_upload_debug);
#define GST_CAT_DEFAULT dmabuf_upload_debug

namespace gstdrm {

namespace {

void announce_memfd(GstDmaBufUpload *self)
{
  if (self->state->memfd_announced)
    return;
  self->state->memfd_announced = true;
  GST_ELEMENT_WARNING(self, RESOURCE, NOT_FOUND,
                      ("%s found nothing on this machine that exports dma-bufs, and uses shared "
                       "memory (memfd), which no "
                       "device can import. Load udmabuf or a dma-heap (modprobe udmabuf), or check "
                       "the permissions of "
                       "/dev/udmabuf and /dev/dma_heap.",
                       GST_OBJECT_NAME(self)),
                      ("allocator=auto chose memfd"));
}

bool choose_allocator(GstDmaBufUpload *self, GstQuery *query)
{
  GstDmaBufUploadState *state = self->state;
  std::string device;
  GstDrmAllocatorKind kind = GST_DRM_ALLOCATOR_KIND_AUTO;
  {
    const std::lock_guard lock(state->properties_lock);
    kind = state->kind;
    device = state->device;
  }
  if (kind == GST_DRM_ALLOCATOR_KIND_AUTO && device.empty()) {
    if (GstPtr<GstDrmAllocator> theirs =
            downstream_allocator(query, state->info.drm_fourcc, may_pad_rows(*state))) {
      state->allocator = std::move(theirs);
      GST_INFO_OBJECT(self, "using downstream's allocator %" GST_PTR_FORMAT,
                      state->allocator.get());
      return true;
    }
  }
  GError *error = nullptr;
  state->allocator = GstPtr<GstDrmAllocator>::adopt(
      gst_drm_allocator_new(kind, device.empty() ? nullptr : device.c_str(), &error));
  if (!state->allocator) {
    if (claim_error(GST_DMABUF_TRANSFORM(self)))
      GST_ELEMENT_ERROR(self, RESOURCE, OPEN_READ_WRITE,
                        ("%s has nothing to allocate dma-bufs from. %s. Choose another one with "
                         "the property allocator.",
                         GST_OBJECT_NAME(self), error->message),
                        ("allocator kind %d, device '%s'", kind, device.c_str()));
    g_error_free(error);
    return false;
  }
  if (kind == GST_DRM_ALLOCATOR_KIND_AUTO &&
      gst_drm_allocator_get_kind(state->allocator.get()) == GST_DRM_ALLOCATOR_KIND_MEMFD)
    announce_memfd(self);
  GST_INFO_OBJECT(self, "using %" GST_PTR_FORMAT, state->allocator.get());
  return true;
}

} // namespace

bool is_dmabuf_caps(const GstCaps *caps)
{
  return gst_caps_features_contains(gst_caps_get_features(caps, 0), GST_CAPS_FEATURE_MEMORY_DMABUF);
}

bool may_pad_rows(const GstDmaBufUploadState &state)
{
  return !state.plain_output || state.takes_video_meta;
}

guint fewest_buffers(const GstDmaBufUploadState &state)
{
  return state.held_downstream + 1;
}

guint most_buffers(GstDmaBufUploadState &state)
{
  const guint min = fewest_buffers(state);
  guint named = 0;
  {
    const std::lock_guard lock(state.properties_lock);
    named = state.max_buffers;
  }
  return named > 0 ? MAX(named, min) : automatic_bound(GST_VIDEO_INFO_SIZE(&state.info.vinfo), min);
}

gboolean upload_decide_allocation(GstBaseTransform *trans, GstQuery *query) noexcept
try {
  GstDmaBufUpload *self = GST_DMABUF_UPLOAD(trans);
  GstDmaBufUploadState *state = self->state;
  state->pools.drop_copy_pool();
  state->takes_video_meta = gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  state->takes_crop_meta =
      gst_query_find_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, nullptr);
  state->held_downstream = 0;
  for (guint i = 0; i < gst_query_get_n_allocation_pools(query); i++) {
    guint min = 0;
    gst_query_parse_nth_allocation_pool(query, i, nullptr, nullptr, &min, nullptr);
    state->held_downstream = MAX(state->held_downstream, min);
  }
  if (!choose_allocator(self, query))
    return FALSE;
  // The base class would activate a pool that is left here.
  while (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_remove_nth_allocation_pool(query, 0);
  while (gst_query_get_n_allocation_params(query) > 0)
    gst_query_remove_nth_allocation_param(query, 0);
  return TRUE;
} catch (...) {
  return caught_in(trans, FALSE, __func__);
}

gboolean upload_propose_allocation(GstBaseTransform *trans, GstQuery *decide_query,
                                   GstQuery *query) noexcept
try {
  GstDmaBufUpload *self = GST_DMABUF_UPLOAD(trans);
  GstDmaBufUploadState *state = self->state;
  if (!GST_BASE_TRANSFORM_CLASS(g_type_class_peek(GST_TYPE_DMABUF_TRANSFORM))
           ->propose_allocation(trans, decide_query, query))
    return FALSE;
  if (gst_base_transform_is_passthrough(trans))
    return TRUE;
  GstCaps *caps = nullptr;
  gboolean need_pool = FALSE;
  gst_query_parse_allocation(query, &caps, &need_pool);
  if (!caps || !state->allocator || is_dmabuf_caps(caps))
    return FALSE;
  const guint min = fewest_buffers(*state);
  const guint max = most_buffers(*state);
  guint size = static_cast<guint>(GST_VIDEO_INFO_SIZE(&state->info.vinfo));
  GstPtr<GstBufferPool> pool;
  if (need_pool) {
    // Whoever can read a GstVideoMeta adds the option; others keep GStreamer's default layout.
    pool = new_pool(state->allocator.get(), caps, min, max, false, &size);
    if (!pool && may_pad_rows(*state)) // dumb and GBM buffers have the rows that their device wants
      pool = new_pool(state->allocator.get(), caps, min, max, true, &size);
    if (!pool)
      return FALSE;
    state->pools.watch_offered(pool);
    state->pools.tell_notice(state->allocator.get());
  }
  gst_query_add_allocation_pool(query, pool.get(), size, min, max);
  state->offer = need_pool ? Offer::Made : Offer::Declined;
  // For a decoder with a pool of its own. Dumb and GBM buffers come in whole frames, they have no
  // such call.
  if (!GST_OBJECT_FLAG_IS_SET(state->allocator.get(), GST_ALLOCATOR_FLAG_CUSTOM_ALLOC))
    gst_query_add_allocation_param(query, GST_ALLOCATOR(state->allocator.get()), nullptr);
  if (may_pad_rows(*state) &&
      !gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr))
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  GST_DEBUG_OBJECT(self, "offering %" GST_PTR_FORMAT " to %s", pool.get(),
                   peer_name(GST_BASE_TRANSFORM_SINK_PAD(trans)).c_str());
  return TRUE;
} catch (...) {
  return caught(FALSE, __func__);
}

} // namespace gstdrm

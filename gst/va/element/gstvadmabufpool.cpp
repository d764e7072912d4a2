// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvadmabufpool.hpp"

#include <algorithm>
#include <vector>

#include <gst/drm/core/descriptors.hpp>
#include <gst/drm/core/drm_node.hpp>
#include <gst/drm/element/allocation_query.hpp>
#include <gst/drm/element/pool.hpp>
#include <gst/drm/element/pool_watch.hpp>
#include <gst/drm/gstdrmbufferpool.h>
#include <gst/drm/gstdrmdevicequery.h>

GST_DEBUG_CATEGORY_EXTERN(gst_va_dmabuf_src_debug);
#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

namespace gstdrm::va {
namespace {

// Makes the pool allocate `count` buffers; returns how many it could allocate. `lack`: see
// out_of_descriptors(), while those are there.
guint fill_pool(GstBufferPool *pool, guint count, int &lack)
{
  GstBufferPoolAcquireParams params = {};
  params.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT;
  std::vector<GstPtr<GstBuffer>> buffers;
  GstBuffer *buffer = nullptr;
  while (buffers.size() < count &&
         gst_buffer_pool_acquire_buffer(pool, &buffer, &params) == GST_FLOW_OK)
    buffers.push_back(GstPtr<GstBuffer>::adopt(buffer));
  lack = buffers.size() < count ? out_of_descriptors(kDescriptorsOfFrame) : 0;
  return static_cast<guint>(buffers.size());
}

Result<GstPtr<GstBufferPool>> make_pool(GstDrmAllocator *allocator, GstCaps *caps, guint surfaces,
                                        bool with_meta)
{
  // No minimum: a GstBufferPool that cannot allocate its minimum frees the buffers that it has.
  auto made = configure_pool(allocator, {caps, 0, surfaces, with_meta});
  if (!made && made.error().sys_errno != 0)
    return made.error();
  if (!made || !gst_buffer_pool_set_active(made->pool.get(), TRUE))
    return Error{ErrorCode::Allocation, {}, out_of_descriptors(kDescriptorsOfFrame)};
  return std::move(made->pool);
}

} // namespace

// Where the driver runs out, the pool is made again with as many as there are.
Result<GstPtr<GstBufferPool>> make_largest_pool(GstElement *element, GstDrmAllocator *allocator,
                                                GstCaps *caps, guint wanted, bool with_meta)
{
  int lack = 0;
  for (guint surfaces = wanted; surfaces >= kFewestSurfaces;) {
    auto pool = make_pool(allocator, caps, surfaces, with_meta);
    if (!pool)
      return pool.error();
    const auto made = fill_pool(pool->get(), surfaces, lack);
    if (made == surfaces) {
      watch_pool(pool->get(), element, PoolSignals::Exhausted, ", or raise num-surfaces");
      return pool;
    }
    close_pool(*pool);
    GST_WARNING_OBJECT(element, "the driver has surfaces for %u frames only, not for %u", made,
                       surfaces);
    surfaces = made;
  }
  return Error{ErrorCode::Allocation, {}, lack};
}

guint frames_kept(GstQuery *query, const AgreedNeeds &needs)
{
  return std::max({std::min(buffers_kept(query), kMostKept), needs.buffers_held,
                   std::max(needs.fewest_buffers, 1U) - 1});
}

guint surfaces_for(guint wanted, const AgreedNeeds &needs)
{
  return needs.most_buffers > 0 ? std::min(wanted, needs.most_buffers) : wanted;
}

Unmet unmet_by(GstBufferPool *pool, const AgreedNeeds &needs, const GstDrmVideoInfo &info,
               const Display &display)
{
  GstBuffer *acquired = nullptr;
  GstBufferPoolAcquireParams params = {};
  params.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT;
  if (gst_buffer_pool_acquire_buffer(pool, &acquired, &params) != GST_FLOW_OK)
    return {}; // all are in use: they were looked at before
  const auto frame = GstPtr<GstBuffer>::adopt(acquired);
  return unmet_need(needs, info, frame.get(), display.node());
}

GstStructure *display_stats(const Stats &stats, const Display *display)
{
  GstStructure *structure = stats.to_structure();
  gst_structure_set(structure, "surfaces", G_TYPE_UINT64,
                    display ? display->surfaces.load() : guint64{0}, "exports", G_TYPE_UINT64,
                    display ? display->exports.load() : guint64{0}, "va-calls", G_TYPE_UINT64,
                    display ? display->calls() : guint64{0}, nullptr);
  return structure;
}

void compare_devices(GstElement *element, const Display &display, GstQuery *query, bool &warned)
{
  guint64 other = 0;
  if (warned || !gst_drm_query_get_device(query, &other))
    return;
  g_autoptr(GError) unknown = nullptr;
  if (gst_drm_device_is_same(other, display.device_number(), &unknown))
    return;
  if (unknown)
    GST_DEBUG_OBJECT(element, "taken for another device: %s", unknown->message);
  warned = true;
  GST_ELEMENT_WARNING(
      element, RESOURCE, SETTINGS,
      ("Frames come from %s, downstream imports them on %s, another device: each frame crosses the "
       "bus, "
       "or the import fails. Set the device property to a render node of that device if it has "
       "one.",
       display.node().c_str(), drm_node_path(other).c_str()),
      ("drm-device %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT, display.device_number(), other));
}

} // namespace gstdrm::va

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvadmabufpool.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gst/drm/core/descriptors.hpp>
#include <gst/drm/element/allocation_query.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/pool.hpp>
#include <gst/drm/element/pool_watch.hpp>
#include <gst/drm/gstdrmbufferpool.h>

GST_DEBUG_CATEGORY_EXTERN(gst_va_dmabuf_src_debug);
#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

namespace gstdrm::va {
namespace {

// Makes the pool allocate `count` buffers; returns how many it could allocate. Sets `sys_errno` to
// out_of_descriptors() before the buffers are released.
guint fill_pool(GstBufferPool *pool, guint count, int &sys_errno)
{
  GstBufferPoolAcquireParams params = {};
  params.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT;
  std::vector<GstPtr<GstBuffer>> buffers;
  GstBuffer *buffer = nullptr;
  while (buffers.size() < count &&
         gst_buffer_pool_acquire_buffer(pool, &buffer, &params) == GST_FLOW_OK)
    buffers.push_back(GstPtr<GstBuffer>::adopt(buffer));
  sys_errno = buffers.size() < count ? out_of_descriptors(kDescriptorsOfFrame) : 0;
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

// The pool only logs its error; allocate once more to get a GError. `sys_errno` is the pool's.
Error reason_without_pool(GstDrmAllocator *allocator, const GstDrmVideoInfo &info,
                          const GstCaps *caps, int sys_errno)
{
  GError *error = nullptr;
  const auto frame = GstPtr<GstBuffer>::adopt(gst_drm_allocator_alloc_frame(
      allocator, info.drm_fourcc, static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info.vinfo)),
      static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info.vinfo)), &info.drm_modifier, 1, nullptr,
      nullptr, &error));
  Error why{ErrorCode::Allocation, "the driver gives one, but not two at once", 0};
  if (error)
    why = take_error(error);
  else if (sys_errno != 0)
    why.message += text_of_lack(sys_errno);
  else if (!gst_caps_features_contains(gst_caps_get_features(caps, 0), "memory:DMABuf"))
    why.message =
        "the driver's strides or offsets are not GStreamer's defaults, and downstream does not "
        "take GstVideoMeta, which says where the planes are";
  why.sys_errno = sys_errno;
  return why;
}

} // namespace

// If the driver runs out of surfaces, the pool is made again with as many as it had.
Result<GstPtr<GstBufferPool>> make_largest_pool(GstElement *element, GstDrmAllocator *allocator,
                                                GstCaps *caps, guint wanted, bool with_meta)
{
  int sys_errno = 0;
  for (guint surfaces = wanted; surfaces >= kFewestSurfaces;) {
    auto pool = make_pool(allocator, caps, surfaces, with_meta);
    if (!pool)
      return pool.error();
    const auto made = fill_pool(pool->get(), surfaces, sys_errno);
    if (made == surfaces) {
      watch_pool(pool->get(), element, PoolSignals::Exhausted, ", or raise num-surfaces");
      return pool;
    }
    close_pool(*pool);
    GST_WARNING_OBJECT(element, "the driver has surfaces for %u frames only, not for %u", made,
                       surfaces);
    surfaces = made;
  }
  return Error{ErrorCode::Allocation, {}, sys_errno};
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
    return {}; // all are in use, so checked before
  const auto frame = GstPtr<GstBuffer>::adopt(acquired);
  return unmet_need(needs, info, frame.get(), display.node());
}

void post_no_pool(GstElement *element, GstDrmAllocator *allocator, const Display &display,
                  const GstDrmVideoInfo &info, const GstCaps *caps, const Error &why)
{
  const auto width = static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info.vinfo));
  const auto height = static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info.vinfo));
  Failure failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT},
                  std::string(GST_OBJECT_NAME(element)) + " has no surfaces on " + display.node() +
                      " for frames of " + std::to_string(width) + "x" + std::to_string(height) +
                      " (at least " + std::to_string(kFewestSurfaces) + " are needed)",
                  why.message.empty() ? reason_without_pool(allocator, info, caps, why.sys_errno)
                                      : why);
  failure.advise("Lower the size, close what else uses the device, or put an element between that "
                 "converts.");
  post_failure(element, failure.add("device", display.node()).add("caps", caps));
}

} // namespace gstdrm::va

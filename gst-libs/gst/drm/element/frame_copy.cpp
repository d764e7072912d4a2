// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_copy.hpp"

#include <string>
#include <utility>

#include <gst/drm/gstdrmconstraints.h>

#include "errors.hpp"
#include "implicit_modifier.hpp"
#include "needs.hpp"
#include "pixel_copy.hpp"
#include "pool.hpp"

namespace gstdrm {
FrameCopier::FrameCopier(GstBaseTransform *element, std::function<bool()> claim)
    : element_(element), claim_(std::move(claim))
{
  gst_drm_pad_gather_constraints(GST_BASE_TRANSFORM_SRC_PAD(element), nullptr, nullptr, nullptr);
}

void FrameCopier::set_caps(GstCaps *caps)
{
  close_pool();
  caps_ = GstPtr<GstCaps>::share(caps);
  pool_caps_ = caps ? resolved_caps(caps, ImplicitModifier::Linear) : caps_;
}

void FrameCopier::close_pool()
{
  gstdrm::close_pool(pool_);
  allocator_.reset();
}

// A frame that is not copied has rows as its producer agreed on with downstream; a copy has no such
// producer.
Result<void> FrameCopier::suit_downstream(PoolSetup &setup)
{
  GstDrmVideoInfo info;
  if (!gst_drm_video_info_from_caps(&info, pool_caps_.get()))
    return {};
  const auto query = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps_.get(), FALSE));
  const bool answered =
      gst_pad_peer_query(GST_BASE_TRANSFORM_SRC_PAD(element_), query.get()) != FALSE;
  const bool plain = !gst_caps_features_contains(gst_caps_get_features(caps_.get(), 0),
                                                 GST_CAPS_FEATURE_MEMORY_DMABUF);
  setup.video_meta =
      !plain ||
      (answered && gst_query_find_allocation_meta(query.get(), GST_VIDEO_META_API_TYPE, nullptr));
  Needs own;
  own.cpu_access = GST_DRM_ACCESS_READ | GST_DRM_ACCESS_WRITE;
  own.stride_align = kDeviceStrideAlign;
  if (!agree_on_needs(GST_ELEMENT(element_), query.get(), info, own, claim_, agreed_))
    return Error{ErrorCode::Conflict, "Downstream cannot be given a copy of the frame.", 0};
  setup.constraints = agreed_.constraints.get();
  return {};
}

Result<void> FrameCopier::open_pool()
{
  PoolSetup setup{pool_caps_.get()};
  agreed_ = {};
  if (element_)
    if (Result<void> suited = suit_downstream(setup); !suited)
      return suited;
  GError *error = nullptr;
  allocator_ = open_agreed_allocator(agreed_, &error);
  if (!allocator_)
    return take_error(error);
  auto made = configure_pool(allocator_.get(), setup);
  if (!made)
    return made.error();
  if (!gst_buffer_pool_set_active(made->pool.get(), TRUE))
    return Error{ErrorCode::Allocation, "The pool of DMA buffers for copies does not start.", 0};
  pool_ = std::move(made->pool);
  return check_pool();
}

// The first copy is as downstream asks, or there is none.
Result<void> FrameCopier::check_pool()
{
  GstDrmVideoInfo info;
  GstBuffer *acquired = nullptr;
  if (!agreed_.asked || !gst_drm_video_info_from_caps(&info, pool_caps_.get()) ||
      gst_buffer_pool_acquire_buffer(pool_.get(), &acquired, nullptr) != GST_FLOW_OK)
    return {};
  const auto first = GstPtr<GstBuffer>::adopt(acquired);
  const Unmet unmet = unmet_need(agreed_, info, first.get(), GST_OBJECT_NAME(allocator_.get()));
  if (!unmet)
    return {};
  close_pool();
  return Error{ErrorCode::Conflict, "Downstream cannot be given a copy: " + unmet.why + ".", 0};
}

// The pool only logs its error; allocating once more gives a GError.
Error FrameCopier::no_memory() const
{
  GError *error = nullptr;
  GstDrmVideoInfo info;
  GstPtr<GstBuffer> frame;
  if (gst_drm_video_info_from_caps(&info, pool_caps_.get()))
    frame.reset(gst_drm_allocator_alloc_frame(
        allocator_.get(), info.drm_fourcc, static_cast<guint>(info.vinfo.width),
        static_cast<guint>(info.vinfo.height), &info.drm_modifier, 1, nullptr, nullptr, &error));
  const std::string why = error ? ": " + take_error(error).message : "";
  return Error{ErrorCode::Allocation,
               "There is no memory for a copy of the frame" + why +
                   ". Let go of copies sooner downstream (drop old samples, shorten queues), or "
                   "raise the limit (ulimit -n for descriptors).",
               0};
}

Result<GstPtr<GstBuffer>> FrameCopier::copy(GstBuffer *frame, const GstVideoInfo &info)
{
  if (ask_again_.exchange(false))
    close_pool();
  if (!pool_)
    if (Result<void> opened = open_pool(); !opened)
      return opened.error();
  GstBuffer *acquired = nullptr;
  if (gst_buffer_pool_acquire_buffer(pool_.get(), &acquired, nullptr) != GST_FLOW_OK)
    return no_memory();
  auto made = GstPtr<GstBuffer>::adopt(acquired);
  const auto named = with_named_format(frame, info);
  if (const Result<std::uint64_t> copied = copy_frame(made.get(), named.get(), info); !copied)
    return Error{copied.error().code, copied.error().message + ".", 0};
  return made;
}

} // namespace gstdrm

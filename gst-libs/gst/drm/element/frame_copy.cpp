// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_copy.hpp"

#include <string>
#include <utility>

#include "errors.hpp"
#include "pixel_copy.hpp"
#include "pool.hpp"

namespace gstdrm {
void FrameCopier::set_caps(GstCaps *caps)
{
  if (pool_)
    gst_buffer_pool_set_active(pool_.get(), FALSE); // frees all when the last one has come back
  pool_.reset();
  allocator_.reset();
  caps_ = GstPtr<GstCaps>::share(caps);
}

Result<void> FrameCopier::open_pool()
{
  GError *error = nullptr;
  allocator_ = GstPtr<GstDrmAllocator>::adopt(
      gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_AUTO, nullptr, &error));
  if (!allocator_)
    return take_error(error);
  auto made = configure_pool(allocator_.get(), {caps_.get()});
  if (!made)
    return made.error();
  if (!gst_buffer_pool_set_active(made->pool.get(), TRUE))
    return Error{ErrorCode::Allocation, "The pool of DMA buffers for copies does not start.", 0};
  pool_ = std::move(made->pool);
  return {};
}

// The pool only logs its error; allocating once more gives a GError.
Error FrameCopier::no_memory() const
{
  GError *error = nullptr;
  GstDrmVideoInfo info;
  GstPtr<GstBuffer> frame;
  if (gst_drm_video_info_from_caps(&info, caps_.get()))
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

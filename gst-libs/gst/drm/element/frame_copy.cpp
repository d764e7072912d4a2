// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_copy.hpp"

#include <utility>

#include <gst/drm/gstdrmallocator.h>

#include "errors.hpp"
#include "pool.hpp"

namespace gstdrm {
namespace {

// A frame in CPU memory, for as long as this lives. Empty where the CPU cannot map the buffer. A
// dma-buf is bracketed with DMA_BUF_IOCTL_SYNC by its allocator.
class MappedFrame {
public:
  MappedFrame(GstBuffer *buffer, const GstVideoInfo &info, GstMapFlags access)
      : mapped_(gst_video_frame_map(&frame_, &info, buffer, access) != FALSE)
  {
  }
  MappedFrame(const MappedFrame &) = delete;
  MappedFrame &operator=(const MappedFrame &) = delete;
  ~MappedFrame()
  {
    if (mapped_)
      gst_video_frame_unmap(&frame_);
  }
  explicit operator bool() const noexcept { return mapped_; }
  GstVideoFrame *get() noexcept { return &frame_; }

private:
  GstVideoFrame frame_{};
  bool mapped_;
};

} // namespace

void FrameCopier::set_caps(GstCaps *caps)
{
  if (pool_)
    gst_buffer_pool_set_active(pool_.get(),
                               FALSE); // buffers that are out are freed when they come back
  pool_.reset();
  caps_ = GstPtr<GstCaps>::share(caps);
}

Result<void> FrameCopier::open_pool()
{
  GError *error = nullptr;
  const auto allocator = GstPtr<GstDrmAllocator>::adopt(
      gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_AUTO, nullptr, &error));
  if (!allocator)
    return take_error(error);
  auto made = configure_pool(allocator.get(), {caps_.get()});
  if (!made)
    return made.error();
  if (!gst_buffer_pool_set_active(made->pool.get(), TRUE))
    return Error{ErrorCode::Allocation, "The pool of DMA buffers for copies does not start.", 0};
  pool_ = std::move(made->pool);
  return {};
}

Result<GstPtr<GstBuffer>> FrameCopier::copy(GstBuffer *frame, const GstVideoInfo &info)
{
  if (!pool_)
    if (Result<void> opened = open_pool(); !opened)
      return opened.error();
  GstBuffer *acquired = nullptr;
  if (gst_buffer_pool_acquire_buffer(pool_.get(), &acquired, nullptr) != GST_FLOW_OK)
    return Error{ErrorCode::Allocation, "There is no memory for a copy of the frame.", 0};
  auto made = GstPtr<GstBuffer>::adopt(acquired);
  MappedFrame from(frame, info, GST_MAP_READ);
  MappedFrame to(made.get(), info, GST_MAP_WRITE);
  if (!from || !to || !gst_video_frame_copy(to.get(), from.get()))
    return Error{ErrorCode::Import,
                 from ? "The CPU cannot map the DMA buffer of a copy for writing."
                      : "The CPU cannot map the frame for reading. Have upstream allocate memory "
                        "that the CPU can map, such as a udmabuf.",
                 0};
  return made;
}

} // namespace gstdrm

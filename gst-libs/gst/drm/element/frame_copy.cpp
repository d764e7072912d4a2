// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_copy.hpp"

#include <string>
#include <utility>

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

// The frame with a GstVideoMeta that gst_video_frame_map() takes, for reading: the frame itself
// where its meta names the real format. The memory is the frame's; others may read its meta
// meanwhile, so that is not changed.
GstPtr<GstBuffer> with_named_format(GstBuffer *frame, const GstVideoInfo &info)
{
  GstVideoMeta *meta = gst_buffer_get_video_meta(frame);
  if (!meta || meta->format == GST_VIDEO_INFO_FORMAT(&info))
    return GstPtr<GstBuffer>::share(frame);
  auto named = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  for (guint i = 0; i < gst_buffer_n_memory(frame); i++)
    gst_buffer_append_memory(named.get(), gst_buffer_get_memory(frame, i));
  gst_buffer_add_video_meta_full(named.get(), meta->flags, GST_VIDEO_INFO_FORMAT(&info),
                                 meta->width, meta->height, meta->n_planes, meta->offset,
                                 meta->stride);
  return named;
}

} // namespace

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
  MappedFrame from(named.get(), info, GST_MAP_READ);
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

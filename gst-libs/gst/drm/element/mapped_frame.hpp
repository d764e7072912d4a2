// SPDX-License-Identifier: LGPL-2.1-or-later
// A video frame that the CPU reads or writes. Header only.
#pragma once

#include <gst/video/video.h>

namespace gstdrm {

// Maps the frame for as long as this lives; false where the memory cannot be mapped. A dma-buf is
// bracketed with DMA_BUF_IOCTL_SYNC by its allocator. `buffer` outlives this, which takes no
// reference, so that the buffer stays writable. The planes are those that a GstVideoMeta gives:
// check_mappable_frame() is asked before.
class MappedFrame {
public:
  MappedFrame(GstBuffer *buffer, const GstVideoInfo &info, GstMapFlags flags)
      : mapped_(gst_video_frame_map(&frame_, &info, buffer,
                                    static_cast<GstMapFlags>(
                                        guint{flags} | guint{GST_VIDEO_FRAME_MAP_FLAG_NO_REF})) !=
                FALSE)
  {
  }
  ~MappedFrame()
  {
    if (mapped_)
      gst_video_frame_unmap(&frame_);
  }
  MappedFrame(const MappedFrame &) = delete;
  MappedFrame &operator=(const MappedFrame &) = delete;

  explicit operator bool() const noexcept { return mapped_; }
  [[nodiscard]] GstVideoFrame *get() noexcept { return &frame_; }
  [[nodiscard]] guint8 *row(guint plane, guint row) const noexcept
  {
    return static_cast<guint8 *>(frame_.data[plane]) + row * stride(plane);
  }
  // In bytes.
  [[nodiscard]] gsize stride(guint plane) const noexcept
  {
    return static_cast<gsize>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame_, plane));
  }

private:
  GstVideoFrame frame_{};
  bool mapped_;
};

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
// What the two elements do with one video buffer: look at its memory, wait for it, share it, copy
// it.
#pragma once

#include <cstdint>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmstats-private.hpp>
#include <gst/video/video.h>

namespace gstdrm {

enum class MemoryKind { DmaBuf, Mixed, NoDmaBuf };
MemoryKind memory_kind(GstBuffer *buffer);

// The GstVideoMeta describes a larger picture than the caps; a GstVideoCropMeta then says where the
// caps' one is.
bool is_padded_frame(GstBuffer *buffer, const GstVideoInfo &info);

// Every plane where gst_video_info_set_format() puts it, in one memory: what an element that knows
// no GstVideoMeta assumes.
bool has_default_layout(GstBuffer *buffer, const GstVideoInfo &info);

// The planes lie inside the buffer's memory, in the format and size of `info`: what a CPU must know
// before it follows a GstVideoMeta. Error of code Layout with the numbers.
Result<void> check_mappable_layout(GstBuffer *buffer, const GstVideoInfo &info);

// Waits, within a limit, for the acquire fence and the implicit fences of the buffer; a wait that
// was not over at once is counted. A fence that signalled an error is logged: the frame is shown as
// it is. What is left for coherence, DMA_BUF_IOCTL_SYNC, GstDmaBufAllocator does around each map.
Result<void> wait_for_device(GstBuffer *buffer, Stats &stats);

// Gives the buffer a GstVideoMeta of the format of `info`, without a copy of its memory. A buffer
// that others see too is never changed: it is replaced by a shallow copy that keeps it (and so its
// place in a pool) alive. False, and nothing done, where the memory cannot be shared.
bool share_frame(GstPtr<GstBuffer> &buffer, const GstVideoInfo &info);

// Copies the pixels of a checked buffer, rows of `info`'s size; bytes in it, for the counters.
Result<std::uint64_t> copy_frame(GstBuffer *dest, GstBuffer *source, const GstVideoInfo &info);

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
// What an element waits for before the CPU touches the pixels of a frame.
#pragma once

#include <gst/drm/core/device_wait.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/gstdrmsync.h>
#include <gst/drm/gstdrmtensormeta.h>
#include <gst/gst.h>

#include "stats.hpp"

namespace gstdrm {

enum class FenceEnd { Signalled, Failed, Interrupted };

// Waits, within a limit, for a fence of the device that produces what the element wants to read; -1
// is no fence. A wait that was not over at once is counted in `stats`. Failed: the device did not
// finish. Error of code Sync where the limit is over.
Result<FenceEnd> wait_for_producer(int fence_fd, Stats &stats, const Interrupt &interrupt);

// Waits, within a limit, for the acquire fence and the implicit fences of the buffer; a wait that
// was not over at once is counted in `stats`. A fence that signalled an error is logged for the
// element, and the frame is shown as it is. GstDmaBufAllocator does the rest of what coherence
// needs, DMA_BUF_IOCTL_SYNC, around each map. Interrupted: the device may still write.
Result<Waited> wait_for_device(GstElement *element, GstBuffer *buffer, Stats &stats,
                               const Interrupt &interrupt);

// What has to be waited for before the buffer is used; empty if there is nothing. Error of code
// Sync where there is a fence and no descriptor for it (EMFILE): the device may still write.
Result<UniqueFd> dup_acquire_fence(GstBuffer *buffer);
// The same of the tensors of a frame.
Result<UniqueFd> dup_acquire_fence(GstDrmTensorMeta *meta);
// What has to be waited for before the memory is written; empty if there is nothing.
Result<UniqueFd> dup_release_fence(GstDrmSyncMeta *meta);

} // namespace gstdrm

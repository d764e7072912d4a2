// SPDX-License-Identifier: LGPL-2.1-or-later
// The fences that a buffer carries, without a doubt about what there is to wait for.
#pragma once

#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/gstdrmsync.h>
#include <gst/drm/gstdrmtensormeta.h>

namespace gstdrm {

// What has to be waited for before the buffer is used; empty if there is nothing. Error of code
// Sync where there is a fence and no descriptor for it (EMFILE): the device may still write.
Result<UniqueFd> dup_acquire_fence(GstBuffer *buffer);
// The same of the tensors of a frame.
Result<UniqueFd> dup_acquire_fence(GstDrmTensorMeta *meta);
// What has to be waited for before the memory is written; empty if there is nothing.
Result<UniqueFd> dup_release_fence(GstDrmSyncMeta *meta);

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
// Fences between GL and everything else (EGL_ANDROID_native_fence_sync). For the thread on which
// the device's context is current.
#pragma once

#include <gst/drm/core/result.hpp>
#include <gst/drm/core/sync_file.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "egl_device.hpp"

namespace gstdrm::egl {

// Commands that follow in this context begin when the fence has signalled; the calling thread goes
// on. Real drivers wait on the GPU; a software driver waits on its own thread, or here. Takes the
// descriptor, whatever the outcome. ErrorCode::Unsupported without native fences; ErrorCode::Sync
// with EGL's words.
Result<void> wait_on_gpu(const Device &device, UniqueFd fence);

// A sync_file that signals when all commands up to now are done; flushes them.
// ErrorCode::Unsupported without native fences: the caller then waits with finish().
Result<UniqueFd> fence_of_commands(const Device &device);

// The fences that whoever accesses a dma-buf so has to wait for, those of all commands up to now
// among them; flushes them. For drivers that keep implicit fences and have no native ones.
// ErrorCode::Unsupported for other drivers, and before Linux 6.0.
Result<UniqueFd> implicit_fence(const Device &device, int dmabuf_fd, DmaBufAccess access);

} // namespace gstdrm::egl

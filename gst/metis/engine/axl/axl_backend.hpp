// SPDX-License-Identifier: LGPL-2.1-or-later
// The back end over the kernel interface of axl_uapi.h: the device reads the frame's dma-buf and
// writes the result's.
#pragma once

#include <memory>

#include <gst/drm/core/result.hpp>

#include "engine/backend.hpp"

namespace gstdrm::metis {

// Takes linear NV12 frames whose planes lie in one dma-buf, and one output, in a dma-buf from its
// first byte on. The model is one that the device has loaded: Model::device_id. The driver waits
// neither for fences of the frame nor for those of the result: the caller waits before submit(). No
// CPU mapping of a frame or a result is made. Requests are done in order; each fence signals within
// BackendOptions::timeout of the start of its request on the device.
Result<std::unique_ptr<Backend>> open_axl(const BackendOptions &options);

} // namespace gstdrm::metis

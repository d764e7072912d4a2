// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory that GL can draw into: the allocators that may have some, and the proof that they do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmallocator.h>

#include "gstglthread.hpp"

namespace gstdrm {

// Where frames for this device may come from, best first: GBM on the device itself, then memory of
// the machine (udmabuf, dma-heap), which many drivers import in linear layouts. Without `device`
// (GL that imports nothing) the second alone. Never empty unless the machine has no memory for
// frames; `reasons` then says why.
std::vector<GstPtr<GstDrmAllocator>> own_allocators(const egl::Device *device,
                                                    std::string &reasons);

// The pairs of `wanted` that one of the allocators can make, as far as they tell.
FormatSet makeable_formats(const FormatSet &wanted,
                           const std::vector<GstPtr<GstDrmAllocator>> &allocators);

// A GstDrmAllocator that asks `allocators` in turn, and hands out only frames that `thread`'s
// device has taken as render targets. Where the device refuses a frame, the next one is allocated
// without that modifier, or a linear one with longer rows. Without `thread` no frame is tried on a
// device. For Producer::agree(); streams allocate from the allocators themselves.
GstPtr<GstDrmAllocator> proving_allocator(std::vector<GstPtr<GstDrmAllocator>> allocators,
                                          std::shared_ptr<GlThread> thread);

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
// Imported textures as GstGLMemory, which outlives caches, elements and pipelines.
#pragma once

#include <memory>
#include <vector>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/gl/gl.h>

#include "gsteglcaps.hpp"
#include "gstglthread.hpp"

namespace gstdrm {

// Memories that elements downstream may read, and never write: the memory is upstream's. A map for
// reading by GL does not wait for the GL thread.
using GlMemories = std::vector<GstPtr<GstMemory>>;

// One memory for each texture, `info` being what the caps downstream say. On the GL thread. The
// last owner of a memory, on whatever thread, hands it over to the GL thread and does not wait;
// the textures end with their memories. Error of code Unsupported where GL has no format for a
// plane.
Result<GlMemories> wrap_textures(const std::shared_ptr<GlThread> &thread,
                                 const std::shared_ptr<const egl::ImportedFrame> &frame,
                                 const TextureForm &form, const GstVideoInfo &info);

// The pixels behind the memory are new: what the CPU has read of it before is no longer the
// picture. Any thread.
void expect_new_pixels(GstMemory *memory);

} // namespace gstdrm

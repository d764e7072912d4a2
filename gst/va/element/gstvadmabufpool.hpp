// SPDX-License-Identifier: LGPL-2.1-or-later
// Pools of VA surfaces.
#pragma once

#include <string>

#include <gst/drm/element/needs.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmallocator.h>
#include <gst/drm/gstdrmvideoinfo.h>

#include "engine/va_display.hpp"

namespace gstdrm::va {

constexpr guint kFewestSurfaces = 2; // one is shown while the next is drawn
constexpr guint kMostKept = 64;      // frames for downstream; a surface takes GPU memory

// An active pool whose surfaces are all allocated, so that none is allocated while the stream runs.
// It has fewer than `wanted` if the driver runs out. Error of code Allocation if there are fewer
// than kFewestSurfaces: without a message if the pool has logged the reason, with EMFILE or ENFILE
// if descriptors ran out. `with_meta`: downstream reads GstVideoMeta.
Result<GstPtr<GstBufferPool>> make_largest_pool(GstElement *element, GstDrmAllocator *allocator,
                                                GstCaps *caps, guint wanted, bool with_meta);

// Number of frames that downstream may hold, according to its answer.
guint frames_kept(GstQuery *query, const AgreedNeeds &needs);
// `wanted`, limited to the largest pool that the consumers allow.
guint surfaces_for(guint wanted, const AgreedNeeds &needs);

// Checks a surface against downstream's requirements, as the driver alone decides its layout. Empty
// if the surface meets them.
Unmet unmet_by(GstBufferPool *pool, const AgreedNeeds &needs, const GstDrmVideoInfo &info,
               const Display &display);

// Posts that no pool could be made for frames of `info`. `why` comes from make_largest_pool().
void post_no_pool(GstElement *element, GstDrmAllocator *allocator, const Display &display,
                  const GstDrmVideoInfo &info, const GstCaps *caps, const Error &why);

} // namespace gstdrm::va

// SPDX-License-Identifier: LGPL-2.1-or-later
// Pools of VA surfaces, and where their frames go.
#pragma once

#include <string>

#include <gst/drm/element/needs.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmallocator.h>

#include "engine/va_display.hpp"

namespace gstdrm::va {

constexpr guint kFewestSurfaces = 2; // one is shown while the next is drawn
constexpr guint kMostKept = 64;      // frames downstream; a surface is memory of the GPU

// An active pool whose surfaces are all allocated, so that none is allocated while the stream runs.
// It has fewer than `wanted` where the driver runs out. Error of code Allocation where it has no
// kFewestSurfaces; without a message where the pool has logged the reason, with the errno of a lack
// of descriptors. `with_meta`: downstream reads GstVideoMeta.
Result<GstPtr<GstBufferPool>> make_largest_pool(GstElement *element, GstDrmAllocator *allocator,
                                                GstCaps *caps, guint wanted, bool with_meta);

// Frames that downstream may keep, by its own account.
guint frames_kept(GstQuery *query, const AgreedNeeds &needs);
// No more than a consumer wants there to be.
guint surfaces_for(guint wanted, const AgreedNeeds &needs);

// The driver lays surfaces out: what it gives either meets what downstream asks for or does not.
// Why not; empty where it does.
Unmet unmet_by(GstBufferPool *pool, const AgreedNeeds &needs, const GstDrmVideoInfo &info,
               const Display &display);

// drm-stats, with what the display counts; 0 without one. (transfer full)
GstStructure *display_stats(const Stats &stats, const Display *display);

// Warns, once until `warned` is reset, where downstream imports frames on another device.
void compare_devices(GstElement *element, const Display &display, GstQuery *query, bool &warned);

} // namespace gstdrm::va

// SPDX-License-Identifier: LGPL-2.1-or-later
// What an element asks of buffers beyond their caps: said by consumers in the allocation query,
// reconciled by producers.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmallocator.h>
#include <gst/drm/gstdrmconstraints.h>
#include <gst/drm/gstdrmsync.h>
#include <gst/drm/gstdrmvideoinfo.h>

#include "errors.hpp"

namespace gstdrm {

// Pixels, ends included.
struct PixelRange {
  guint least = 0;
  guint most = 0; // 0: nothing is asked for
};

// 0 and empty: nothing is asked for.
struct Needs {
  std::string device;       // whose memory it is, or where it is imported: "/dev/dri/card0"
  guint stride_align = 0;   // bytes, a power of two
  guint buffers_held = 0;   // at a time
  guint cpu_access = 0;     // GstDrmAccess
  guint permissions = 0;    // GstDrmAccess of the device
  guint most_buffers = 0;   // of a producer: that its pool can have
  PixelRange width, height; // of a frame that the device takes
};

// A consumer's answer, under the name of the element.
void add_needs(GstElement *element, GstQuery *query, const Needs &needs);

// The pool of a producer keeps at most so many frames for its consumers. Decoders of H.265 keep 17,
// encoders that look ahead 60; a consumer that asks for thousands would fill the memory.
inline constexpr guint kMostFramesHeld = 256;

// Frames have strides that are multiples of this many bytes, unless a consumer asks for more:
// amdgpu and nouveau take no others (kDefaultStrideAlign in alloc/linear_plan.hpp has the sources).
inline constexpr guint kDeviceStrideAlign = 256;

// What a producer has to do for all consumers.
struct AgreedNeeds {
  guint stride_align = 0;           // bytes; 0: as the allocator likes
  guint buffers_held = 0;           // by all consumers together
  guint fewest_buffers = 0;         // of the pool
  guint most_buffers = 0;           // of the pool; 0: any number
  guint cpu_access = 0;             // GstDrmAccess
  std::string device;               // the producer's
  std::shared_ptr<GPtrArray> asked; // GstDrmConstraints of each consumer
  // What the producer and all consumers agreed on; null where no consumer asks for anything.
  std::shared_ptr<const GstDrmConstraints> constraints;
};

// The producer's needs and those in the answer, for frames of `info`. Where they conflict, posts
// one error with both sides, the details as a structure, where `claim` returns true, and returns
// false.
bool agree_on_needs(GstElement *element, GstQuery *query, const GstDrmVideoInfo &info,
                    const Needs &own, const std::function<bool()> &claim, AgreedNeeds &agreed);

// What an allocator, or a device that lays frames out by itself, does not do for a consumer.
struct Unmet {
  std::string why; // "the heap system makes …, and sink0 (…) asks for …"; empty: all is met
  std::string asked_by; // "sink0 (kmsdmabufsink)"
  explicit operator bool() const noexcept { return !why.empty(); }
};
// Looks at a frame of `info` that was made. `maker` begins the sentence.
Unmet unmet_need(const AgreedNeeds &agreed, const GstDrmVideoInfo &info, GstBuffer *frame,
                 const std::string &maker);
// Looks at the memory alone.
Unmet unmet_memory(const AgreedNeeds &agreed, GstAllocator *allocator, const std::string &maker);
// Posts it. `device` is the one that made the frame.
void post_unmet(GstElement *element, const Unmet &unmet, const GstCaps *caps,
                const std::string &device = "");

// Opens an allocator of the memory that consumers ask for, or of any, where they ask for none.
GstPtr<GstDrmAllocator> open_agreed_allocator(const AgreedNeeds &agreed, GError **error);

} // namespace gstdrm

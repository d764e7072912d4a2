// SPDX-License-Identifier: LGPL-2.1-or-later
// What an element asks of buffers beyond their caps: said by consumers in the allocation query,
// reconciled by producers.
#pragma once

#include <functional>
#include <string>

#include <gst/drm/gstdrmconstraints.h>
#include <gst/drm/gstdrmsync.h>
#include <gst/drm/gstdrmvideoinfo.h>

#include "errors.hpp"

namespace gstdrm {

// 0 and empty: nothing is asked for.
struct Needs {
  std::string device;     // whose memory it is, or where it is imported: "/dev/dri/card0"
  guint stride_align = 0; // bytes, a power of two
  guint buffers_held = 0; // at a time
  guint cpu_access = 0;   // GstDrmAccess
  guint permissions = 0;  // GstDrmAccess of the device
};

// A consumer's answer, under the name of the element.
void add_needs(GstElement *element, GstQuery *query, const Needs &needs);

// What a producer has to do for all consumers.
struct AgreedNeeds {
  guint stride_align = 0; // bytes; 0: as the allocator likes
  guint buffers_held = 0; // by all consumers together
  guint least_size = 0;   // bytes of a buffer; of LINEAR alone
  std::string asked_by;   // who asks for that alignment of strides: "sink0 (kmsdmabufsink)"
};

// The producer's needs and those in the answer, for frames of `info`. Where they conflict, posts
// one error with both sides, the details as a structure, where `claim` returns true, and returns
// false.
bool agree_on_needs(GstElement *element, GstQuery *query, const GstDrmVideoInfo &info,
                    const Needs &own, const std::function<bool()> &claim, AgreedNeeds &agreed);

// Why a frame with a GstVideoMeta is not what was agreed on, for producers whose device chooses the
// strides; empty where it is. `maker` begins the sentence.
std::string unmet_need(const AgreedNeeds &agreed, GstBuffer *frame, const std::string &maker);

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
// Which caps metisdmabufinfer takes, and what the caps of a stream mean for its frames.
#pragma once

#include <memory>

#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-private.hpp>

#include "engine/inference_item.hpp"
#include "gstmetisinfersettings.hpp"

namespace gstdrm::metis {

// Where the pixels of a stream's frames are.
enum class FrameMemory { DmaBuf, Nvmm, System };

// What is known of the frames of a stream from its caps.
struct InferFormat {
  FrameMemory memory = FrameMemory::DmaBuf;
  GstDrmVideoInfo info{}; // linear
  GstPtr<GstCaps> caps;
  std::shared_ptr<const FrameFormat> frames; // for the queue
};

// What both pads take and send at most: without a back end everything that one of them can.
GstPtr<GstCaps> infer_template();
// What they take with this back end.
GstPtr<GstCaps> infer_caps(const Backend &backend, const InferSettings &settings);

// Error: the caps are no frames of one size and format. Fixed caps, not ANY.
Result<void> check_frame_caps(GstCaps *caps);
// Error: the caps are no format that can be read, or the model's input cannot be made of it.
Result<InferFormat> format_of_caps(GstCaps *caps, const Backend &backend,
                                   ImplicitModifier implicit_modifier);

// A sentence for a message about refused caps: what to put before the element.
std::string suggest_for_infer(const GstCaps *upstream, const GstCaps *refusing);

} // namespace gstdrm::metis

// SPDX-License-Identifier: LGPL-2.1-or-later
// Results of inferences as a meta of the frame's buffer.
#pragma once

#include <gst/drm/core/result.hpp>
#include <gst/drm/gstdrm-private.hpp>

#include "engine/inference_item.hpp"

namespace gstdrm::metis {

// Adds a GstDrmTensorMeta with the outcome's tensors, and GStreamer's own of the same memory. The
// buffer is replaced by a shallow copy where others hold it too; its memory is not touched.
Result<void> attach_tensors(GstPtr<GstBuffer> &buffer, const Model &model, const Outcome &outcome);

} // namespace gstdrm::metis

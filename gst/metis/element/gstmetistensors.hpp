// SPDX-License-Identifier: LGPL-2.1-or-later
// A model's output tensors as GStreamer has them: on buffers, and in the caps field `tensors` with
// which the decoders of GStreamer 1.28 ask for groups of tensors by id, type and dimensions.
#pragma once

#include <optional>

#include <gst/drm/core/result.hpp>
#include <gst/drm/gstdrm-private.hpp>

#include "engine/inference_queue.hpp"

namespace gstdrm::metis {

// Removes the field `tensors` from the caps, for the elements before the inference.
GstPtr<GstCaps> without_tensors(GstPtr<GstCaps> caps);

// Returns fixed caps, with the model's tensors if `downstream` asks for tensors. ErrorCode::Caps if
// downstream takes other tensors only.
Result<GstPtr<GstCaps>> with_tensors(GstPtr<GstCaps> caps, const GstCaps *downstream,
                                     const Model &model);

// Adds a GstDrmTensorMeta with the outcome's tensors, and a GstTensorMeta with the same memory, or
// if the model saw a region, marks that for drmtensordecode. If others hold the buffer, too,
// replaces it by a copy that shares its memory.
Result<void> attach_tensors(GstPtr<GstBuffer> &buffer, const Model &model, const Outcome &outcome,
                            std::optional<gint> region = {});

} // namespace gstdrm::metis

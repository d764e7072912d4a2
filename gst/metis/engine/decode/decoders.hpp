// SPDX-License-Identifier: LGPL-2.1-or-later
// From a model's output tensors to the objects that it found.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "detection.hpp"

namespace gstdrm::metis {

enum class DecoderKind { BlazeFace, Ssd, YoloV8 };

using Tensors = std::span<const TensorValues>;

// All decoders return the best score first, at most DecodeOptions::max_detections. A box with a
// number that is not finite is none. ErrorCode::Layout: tensors of these dimensions are not what
// such a model puts out; the message has all names and dimensions.

// Two tensors: N x 16 regressors (x, y, width, height, six key points, in input pixels from the
// anchor) and N logits. Anchors: a cell of 8 pixels has 2, a cell of 16 pixels 6.
Result<std::vector<Detection>> decode_blazeface(Tensors tensors, const DecodeOptions &options);

// Boxes N x 4 (y1, x1, y2, x2, parts of the input), scores N, classes N, and, where there is one,
// the count of those that are valid. They are told apart by names that contain "box", "score",
// "class" and "num" or "count"; without these the order is boxes, classes, scores, count. The model
// has removed boxes that overlap.
Result<std::vector<Detection>> decode_ssd(Tensors tensors, const DecodeOptions &options);

// Either one tensor, (4 + classes) x N or N x (4 + classes), of centre, size and class scores; or
// for each stride a tensor of 64 channels (four distances in 16 bins each) and one of a channel per
// class, both N x H x W x C or both N x C x H x W.
Result<std::vector<Detection>> decode_yolov8(Tensors tensors, const DecodeOptions &options);

// "blazeface", "ssd" or "yolov8", as a model's description has it; none: another word.
std::optional<DecoderKind> decoder_named(std::string_view name);

// The decoder whose tensors these look like; Error: none does, or more than one.
Result<DecoderKind> recognise(Tensors tensors);

Result<std::vector<Detection>> decode(DecoderKind kind, Tensors tensors,
                                      const DecodeOptions &options);

} // namespace gstdrm::metis

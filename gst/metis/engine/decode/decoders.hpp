// SPDX-License-Identifier: LGPL-2.1-or-later
// From a model's output tensors to the objects that it found.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "detection.hpp"

namespace gstdrm::metis {

enum class DecoderKind { BlazeFace, Ssd, YoloV8 };

// All decoders sort by score, best first, return at most DecodeOptions::max_detections, and drop
// boxes with a number that is not finite. ErrorCode::Layout if such a model has no output tensors
// of these dimensions; the message has all names and dimensions.

// Two tensors: N x 16 regressors (x, y, width, height, six key points, in input pixels from the
// anchor) and N logits. A cell of 8 pixels has 2 anchors, a cell of 16 pixels 6.
Result<std::vector<Detection>> decode_blazeface(Tensors tensors, const DecodeOptions &options);

// Boxes N x 4 (y1, x1, y2, x2, as fractions of the input), scores N, classes N, and perhaps the
// count of valid boxes. Their names contain "box", "score", "class" and "num" or "count"; without
// such names the order is boxes, classes, scores, count. The model has removed boxes that overlap.
Result<std::vector<Detection>> decode_ssd(Tensors tensors, const DecodeOptions &options);

// Either one tensor, (4 + classes) x N or N x (4 + classes), of centre, size and class scores; or
// for each stride a tensor of 64 channels (four distances in 16 bins each) and one of a channel per
// class, both N x H x W x C or both N x C x H x W.
Result<std::vector<Detection>> decode_yolov8(Tensors tensors, const DecodeOptions &options);

// Whether the dimensions are those of such a model.
bool looks_like_blazeface(Tensors tensors);
bool looks_like_ssd(Tensors tensors);
bool looks_like_yolov8(Tensors tensors);

// "blazeface", "ssd" or "yolov8", as in a model's description; nullopt for any other word.
std::optional<DecoderKind> decoder_named(std::string_view name);

// The decoder for tensors of these dimensions. Returns an Error if there is none.
Result<DecoderKind> recognise(Tensors tensors);

Result<std::vector<Detection>> decode(DecoderKind kind, Tensors tensors,
                                      const DecodeOptions &options);

} // namespace gstdrm::metis

// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>

#include <gst/drm/core/log.hpp>

#include "decoders.hpp"

namespace gstdrm::metis {

namespace {

constexpr const char *kSsd = "ssd";
constexpr float kMostLabels = 1e6F; // a larger value is no class

struct Parts {
  const TensorValues *boxes = nullptr;
  const TensorValues *scores = nullptr;
  const TensorValues *classes = nullptr;
  const TensorValues *count = nullptr;
};

Parts by_name(Tensors tensors)
{
  Parts parts;
  for (const TensorValues &tensor : tensors) {
    if (name_has(tensor, {"num", "count"}))
      parts.count = &tensor;
    else if (name_has(tensor, {"box"}))
      parts.boxes = &tensor;
    else if (name_has(tensor, {"score"}))
      parts.scores = &tensor;
    else if (name_has(tensor, {"class"}))
      parts.classes = &tensor;
  }
  return parts;
}

Result<Parts> find_parts(Tensors tensors)
{
  if (tensors.size() < 3 || tensors.size() > 4)
    return unusable(kSsd, tensors, "it needs boxes, scores, classes and perhaps a count");
  Parts parts = by_name(tensors);
  if (!parts.boxes || !parts.scores || !parts.classes)
    parts = {&tensors[0], &tensors[2], &tensors[1], tensors.size() > 3 ? &tensors[3] : nullptr};
  const std::size_t n = parts.scores->values.size();
  if (!is_whole(*parts.boxes) || !is_whole(*parts.scores) || !is_whole(*parts.classes) ||
      parts.boxes->dims.empty() || parts.boxes->dims.back() != 4 ||
      parts.boxes->values.size() / 4 != n || parts.classes->values.size() != n)
    return unusable(kSsd, tensors, "boxes of 4 numbers, scores and classes have to be as many");
  return parts;
}

// The number of valid rows. A wrong count is a warning, because one bad frame must not end the
// stream.
Result<std::size_t> count_of(const Parts &parts, Tensors tensors)
{
  const std::size_t n = parts.scores->values.size();
  if (!parts.count)
    return n;
  if (!is_whole(*parts.count) || parts.count->values.size() != 1)
    return unusable(kSsd, tensors, "the count has to be one number");
  const float count = parts.count->values[0];
  if (!(count >= 0) || count > static_cast<float>(n))
    GSTDRM_WARNING("the model counts %g of %zu boxes", static_cast<double>(count), n);
  if (!(count >= 0))
    return std::size_t{0};
  return count < static_cast<float>(n) ? static_cast<std::size_t>(count) : n;
}

} // namespace

bool looks_like_ssd(Tensors tensors)
{
  if (tensors.size() < 3 || tensors.size() > 4)
    return false;
  return std::any_of(tensors.begin(), tensors.end(), [](const TensorValues &tensor) {
    const auto dims = trimmed(tensor.dims, 2);
    return dims.size() == 2 && dims[1] == 4;
  });
}

Result<std::vector<Detection>> decode_ssd(Tensors tensors, const DecodeOptions &options)
{
  if (options.input_width == 0 || options.input_height == 0)
    return unusable(kSsd, tensors, "the size of the model's input is not known");
  const Result<Parts> parts = find_parts(tensors);
  if (!parts)
    return parts.error();
  const Result<std::size_t> count = count_of(*parts, tensors);
  if (!count)
    return count.error();
  const auto width = static_cast<float>(options.input_width);
  const auto height = static_cast<float>(options.input_height);
  std::vector<Detection> found;
  for (std::size_t i = 0; i < *count; i++) {
    const float score = parts->scores->values[i], label = parts->classes->values[i];
    if (!(score >= options.threshold) || !(label >= 0 && label < kMostLabels))
      continue;
    const std::span<const float> box = parts->boxes->values.subspan(i * 4, 4);
    Detection object{box[1] * width,
                     box[0] * height,
                     (box[3] - box[1]) * width,
                     (box[2] - box[0]) * height,
                     score,
                     static_cast<std::uint32_t>(label),
                     {}};
    if (is_real(object))
      found.push_back(std::move(object));
  }
  return best_of(std::move(found), 1.0F, options.max_detections);
}

} // namespace gstdrm::metis

// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>

#include <gst/drm/core/log.hpp>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder ssd_decoder;

namespace {

constexpr const char *kSsd = "ssd";

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

// Boxes N x 4 (y1, x1, y2, x2, as fractions of the input), scores N, classes N, and perhaps the
// count of valid boxes. Their names contain "box", "score", "class" and "num" or "count"; without
// such names the order is boxes, classes, scores, count. The model has removed boxes that overlap.
bool fits_ssd(Tensors tensors, const DecodeOptions &)
{
  return static_cast<bool>(find_parts(tensors));
}

Result<std::vector<Detection>> decode_ssd(Tensors tensors, const DecodeOptions &options,
                                          OutputForm &form)
{
  const Result<Parts> parts = find_parts(tensors);
  if (!parts)
    return parts.error();
  const Result<BoxReader> reader =
      box_reader(ssd_decoder, tensors, options, form, BoxForm::Yxyx, BoxUnit::Normalised);
  if (!reader)
    return reader.error();
  const Result<std::size_t> count = count_of(*parts, tensors);
  if (!count)
    return count.error();
  const auto object_of = [&](std::size_t i) -> std::optional<Detection> {
    const float score = parts->scores->values[i];
    const auto label = label_of(parts->classes->values[i]);
    if (!(score >= options.threshold) || !label)
      return std::nullopt;
    const std::span<const float> box = parts->boxes->values.subspan(i * 4, 4);
    return reader->read({box[0], box[1], box[2], box[3]}, score, *label);
  };
  return best_rows(*count, options, object_of, kKeepOverlapping);
}

} // namespace

const Decoder ssd_decoder = {.word = kSsd,
                             .outputs = "boxes N x 4, scores N, classes N, perhaps a count",
                             .fits = fits_ssd,
                             .decode = decode_ssd,
                             .reads_boxes = bit_of(BoxForm::Yxyx) | bit_of(BoxForm::Xyxy) |
                                            bit_of(BoxForm::Cxcywh),
                             .reads_unit = true};

} // namespace gstdrm::metis

// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string>
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder fastestdet_decoder;

namespace {

constexpr std::size_t kFastestStride = 16;
constexpr std::size_t kFastestClass = 5; // after objectness and four numbers of the box

// One tensor (5 + classes) x H x W over cells of 16 pixels: objectness, place from the cell's
// corner as tanh's argument, size as the sigmoid's argument, classes after softmax. Score:
// objectness^0.6 times class^0.4. Not recognised by its dimensions, which a map of classes has too.
Result<std::vector<Detection>> decode_fastestdet(Tensors tensors, const DecodeOptions &options,
                                                 OutputForm &form)
{
  const std::size_t width = options.input_width / kFastestStride;
  const std::size_t height = options.input_height / kFastestStride;
  const std::vector<std::size_t> dims =
      tensors.size() == 1 ? trimmed(tensors[0].dims, 3) : std::vector<std::size_t>();
  if (dims.size() != 3 || dims[0] <= kFastestClass || dims[1] != height || dims[2] != width ||
      !is_whole(tensors[0]))
    return unusable(fastestdet_decoder.word, tensors,
                    "it needs one tensor of (5 + classes) x " + std::to_string(height) + " x " +
                        std::to_string(width) + ", the cells of 16 pixels of the input");
  const std::size_t cells = width * height, classes = dims[0] - kFastestClass;
  const std::span<const float> values = tensors[0].values;
  if (!form.settled) {
    Range range;
    range.add(values.first(cells));
    range.add(values.subspan(kFastestClass * cells));
    range.step = tensors[0].step;
    const auto checked = check_probabilities(fastestdet_decoder, tensors, range);
    if (!checked)
      return checked.error();
  }
  // with the other factor at 1
  const float least_objectness = std::pow(options.threshold, 1 / 0.6F) - 0.001F;
  const float least_class = std::pow(options.threshold, 1 / 0.4F) - 0.001F;
  std::vector<Detection> found;
  for (std::size_t i = 0; i < cells; i++) {
    const float objectness = values[i];
    if (!(objectness >= least_objectness))
      continue;
    const auto best = best_class(classes, least_class, [&](std::size_t c) {
      return values[(kFastestClass + c) * cells + i];
    });
    if (!best)
      continue;
    const float score =
        std::pow(std::min(objectness, 1.0F), 0.6F) * std::pow(std::min(best->value, 1.0F), 0.4F);
    if (!(score >= options.threshold))
      continue;
    const auto number = [&](std::size_t n) { return values[(1 + n) * cells + i]; };
    Detection object;
    object.width = sigmoid(number(2)) * static_cast<float>(options.input_width);
    object.height = sigmoid(number(3)) * static_cast<float>(options.input_height);
    object.x = (static_cast<float>(i % width) + std::tanh(number(0))) / static_cast<float>(width) *
                   static_cast<float>(options.input_width) -
               object.width / 2;
    object.y = (static_cast<float>(i / width) + std::tanh(number(1))) / static_cast<float>(height) *
                   static_cast<float>(options.input_height) -
               object.height / 2;
    object.score = score;
    object.label = best->label;
    if (is_real(object))
      found.push_back(std::move(object));
  }
  return best_of(std::move(found), options.iou_threshold, options.max_detections);
}

} // namespace

const Decoder fastestdet_decoder = {.word = "fastestdet",
                                    .outputs = "(5 + classes) x H x W, cells of 16 pixels",
                                    .fits = nullptr,
                                    .decode = decode_fastestdet};

} // namespace gstdrm::metis

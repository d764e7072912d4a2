// SPDX-License-Identifier: LGPL-2.1-or-later
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder yolov10_decoder;

namespace {

constexpr float kYolov10MostLabels = 1e6F; // a larger value is no class

// One tensor N x 6: x1, y1, x2, y2 in pixels of the input, score, class. The model has removed
// boxes that overlap.
std::optional<BoxTable> yolov10_table(Tensors tensors)
{
  const auto table = tensors.size() == 1 ? as_table(tensors[0], Order::BoxesFirst) : std::nullopt;
  return table && table->columns == 6 ? table : std::nullopt;
}

bool fits_yolov10(Tensors tensors, const DecodeOptions &)
{
  const auto table = yolov10_table(tensors);
  return table && table->boxes >= table->columns;
}

Result<std::vector<Detection>> decode_yolov10(Tensors tensors, const DecodeOptions &options,
                                              OutputForm &form)
{
  const auto table = yolov10_table(tensors);
  if (!table)
    return unusable(yolov10_decoder.word, tensors, "it needs one tensor of boxes x 6");
  const auto reader =
      box_reader(yolov10_decoder, tensors, options, form, BoxForm::Xyxy, BoxUnit::Pixels);
  if (!reader)
    return reader.error();
  if (!form.settled) {
    Range range;
    for (std::size_t box = 0; box < table->boxes; box++)
      range.add(table->at(box, 4));
    for (const auto &checked :
         {check_probabilities(yolov10_decoder, tensors, range, tensors[0].step),
          check_pixels(yolov10_decoder, tensors, form, *table)})
      if (!checked)
        return checked.error();
  }
  std::vector<Detection> found;
  for (std::size_t i = 0; i < table->boxes; i++) {
    const float score = table->at(i, 4);
    if (!(score >= options.threshold))
      continue;
    const float label = std::round(table->at(i, 5)); // of a quantised model it is not whole
    if (!(label >= 0 && label < kYolov10MostLabels))
      continue;
    Detection object =
        reader->read({table->at(i, 0), table->at(i, 1), table->at(i, 2), table->at(i, 3)},
                     std::min(score, 1.0F), static_cast<std::uint32_t>(label));
    if (is_real(object))
      found.push_back(std::move(object));
  }
  return best_of(std::move(found), 1.0F, options.max_detections);
}

} // namespace

const Decoder yolov10_decoder = {.word = "yolov10",
                                 .outputs = "N x 6: corners, score, class",
                                 .fits = fits_yolov10,
                                 .decode = decode_yolov10,
                                 .reads_boxes = bit_of(BoxForm::Xyxy) | bit_of(BoxForm::Cxcywh),
                                 .reads_unit = true};

} // namespace gstdrm::metis

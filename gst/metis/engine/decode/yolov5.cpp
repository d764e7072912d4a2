// SPDX-License-Identifier: LGPL-2.1-or-later
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder yolov5_decoder;

namespace {

constexpr std::size_t kYolov5Class = 5; // after centre, size and objectness

// One tensor N x (5 + classes), decoded by the model: centre and size in pixels of the input, then
// objectness and classes, which the model has made probabilities. Score: objectness times class.
// YOLOv7 gives the same.
bool fits_yolov5(Tensors tensors, const DecodeOptions &)
{
  if (tensors.size() != 1)
    return false;
  const auto table = as_table(tensors[0], Order::BoxesFirst);
  return table && table->columns > kYolov5Class && table->boxes >= table->columns;
}

Result<std::vector<Detection>> decode_yolov5(Tensors tensors, const DecodeOptions &options,
                                             OutputForm &form)
{
  if (!fits_yolov5(tensors, options))
    return unusable(yolov5_decoder.word, tensors,
                    "it needs one tensor of boxes x (5 + classes), with more boxes than columns");
  const auto table = as_table(tensors[0], Order::BoxesFirst);
  const auto reader =
      box_reader(yolov5_decoder, tensors, options, form, BoxForm::Cxcywh, BoxUnit::Pixels);
  if (!reader)
    return reader.error();
  if (!form.settled) {
    Range range;
    for (std::size_t box = 0; box < table->boxes; box++)
      range.add(table->values.subspan(box * table->columns + 4, table->columns - 4));
    for (const auto &checked :
         {check_probabilities(yolov5_decoder, tensors, range, tensors[0].step),
          check_pixels(yolov5_decoder, tensors, form, *table)})
      if (!checked)
        return checked.error();
  }
  std::vector<Detection> found;
  for (std::size_t i = 0; i < table->boxes; i++) {
    const float objectness = table->at(i, 4);
    if (!(objectness >= options.threshold) || !std::isfinite(objectness)) // the product is not more
      continue;
    const auto best = best_class(table->columns - kYolov5Class, options.threshold,
                                 [&](std::size_t c) { return table->at(i, kYolov5Class + c); });
    if (!best)
      continue;
    const float score = std::min(objectness, 1.0F) * std::min(best->value, 1.0F);
    if (!(score >= options.threshold))
      continue;
    Detection object = reader->read(
        {table->at(i, 0), table->at(i, 1), table->at(i, 2), table->at(i, 3)}, score, best->label);
    if (is_real(object))
      found.push_back(std::move(object));
  }
  return best_of(std::move(found), options.iou_threshold, options.max_detections);
}

} // namespace

const Decoder yolov5_decoder = {.word = "yolov5",
                                .outputs = "N x (5 + classes), decoded",
                                .fits = fits_yolov5,
                                .decode = decode_yolov5,
                                .reads_boxes = bit_of(BoxForm::Cxcywh) | bit_of(BoxForm::Xyxy),
                                .reads_unit = true};

} // namespace gstdrm::metis

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
  const auto table = only_table(tensors, Order::BoxesFirst);
  return table && table->columns > kYolov5Class && table->boxes >= table->columns;
}

Result<std::vector<Detection>> decode_yolov5(Tensors tensors, const DecodeOptions &options,
                                             OutputForm &form)
{
  if (!fits_yolov5(tensors, options))
    return unusable(yolov5_decoder.word, tensors,
                    "it needs one tensor of boxes x (5 + classes), with more boxes than columns");
  const auto table = only_table(tensors, Order::BoxesFirst);
  const auto reader =
      box_reader(yolov5_decoder, tensors, options, form, BoxForm::Cxcywh, BoxUnit::Pixels);
  if (!reader)
    return reader.error();
  if (const auto checked =
          check_table(yolov5_decoder, tensors, form, *table, 4, table->columns - 4);
      !checked)
    return checked.error();
  std::vector<Detection> found;
  for (std::size_t i = 0; i < table->boxes; i++) {
    const auto best = best_of_row(*table, i, options.threshold);
    if (!best)
      continue;
    Detection object = reader->read(table->four(i), best->value, best->label);
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

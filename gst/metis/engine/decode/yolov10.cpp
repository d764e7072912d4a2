// SPDX-License-Identifier: LGPL-2.1-or-later
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder yolov10_decoder;

namespace {

// One tensor N x 6: x1, y1, x2, y2 in pixels of the input, score, class. The model has removed
// boxes that overlap.
std::optional<BoxTable> yolov10_table(Tensors tensors)
{
  const auto table = only_table(tensors, Order::BoxesFirst);
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
  if (const auto checked = check_table(yolov10_decoder, tensors, form, *table, 4, 1); !checked)
    return checked.error();
  std::vector<Detection> found;
  for (std::size_t i = 0; i < table->boxes; i++) {
    const float score = table->at(i, 4);
    if (!(score >= options.threshold))
      continue;
    const auto label =
        label_of(std::round(table->at(i, 5))); // of a quantised model it is not whole
    if (!label)
      continue;
    Detection object = reader->read(table->four(i), std::min(score, 1.0F), *label);
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

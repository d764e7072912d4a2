// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string>
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder segment_decoder;

namespace {

struct SegmentTensors {
  BoxTable table;
  GridTensor prototypes; // masks that all masks of a frame are sums of

  [[nodiscard]] std::size_t classes() const { return table.columns - 4 - prototypes.channels; }
};

std::optional<GridTensor> as_prototypes(const TensorValues &tensor)
{
  const auto dims = trimmed(tensor.dims, 3);
  // a column of scores is no map
  if (dims.size() != 3 || !is_whole(tensor) || *std::min_element(dims.begin(), dims.end()) < 2)
    return std::nullopt;
  return as_grid(tensor, dims[0] > dims[2]);
}

std::optional<SegmentTensors> segment_tensors(Tensors tensors)
{
  if (tensors.size() != 2)
    return std::nullopt;
  for (const std::size_t first : {0, 1}) {
    const auto table = as_table(tensors[first], Order::ColumnsFirst);
    const auto prototypes = as_prototypes(tensors[1 - first]);
    if (table && prototypes && table->boxes > table->columns &&
        table->columns > 4 + prototypes->channels)
      return SegmentTensors{*table, *prototypes};
  }
  return std::nullopt;
}

bool fits_segment(Tensors tensors, const DecodeOptions &)
{
  return segment_tensors(tensors).has_value();
}

// The part of the object's mask that covers its box, in whole cells of the prototypes.
Mask mask_of(const Detection &object, std::size_t row, const SegmentTensors &model,
             const DecodeOptions &options)
{
  const GridTensor &prototypes = model.prototypes;
  const float cell_x =
      static_cast<float>(options.input_width) / static_cast<float>(prototypes.width);
  const float cell_y =
      static_cast<float>(options.input_height) / static_cast<float>(prototypes.height);
  const auto place = [](float at, std::size_t most) {
    return static_cast<std::size_t>(std::clamp(at, 0.0F, static_cast<float>(most)));
  };
  const std::size_t left = place(std::floor(object.x / cell_x), prototypes.width);
  const std::size_t top = place(std::floor(object.y / cell_y), prototypes.height);
  const std::size_t right = place(std::ceil((object.x + object.width) / cell_x), prototypes.width);
  const std::size_t bottom =
      place(std::ceil((object.y + object.height) / cell_y), prototypes.height);
  if (right <= left || bottom <= top)
    return {};
  const std::size_t first = model.table.columns - prototypes.channels;
  Mask mask{static_cast<float>(left) * cell_x,
            static_cast<float>(top) * cell_y,
            static_cast<float>(right - left) * cell_x,
            static_cast<float>(bottom - top) * cell_y,
            right - left,
            {}};
  mask.values.reserve((right - left) * (bottom - top));
  for (std::size_t y = top; y < bottom; y++)
    for (std::size_t x = left; x < right; x++) {
      float logit = 0;
      for (std::size_t i = 0; i < prototypes.channels; i++)
        logit += model.table.at(row, first + i) * prototypes.at(x, y, i);
      const float value = std::isnan(logit) ? 0 : sigmoid(logit);
      mask.values.push_back(static_cast<std::uint8_t>(std::lround(value * 255)));
    }
  return mask;
}

// YOLOv8-seg: one tensor (4 + classes + coefficients) x N, of centre, size, a probability per class
// and the coefficients of the mask, and the prototypes, coefficients x H x W.
Result<std::vector<Detection>> decode_segment(Tensors tensors, const DecodeOptions &options,
                                              OutputForm &form)
{
  const auto model = segment_tensors(tensors);
  if (!model)
    return unusable(segment_decoder.word, tensors,
                    "it needs prototypes of coefficients x height x width, and a tensor of (4 + "
                    "classes + coefficients) x boxes with more boxes than rows");
  const BoxTable &table = model->table;
  for (const auto &checked :
       {need_input_size(segment_decoder, tensors, options),
        check_table(segment_decoder, tensors, form, table, 4, model->classes())})
    if (!checked)
      return checked.error();
  const auto reader =
      box_reader(segment_decoder, tensors, options, form, BoxForm::Cxcywh, BoxUnit::Pixels);
  if (!reader)
    return reader.error();
  std::vector<Detection> found;
  for (std::size_t i = 0; i < table.boxes; i++) {
    const auto best = best_class(model->classes(), options.threshold,
                                 [&](std::size_t c) { return table.at(i, 4 + c); });
    if (!best)
      continue;
    Detection object = reader->read(table.four(i), std::min(best->value, 1.0F), best->label);
    object.row = i;
    if (is_real(object))
      found.push_back(std::move(object));
  }
  found = best_of(std::move(found), options.iou_threshold, options.max_detections);
  for (Detection &object : found)
    object.mask = mask_of(object, object.row, *model, options);
  return found;
}

} // namespace

const Decoder segment_decoder = {.word = "segment",
                                 .outputs = "(4 + classes + coefficients) x N, and prototypes",
                                 .fits = fits_segment,
                                 .decode = decode_segment,
                                 .reads_unit = true};

} // namespace gstdrm::metis

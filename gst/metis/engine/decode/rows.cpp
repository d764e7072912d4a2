// SPDX-License-Identifier: LGPL-2.1-or-later
#include "rows.hpp"

#include <cstdio>

namespace gstdrm::metis {

std::optional<BoxTable> as_table(const TensorValues &tensor, Order order)
{
  const auto dims = trimmed(tensor.dims, 2);
  if (dims.size() != 2 || !is_whole(tensor))
    return std::nullopt;
  return order == Order::ColumnsFirst
             ? BoxTable{tensor.values, dims[1], dims[0], true, tensor.step}
             : BoxTable{tensor.values, dims[0], dims[1], false, tensor.step};
}

std::optional<GridTensor> as_grid(const TensorValues &tensor, bool channels_last)
{
  const auto dims = trimmed(tensor.dims, 3);
  if (dims.size() != 3)
    return std::nullopt;
  return channels_last ? GridTensor{tensor.values, tensor.step, dims[1], dims[0], dims[2], true}
                       : GridTensor{tensor.values, tensor.step, dims[2], dims[1], dims[0], false};
}

Range range_of(const BoxTable &table, std::size_t first, std::size_t count)
{
  Range range;
  range.step = table.step;
  for (std::size_t box = 0; box < table.boxes; box++)
    for (std::size_t column = first; column < first + count; column++)
      range.add(table.at(box, column));
  return range;
}

bool are_probabilities(const Range &range)
{
  const float tolerance = std::max(0.05F, 3 * range.step);
  return !(range.least < -tolerance) && !(range.most > 1 + tolerance);
}

Result<void> check_probabilities(const Decoder &decoder, Tensors tensors, const Range &range)
{
  if (are_probabilities(range))
    return {};
  char text[96];
  std::snprintf(text, sizeof text, "its scores go from %g to %g, and probabilities from 0 to 1",
                static_cast<double>(range.least), static_cast<double>(range.most));
  return unusable(decoder.word, tensors, text);
}

void settle_scores(const Range &range, OutputForm &form)
{
  if (form.scores == ScoreForm::Unknown)
    form.scores = are_probabilities(range) ? ScoreForm::Probabilities : ScoreForm::Logits;
}

Detection BoxReader::read(std::array<float, 4> box, float score, std::uint32_t label) const
{
  auto [a, b, c, d] = box;
  if (form == BoxForm::Yxyx) {
    std::swap(a, b);
    std::swap(c, d);
  }
  if (form == BoxForm::Cxcywh) {
    a -= c / 2;
    b -= d / 2;
  } else {
    c -= a;
    d -= b;
  }
  return {a * scale_x, b * scale_y, c * scale_x, d * scale_y, score, label, {}};
}

Result<BoxReader> box_reader(const Decoder &decoder, Tensors tensors, const DecodeOptions &options,
                             const OutputForm &said, BoxForm form, BoxUnit unit)
{
  BoxReader reader;
  reader.form = said.boxes == BoxForm::Unknown ? form : said.boxes;
  if ((said.unit == BoxUnit::Unknown ? unit : said.unit) == BoxUnit::Pixels)
    return reader;
  if (const auto known = need_input_size(decoder, tensors, options); !known)
    return known.error();
  reader.scale_x = static_cast<float>(options.input_width);
  reader.scale_y = static_cast<float>(options.input_height);
  return reader;
}

Result<void> check_table(const Decoder &decoder, Tensors tensors, const OutputForm &form,
                         const BoxTable &table, std::size_t first, std::size_t count)
{
  constexpr std::size_t kMany = 100; // a few boxes say nothing
  if (form.settled)
    return {};
  if (form.scores != ScoreForm::Logits)
    if (auto checked = check_probabilities(decoder, tensors, range_of(table, first, count));
        !checked)
      return checked;
  if (form.unit != BoxUnit::Unknown || table.boxes < kMany)
    return {};
  const Range numbers = range_of(table, 0, 4);
  if (numbers.most > 0 && numbers.most < 2)
    return unusable(decoder.word, tensors,
                    "all boxes lie within two pixels, as normalised ones do, for which the model's "
                    "description has box-unit=normalised or box-unit=pixels");
  return {};
}

std::optional<BestClass> best_of_row(const BoxTable &table, std::size_t row, float threshold)
{
  constexpr std::size_t kObjectness = 4, kClasses = 5;
  const float objectness = table.at(row, kObjectness);
  if (!(objectness >= threshold) || !std::isfinite(objectness)) // the product is not more
    return std::nullopt;
  auto best = best_class(table.columns - kClasses, threshold,
                         [&](std::size_t c) { return table.at(row, kClasses + c); });
  if (!best)
    return std::nullopt;
  best->value = std::min(objectness, 1.0F) * std::min(best->value, 1.0F);
  return best->value >= threshold ? best : std::nullopt;
}

std::optional<std::uint32_t> label_of(float number)
{
  constexpr float kMost = 1e6F; // a larger value is no class
  return number >= 0 && number < kMost ? std::optional(static_cast<std::uint32_t>(number))
                                       : std::nullopt;
}

Detection Prior::box(std::array<float, 4> offsets, float score) const
{
  const KeyPoint centre = point(offsets[0], offsets[1]);
  const float width = size * std::exp(0.2F * offsets[2]);
  const float height = size * std::exp(0.2F * offsets[3]);
  return {centre.x - width / 2, centre.y - height / 2, width, height, std::min(score, 1.0F), 0, {}};
}

std::vector<Prior> priors_of(const DecodeOptions &options, std::span<const PriorStride> strides)
{
  std::vector<Prior> priors;
  for (const PriorStride &stride : strides) {
    // the networks round up where they halve
    const std::size_t width = (options.input_width + stride.pixels - 1) / stride.pixels;
    const std::size_t height = (options.input_height + stride.pixels - 1) / stride.pixels;
    const auto pixels = static_cast<float>(stride.pixels);
    for (std::size_t y = 0; y < height; y++)
      for (std::size_t x = 0; x < width; x++)
        for (const float size : stride.sizes)
          if (size > 0)
            priors.push_back({(static_cast<float>(x) + 0.5F) * pixels,
                              (static_cast<float>(y) + 0.5F) * pixels, size});
  }
  return priors;
}

std::size_t cells_of(const DecodeOptions &options, std::size_t strides)
{
  std::size_t cells = 0;
  for (std::size_t i = 0; i < strides; i++)
    cells += (std::size_t{options.input_width} >> (3 + i)) *
             (std::size_t{options.input_height} >> (3 + i));
  return cells;
}

std::optional<FaceTables> face_tables(Tensors tensors)
{
  std::optional<BoxTable> boxes, scores, points;
  for (const TensorValues &tensor : tensors) {
    const auto table = as_table(tensor, Order::BoxesFirst);
    std::optional<BoxTable> *place = !table                              ? nullptr
                                     : table->columns == 4               ? &boxes
                                     : table->columns == 2               ? &scores
                                     : table->columns == 2 * kFacePoints ? &points
                                                                         : nullptr;
    if (!place || *place)
      return std::nullopt;
    *place = table;
  }
  if (!boxes || !scores || boxes->boxes != scores->boxes ||
      (points && points->boxes != boxes->boxes))
    return std::nullopt;
  return FaceTables{*boxes, *scores, points};
}

std::optional<std::vector<FaceGrid>> face_grids(Tensors tensors, const DecodeOptions &options,
                                                std::size_t strides, std::size_t anchors,
                                                std::size_t scores)
{
  std::vector<FaceGrid> grids(strides);
  for (std::size_t i = 0; i < strides; i++)
    grids[i].stride = std::size_t{8} << i;
  const auto take = [&](FaceGrid &grid, const TensorValues &tensor, const BoxTable &table) {
    const std::size_t cells =
        (options.input_width / grid.stride) * (options.input_height / grid.stride);
    if (table.boxes != cells * anchors)
      return false;
    if (table.columns == 1 && grid.scores.size() < scores) {
      grid.scores.push_back(&tensor);
      return true;
    }
    const TensorValues **place = table.columns == 4                 ? &grid.boxes
                                 : table.columns == 2 * kFacePoints ? &grid.points
                                                                    : nullptr;
    if (!place || *place)
      return false;
    *place = &tensor;
    return true;
  };
  for (const TensorValues &tensor : tensors) {
    const auto table = as_table(tensor, Order::BoxesFirst);
    if (!table || std::none_of(grids.begin(), grids.end(),
                               [&](FaceGrid &grid) { return take(grid, tensor, *table); }))
      return std::nullopt;
  }
  for (const FaceGrid &grid : grids)
    if (grid.scores.size() != scores || !grid.boxes || !grid.points != !grids.front().points)
      return std::nullopt;
  return grids;
}

Range range_of(std::span<const FaceGrid> grids)
{
  Range range;
  for (const FaceGrid &grid : grids)
    for (const TensorValues *scores : grid.scores)
      range.add(*scores);
  return range;
}

Result<void> need_input_size(const Decoder &decoder, Tensors tensors, const DecodeOptions &options)
{
  if (options.input_width != 0 && options.input_height != 0)
    return {};
  return unusable(decoder.word, tensors, "the size of the model's input is not known");
}

Result<std::span<const float>> one_list(const Decoder &decoder, Tensors tensors,
                                        const DecodeOptions &options, const char *what)
{
  const auto is_above_1 = [](std::size_t dim) { return dim > 1; };
  if (tensors.size() != 1 || !is_whole(tensors[0]) ||
      std::count_if(tensors[0].dims.begin(), tensors[0].dims.end(), is_above_1) != 1)
    return unusable(decoder.word, tensors, what);
  if (const auto known = need_input_size(decoder, tensors, options); !known)
    return known.error();
  return tensors[0].values;
}

Detection whole_input(const DecodeOptions &options, float score, std::uint32_t label)
{
  return {0,
          0,
          static_cast<float>(options.input_width),
          static_cast<float>(options.input_height),
          score,
          label,
          {}};
}

} // namespace gstdrm::metis

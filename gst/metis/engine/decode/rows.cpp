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

Result<BoxReader> table_reader(const Decoder &decoder, Tensors tensors,
                               const DecodeOptions &options, const OutputForm &form, BoxForm usual,
                               const BoxTable &table, std::size_t classes)
{
  constexpr std::size_t kMany = 100; // a few boxes say nothing
  auto reader = box_reader(decoder, tensors, options, form, usual, BoxUnit::Pixels);
  if (!reader || form.settled)
    return reader;
  if (form.scores != ScoreForm::Logits)
    if (const auto checked = check_probabilities(decoder, tensors, range_of(table, 4, classes));
        !checked)
      return checked.error();
  if (form.unit != BoxUnit::Unknown || table.boxes < kMany)
    return reader;
  const Range numbers = range_of(table, 0, 4);
  if (numbers.most > 0 && numbers.most < 2)
    return unusable(decoder.word, tensors,
                    "all boxes lie within two pixels, as normalised ones do, for which the model's "
                    "description has box-unit=normalised or box-unit=pixels");
  return reader;
}

std::optional<std::uint32_t> label_of(float number)
{
  constexpr float kMost = 1e6F; // a larger value is no class
  return number >= 0 && number < kMost ? std::optional(static_cast<std::uint32_t>(number))
                                       : std::nullopt;
}

Result<void> need_input_size(const Decoder &decoder, Tensors tensors, const DecodeOptions &options)
{
  if (options.input_width != 0 && options.input_height != 0)
    return {};
  return unusable(decoder.word, tensors, "the size of the model's input is not known");
}

} // namespace gstdrm::metis

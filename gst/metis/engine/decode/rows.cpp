// SPDX-License-Identifier: LGPL-2.1-or-later
#include "rows.hpp"

#include <cstdio>

namespace gstdrm::metis {

std::optional<BoxTable> as_table(const TensorValues &tensor, Order order)
{
  const auto dims = trimmed(tensor.dims, 2);
  if (dims.size() != 2 || !is_whole(tensor))
    return std::nullopt;
  return order == Order::ColumnsFirst ? BoxTable{tensor.values, dims[1], dims[0], true}
                                      : BoxTable{tensor.values, dims[0], dims[1], false};
}

bool are_probabilities(const Range &range, float step)
{
  const float tolerance = std::max(0.05F, 3 * step);
  return !(range.least < -tolerance) && !(range.most > 1 + tolerance);
}

Result<void> check_probabilities(const Decoder &decoder, Tensors tensors, const Range &range,
                                 float step)
{
  if (are_probabilities(range, step))
    return {};
  char text[96];
  std::snprintf(text, sizeof text, "its scores go from %g to %g, and probabilities from 0 to 1",
                static_cast<double>(range.least), static_cast<double>(range.most));
  return unusable(decoder.word, tensors, text);
}

void settle_scores(const Range &range, float step, OutputForm &form)
{
  if (form.scores == ScoreForm::Unknown)
    form.scores = are_probabilities(range, step) ? ScoreForm::Probabilities : ScoreForm::Logits;
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
  if (options.input_width == 0 || options.input_height == 0)
    return unusable(decoder.word, tensors, "the size of the model's input is not known");
  reader.scale_x = static_cast<float>(options.input_width);
  reader.scale_y = static_cast<float>(options.input_height);
  return reader;
}

Result<void> check_pixels(const Decoder &decoder, Tensors tensors, const OutputForm &form,
                          const BoxTable &table)
{
  constexpr std::size_t kMany = 100; // a few boxes say nothing
  if (form.unit != BoxUnit::Unknown || table.boxes < kMany)
    return {};
  Range numbers;
  for (std::size_t box = 0; box < table.boxes; box++)
    for (std::size_t column = 0; column < 4; column++)
      numbers.add(table.at(box, column));
  if (numbers.most > 0 && numbers.most < 2)
    return unusable(decoder.word, tensors,
                    "all boxes lie within two pixels, as normalised ones do, for which the model's "
                    "description has box-unit=normalised or box-unit=pixels");
  return {};
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

} // namespace gstdrm::metis

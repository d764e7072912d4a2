// SPDX-License-Identifier: LGPL-2.1-or-later
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder embedding_decoder;

namespace {

// One tensor of numbers that say what the picture is like, as ArcFace and CLIP have it: an object
// as large as the input with the numbers divided by their length, so that the scalar product of two
// is the cosine of the angle between them. Not recognised by its dimensions, which any list of
// numbers has.
Result<std::vector<Detection>> decode_embedding(Tensors tensors, const DecodeOptions &options,
                                                OutputForm &)
{
  const auto is_above_1 = [](std::size_t dim) { return dim > 1; };
  if (tensors.size() != 1 || !is_whole(tensors[0]) ||
      std::count_if(tensors[0].dims.begin(), tensors[0].dims.end(), is_above_1) != 1)
    return unusable(embedding_decoder.word, tensors, "it needs one tensor with a list of numbers");
  if (options.input_width == 0 || options.input_height == 0)
    return unusable(embedding_decoder.word, tensors, "the size of the model's input is not known");
  double squares = 0;
  for (const float value : tensors[0].values)
    squares += static_cast<double>(value) * value;
  if (!std::isfinite(squares) || !(squares > 0)) // no direction
    return std::vector<Detection>();
  Detection whole{
      0, 0, static_cast<float>(options.input_width), static_cast<float>(options.input_height), 1,
      0, {}};
  for (const float value : tensors[0].values)
    whole.embedding.push_back(static_cast<float>(value / std::sqrt(squares)));
  std::vector<Detection> found;
  found.push_back(std::move(whole));
  return found;
}

} // namespace

const Decoder embedding_decoder = {.word = "embedding",
                                   .outputs = "a list of numbers",
                                   .fits = nullptr,
                                   .decode = decode_embedding,
                                   .only_label = "embedding"};

} // namespace gstdrm::metis

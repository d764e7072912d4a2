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
  const auto list =
      one_list(embedding_decoder, tensors, options, "it needs one tensor with a list of numbers");
  if (!list)
    return list.error();
  double squares = 0;
  for (const float value : *list)
    squares += static_cast<double>(value) * value;
  if (!std::isfinite(squares) || !(squares > 0)) // no direction
    return std::vector<Detection>();
  Detection whole = whole_input(options, 1, 0);
  for (const float value : *list)
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

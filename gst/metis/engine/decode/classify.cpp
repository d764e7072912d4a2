// SPDX-License-Identifier: LGPL-2.1-or-later
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder classify_decoder;

namespace {

// One tensor with a number per class, all other dimensions 1: probabilities, or logits that are
// made probabilities by softmax. Each class from the threshold on is an object as large as the
// input. Not recognised by its dimensions, which any list of numbers has.
Result<std::vector<Detection>> decode_classify(Tensors tensors, const DecodeOptions &options,
                                               OutputForm &form)
{
  const auto count_above_1 = [](const std::vector<std::size_t> &dims) {
    return std::count_if(dims.begin(), dims.end(), [](std::size_t dim) { return dim > 1; });
  };
  if (tensors.size() != 1 || !is_whole(tensors[0]) || count_above_1(tensors[0].dims) != 1)
    return unusable(classify_decoder.word, tensors, "it needs one tensor with a number per class");
  if (options.input_width == 0 || options.input_height == 0)
    return unusable(classify_decoder.word, tensors, "the size of the model's input is not known");
  const std::span<const float> values = tensors[0].values;
  Range range;
  range.add(values);
  settle_scores(range, tensors[0].step, form);
  const bool logits = form.scores == ScoreForm::Logits;
  double sum = 0; // of softmax; without the largest logit exp() would overflow
  for (std::size_t i = 0; logits && i < values.size(); i++)
    if (std::isfinite(values[i]))
      sum += static_cast<double>(std::exp(values[i] - range.most));
  std::vector<Detection> found;
  for (std::size_t i = 0; i < values.size(); i++) {
    if (!std::isfinite(values[i]))
      continue;
    const float score =
        logits ? static_cast<float>(static_cast<double>(std::exp(values[i] - range.most)) / sum)
               : std::min(values[i], 1.0F);
    if (!(score >= options.threshold))
      continue;
    found.push_back({0,
                     0,
                     static_cast<float>(options.input_width),
                     static_cast<float>(options.input_height),
                     score,
                     static_cast<std::uint32_t>(i),
                     {}});
  }
  return best_of(std::move(found), 1.0F, options.max_detections);
}

} // namespace

const Decoder classify_decoder = {.word = "classify",
                                  .outputs = "a number per class",
                                  .fits = nullptr,
                                  .decode = decode_classify,
                                  .reads_scores = true};

} // namespace gstdrm::metis

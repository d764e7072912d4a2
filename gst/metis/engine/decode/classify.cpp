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
  const auto list =
      one_list(classify_decoder, tensors, options, "it needs one tensor with a number per class");
  if (!list)
    return list.error();
  const std::span<const float> values = *list;
  Range range;
  range.add(tensors[0]);
  settle_scores(range, form);
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
    found.push_back(whole_input(options, score, static_cast<std::uint32_t>(i)));
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

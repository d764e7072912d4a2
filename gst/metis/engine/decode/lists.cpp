// SPDX-License-Identifier: LGPL-2.1-or-later
// Models whose only output is a list of numbers about the whole picture.
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder classify_decoder, embedding_decoder;

namespace {

// The numbers of a model's only tensor, of whose dimensions one is above 1. Returns an Error that
// says what the decoder needs, `what`, or as need_input_size().
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

// An object as large as the input.
Detection whole_input(const DecodeOptions &options, float score, std::uint32_t label)
{
  Detection whole;
  whole.width = static_cast<float>(options.input_width);
  whole.height = static_cast<float>(options.input_height);
  whole.score = score;
  whole.label = label;
  return whole;
}

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
  const auto object_of = [&](std::size_t i) -> std::optional<Detection> {
    if (!std::isfinite(values[i]))
      return std::nullopt;
    const float score =
        logits ? static_cast<float>(static_cast<double>(std::exp(values[i] - range.most)) / sum)
               : std::min(values[i], 1.0F);
    if (!(score >= options.threshold))
      return std::nullopt;
    return whole_input(options, score, static_cast<std::uint32_t>(i));
  };
  return best_rows(values.size(), options, object_of, kKeepOverlapping);
}

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
  return std::vector<Detection>{std::move(whole)};
}

} // namespace

const Decoder classify_decoder = {.word = "classify",
                                  .outputs = "a number per class",
                                  .fits = nullptr,
                                  .decode = decode_classify,
                                  .whole_picture = true,
                                  .reads_scores = true};

const Decoder embedding_decoder = {.word = "embedding",
                                   .outputs = "a list of numbers",
                                   .fits = nullptr,
                                   .decode = decode_embedding,
                                   .only_label = "embedding",
                                   .whole_picture = true};

} // namespace gstdrm::metis

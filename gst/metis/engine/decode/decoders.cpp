// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decoders.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace gstdrm::metis {

extern const Decoder blazeface_decoder, ssd_decoder, yolov8_decoder, pose_decoder, segment_decoder,
    obb_decoder, yolox_decoder, yolov5_decoder, yolov10_decoder, ultraface_decoder,
    retinaface_decoder, scrfd_decoder, yunet_decoder, fastestdet_decoder, classify_decoder,
    embedding_decoder;

namespace {

constexpr Decoder kNone = {"none", "any, which pass without being decoded", nullptr, nullptr};

constexpr std::array<const Decoder *, 17> kDecoders = {
    &blazeface_decoder,  &ssd_decoder,   &yolov8_decoder, &pose_decoder,       &segment_decoder,
    &obb_decoder,        &yolox_decoder, &yolov5_decoder, &yolov10_decoder,    &ultraface_decoder,
    &retinaface_decoder, &scrfd_decoder, &yunet_decoder,  &fastestdet_decoder, &classify_decoder,
    &embedding_decoder,  &kNone,
};

std::string_view without_spaces(std::string_view text)
{
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

std::string quoted_text(std::string_view text)
{
  return '"' + std::string(text) + '"';
}

Error refused_setting(const std::string &why)
{
  return {ErrorCode::Unsupported, why, 0};
}

constexpr const char *kBoxForms[] = {"", "xyxy", "yxyx", "cxcywh", "offsets"};

std::string box_forms_of(const Decoder &decoder)
{
  std::string list;
  for (std::size_t i = 1; i < std::size(kBoxForms); i++)
    if (decoder.reads_boxes & bit_of(static_cast<BoxForm>(i)))
      list += (list.empty() ? "" : ", ") + std::string(kBoxForms[i]);
  return list;
}

// The place of `value` among `words`, which start with a word that stands for nothing.
template <typename Choice, std::size_t N>
std::optional<Choice> choice_of(std::string_view value, const char *const (&words)[N])
{
  for (std::size_t i = 1; i < N; i++)
    if (value == words[i])
      return static_cast<Choice>(i);
  return std::nullopt;
}

Result<void> read_key(std::string_view key, std::string_view value, OutputSetting &setting)
{
  constexpr const char *kScoreForms[] = {"", "probabilities", "logits"};
  constexpr const char *kUnits[] = {"", "pixels", "normalised"};
  const Decoder &decoder = *setting.decoder;
  const auto refuse = [&](const std::string &values) {
    return refused_setting(quoted_text(value) + " is no value of the key " + std::string(key) +
                           " for the decoder " + decoder.word + "; " + values);
  };
  if (key == "scores" && decoder.reads_scores) {
    const auto scores = choice_of<ScoreForm>(value, kScoreForms);
    if (!scores)
      return refuse("it may be probabilities or logits.");
    setting.form.scores = *scores;
  } else if (key == "boxes" && decoder.reads_boxes != 0) {
    const auto boxes = choice_of<BoxForm>(value, kBoxForms);
    if (!boxes || !(decoder.reads_boxes & bit_of(*boxes)))
      return refuse("it may be one of " + box_forms_of(decoder) + ".");
    setting.form.boxes = *boxes;
  } else if (key == "box-unit" && decoder.reads_unit) {
    const auto unit = choice_of<BoxUnit>(value, kUnits);
    if (!unit)
      return refuse("it may be pixels or normalised.");
    setting.form.unit = *unit;
  } else {
    return refused_setting("The decoder " + std::string(decoder.word) + " has no key " +
                           quoted_text(key) + ".");
  }
  return {};
}

} // namespace

std::span<const Decoder *const> decoders()
{
  return kDecoders;
}

const Decoder *decoder_named(std::string_view word)
{
  const auto found = std::find_if(kDecoders.begin(), kDecoders.end(),
                                  [&](const Decoder *decoder) { return word == decoder->word; });
  return found == kDecoders.end() ? nullptr : *found;
}

std::string decoder_words()
{
  std::string words;
  for (const Decoder *decoder : kDecoders)
    words += (words.empty() ? "" : ", ") + std::string(decoder->word);
  return words;
}

Result<OutputSetting> read_output_setting(std::string_view text)
{
  OutputSetting setting;
  if (without_spaces(text).empty())
    return setting;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string_view part = without_spaces(text.substr(start, end - start));
    start = end + 1;
    if (!setting.decoder) {
      setting.decoder = decoder_named(part);
      if (!setting.decoder)
        return refused_setting("There is no decoder " + quoted_text(part) + "; it may be one of " +
                               decoder_words() + ".");
      continue;
    }
    const std::size_t equal = part.find('=');
    if (equal == std::string_view::npos)
      return refused_setting(quoted_text(part) + " is no KEY=VALUE.");
    const auto read = read_key(without_spaces(part.substr(0, equal)),
                               without_spaces(part.substr(equal + 1)), setting);
    if (!read)
      return read.error();
  }
  return setting;
}

Result<const Decoder *> recognise(Tensors tensors, const DecodeOptions &options)
{
  const Decoder *found = nullptr;
  std::string candidates;
  for (const Decoder *decoder : kDecoders) {
    if (!decoder->fits || !decoder->fits(tensors, options))
      continue;
    candidates += (found ? ", " : "") + std::string(decoder->word);
    found = found ? &kNone : decoder; // kNone: several
  }
  if (found && found != &kNone)
    return found;
  return Error{
      ErrorCode::Layout,
      "The model gave " + describe(tensors) +
          (found ? ", which the decoders " + candidates + " all read, each as something else. Set"
                 : ", which is like the tensors of no decoder that is recognised. Set") +
          " the property decoder, or decoder= in the model's description, to the kind of "
          "the model: " +
          (found ? "one of these" : decoder_words()) + ".",
      0};
}

Result<ModelDecoder> ModelDecoder::create(const OutputSetting &setting, Tensors first,
                                          const DecodeOptions &options)
{
  if (setting.decoder)
    return ModelDecoder(setting.decoder, setting.form,
                        "as the model's description or the property says");
  const auto decoder = recognise(first, options);
  if (!decoder)
    return decoder.error();
  return ModelDecoder(*decoder, setting.form, "only this decoder reads " + describe(first));
}

std::string ModelDecoder::describe_choice() const
{
  const char *scores = form_.scores == ScoreForm::Logits          ? "; the scores are logits"
                       : form_.scores == ScoreForm::Probabilities ? "; the scores are probabilities"
                                                                  : "";
  return std::string(decoder_->word) + ", " + why_ + scores;
}

Result<std::vector<Detection>> ModelDecoder::decode(Tensors tensors, const DecodeOptions &options)
{
  if (!decoder_->decode)
    return std::vector<Detection>();
  auto found = decoder_->decode(tensors, options, form_);
  form_.settled = form_.settled || static_cast<bool>(found);
  return found;
}

} // namespace gstdrm::metis

// SPDX-License-Identifier: LGPL-2.1-or-later
// From a model's output tensors to the objects that it found.
//
// Each family of models has a function and a row of the table of decoders; decoders.cpp lists the
// rows.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "detection.hpp"

namespace gstdrm::metis {

constexpr unsigned bit_of(BoxForm form)
{
  return 1U << static_cast<unsigned>(form);
}

// A row of the table.
struct Decoder {
  const char *word;    // in a model's description, and the property of drmtensordecode
  const char *outputs; // what its tensors look like, for messages
  // Whether the dimensions are those of such a model. nullptr: these are the dimensions of many
  // other models too, so that this decoder is never guessed.
  bool (*fits)(Tensors tensors, const DecodeOptions &options);
  // Sorts by score, best first, returns at most DecodeOptions::max_detections, and drops boxes with
  // a number that is not finite. ErrorCode::Layout if such a model has no output tensors of these
  // dimensions, or, as long as the form is not settled, values; the message has all names and
  // dimensions. Completes the form. nullptr: nothing is decoded.
  Result<std::vector<Detection>> (*decode)(Tensors tensors, const DecodeOptions &options,
                                           OutputForm &form);
  const char *only_label = nullptr; // the name of class 0 of a model that has one class
  bool whole_picture = false;       // its objects say something of the whole picture
  // Keys of the description that the decoder reads.
  bool reads_scores = false;
  unsigned reads_boxes = 0; // bit_of() each form
  bool reads_unit = false;
};

std::span<const Decoder *const> decoders();
const Decoder *decoder_named(std::string_view word); // nullptr: there is none
std::string decoder_words();                         // "blazeface, ssd, …"

// What the description of a model says about its outputs.
struct OutputSetting {
  const Decoder *decoder = nullptr; // nullptr: not said
  OutputForm form;
};

// Reads "WORD", or "WORD,KEY=VALUE,…" with the keys scores, boxes and box-unit, as it travels with
// the tensors (gst_drm_tensor_meta_get_decoder()). Nothing is said by an empty text. Returns an
// Error that lists the known words for an unknown one.
Result<OutputSetting> read_output_setting(std::string_view text);

// The one decoder for tensors of these dimensions. Returns an Error that lists the candidates if
// there are several, and one if there is none.
Result<const Decoder *> recognise(Tensors tensors, const DecodeOptions &options);

// Decodes the outputs of one model, all in the same way. One thread at a time.
class ModelDecoder {
public:
  // Decides with the tensors of the model's first frame what `setting` leaves open.
  static Result<ModelDecoder> create(const OutputSetting &setting, Tensors first,
                                     const DecodeOptions &options);

  [[nodiscard]] const Decoder &decoder() const noexcept { return *decoder_; }
  // Whether a frame was decoded, so that nothing is open any more.
  [[nodiscard]] bool settled() const noexcept { return form_.settled; }
  // For the log: the decoder, what decided, and what the scores are taken for.
  [[nodiscard]] std::string describe_choice() const;
  Result<std::vector<Detection>> decode(Tensors tensors, const DecodeOptions &options);

private:
  ModelDecoder(const Decoder *decoder, const OutputForm &form, std::string why)
      : decoder_(decoder), form_(form), why_(std::move(why))
  {
  }

  const Decoder *decoder_;
  OutputForm form_;
  std::string why_;
};

} // namespace gstdrm::metis

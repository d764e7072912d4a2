// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decoders.hpp"

namespace gstdrm::metis {

std::optional<DecoderKind> decoder_named(std::string_view name)
{
  if (name == "blazeface")
    return DecoderKind::BlazeFace;
  if (name == "ssd")
    return DecoderKind::Ssd;
  if (name == "yolov8")
    return DecoderKind::YoloV8;
  return std::nullopt;
}

Result<DecoderKind> recognise(Tensors tensors)
{
  if (looks_like_blazeface(tensors))
    return DecoderKind::BlazeFace;
  if (looks_like_yolov8(tensors))
    return DecoderKind::YoloV8;
  if (looks_like_ssd(tensors))
    return DecoderKind::Ssd;
  return Error{ErrorCode::Layout,
               "The model gave " + describe(tensors) +
                   ", which is like the tensors of no known decoder (blazeface, ssd, yolov8). Set "
                   "the property decoder to the kind of the model, or use a model of these kinds.",
               0};
}

Result<std::vector<Detection>> decode(DecoderKind kind, Tensors tensors,
                                      const DecodeOptions &options)
{
  switch (kind) {
  case DecoderKind::BlazeFace:
    return decode_blazeface(tensors, options);
  case DecoderKind::Ssd:
    return decode_ssd(tensors, options);
  case DecoderKind::YoloV8:
    return decode_yolov8(tensors, options);
  }
  return Error{ErrorCode::Unsupported, "There is no such decoder.", 0};
}

} // namespace gstdrm::metis

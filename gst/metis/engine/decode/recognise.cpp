// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>

#include "decode_parts.hpp"
#include "yolov8_layout.hpp"

namespace gstdrm::metis {

namespace {

bool looks_like_yolov8(Tensors tensors)
{
  if (tensors.size() == 1) {
    const auto dims = trimmed(tensors[0].dims, 2);
    return dims.size() == 2 && std::min(dims[0], dims[1]) >= 5;
  }
  return tensors.size() % 2 == 0 && std::any_of(tensors.begin(), tensors.end(), is_box_grid);
}

bool looks_like_blazeface(Tensors tensors)
{
  if (tensors.size() != 2)
    return false;
  const auto rows_of_16 = [](const TensorValues &tensor) {
    const auto dims = trimmed(tensor.dims, 2);
    return dims.size() == 2 && dims[1] == 16;
  };
  const bool first = rows_of_16(tensors[0]);
  return first != rows_of_16(tensors[1]) &&
         tensors[first ? 1 : 0].values.size() * 16 == tensors[first ? 0 : 1].values.size();
}

bool looks_like_ssd(Tensors tensors)
{
  if (tensors.size() < 3 || tensors.size() > 4)
    return false;
  return std::any_of(tensors.begin(), tensors.end(), [](const TensorValues &tensor) {
    const auto dims = trimmed(tensor.dims, 2);
    return dims.size() == 2 && dims[1] == 4;
  });
}

} // namespace

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

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "axr_describe.hpp"

#include <cerrno>
#include <string>

namespace gstdrm::metis::axr {

namespace {

std::vector<std::size_t> without_padding(const TensorInfo &info)
{
  std::vector<std::size_t> dims = info.dims;
  for (std::size_t d = 0; d < info.padding.size(); d++)
    dims[d] -= info.padding[d].before + info.padding[d].after;
  return dims;
}

// 0 in the description: any size
bool agree(const std::vector<std::size_t> &described, const std::vector<std::size_t> &dims)
{
  if (described.size() != dims.size())
    return false;
  for (std::size_t d = 0; d < dims.size(); d++)
    if (described[d] != 0 && described[d] != dims[d])
      return false;
  return true;
}

// A description may count the padding or not.
Result<TensorInfo> merged(const Model &model, const TensorInfo &described, const TensorInfo &real)
{
  if (!described.dims.empty() && !agree(described.dims, real.dims) &&
      !agree(described.dims, without_padding(real)))
    return Error{ErrorCode::Conflict,
                 "The tensor \"" + real.name + "\" of the model \"" + model.path + "\" has " +
                     dims_text(real.dims) + " elements, and its description says " +
                     dims_text(described.dims) +
                     ". Describe the model that is compiled, or leave the dimensions out.",
                 EINVAL};
  TensorInfo all = real;
  all.id = described.id;
  all.column_major = described.column_major;
  if (all.name.empty())
    all.name = described.name;
  return all;
}

// The one of that name, else the one at that place that has no name.
TensorInfo description_of(const std::vector<TensorInfo> &described, const TensorInfo &real,
                          std::size_t place)
{
  for (const TensorInfo &each : described)
    if (!each.name.empty() && each.name == real.name)
      return each;
  if (place < described.size() && (described[place].name.empty() || real.name.empty()))
    return described[place];
  return {};
}

Result<void> check_input(const Model &model, const TensorInfo &input)
{
  const std::string which = "The input of the model \"" + model.path + "\" has " +
                            dims_text(input.dims) + " elements (N, height, width, channels)";
  if (input.dims.size() != 4)
    return Error{ErrorCode::Unsupported, which + "; four dimensions can be used.", ENOTSUP};
  if (input.dims[0] != 1)
    return Error{ErrorCode::Unsupported,
                 which + ", so it takes " + std::to_string(input.dims[0]) +
                     " pictures at once. Compile the model for one.",
                 ENOTSUP};
  const std::size_t channels = without_padding(input)[3];
  // compilers round three channels up, and not all of them call the rest padding
  if (channels != 3 && channels != 4)
    return Error{ErrorCode::Unsupported,
                 which + ", of which " + std::to_string(channels) +
                     " channels have values; three can be filled.",
                 ENOTSUP};
  return {};
}

} // namespace

Result<void> complete(Model &model, const TensorInfo &input, const std::vector<TensorInfo> &outputs)
{
  if (Result<void> checked = check_input(model, input); !checked)
    return checked;
  if (!model.outputs.empty() && model.outputs.size() != outputs.size())
    return Error{ErrorCode::Conflict,
                 "The model \"" + model.path + "\" has " + std::to_string(outputs.size()) +
                     " outputs, and its description says " + std::to_string(model.outputs.size()) +
                     ". Describe the model that is compiled.",
                 EINVAL};
  Result<TensorInfo> all = merged(model, model.input, input);
  if (!all)
    return all.error();
  std::vector<TensorInfo> all_outputs;
  for (std::size_t n = 0; n < outputs.size(); n++) {
    Result<TensorInfo> one =
        merged(model, description_of(model.outputs, outputs[n], n), outputs[n]);
    if (!one)
      return one.error();
    all_outputs.push_back(std::move(*one));
  }
  model.image.layout = TensorLayout::Nhwc;
  model.input = std::move(*all);
  model.outputs = std::move(all_outputs);
  return {};
}

} // namespace gstdrm::metis::axr

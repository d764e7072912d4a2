// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cpu_model.hpp"

#include <algorithm>
#include <utility>

namespace gstdrm::metis {

namespace {

// Of the input: 16 times what a picture of 4096x4096 needs, so that a mistaken description is an
// Error and not the end of the machine's memory.
constexpr std::size_t kMaxElements = std::size_t{1} << 30;

Error refuse(const Model &model, const std::string &why)
{
  return Error{ErrorCode::Unsupported, "The model " + model.path + " " + why, 0};
}

std::string names_text(const std::vector<OnnxTensor> &tensors)
{
  std::string names;
  for (const OnnxTensor &tensor : tensors)
    names += (names.empty() ? "" : ", ") + tensor.name;
  return names.empty() ? "none" : names;
}

std::vector<std::size_t> known_dims(const OnnxTensor &tensor)
{
  std::vector<std::size_t> dims;
  for (const std::int64_t dim : tensor.dims)
    dims.push_back(dim > 0 ? static_cast<std::size_t>(dim) : 0);
  return dims;
}

// What one side does not know comes from the other.
Result<std::vector<std::size_t>> merge_dims(const Model &model, const TensorInfo &described,
                                            const OnnxTensor &tensor)
{
  std::vector<std::size_t> dims = known_dims(tensor);
  if (described.dims.empty() || dims.empty())
    return dims.empty() ? described.dims : dims;
  bool fits = described.dims.size() == dims.size();
  for (std::size_t i = 0; fits && i < dims.size(); i++) {
    fits = dims[i] == 0 || described.dims[i] == 0 || dims[i] == described.dims[i];
    dims[i] = dims[i] != 0 ? dims[i] : described.dims[i];
  }
  if (fits)
    return dims;
  return refuse(model, "has tensor " + tensor.name + " with " + dims_text(known_dims(tensor)) +
                           " elements, whereas its description says " + dims_text(described.dims) +
                           ". Correct dims in section [" + tensor.name + "] of " + model.path +
                           ".modelinfo.");
}

Result<void> complete_tensor(const Model &model, TensorInfo &described, const OnnxTensor &tensor)
{
  if (tensor.type != kOnnxFloat || described.type != TensorType::Float32)
    return refuse(model, "has tensor " + tensor.name + " of ONNX type " +
                             std::to_string(tensor.type) +
                             (described.type != TensorType::Float32
                                  ? ", and its description says another type than float32"
                                  : "") +
                             ". The CPU back end runs models with float32 (1) inputs and outputs.");
  auto dims = merge_dims(model, described, tensor);
  if (!dims)
    return dims.error();
  described.name = tensor.name;
  described.dims = std::move(*dims);
  return {};
}

// Which of the two orders of N×H×W×C the input has. Where only one has 3 channels, it is that one.
Result<TensorLayout> find_layout(const Model &model)
{
  const std::vector<std::size_t> &dims = model.input.dims;
  const bool nchw = dims[1] == 3;
  const bool nhwc = dims[3] == 3;
  if (nchw && nhwc)
    return model.image.layout;
  if (nchw || nhwc)
    return nchw ? TensorLayout::Nchw : TensorLayout::Nhwc;
  return refuse(model, "takes " + dims_text(dims) +
                           " elements, which is no picture of 3 channels: the CPU back end wants "
                           "1x3xHxW or 1xHxWx3.");
}

Result<void> complete_input(Model &model, const OnnxHeader &header)
{
  if (header.inputs.size() != 1)
    return refuse(model, "has " + std::to_string(header.inputs.size()) + " inputs (" +
                             names_text(header.inputs) + "), where 1 is needed, the picture.");
  const OnnxTensor &input = header.inputs.front();
  if (!model.input.name.empty() && model.input.name != input.name)
    return refuse(model, "has no input " + model.input.name + ", as its description says: it is " +
                             input.name + ".");
  if (const auto done = complete_tensor(model, model.input, input); !done)
    return done.error();
  std::vector<std::size_t> &dims = model.input.dims;
  if (!dims.empty() && dims[0] == 0)
    dims[0] = 1; // a variable number of pictures
  if (dims.size() != 4 || dims[0] != 1)
    return refuse(model, "takes " + dims_text(dims) +
                             " elements: the CPU back end wants one picture, 1x3xHxW or 1xHxWx3.");
  if (std::find(dims.begin(), dims.end(), 0U) != dims.end())
    return refuse(model, "takes pictures of any size (" + dims_text(dims) +
                             "). Choose one: write dims in section [" + input.name + "] of " +
                             model.path + ".modelinfo.");
  std::size_t room = kMaxElements;
  for (const std::size_t dim : dims)
    room /= dim;
  if (room == 0)
    return refuse(model, "takes " + dims_text(dims) + " elements, more than " +
                             std::to_string(kMaxElements) + ".");
  const auto layout = find_layout(model);
  if (!layout)
    return layout.error();
  model.image.layout = *layout;
  return {};
}

Result<void> complete_outputs(Model &model, const OnnxHeader &header)
{
  if (header.outputs.empty())
    return refuse(model, "has no outputs.");
  if (model.outputs.empty())
    for (const OnnxTensor &output : header.outputs)
      model.outputs.emplace_back().name = output.name;
  for (TensorInfo &described : model.outputs) {
    const auto found =
        std::find_if(header.outputs.begin(), header.outputs.end(),
                     [&](const OnnxTensor &output) { return output.name == described.name; });
    if (found == header.outputs.end())
      return refuse(model, "has no output " + described.name +
                               ", as its description says: it has " + names_text(header.outputs) +
                               ".");
    if (const auto done = complete_tensor(model, described, *found); !done)
      return done.error();
  }
  return {};
}

} // namespace

Result<Model> complete_model(Model described, const OnnxHeader &header)
{
  if (const auto done = complete_input(described, header); !done)
    return done.error();
  if (const auto done = complete_outputs(described, header); !done)
    return done.error();
  return described;
}

} // namespace gstdrm::metis

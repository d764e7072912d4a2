// SPDX-License-Identifier: LGPL-2.1-or-later
#include "onnx_model.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>
#include <sys/stat.h>
#include <unordered_set>

#include <gst/drm/core/errno_text.hpp>

namespace gstdrm::metis {

namespace {

// --- the file ------------------------------------------------------------------------------------

template <typename Values, typename Value> bool contains(const Values &values, const Value &value)
{
  return std::find(std::begin(values), std::end(values), value) != std::end(values);
}

using VisitWeight = std::function<void(const onnx::TensorProto &)>;

void each_weight(const onnx::SparseTensorProto &sparse, const VisitWeight &visit)
{
  if (sparse.has_values())
    visit(sparse.values());
  if (sparse.has_indices())
    visit(sparse.indices());
}

void each_weight(const onnx::GraphProto &graph, const VisitWeight &visit);

// Without protobuf's reflection, which Debian 14's ONNX is built without.
void each_weight(const onnx::AttributeProto &attribute, const VisitWeight &visit)
{
  if (attribute.has_t())
    visit(attribute.t());
  if (attribute.has_sparse_tensor())
    each_weight(attribute.sparse_tensor(), visit);
  if (attribute.has_g())
    each_weight(attribute.g(), visit);
  std::for_each(attribute.tensors().begin(), attribute.tensors().end(), visit);
  for (const auto &sparse : attribute.sparse_tensors())
    each_weight(sparse, visit);
  for (const auto &graph : attribute.graphs())
    each_weight(graph, visit);
}

template <typename Nodes> void each_weight_of_nodes(const Nodes &nodes, const VisitWeight &visit)
{
  for (const auto &node : nodes)
    for (const auto &attribute : node.attribute())
      each_weight(attribute, visit);
}

void each_weight(const onnx::GraphProto &graph, const VisitWeight &visit)
{
  std::for_each(graph.initializer().begin(), graph.initializer().end(), visit);
  for (const auto &sparse : graph.sparse_initializer())
    each_weight(sparse, visit);
  each_weight_of_nodes(graph.node(), visit);
}

// Calls visit(tensor) for each tensor with values of its own: weights and constants, dense and
// sparse, in the network, in networks within its operators, and in functions. protobuf has limited
// the depth.
void each_weight(const onnx::ModelProto &model, const VisitWeight &visit)
{
  each_weight(model.graph(), visit);
  for (const auto &function : model.functions())
    each_weight_of_nodes(function.node(), visit);
  for (const auto &training : model.training_info()) {
    each_weight(training.initialization(), visit);
    each_weight(training.algorithm(), visit);
  }
}

std::string external_entry(const onnx::TensorProto &weight, std::string_view key)
{
  std::string value;
  for (const auto &entry : weight.external_data())
    if (entry.key() == key)
      value = entry.value();
  return value;
}

// Its values are in another file. A file's name counts even if the tensor is not called external.
bool is_outside(const onnx::TensorProto &weight)
{
  return weight.data_location() == onnx::TensorProto::EXTERNAL ||
         !external_entry(weight, "location").empty();
}

// Has elements, and no values.
bool is_hollow(const onnx::TensorProto &weight)
{
  return !contains(weight.dims(), 0) && weight.raw_data().empty() && weight.float_data().empty() &&
         weight.double_data().empty() && weight.int32_data().empty() &&
         weight.int64_data().empty() && weight.uint64_data().empty() &&
         weight.string_data().empty();
}

// 0 for a text that is left out. The greatest number for a text that is none, so that no file is
// long enough.
std::uint64_t number(const std::string &digits)
{
  std::uint64_t value = 0;
  const char *end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, value);
  return digits.empty() || (read.ec == std::errc() && read.ptr == end)
             ? value
             : std::numeric_limits<std::uint64_t>::max();
}

bool leaves_folder(const std::filesystem::path &file)
{
  return file.is_absolute() || contains(file, "..") ||
         file.native().find('\0') != std::string::npos;
}

Error refuse(const Model &model, const std::string &why, int error = 0)
{
  return Error{ErrorCode::Unsupported, "The model " + model.path + " " + why, error};
}

Error refuse_file(const Model &model, std::size_t bytes, const std::string &why)
{
  return refuse(model, "(" + std::to_string(bytes) + " bytes) " + why +
                           " Use an ONNX file that is whole.");
}

// The file with a weight's values is in the model's folder or below it, and as long as the model
// says.
Result<void> check_outside(const Model &model, const onnx::TensorProto &weight)
{
  const std::string file = external_entry(weight, "location");
  const auto bad = [&](const std::string &why, int error = 0) {
    return refuse(model, "keeps weights in " + why, error);
  };
  if (file.empty())
    return bad("another file that it does not name.");
  if (leaves_folder(file))
    return bad("\"" + file.substr(0, file.find('\0')) +
               "\", and only files in the model's own folder are read.");
  struct stat status {};
  const auto path = std::filesystem::path(model.path).parent_path() / file;
  if (::stat(path.c_str(), &status) != 0) {
    const int error = errno;
    return bad(file + ", which cannot be read: " + errno_text(error) +
                   ". Put that file beside the model.",
               error);
  }
  if (!S_ISREG(status.st_mode))
    return bad(file + ", which is no regular file.");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const std::uint64_t offset = number(external_entry(weight, "offset"));
  const std::uint64_t length = number(external_entry(weight, "length"));
  if (offset > size || length > size - offset)
    return bad(file + ", which has " + std::to_string(size) + " bytes: " + std::to_string(length) +
               " bytes from byte " + std::to_string(offset) +
               " on are wanted. Use files of one export.");
  return {};
}

OnnxTensor tensor_of(const onnx::ValueInfoProto &value)
{
  const onnx::TypeProto_Tensor &type = value.type().tensor_type();
  OnnxTensor tensor{value.name(), type.elem_type(), {}};
  for (const auto &dim : type.shape().dim()) // a variable one has a name instead
    tensor.dims.push_back(dim.has_dim_value() ? std::max<std::int64_t>(dim.dim_value(), -1) : -1);
  return tensor;
}

// All weights have values, in this file, or in another one that the runtime may read.
Result<void> check_weights(const Model &model, std::size_t bytes, const onnx::ModelProto &proto,
                           const OnnxAbilities &runtime)
{
  std::vector<const onnx::TensorProto *> outside;
  const onnx::TensorProto *hollow = nullptr;
  each_weight(proto, [&](const onnx::TensorProto &weight) {
    if (is_outside(weight))
      outside.push_back(&weight);
    else if (!hollow && is_hollow(weight))
      hollow = &weight;
  });
  if (!outside.empty() && !runtime.files_beside) { // OpenCV divides by 0 values
    const std::string other = external_entry(*outside.front(), "location");
    return refuse(model, "keeps weights in " + (other.empty() ? "another file" : other) +
                             ", and the cpu back end of this build reads one file. Save the model "
                             "with its weights inside (onnx.save_model(onnx.load(path), path)).");
  }
  for (const onnx::TensorProto *weight : outside)
    if (const auto checked = check_outside(model, *weight); !checked)
      return checked.error();
  if (hollow)
    return refuse_file(model, bytes,
                       "has no values of the weight " +
                           (hollow->name().empty() ? "without a name" : hollow->name()) + ".");
  return {};
}

struct OnnxHeader {
  std::int64_t opset = 0;         // of the standard operators
  std::vector<OnnxTensor> inputs; // without weights, which have an initial value
  std::vector<OnnxTensor> outputs;
};

Result<OnnxHeader> read_header(std::span<const std::byte> file, const Model &model,
                               const OnnxAbilities &runtime)
{
  const auto bad = [&](const std::string &why) { return refuse_file(model, file.size(), why); };
  onnx::ModelProto proto;
  if (file.size() > std::numeric_limits<int>::max())
    return refuse(model, "has more than 2 GiB, which protobuf does not read.");
  if (!proto.ParseFromArray(file.data(), static_cast<int>(file.size())))
    return bad("is cut off or is no ONNX file.");
  if (!proto.has_graph())
    return bad("has no network in it.");

  OnnxHeader header;
  for (const auto &opset : proto.opset_import())
    if (opset.domain().empty() || opset.domain() == "ai.onnx")
      header.opset = opset.version();
  if (header.opset <= 0)
    return bad("does not say which version of ONNX's operators it wants.");

  if (const auto checked = check_weights(model, file.size(), proto, runtime); !checked)
    return checked.error();

  const onnx::GraphProto &graph = proto.graph();
  std::unordered_set<std::string> weights;
  for (const auto &weight : graph.initializer())
    weights.insert(weight.name());
  for (const auto &weight : graph.sparse_initializer())
    weights.insert(weight.values().name());
  std::unordered_set<std::string> computed;
  for (const auto &node : graph.node())
    computed.insert(node.output().begin(), node.output().end());
  for (const auto &input : graph.input())
    if (!weights.contains(input.name()))
      header.inputs.push_back(tensor_of(input));
  for (const auto &output : graph.output())
    header.outputs.push_back(tensor_of(output));

  // OpenCV reads invalid memory. complete_input() refuses a network without any input.
  const auto is_given = [&](const std::string &name) {
    return name.empty() || weights.contains(name) || computed.contains(name) ||
           std::any_of(header.inputs.begin(), header.inputs.end(),
                       [&](const OnnxTensor &input) { return input.name == name; });
  };
  for (const auto &node : graph.node())
    for (const std::string &wanted : node.input())
      if (!header.inputs.empty() && !is_given(wanted))
        return bad("has an operator that wants " + wanted + ", which nothing in it gives.");
  // OpenCV returns the result of another node
  for (const OnnxTensor &output : header.outputs)
    if (!computed.contains(output.name))
      return bad("promises an output " + output.name + ", which nothing in it computes.");
  return header;
}

// --- the model -----------------------------------------------------------------------------------

// Of the input: 16 times a picture of 4096x4096, so that a wrong description is an Error and does
// not use up the memory of the machine.
constexpr std::size_t kMaxElements = std::size_t{1} << 30;

// "float16 (10)". The names are those of TensorProto.DataType, in the order of their numbers.
std::string type_text(std::int64_t type)
{
  constexpr std::array kNames = {"an unknown type", "float32", "uint8",  "int8",   "uint16",
                                 "int16",           "int32",   "int64",  "string", "bool",
                                 "float16",         "float64", "uint32", "uint64", "complex64",
                                 "complex128",      "bfloat16"};
  const bool is_known = type >= 0 && static_cast<std::size_t>(type) < kNames.size();
  return is_known ? std::string(kNames.at(static_cast<std::size_t>(type)))
                  : "type " + std::to_string(type);
}

std::string types_text(std::span<const std::int64_t> types)
{
  std::string made;
  for (std::size_t i = 0; i < types.size(); i++)
    made += (i == 0 ? "" : i + 1 == types.size() ? " or " : ", ") + type_text(types[i]);
  return made;
}

std::string names_text(std::span<const OnnxTensor> tensors)
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

// A dimension that one side does not know comes from the other.
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

Result<void> complete_tensor(const Model &model, TensorInfo &described, const OnnxTensor &tensor,
                             std::span<const std::int64_t> types, bool may_lack_type)
{
  if (described.type != TensorType::Float32)
    return refuse(model, "has tensor " + tensor.name +
                             ", and its description says another type than float32, which the "
                             "element sees with the CPU back end whatever the model has.");
  if (!(tensor.type == kOnnxNoTensor && may_lack_type) && !contains(types, tensor.type))
    return refuse(model, "has tensor " + tensor.name + " of " + type_text(tensor.type) +
                             ", where the CPU back end of this build takes " + types_text(types) +
                             ".");
  auto dims = merge_dims(model, described, tensor);
  if (!dims)
    return dims.error();
  described.name = tensor.name;
  described.dims = std::move(*dims);
  return {};
}

// The layout with 3 channels; if both have, the one of the description.
Result<TensorLayout> find_layout(const Model &model)
{
  const std::vector<std::size_t> &dims = model.input.dims;
  const bool nchw = dims[1] == 3;
  const bool nhwc = dims[3] == 3;
  if (nchw && nhwc)
    return model.image.layout;
  if (nchw || nhwc)
    return nchw ? TensorLayout::Nchw : TensorLayout::Nhwc;
  const bool is_grey = dims[1] == 1 || dims[3] == 1;
  return refuse(model, "takes " + dims_text(dims) + " elements, which is " +
                           (is_grey ? "a grey picture and " : "") +
                           "no picture of 3 channels: the CPU back end wants 1x3xHxW or 1xHxWx3.");
}

Result<void> complete_input(Model &model, std::span<const OnnxTensor> inputs,
                            const OnnxAbilities &runtime)
{
  if (inputs.size() != 1)
    return refuse(model, "has " + std::to_string(inputs.size()) + " inputs (" + names_text(inputs) +
                             "), where 1 is needed, the picture.");
  const OnnxTensor &input = inputs.front();
  if (!model.input.name.empty() && model.input.name != input.name)
    return refuse(model, "has no input " + model.input.name + ", as its description says: it is " +
                             input.name + ".");
  if (const auto done =
          complete_tensor(model, model.input, input, runtime.input_types, runtime.infers_types);
      !done)
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

Result<void> complete_outputs(Model &model, std::span<const OnnxTensor> outputs,
                              const OnnxAbilities &runtime)
{
  if (outputs.empty())
    return refuse(model, "has no outputs.");
  if (model.outputs.empty())
    for (const OnnxTensor &output : outputs)
      model.outputs.emplace_back().name = output.name;
  for (TensorInfo &described : model.outputs) {
    const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const OnnxTensor &output) {
      return output.name == described.name;
    });
    if (found == outputs.end())
      return refuse(model, "has no output " + described.name +
                               ", as its description says: it has " + names_text(outputs) + ".");
    if (const auto done =
            complete_tensor(model, described, *found, runtime.output_types, runtime.infers_types);
        !done)
      return done.error();
  }
  return {};
}

} // namespace

Result<OnnxModel> read_onnx_model(Model described, std::span<const std::byte> file,
                                  const OnnxAbilities &runtime)
{
  const auto header = read_header(file, described, runtime);
  if (!header)
    return header.error();
  auto model = complete_model(std::move(described), header->inputs, header->outputs, runtime);
  if (!model)
    return model.error();
  return OnnxModel{std::move(*model), header->opset};
}

Result<Model> complete_model(Model described, std::span<const OnnxTensor> inputs,
                             std::span<const OnnxTensor> outputs, const OnnxAbilities &runtime)
{
  if (const auto done = complete_input(described, inputs, runtime); !done)
    return done.error();
  if (const auto done = complete_outputs(described, outputs, runtime); !done)
    return done.error();
  return described;
}

Result<void> complete_output(const Model &model, TensorInfo &output, const OnnxTensor &given,
                             const OnnxAbilities &runtime)
{
  const std::vector<std::size_t> real = known_dims(given);
  if (output.dims.empty())
    output.dims = real;
  for (std::size_t i = 0; output.dims.size() == real.size() && i < real.size(); i++)
    output.dims[i] = output.dims[i] != 0 ? output.dims[i] : real[i];
  const std::size_t count =
      std::accumulate(real.begin(), real.end(), std::size_t{1}, std::multiplies<>());
  if (contains(runtime.output_types, given.type) && output.n_elements() == count && count != 0)
    return {};
  return refuse(model, "gives " + dims_text(real) + " elements of " + type_text(given.type) +
                           " for output " + output.name + ", where " + dims_text(output.dims) +
                           " of " + types_text(runtime.output_types) + " were expected.");
}

} // namespace gstdrm::metis

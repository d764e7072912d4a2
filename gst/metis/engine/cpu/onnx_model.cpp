// SPDX-License-Identifier: LGPL-2.1-or-later
#include "onnx_model.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <gst/drm/core/errno_text.hpp>

namespace gstdrm::metis {

namespace {

// Weights in another file.
struct OutsideWeights {
  std::string file; // relative to the model's folder
  std::uint64_t offset = 0;
  std::uint64_t length = 0; // 0: to be seen from their dimensions
};

struct OnnxHeader {
  std::int64_t opset = 0;         // of the standard operators
  std::vector<OnnxTensor> inputs; // without weights, which have an initial value
  std::vector<OnnxTensor> outputs;
  std::vector<std::string> computed; // outputs of nodes
  std::string missing;               // the first input of a node that nothing computes
  std::vector<OutsideWeights> outside;
  std::string hollow; // the first weight with elements and without values
};

// --- the file ------------------------------------------------------------------------------------

using Bytes = std::span<const std::byte>;

// protobuf.dev/programming-guides/encoding: the low three bits of a field's tag
enum class Wire : std::uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct Field {
  std::uint64_t number = 0;
  Wire wire = Wire::Varint;
  std::uint64_t value = 0; // Wire::Varint
  Bytes bytes;             // Wire::Bytes
};

std::optional<std::uint64_t> take_varint(Bytes &rest)
{
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (rest.empty())
      return std::nullopt;
    const auto byte = std::to_integer<std::uint64_t>(rest.front());
    rest = rest.subspan(1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80)
      return value;
  }
  return std::nullopt;
}

std::optional<Bytes> take_bytes(Bytes &rest, std::uint64_t count)
{
  if (count > rest.size())
    return std::nullopt;
  const Bytes taken = rest.first(static_cast<std::size_t>(count));
  rest = rest.subspan(static_cast<std::size_t>(count));
  return taken;
}

std::optional<Field> take_field(Bytes &rest)
{
  const auto tag = take_varint(rest);
  if (!tag || *tag >> 3 == 0)
    return std::nullopt;
  Field field{*tag >> 3, static_cast<Wire>(*tag & 7), 0, {}};
  std::optional<std::uint64_t> number;
  std::optional<Bytes> bytes;
  switch (field.wire) {
  case Wire::Varint:
    number = take_varint(rest);
    if (!number)
      return std::nullopt;
    field.value = *number;
    return field;
  case Wire::Bytes:
    number = take_varint(rest);
    bytes = number ? take_bytes(rest, *number) : std::nullopt;
    break;
  case Wire::Fixed64:
    bytes = take_bytes(rest, 8);
    break;
  case Wire::Fixed32:
    bytes = take_bytes(rest, 4);
    break;
  }
  if (!bytes)
    return std::nullopt;
  field.bytes = *bytes;
  return field;
}

// Calls visit(field) for each field. Returns false if the message is cut off or is no protobuf
// message, or if visit() returned false.
template <typename Visit> bool each_field(Bytes message, Visit visit)
{
  while (!message.empty()) {
    const auto field = take_field(message);
    if (!field || !visit(*field))
      return false;
  }
  return true;
}

bool is_message(const Field &field, std::uint64_t number)
{
  return field.number == number && field.wire == Wire::Bytes;
}

std::string text(Bytes bytes)
{
  std::string made(bytes.size(), '\0');
  std::transform(bytes.begin(), bytes.end(), made.begin(),
                 [](std::byte byte) { return std::to_integer<char>(byte); });
  return made;
}

// TensorShapeProto.Dimension: dim_value 1; a variable dimension has a name instead
bool read_dim(Bytes message, std::int64_t &dim)
{
  return each_field(message, [&](const Field &field) {
    if (field.number == 1 && field.wire == Wire::Varint)
      dim = std::max<std::int64_t>(static_cast<std::int64_t>(field.value), -1);
    return true;
  });
}

// TypeProto.Tensor: elem_type 1, shape 2, which has dim 1
bool read_tensor_type(Bytes message, OnnxTensor &tensor)
{
  return each_field(message, [&](const Field &field) {
    if (field.number == 1 && field.wire == Wire::Varint)
      tensor.type = static_cast<std::int64_t>(field.value);
    if (!is_message(field, 2))
      return true;
    return each_field(field.bytes, [&](const Field &dim) {
      return !is_message(dim, 1) || read_dim(dim.bytes, tensor.dims.emplace_back(-1));
    });
  });
}

// ValueInfoProto: name 1, type 2, which has tensor_type 1
bool read_value_info(Bytes message, OnnxTensor &tensor)
{
  return each_field(message, [&](const Field &field) {
    if (is_message(field, 1))
      tensor.name = text(field.bytes);
    if (!is_message(field, 2))
      return true;
    return each_field(field.bytes, [&](const Field &type) {
      return !is_message(type, 1) || read_tensor_type(type.bytes, tensor);
    });
  });
}

template <typename Values, typename Value> bool contains(const Values &values, const Value &value)
{
  return std::find(values.begin(), values.end(), value) != values.end();
}

// The greatest number for a text that is none, so that no file is long enough.
std::uint64_t number(const std::string &digits)
{
  std::uint64_t value = 0;
  const char *end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, value);
  return read.ec == std::errc() && read.ptr == end ? value
                                                   : std::numeric_limits<std::uint64_t>::max();
}

// StringStringEntryProto: key 1, value 2
bool read_external_entry(Bytes message, OutsideWeights &weights)
{
  std::string key;
  std::string value;
  const bool whole = each_field(message, [&](const Field &field) {
    if (is_message(field, 1))
      key = text(field.bytes);
    else if (is_message(field, 2))
      value = text(field.bytes);
    return true;
  });
  if (key == "location")
    weights.file = value;
  else if (key == "offset")
    weights.offset = number(value);
  else if (key == "length")
    weights.length = number(value);
  return whole;
}

// TensorProto: dims 1, name 8, external_data 13, data_location 14 (1: EXTERNAL); values in 4 to 7
// or 9 to 11
bool read_weight(Bytes message, OnnxHeader &header, std::string &name)
{
  bool is_external = false;
  bool has_values = false;
  bool is_empty = false;
  OutsideWeights outside;
  const bool whole = each_field(message, [&](const Field &field) {
    if (field.number == 1 && field.wire == Wire::Varint)
      is_empty |= field.value == 0;
    else if (is_message(field, 1)) // packed
      is_empty |=
          std::find(field.bytes.begin(), field.bytes.end(), std::byte{0}) != field.bytes.end();
    else if (is_message(field, 8))
      name = text(field.bytes);
    else if (is_message(field, 13))
      return read_external_entry(field.bytes, outside);
    else if (field.number == 14 && field.wire == Wire::Varint)
      is_external = field.value == 1;
    else if (field.number >= 4 && field.number <= 11)
      has_values |= field.wire != Wire::Bytes || !field.bytes.empty();
    return true;
  });
  // a file's name counts even if this part does not call it external: protobuf joins a message that
  // is there twice
  if (is_external || !outside.file.empty())
    header.outside.push_back(std::move(outside));
  else if (!has_values && !is_empty && header.hollow.empty())
    header.hollow = name.empty() ? "without a name" : name;
  return whole;
}

// SparseTensorProto: values 1, indices 2
bool read_sparse_weight(Bytes message, OnnxHeader &header)
{
  return each_field(message, [&](const Field &field) {
    std::string name;
    return !(is_message(field, 1) || is_message(field, 2)) ||
           read_weight(field.bytes, header, name);
  });
}

// A network in an attribute, as both ways of an If, and in that another one, up to a depth that no
// real network has.
constexpr unsigned kMaxDepth = 32;
bool read_inner_graph(Bytes message, OnnxHeader &header, unsigned depth);

// AttributeProto, only for the weights in it: tensor 5, graph 6, tensors 10, graphs 11,
// sparse_tensor 22, sparse_tensors 23
bool read_attribute(Bytes message, OnnxHeader &header, unsigned depth)
{
  return each_field(message, [&](const Field &field) {
    std::string name;
    if (is_message(field, 5) || is_message(field, 10))
      return read_weight(field.bytes, header, name);
    if (is_message(field, 22) || is_message(field, 23))
      return read_sparse_weight(field.bytes, header);
    return !(is_message(field, 6) || is_message(field, 11)) ||
           read_inner_graph(field.bytes, header, depth + 1);
  });
}

// NodeProto: attribute 5
bool read_attributes(Bytes message, OnnxHeader &header, unsigned depth)
{
  return each_field(message, [&](const Field &field) {
    return !is_message(field, 5) || read_attribute(field.bytes, header, depth);
  });
}

// GraphProto: see read_graph()
bool read_inner_graph(Bytes message, OnnxHeader &header, unsigned depth)
{
  return depth <= kMaxDepth && each_field(message, [&](const Field &field) {
           std::string name;
           if (is_message(field, 1))
             return read_attributes(field.bytes, header, depth);
           if (is_message(field, 5))
             return read_weight(field.bytes, header, name);
           return !is_message(field, 15) || read_sparse_weight(field.bytes, header);
         });
}

// FunctionProto: node 7, attribute_proto 11
bool read_function(Bytes message, OnnxHeader &header)
{
  return each_field(message, [&](const Field &field) {
    if (is_message(field, 7))
      return read_attributes(field.bytes, header, 0);
    return !is_message(field, 11) || read_attribute(field.bytes, header, 0);
  });
}

// NodeProto: input 1, output 2
bool read_node(Bytes message, OnnxHeader &header, std::vector<std::string> &wanted)
{
  return read_attributes(message, header, 0) && each_field(message, [&](const Field &field) {
           if (is_message(field, 1))
             wanted.push_back(text(field.bytes));
           else if (is_message(field, 2))
             header.computed.push_back(text(field.bytes));
           return true;
         });
}

// OnnxHeader::missing, given the inputs of all nodes. An optional input that is left out has an
// empty name.
std::string first_missing(const std::vector<std::string> &wanted, const OnnxHeader &header,
                          const std::vector<std::string> &weights)
{
  const auto is_missing = [&](const std::string &name) {
    const bool is_input = std::any_of(header.inputs.begin(), header.inputs.end(),
                                      [&](const OnnxTensor &input) { return input.name == name; });
    return !name.empty() && !is_input && !contains(header.computed, name) &&
           !contains(weights, name);
  };
  const auto found = std::find_if(wanted.begin(), wanted.end(), is_missing);
  return found == wanted.end() ? std::string() : *found;
}

// GraphProto: node 1 (NodeProto), initializer 5 (TensorProto), input 11, output 12,
// sparse_initializer 15 (its names are not read, so nothing counts as missing then)
bool read_graph(Bytes message, OnnxHeader &header)
{
  std::vector<std::string> weights;
  std::vector<std::string> wanted;
  bool has_sparse = false;
  const bool whole = each_field(message, [&](const Field &field) {
    if (is_message(field, 1))
      return read_node(field.bytes, header, wanted);
    if (is_message(field, 15)) {
      has_sparse = true;
      return read_sparse_weight(field.bytes, header);
    }
    if (is_message(field, 5))
      return read_weight(field.bytes, header, weights.emplace_back());
    if (is_message(field, 11))
      return read_value_info(field.bytes, header.inputs.emplace_back());
    if (is_message(field, 12))
      return read_value_info(field.bytes, header.outputs.emplace_back());
    return true;
  });
  if (!has_sparse)
    header.missing = first_missing(wanted, header, weights);
  std::erase_if(header.inputs,
                [&](const OnnxTensor &input) { return contains(weights, input.name); });
  return whole;
}

// OperatorSetIdProto: domain 1 (empty or "ai.onnx": the standard operators), version 2
bool read_opset(Bytes message, OnnxHeader &header)
{
  std::string domain;
  std::int64_t version = 0;
  const bool whole = each_field(message, [&](const Field &field) {
    if (is_message(field, 1))
      domain = text(field.bytes);
    if (field.number == 2 && field.wire == Wire::Varint)
      version = static_cast<std::int64_t>(field.value);
    return true;
  });
  if (domain.empty() || domain == "ai.onnx")
    header.opset = version;
  return whole;
}

bool leaves_folder(const std::string &file)
{
  if (file.starts_with('/') || file.find('\0') != std::string::npos)
    return true;
  for (std::size_t begin = 0; begin <= file.size();) {
    const auto end = std::min(file.find('/', begin), file.size());
    if (file.compare(begin, end - begin, "..") == 0)
      return true;
    begin = end + 1;
  }
  return false;
}

// The files with weights are in the model's folder or below it, and as long as the model says.
Result<void> check_outside(const OnnxHeader &header, const std::string &path)
{
  const std::string folder = path.substr(0, path.rfind('/') + 1); // npos + 1 is 0
  for (const OutsideWeights &weights : header.outside) {
    const auto bad = [&](const std::string &why, int error) {
      return Error{ErrorCode::Unsupported, "The model " + path + " keeps weights in " + why, error};
    };
    if (weights.file.empty())
      return bad("another file that it does not name.", 0);
    if (leaves_folder(weights.file))
      return bad("\"" + weights.file.substr(0, weights.file.find('\0')) +
                     "\", and only files in the model's own folder are read.",
                 0);
    struct stat status {};
    if (::stat((folder + weights.file).c_str(), &status) != 0) {
      const int error = errno;
      return bad(weights.file + ", which cannot be read: " + errno_text(error) +
                     ". Put that file beside the model.",
                 error);
    }
    if (!S_ISREG(status.st_mode))
      return bad(weights.file + ", which is no regular file.", 0);
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (weights.offset > size || weights.length > size - weights.offset)
      return bad(weights.file + ", which has " + std::to_string(size) +
                     " bytes: " + std::to_string(weights.length) + " bytes from byte " +
                     std::to_string(weights.offset) + " on are wanted. Use files of one export.",
                 0);
  }
  return {};
}

Result<OnnxHeader> read_header(Bytes file, const std::string &path, const OnnxAbilities &runtime)
{
  OnnxHeader header;
  bool has_graph = false;
  // ModelProto: graph 7, opset_import 8, functions 25
  const bool whole = each_field(file, [&](const Field &field) {
    if (is_message(field, 7)) {
      has_graph = true;
      return read_graph(field.bytes, header);
    }
    if (is_message(field, 25))
      return read_function(field.bytes, header);
    return !is_message(field, 8) || read_opset(field.bytes, header);
  });
  const auto bad = [&](const std::string &why) {
    return Error{ErrorCode::Unsupported,
                 "The model " + path + " (" + std::to_string(file.size()) + " bytes) " + why +
                     " Use an ONNX file that is whole.",
                 0};
  };
  if (!whole)
    return bad("is cut off or is no ONNX file.");
  if (!has_graph)
    return bad("has no network in it.");
  if (header.opset <= 0)
    return bad("does not say which version of ONNX's operators it wants.");
  if (!header.outside.empty() && !runtime.files_beside) { // OpenCV divides by 0 values
    const std::string &other = header.outside.front().file;
    return Error{ErrorCode::Unsupported,
                 "The model " + path + " keeps weights in " +
                     (other.empty() ? std::string("another file") : other) +
                     ", and the cpu back end of this build reads one file. Save the model with its "
                     "weights inside (onnx.save_model(onnx.load(path), path)).",
                 0};
  }
  if (const auto checked = check_outside(header, path); !checked)
    return checked.error();
  if (!header.hollow.empty())
    return bad("has no values of the weight " + header.hollow + ".");
  // OpenCV reads invalid memory. complete_input() refuses a network without any input.
  if (!header.inputs.empty() && !header.missing.empty())
    return bad("has an operator that wants " + header.missing + ", which nothing in it gives.");
  // OpenCV returns the result of another node
  for (const OnnxTensor &output : header.outputs)
    if (!contains(header.computed, output.name))
      return bad("promises an output " + output.name + ", which nothing in it computes.");
  return header;
}

// --- the model -----------------------------------------------------------------------------------

// Of the input: 16 times a picture of 4096x4096, so that a wrong description is an Error and does
// not use up the memory of the machine.
constexpr std::size_t kMaxElements = std::size_t{1} << 30;

Error refuse(const Model &model, const std::string &why)
{
  return Error{ErrorCode::Unsupported, "The model " + model.path + " " + why, 0};
}

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
  const auto header = read_header(file, described.path, runtime);
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

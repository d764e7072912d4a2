// SPDX-License-Identifier: LGPL-2.1-or-later
// Small ONNX files, as wrong as a test wants them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gstdrm::test {

inline std::string varint(std::uint64_t value)
{
  std::string made;
  for (; value >= 0x80; value >>= 7)
    made += static_cast<char>(0x80 | (value & 0x7f));
  return made + static_cast<char>(value);
}

inline std::string onnx_number(unsigned field, std::uint64_t value)
{
  return varint(field << 3) + varint(value);
}

inline std::string onnx_bytes(unsigned field, const std::string &content)
{
  return varint(field << 3 | 2) + varint(content.size()) + content;
}

struct OnnxValue {
  std::string name;
  std::vector<std::int64_t> dims; // 0: a name instead, "n"
  int type = 1;                   // TensorProto.DataType: float; 0: neither type nor shape
};

struct OnnxNode {
  std::string op;
  std::vector<std::string> inputs, outputs;
  std::string attributes{}; // whole AttributeProto fields
};

// An AttributeProto of whole numbers (type INTS is 7), as a field of a node.
inline std::string onnx_ints(const std::string &name, const std::vector<std::int64_t> &values)
{
  std::string content = onnx_bytes(1, name);
  for (const std::int64_t value : values)
    content += onnx_number(8, static_cast<std::uint64_t>(value));
  return onnx_bytes(5, content + onnx_number(20, 7));
}

// A TensorProto of floats (data type 1) or of 64 bit numbers (7), in the byte order of this machine.
template <typename Element>
std::string onnx_weights(const std::string &name, const std::vector<std::int64_t> &dims,
                         const std::vector<Element> &values)
{
  static_assert(std::is_same_v<Element, float> || std::is_same_v<Element, std::int64_t>);
  std::string content;
  for (const std::int64_t dim : dims)
    content += onnx_number(1, static_cast<std::uint64_t>(dim));
  std::string raw(values.size() * sizeof(Element), '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  return content + onnx_number(2, std::is_same_v<Element, float> ? 1 : 7) + onnx_bytes(8, name) +
         onnx_bytes(9, raw);
}

// The fields of a TensorProto whose values are in another file. Digits, or nothing for what is left out.
inline std::string onnx_external(const std::string &file, const std::string &offset = {},
                                 const std::string &length = {})
{
  std::string made;
  const std::vector<std::pair<std::string, std::string>> entries = {
      {"location", file}, {"offset", offset}, {"length", length}};
  for (const auto &[key, value] : entries)
    if (!value.empty())
      made += onnx_bytes(13, onnx_bytes(1, key) + onnx_bytes(2, value));
  return made + onnx_number(14, 1);
}

struct OnnxModel {
  std::vector<OnnxNode> nodes;
  std::vector<OnnxValue> inputs, outputs;
  unsigned opset = 10;
  std::vector<std::string> weights{}; // onnx_weights()

  [[nodiscard]] std::string file() const
  {
    std::string graph;
    for (const OnnxNode &node : nodes) {
      std::string content;
      for (const std::string &input : node.inputs)
        content += onnx_bytes(1, input);
      for (const std::string &output : node.outputs)
        content += onnx_bytes(2, output);
      graph += onnx_bytes(1, content + onnx_bytes(3, "node_" + node.outputs.at(0)) +
                                 onnx_bytes(4, node.op) + node.attributes);
    }
    graph += onnx_bytes(2, "graph");
    for (const std::string &tensor : weights)
      graph += onnx_bytes(5, tensor);
    for (const OnnxValue &input : inputs)
      graph += onnx_bytes(11, value(input));
    for (const OnnxValue &output : outputs)
      graph += onnx_bytes(12, value(output));
    return onnx_number(1, 5) + onnx_bytes(7, graph) + onnx_bytes(8, onnx_number(2, opset));
  }

private:
  static std::string value(const OnnxValue &given)
  {
    if (given.type == 0)
      return onnx_bytes(1, given.name);
    std::string shape;
    for (const std::int64_t dim : given.dims)
      shape += onnx_bytes(1, dim != 0 ? onnx_number(1, static_cast<std::uint64_t>(dim))
                                      : onnx_bytes(2, "n"));
    const std::string tensor =
        onnx_number(1, static_cast<std::uint64_t>(given.type)) + onnx_bytes(2, shape);
    return onnx_bytes(1, given.name) + onnx_bytes(2, onnx_bytes(1, tensor));
  }
};

} // namespace gstdrm::test

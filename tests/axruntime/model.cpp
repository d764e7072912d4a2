// SPDX-License-Identifier: LGPL-2.1-or-later
#include <memory>

#include <json-c/json.h>

#include "objects.hpp"

namespace gstdrm::test {

namespace {

constexpr const char *kVersion = "gst-drm-test-1";

struct Put {
  void operator()(json_object *object) const noexcept { json_object_put(object); }
};

json_object *member(json_object *object, const char *key)
{
  json_object *found = nullptr;
  json_object_object_get_ex(object, key, &found);
  return found; // null is no array, no string and the number 0 to json-c
}

std::size_t length(json_object *array)
{
  return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

std::size_t number(json_object *array, std::size_t n)
{
  return static_cast<std::size_t>(json_object_get_int64(json_object_array_get_idx(array, n)));
}

NetworkTensor tensor_of(json_object *described)
{
  NetworkTensor tensor;
  if (json_object *name = member(described, "name"))
    tensor.name = json_object_get_string(name);
  json_object *dims = member(described, "dims");
  json_object *padding = member(described, "padding");
  for (std::size_t d = 0; d < length(dims); d++) {
    tensor.dims.push_back(number(dims, d));
    json_object *pair = d < length(padding) ? json_object_array_get_idx(padding, d) : nullptr;
    const bool padded = length(pair) == 2;
    tensor.padding.push_back({padded ? number(pair, 0) : 0, padded ? number(pair, 1) : 0});
  }
  tensor.scale = json_object_get_double(member(described, "scale"));
  tensor.zero_point = json_object_get_int(member(described, "zero_point"));
  return tensor;
}

std::vector<NetworkTensor> tensors_of(json_object *root, const char *key)
{
  std::vector<NetworkTensor> tensors;
  json_object *array = member(root, key);
  for (std::size_t n = 0; n < length(array); n++)
    tensors.push_back(tensor_of(json_object_array_get_idx(array, n)));
  return tensors;
}

} // namespace

std::string read_model(const char *path, axrModel &model)
{
  const std::unique_ptr<json_object, Put> root(json_object_from_file(path));
  if (!root)
    return "cannot parse the model";
  json_object *version = member(root.get(), "version");
  const std::string has = version ? json_object_get_string(version) : "none";
  if (has != kVersion)
    return "model version " + has + " is not supported, expected " + kVersion;
  model.inputs = tensors_of(root.get(), "inputs");
  model.outputs = tensors_of(root.get(), "outputs");
  return {};
}

} // namespace gstdrm::test

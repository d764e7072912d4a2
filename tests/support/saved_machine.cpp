// SPDX-License-Identifier: LGPL-2.1-or-later
#include "saved_machine.hpp"

#include <cstdint>
#include <exception>
#include <memory>

#include <json-c/json.h>

#include "gpu_table.hpp"

namespace gstdrm::test {

namespace {

struct PutJson {
  void operator()(json_object *object) const noexcept { json_object_put(object); }
};

std::string text(json_object *object, const char *key)
{
  json_object *value = nullptr;
  if (!json_object_object_get_ex(object, key, &value) ||
      !json_object_is_type(value, json_type_string))
    throw std::runtime_error(std::string("has no \"") + key + "\"");
  return json_object_get_string(value);
}

json_object *list(json_object *object, const char *key)
{
  json_object *value = nullptr;
  if (!json_object_object_get_ex(object, key, &value) ||
      !json_object_is_type(value, json_type_array))
    throw std::runtime_error(std::string("has no \"") + key + "\"");
  return value;
}

SavedSource read_source(json_object *object)
{
  SavedSource source{text(object, "kind"), text(object, "name"), text(object, "driver"),
                     text(object, "description"), {}};
  json_object *formats = list(object, "formats");
  for (std::size_t i = 0; i < json_object_array_length(formats); i++) {
    json_object *pair = json_object_array_get_idx(formats, i);
    std::string fourcc = text(pair, "format");
    fourcc.resize(4, ' '); // "R8" is R8 and two spaces
    source.formats.push_back(
        {fourcc_of(fourcc), std::stoull(text(pair, "modifier"), nullptr, 16)});
  }
  return source;
}

} // namespace

bool read_saved_machine(const std::string &path, std::vector<SavedSource> &sources,
                        std::string &error)
try {
  const std::unique_ptr<json_object, PutJson> root(json_object_from_file(path.c_str()));
  if (!root)
    throw std::runtime_error("cannot be read as JSON");
  if (text(root.get(), "schema") != "gst-drm-machine")
    throw std::runtime_error("is no saved machine");
  json_object *all = list(root.get(), "sources");
  for (std::size_t i = 0; i < json_object_array_length(all); i++) {
    json_object *object = json_object_array_get_idx(all, i);
    if (text(object, "problem").empty())
      sources.push_back(read_source(object));
  }
  return true;
} catch (const std::exception &exception) {
  error = path + ": " + exception.what();
  return false;
}

} // namespace gstdrm::test

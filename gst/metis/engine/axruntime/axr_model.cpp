// SPDX-License-Identifier: LGPL-2.1-or-later
#include "axr_model.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <json-c/json_object.h>
#include <json-c/json_tokener.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/unique_fd.hpp>

namespace gstdrm::metis::axr {

namespace {

constexpr off_t kMaxBytes = 256 << 20; // weights may be inside; the parser counts in int
constexpr int kMaxDepth = 128;

Error unreadable(const std::string &path, int error)
{
  return Error{ErrorCode::Device,
               "The model \"" + path + "\" cannot be read (" + errno_text(error) +
                   "). Name the model.json of a compiled model.",
               error};
}

Result<std::string> read_file(const std::string &path)
{
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about = {};
  if (!fd || ::fstat(fd.get(), &about) != 0)
    return unreadable(path, errno);
  if (!S_ISREG(about.st_mode))
    return unreadable(path, S_ISDIR(about.st_mode) ? EISDIR : EINVAL);
  if (about.st_size > kMaxBytes)
    return unreadable(path, EFBIG);
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return unreadable(path, errno);
    if (got == 0)
      break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

struct Free {
  void operator()(json_tokener *tokener) const noexcept { json_tokener_free(tokener); }
  void operator()(json_object *object) const noexcept { json_object_put(object); }
};

// Larger than any tensor, and so small that no product of sizes overflows.
constexpr std::size_t kMaxTensorBytes = std::size_t{1} << 31;

std::optional<TensorType> type_of(const TensorFields &fields)
{
  if (fields.bits == 8 && fields.type == static_cast<std::size_t>(ElementType::Unsigned))
    return TensorType::UInt8;
  if (fields.bits == 8 && fields.type == static_cast<std::size_t>(ElementType::Signed))
    return TensorType::Int8;
  if (fields.bits == 32 && fields.type == static_cast<std::size_t>(ElementType::Float))
    return TensorType::Float32;
  return std::nullopt;
}

// What is wrong with the dimensions and their padding; empty if they are right.
std::string wrong_dims(const TensorFields &fields)
{
  if (fields.n_dims == 0 || fields.n_dims > kMaxDims)
    return std::to_string(fields.n_dims) + " dimensions";
  std::size_t bytes = sizeof(float);
  for (std::size_t d = 0; d < fields.n_dims; d++) {
    const std::size_t size = fields.dims[d];
    const auto &[before, after] = fields.padding[d];
    if (size == 0 || size > kMaxTensorBytes / bytes)
      return std::to_string(size) + " elements in dimension " + std::to_string(d);
    if (before >= size || after >= size - before)
      return "padding of " + std::to_string(before) + " and " + std::to_string(after) +
             " elements in dimension " + std::to_string(d) + " of " + std::to_string(size);
    bytes *= size;
  }
  return {};
}

std::string wrong_values(const TensorFields &fields, TensorType type)
{
  if (std::memchr(fields.name, 0, sizeof(fields.name)) == nullptr)
    return "a name without an end";
  if (type == TensorType::Float32)
    return {};
  if (!std::isfinite(fields.scale) || fields.scale <= 0)
    return "a scale of " + std::to_string(fields.scale);
  const int lowest = type == TensorType::Int8 ? -128 : 0;
  if (fields.zero_point < lowest || fields.zero_point > lowest + 255)
    return "a zero point of " + std::to_string(fields.zero_point);
  return {};
}

Error implausible(const std::string &what, const std::string &which)
{
  return Error{ErrorCode::Unsupported,
               "The runtime gives the model's " + what + " " + which +
                   ", which cannot be. Its axrTensorInfo may be another one than this plugin "
                   "knows: install another version of the runtime.",
               EPROTO};
}

std::vector<std::size_t> without_padding(const TensorInfo &info)
{
  std::vector<std::size_t> dims = info.dims;
  for (std::size_t d = 0; d < info.padding.size(); d++)
    dims[d] -= info.padding[d].before + info.padding[d].after;
  return dims;
}

// The dimensions of the description may be with the padding or without.
Result<TensorInfo> merged(const Model &model, const TensorInfo &described, const TensorInfo &real)
{
  if (!described.dims.empty() && !dims_agree(described.dims, real.dims) &&
      !dims_agree(described.dims, without_padding(real)))
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

// The description of the same name, else the one at the same place if one of the two has no name.
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
  // compilers round three channels up to four, and some do not call the fourth padding
  if (channels != 3 && channels != 4)
    return Error{ErrorCode::Unsupported,
                 which + ", of which " + std::to_string(channels) +
                     " channels have values; three can be filled.",
                 ENOTSUP};
  return {};
}

} // namespace

Result<void> check_model_json(const std::string &path)
{
  if (path.size() >= 4 && path.compare(path.size() - 4, 4, ".axm") == 0)
    return {};
  Result<std::string> text = read_file(path);
  if (!text)
    return text.error();
  const std::unique_ptr<json_tokener, Free> tokener(json_tokener_new_ex(kMaxDepth));
  if (!tokener)
    return unreadable(path, ENOMEM);
  const std::unique_ptr<json_object, Free> root(
      json_tokener_parse_ex(tokener.get(), text->data(), static_cast<int>(text->size())));
  const json_tokener_error error = json_tokener_get_error(tokener.get());
  const std::string where = " at byte " +
                            std::to_string(json_tokener_get_parse_end(tokener.get())) + " of " +
                            std::to_string(text->size());
  if (error == json_tokener_continue)
    return Error{ErrorCode::Format,
                 "The model \"" + path + "\" ends in the middle of its JSON, after " +
                     std::to_string(text->size()) +
                     " bytes. The file is not complete: compile the model or copy it again.",
                 EINVAL};
  if (error != json_tokener_success)
    return Error{ErrorCode::Format,
                 "The model \"" + path + "\" is no JSON (" + json_tokener_error_desc(error) +
                     where + "). Name the model.json of a compiled model.",
                 EINVAL};
  if (!json_object_is_type(root.get(), json_type_object))
    return Error{ErrorCode::Format,
                 "The model \"" + path +
                     "\" is JSON, but no object. Name the model.json of a compiled model.",
                 EINVAL};
  return {};
}

Result<TensorInfo> read_tensor(const Api &api, const TensorArea &area, const std::string &what)
{
  const TensorFields &fields = area.fields;
  if (const std::string wrong = wrong_dims(fields); !wrong.empty())
    return implausible(what, wrong);
  const std::optional<TensorType> type = type_of(fields);
  if (!type)
    return Error{ErrorCode::Unsupported,
                 "The model's " + what + " has " + std::to_string(fields.bits) +
                     " bits per element of type " + std::to_string(fields.type) +
                     "; 8 bits of type 0 or 1, or 32 of type 2, can be used.",
                 ENOTSUP};
  if (const std::string wrong = wrong_values(fields, *type); !wrong.empty())
    return implausible(what, wrong);
  TensorInfo info;
  info.name = fields.name;
  info.type = *type;
  info.dims.assign(fields.dims, fields.dims + fields.n_dims);
  for (std::size_t d = 0; d < fields.n_dims; d++)
    info.padding.push_back({fields.padding[d][0], fields.padding[d][1]});
  if (*type != TensorType::Float32)
    info.quantisation = Quantisation{fields.scale, fields.zero_point};
  if (const std::size_t size = api.tensor_size ? api.tensor_size(&area) : info.size_bytes();
      size != info.size_bytes())
    return implausible(what, std::to_string(size) + " bytes, and dimensions of " +
                                 std::to_string(info.size_bytes()) + " bytes");
  return info;
}

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

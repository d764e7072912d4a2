// SPDX-License-Identifier: LGPL-2.1-or-later
#include "model_file.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "decode/decoders.hpp"
#include "model_keys.hpp"

namespace gstdrm::metis {

namespace {

constexpr const char *kFileSection = "modelinfo"; // GST_MODELINFO_SECTION_NAME
constexpr const char *kOwnSection = "gst-drm";
constexpr const char *kOwnPrefix = "gst-drm-"; // of this project's keys in a section of a tensor
constexpr std::size_t kMaxDims = 8;            // as GST_DRM_TENSOR_MAX_DIMS and axrTensorInfo
constexpr std::int64_t kMaxDim = std::numeric_limits<std::int32_t>::max();

Result<void> check_file(const std::string &path)
{
  const auto refuse = [&](const std::string &why, int error) {
    return Error{ErrorCode::Unsupported,
                 "The model \"" + path + "\" " + why + " Set `model` to the model's file.", error};
  };
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    const int error = errno;
    return refuse("cannot be opened: " + errno_text(error) + ".", error);
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    const int error = errno;
    return refuse("cannot be examined: " + errno_text(error) + ".", error);
  }
  if (!S_ISREG(status.st_mode))
    return refuse("is no regular file.", EINVAL);
  if (status.st_size == 0)
    return refuse("is empty: 0 bytes.", EINVAL);
  return {};
}

// The part after the last slash.
std::string file_name(const std::string &path)
{
  return path.substr(path.rfind('/') + 1); // npos + 1 is 0
}

std::string without_extension(const std::string &path)
{
  const std::string name = file_name(path);
  const auto dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0)
    return path;
  return path.substr(0, path.size() - (name.size() - dot));
}

// The version is major.minor, with major 1 (modelinfo.h of GStreamer 1.28).
Result<void> read_version(const KeyFile &keys, Model &model)
{
  const auto version = keys.text(kFileSection, "version");
  if (!version)
    return version.error();
  const std::string text = version->value_or("");
  const auto dot = text.find('.');
  const auto is_number = [](const std::string &part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
  };
  if (dot == std::string::npos || !is_number(text.substr(0, dot)) ||
      !is_number(text.substr(dot + 1)))
    return keys.error(kFileSection, "version",
                      text.empty() ? "there is none; write version=1.0."
                                   : "\"" + text + "\" is no version such as 1.0.");
  if (text.substr(0, dot) != "1")
    return keys.error(kFileSection, "version",
                      "\"" + text + "\" is not supported; 1.0 is the version that is.");
  const auto group = keys.text(kFileSection, "group-id");
  if (!group)
    return group.error();
  model.name = group->value_or(model.name);
  return {};
}

Result<void> read_dims(const KeyFile &keys, TensorInfo &tensor)
{
  const auto dims = keys.integers(tensor.name, "dims", -1, kMaxDim);
  if (!dims)
    return dims.error();
  if (!*dims)
    return {};
  if ((*dims)->size() > kMaxDims)
    return keys.error(tensor.name, "dims",
                      "there are " + std::to_string((*dims)->size()) + " dimensions, and " +
                          std::to_string(kMaxDims) + " are supported.");
  for (const std::int64_t dim : **dims) {
    if (dim == 0)
      return keys.error(tensor.name, "dims", "a dimension is 0; -1 stands for a variable one.");
    tensor.dims.push_back(dim < 0 ? 0 : static_cast<std::size_t>(dim));
  }
  return {};
}

// The number of a key; nullopt if the key is missing.
Result<std::optional<double>> one_number(const KeyFile &keys, const std::string &section,
                                         const std::string &key)
{
  const auto values = keys.numbers(section, key);
  if (!values)
    return values.error();
  if (!*values)
    return std::optional<double>();
  if ((*values)->size() != 1)
    return keys.error(section, key, "one number is needed.");
  return std::optional((*values)->front());
}

Result<void> read_quantisation(const KeyFile &keys, TensorInfo &tensor)
{
  const auto scale = one_number(keys, tensor.name, "gst-drm-scale");
  if (!scale)
    return scale.error();
  const bool is_signed = tensor.type == TensorType::Int8;
  const auto zero =
      keys.integers(tensor.name, "gst-drm-zero-point", is_signed ? -128 : 0, is_signed ? 127 : 255);
  if (!zero)
    return zero.error();
  if (!*scale && !*zero)
    return {};
  if (tensor.type == TensorType::Float32)
    return keys.error(tensor.name, *scale ? "gst-drm-scale" : "gst-drm-zero-point",
                      "a tensor of float32 is not quantised.");
  if (!*scale || **scale <= 0)
    return keys.error(tensor.name, "gst-drm-scale", "a number above 0 is needed.");
  if (*zero && (*zero)->size() != 1)
    return keys.error(tensor.name, "gst-drm-zero-point", "one number is needed.");
  tensor.quantisation = Quantisation{**scale, *zero ? static_cast<int>((*zero)->front()) : 0};
  return {};
}

Result<void> read_padding(const KeyFile &keys, TensorInfo &tensor)
{
  const auto pairs = keys.pairs(tensor.name, "gst-drm-padding");
  if (!pairs)
    return pairs.error();
  if (!*pairs)
    return {};
  if ((*pairs)->size() != tensor.dims.size())
    return keys.error(tensor.name, "gst-drm-padding",
                      "there are " + std::to_string((*pairs)->size()) + " pairs for " +
                          std::to_string(tensor.dims.size()) + " dimensions.");
  for (std::size_t i = 0; i < (*pairs)->size(); i++) {
    const auto [before, after] = (**pairs)[i];
    const auto whole = [](double value) {
      return value >= 0 && value <= static_cast<double>(kMaxDim) &&
             value == static_cast<double>(static_cast<std::int64_t>(value));
    };
    if (!whole(before) || !whole(after) ||
        before + after >= static_cast<double>(tensor.dims[i] != 0 ? tensor.dims[i] : kMaxDim))
      return keys.error(tensor.name, "gst-drm-padding",
                        "pair " + std::to_string(i + 1) +
                            " is not made of whole numbers of elements that leave some of the "
                            "dimension, which has the padding in it.");
    tensor.padding.push_back({static_cast<std::size_t>(before), static_cast<std::size_t>(after)});
  }
  return {};
}

// An unknown key with this project's prefix is a mistake; other programs may have other keys.
Result<void> check_own_keys(const KeyFile &keys, const std::string &section,
                            const std::string &prefix, const std::vector<std::string> &known)
{
  for (const std::string &key : keys.keys(section))
    if (key.starts_with(prefix) && std::find(known.begin(), known.end(), key) == known.end())
      return keys.error(section, key, "there is no such key.");
  return {};
}

enum class Direction { Input, Output };

Result<Direction> read_tensor(const KeyFile &keys, TensorInfo &tensor)
{
  const std::string &section = tensor.name;
  const auto own = check_own_keys(keys, section, kOwnPrefix,
                                  {"gst-drm-scale", "gst-drm-zero-point", "gst-drm-padding"});
  if (!own)
    return own.error();
  const auto direction = keys.choice(section, "dir", {"input", "output"});
  if (!direction)
    return direction.error();
  if (!*direction)
    return keys.error(section, "dir", "there is none; it is input or output.");
  const auto type = keys.choice(section, "type", {"uint8", "int8", "float32"});
  if (!type)
    return type.error();
  if (*type)
    tensor.type = static_cast<TensorType>(**type);
  const auto order = keys.choice(section, "dims-order", {"row-major", "col-major"});
  if (!order)
    return order.error();
  tensor.column_major = *order && **order == 1;
  if (tensor.column_major && **direction == 0)
    return keys.error(section, "dims-order", "that of an input is row-major.");
  const auto id = keys.text(section, "id");
  if (!id)
    return id.error();
  tensor.id = id->value_or("");
  for (const auto &read : {read_dims, read_quantisation, read_padding})
    if (const auto done = read(keys, tensor); !done)
      return done.error();
  return **direction == 0 ? Direction::Input : Direction::Output;
}

// value = channel * (max - min) / 255 + min, for channels of 0 to 255.
Result<void> read_ranges(const KeyFile &keys, const std::string &section, ImageInput &image)
{
  const auto ranges = keys.pairs(section, "ranges");
  if (!ranges)
    return ranges.error();
  if (!*ranges)
    return {};
  const KeyFile::Pairs &pairs = **ranges;
  if (pairs.size() != 1 && pairs.size() != 3)
    return keys.error(section, "ranges",
                      "there are " + std::to_string(pairs.size()) +
                          " pairs, where 1 is needed, or 3 for the channels.");
  for (std::size_t i = 0; i < 3; i++) {
    const auto [least, most] = pairs[pairs.size() == 1 ? 0 : i];
    if (least >= most)
      return keys.error(section, "ranges",
                        "a range is empty: its maximum is not above its minimum.");
    const double scale = (most - least) / 255;
    image.scale[i] = static_cast<float>(scale);
    image.mean[i] = static_cast<float>(-least / scale);
  }
  return {};
}

Result<void> read_channels(const KeyFile &keys, const std::string &key,
                           std::array<float, 3> &values)
{
  const auto numbers = keys.numbers(kOwnSection, key);
  if (!numbers)
    return numbers.error();
  if (!*numbers)
    return {};
  if ((*numbers)->size() != 1 && (*numbers)->size() != 3)
    return keys.error(kOwnSection, key, "one number is needed, or 3 for the channels.");
  for (std::size_t i = 0; i < 3; i++)
    values[i] = static_cast<float>((*numbers)->size() == 1 ? (**numbers)[0] : (**numbers)[i]);
  if (key == "scale" && std::find(values.begin(), values.end(), 0.0F) != values.end())
    return keys.error(kOwnSection, key, "a scale is 0, which makes all pictures one.");
  return {};
}

template <typename Choice>
Result<void> read_choice(const KeyFile &keys, const std::string &key,
                         const std::vector<std::string> &choices, Choice &value)
{
  const auto read = keys.choice(kOwnSection, key, choices);
  if (!read)
    return read.error();
  if (*read)
    value = static_cast<Choice>(**read);
  return {};
}

Result<void> read_bars(const KeyFile &keys, ImageInput &image)
{
  constexpr const char *kKey = "letterbox-colour";
  if (const auto read = read_channels(keys, kKey, image.bars); !read)
    return read.error();
  for (const float level : image.bars)
    if (!(level >= 0 && level <= 255) || level != static_cast<float>(static_cast<int>(level)))
      return keys.error(kOwnSection, kKey, "a channel is a whole number from 0 to 255.");
  return {};
}

// The decoder's word, with the keys that say how it reads the outputs: they travel together.
Result<void> read_decoder(const KeyFile &keys, Model &model)
{
  const auto decoder = keys.text(kOwnSection, "decoder");
  if (!decoder)
    return decoder.error();
  model.decoder = decoder->value_or("");
  for (const char *key : {"scores", "boxes", "box-unit"}) {
    const auto value = keys.text(kOwnSection, key);
    if (!value)
      return value.error();
    if (!*value)
      continue;
    if (!*decoder)
      return keys.error(kOwnSection, key, "it belongs to a decoder, and there is no key decoder.");
    model.decoder += std::string(",") + key + "=" + **value;
  }
  if (const auto read = read_output_setting(model.decoder); !read)
    return keys.error(kOwnSection, "decoder", read.error().message);
  return {};
}

Result<void> read_own(const KeyFile &keys, Model &model)
{
  ImageInput &image = model.image;
  for (const auto &done :
       {check_own_keys(keys, kOwnSection, "",
                       {"layout", "channel-order", "fit", "letterbox-place", "letterbox-colour",
                        "mean", "scale", "device-id", "decoder", "scores", "boxes", "box-unit"}),
        read_choice(keys, "layout", {"nhwc", "nchw"}, image.layout),
        read_choice(keys, "channel-order", {"rgb", "bgr"}, image.order),
        read_choice(keys, "fit", {"stretch", "letterbox"}, image.fit),
        read_choice(keys, "letterbox-place", {"centre", "top-left"}, image.place),
        read_bars(keys, image), read_channels(keys, "mean", image.mean),
        read_channels(keys, "scale", image.scale)})
    if (!done)
      return done.error();
  const auto id =
      keys.integers(kOwnSection, "device-id", 0, std::numeric_limits<std::uint32_t>::max());
  if (!id)
    return id.error();
  if (*id && (*id)->size() != 1)
    return keys.error(kOwnSection, "device-id", "one number is needed.");
  if (*id)
    model.device_id = static_cast<std::uint32_t>((*id)->front());
  return read_decoder(keys, model);
}

Result<void> read_tensors(const KeyFile &keys, Model &model)
{
  for (const std::string &section : keys.sections()) {
    if (section == kFileSection || section == kOwnSection)
      continue;
    TensorInfo tensor;
    tensor.name = section;
    const auto direction = read_tensor(keys, tensor);
    if (!direction)
      return direction.error();
    if (*direction == Direction::Output) {
      model.outputs.push_back(std::move(tensor));
      continue;
    }
    if (!model.input.name.empty())
      return keys.error(section, "dir",
                        "there is an input already, [" + model.input.name +
                            "]; models of one input are supported.");
    model.input = std::move(tensor);
    if (const auto ranges = read_ranges(keys, section, model.image); !ranges)
      return ranges.error();
  }
  return {};
}

} // namespace

Result<Model> read_model(const std::string &path)
{
  if (const auto checked = check_file(path); !checked)
    return checked.error();
  Model model;
  model.path = path;
  model.name = file_name(without_extension(path));
  std::string description = path + ".modelinfo";
  if (::access(description.c_str(), F_OK) != 0)
    description = without_extension(path) + ".modelinfo";
  if (::access(description.c_str(), F_OK) != 0)
    return model;
  const auto keys = KeyFile::open(description);
  if (!keys)
    return keys.error();
  // in this order, because mean and scale of [gst-drm] override ranges
  for (const auto &read : {read_version, read_tensors, read_own})
    if (const auto done = read(*keys, model); !done)
      return done.error();
  return model;
}

} // namespace gstdrm::metis

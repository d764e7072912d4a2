// SPDX-License-Identifier: LGPL-2.1-or-later
#include "model_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib.h>
#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "decode/decoders.hpp"

namespace gstdrm::metis {

namespace {

constexpr const char *kFileSection = "modelinfo"; // GST_MODELINFO_SECTION_NAME
constexpr const char *kOwnSection = "gst-drm";
constexpr const char *kOwnPrefix = "gst-drm-"; // of this project's keys in a section of a tensor
constexpr std::size_t kMaxDims = 8;            // as GST_DRM_TENSOR_MAX_DIMS and axrTensorInfo
constexpr std::int64_t kMaxDim = std::numeric_limits<std::int32_t>::max();

// --- the key file --------------------------------------------------------------------------------

struct StringsFree {
  void operator()(gchar **strings) const noexcept { g_strfreev(strings); }
};

std::vector<std::string> strings(gchar **given)
{
  const std::unique_ptr<gchar *, StringsFree> owner(given);
  std::vector<std::string> made;
  for (gchar **string = given; string && *string; string++)
    made.emplace_back(*string);
  return made;
}

std::string_view trimmed(std::string_view text)
{
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The parts between separators. One separator at the end is ignored, as in lists of GLib.
std::vector<std::string_view> split(std::string_view text, char separator)
{
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos)
      break;
    text.remove_prefix(end + 1);
  }
  if (parts.size() > 1 && parts.back().empty())
    parts.pop_back();
  return parts;
}

template <typename Number> std::optional<Number> number(std::string_view text)
{
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<double> finite(std::string_view text)
{
  const auto value = number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string in_quotes(std::string_view part)
{
  std::string text(1, '"');
  text += part;
  text += '"';
  return text;
}

// One GKeyFile. The getters return nullopt if the key is missing or its value is wrong, which is an
// Error with the names of file, section and key: the first one is kept, and the reader goes on.
class KeyFile {
public:
  using Pairs = std::vector<std::pair<double, double>>;

  static Result<KeyFile> open(const std::string &path)
  {
    std::unique_ptr<GKeyFile, Free> file(g_key_file_new());
    GError *failed = nullptr;
    if (g_key_file_load_from_file(file.get(), path.c_str(), G_KEY_FILE_NONE, &failed))
      return KeyFile(path, std::move(file));
    const std::unique_ptr<GError, decltype(&g_error_free)> owner(failed, &g_error_free);
    return Error{ErrorCode::Unsupported,
                 "The description " + path + " cannot be read: " + failed->message + ".", 0};
  }

  [[nodiscard]] const std::optional<Error> &first_error() const { return first_error_; }
  void refuse(const std::string &section, const std::string &key, const std::string &why)
  {
    if (!first_error_)
      first_error_ = Error{ErrorCode::Unsupported,
                           path_ + ", section [" + section + "], key " + key + ": " + why, 0};
  }

  [[nodiscard]] std::vector<std::string> sections() const
  {
    return strings(g_key_file_get_groups(file_.get(), nullptr));
  }
  [[nodiscard]] std::vector<std::string> keys(const std::string &section) const
  {
    return strings(g_key_file_get_keys(file_.get(), section.c_str(), nullptr, nullptr));
  }

  // An empty value is wrong.
  std::optional<std::string> text(const std::string &section, const std::string &key)
  {
    if (!g_key_file_has_key(file_.get(), section.c_str(), key.c_str(), nullptr))
      return std::nullopt;
    GError *failed = nullptr;
    const std::unique_ptr<gchar, decltype(&g_free)> value(
        g_key_file_get_string(file_.get(), section.c_str(), key.c_str(), &failed), &g_free);
    std::string text;
    if (value) {
      text = trimmed(value.get());
      if (text.empty())
        refuse(section, key, "the value is empty.");
    } else {
      const std::unique_ptr<GError, decltype(&g_error_free)> owner(failed, &g_error_free);
      refuse(section, key, std::string("the value is no text: ") + failed->message + ".");
    }
    return text.empty() ? std::nullopt : std::optional(std::move(text));
  }

  // The place of the value among `choices`.
  std::optional<std::size_t> choice(const std::string &section, const std::string &key,
                                    const std::vector<std::string> &choices)
  {
    const auto value = text(section, key);
    if (!value)
      return std::nullopt;
    const auto found = std::find(choices.begin(), choices.end(), *value);
    if (found != choices.end())
      return static_cast<std::size_t>(found - choices.begin());
    std::string names;
    for (const std::string &choice : choices)
      names += (names.empty() ? "" : ", ") + choice;
    refuse(section, key, in_quotes(*value) + " is not supported; it may be one of " + names + ".");
    return std::nullopt;
  }

  // Integers from `least` to `most`, separated by commas.
  std::optional<std::vector<std::int64_t>> integers(const std::string &section,
                                                    const std::string &key, std::int64_t least,
                                                    std::int64_t most)
  {
    return list<std::int64_t>(
        section, key, ',',
        [=](std::string_view part) {
          const auto one = number<std::int64_t>(part);
          return one && *one >= least && *one <= most ? one : std::nullopt;
        },
        " is no whole number from " + std::to_string(least) + " to " + std::to_string(most) + ".");
  }
  // Finite numbers with a decimal point, separated by commas.
  std::optional<std::vector<double>> numbers(const std::string &section, const std::string &key)
  {
    return list<double>(section, key, ',', finite, " is no number such as 127.5.");
  }
  // Pairs, separated by semicolons, of numbers that are separated by a comma.
  std::optional<Pairs> pairs(const std::string &section, const std::string &key)
  {
    return list<Pairs::value_type>(
        section, key, ';',
        [](std::string_view part) -> std::optional<Pairs::value_type> {
          const auto both = split(part, ',');
          const auto first = finite(both.front()), second = finite(both.back());
          if (both.size() != 2 || !first || !second)
            return std::nullopt;
          return Pairs::value_type(*first, *second);
        },
        " is no pair of numbers such as 0.0,255.0.");
  }

  // The only element of a list.
  template <typename Value>
  std::optional<Value> only(const std::string &section, const std::string &key,
                            const std::optional<std::vector<Value>> &values)
  {
    if (values && values->size() == 1)
      return values->front();
    if (values)
      refuse(section, key, "one number is needed.");
    return std::nullopt;
  }

private:
  struct Free {
    void operator()(GKeyFile *file) const noexcept { g_key_file_unref(file); }
  };

  KeyFile(std::string path, std::unique_ptr<GKeyFile, Free> file)
      : path_(std::move(path)), file_(std::move(file))
  {
  }

  // `read` gives a part of the value, or nullopt if the part is wrong, which `is_none` says.
  template <typename Value, typename Read>
  std::optional<std::vector<Value>> list(const std::string &section, const std::string &key,
                                         char separator, const Read &read,
                                         const std::string &is_none)
  {
    const auto value = text(section, key);
    if (!value)
      return std::nullopt;
    std::vector<Value> made;
    for (const std::string_view part : split(*value, separator)) {
      const auto one = read(part);
      if (!one) {
        refuse(section, key, in_quotes(part) + is_none);
        return std::nullopt;
      }
      made.push_back(*one);
    }
    return made;
  }

  std::string path_;
  std::unique_ptr<GKeyFile, Free> file_;
  std::optional<Error> first_error_;
};

// --- the model -----------------------------------------------------------------------------------

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
void read_version(KeyFile &keys, Model &model)
{
  const std::string text = keys.text(kFileSection, "version").value_or("");
  const auto dot = text.find('.');
  const auto is_number = [](const std::string &part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
  };
  if (text.empty())
    keys.refuse(kFileSection, "version", "there is none; write version=1.0.");
  else if (dot == std::string::npos || !is_number(text.substr(0, dot)) ||
           !is_number(text.substr(dot + 1)))
    keys.refuse(kFileSection, "version", in_quotes(text) + " is no version such as 1.0.");
  else if (text.substr(0, dot) != "1")
    keys.refuse(kFileSection, "version",
                in_quotes(text) + " is not supported; 1.0 is the version that is.");
  model.name = keys.text(kFileSection, "group-id").value_or(model.name);
}

void read_dims(KeyFile &keys, TensorInfo &tensor)
{
  const auto dims = keys.integers(tensor.name, "dims", -1, kMaxDim);
  if (!dims)
    return;
  if (dims->size() > kMaxDims)
    keys.refuse(tensor.name, "dims",
                "there are " + std::to_string(dims->size()) + " dimensions, and " +
                    std::to_string(kMaxDims) + " are supported.");
  for (const std::int64_t dim : *dims) {
    if (dim == 0)
      keys.refuse(tensor.name, "dims", "a dimension is 0; -1 stands for a variable one.");
    tensor.dims.push_back(dim < 0 ? 0 : static_cast<std::size_t>(dim));
  }
}

void read_quantisation(KeyFile &keys, TensorInfo &tensor)
{
  constexpr const char *kScale = "gst-drm-scale", *kZero = "gst-drm-zero-point";
  const bool is_signed = tensor.type == TensorType::Int8;
  const auto scale = keys.only(tensor.name, kScale, keys.numbers(tensor.name, kScale));
  const auto zero = keys.integers(tensor.name, kZero, is_signed ? -128 : 0, is_signed ? 127 : 255);
  if (!scale && !zero)
    return;
  if (tensor.type == TensorType::Float32)
    return keys.refuse(tensor.name, scale ? kScale : kZero,
                       "a tensor of float32 is not quantised.");
  if (!scale || *scale <= 0)
    return keys.refuse(tensor.name, kScale, "a number above 0 is needed.");
  tensor.quantisation =
      Quantisation{*scale, static_cast<int>(keys.only(tensor.name, kZero, zero).value_or(0))};
}

void read_padding(KeyFile &keys, TensorInfo &tensor)
{
  constexpr const char *kKey = "gst-drm-padding";
  const auto pairs = keys.pairs(tensor.name, kKey);
  if (!pairs)
    return;
  if (pairs->size() != tensor.dims.size())
    return keys.refuse(tensor.name, kKey,
                       "there are " + std::to_string(pairs->size()) + " pairs for " +
                           std::to_string(tensor.dims.size()) + " dimensions.");
  for (std::size_t i = 0; i < pairs->size(); i++) {
    const auto [before, after] = (*pairs)[i];
    const auto whole = [](double value) {
      return value >= 0 && value <= static_cast<double>(kMaxDim) &&
             value == static_cast<double>(static_cast<std::int64_t>(value));
    };
    if (!whole(before) || !whole(after) ||
        before + after >= static_cast<double>(tensor.dims[i] != 0 ? tensor.dims[i] : kMaxDim))
      return keys.refuse(tensor.name, kKey,
                         "pair " + std::to_string(i + 1) +
                             " is not made of whole numbers of elements that leave some of the "
                             "dimension, which has the padding in it.");
    tensor.padding.push_back({static_cast<std::size_t>(before), static_cast<std::size_t>(after)});
  }
}

// An unknown key with this project's prefix is a mistake; other programs may have other keys.
void check_own_keys(KeyFile &keys, const std::string &section, const std::string &prefix,
                    const std::vector<std::string> &known)
{
  for (const std::string &key : keys.keys(section))
    if (key.starts_with(prefix) && std::find(known.begin(), known.end(), key) == known.end())
      keys.refuse(section, key, "there is no such key.");
}

enum class Direction { Input, Output };

Direction read_tensor(KeyFile &keys, TensorInfo &tensor)
{
  const std::string &section = tensor.name;
  check_own_keys(keys, section, kOwnPrefix,
                 {"gst-drm-scale", "gst-drm-zero-point", "gst-drm-padding"});
  const auto direction = keys.choice(section, "dir", {"input", "output"});
  if (!direction)
    keys.refuse(section, "dir", "there is none; it is input or output.");
  if (const auto type = keys.choice(section, "type", {"uint8", "int8", "float32"}))
    tensor.type = static_cast<TensorType>(*type);
  tensor.column_major = keys.choice(section, "dims-order", {"row-major", "col-major"}) == 1U;
  if (tensor.column_major && direction == 0U)
    keys.refuse(section, "dims-order", "that of an input is row-major.");
  tensor.id = keys.text(section, "id").value_or("");
  for (const auto &read : {read_dims, read_quantisation, read_padding})
    read(keys, tensor);
  return direction == 0U ? Direction::Input : Direction::Output;
}

// value = channel * (max - min) / 255 + min, for channels of 0 to 255.
void read_ranges(KeyFile &keys, const std::string &section, ImageInput &image)
{
  const auto pairs = keys.pairs(section, "ranges");
  if (!pairs)
    return;
  if (pairs->size() != 1 && pairs->size() != 3)
    return keys.refuse(section, "ranges",
                       "there are " + std::to_string(pairs->size()) +
                           " pairs, where 1 is needed, or 3 for the channels.");
  for (std::size_t i = 0; i < 3; i++) {
    const auto [least, most] = (*pairs)[pairs->size() == 1 ? 0 : i];
    if (least >= most)
      keys.refuse(section, "ranges", "a range is empty: its maximum is not above its minimum.");
    const double scale = (most - least) / 255;
    image.scale[i] = static_cast<float>(scale);
    image.mean[i] = static_cast<float>(-least / scale);
  }
}

void read_channels(KeyFile &keys, const std::string &key, std::array<float, 3> &values)
{
  const auto numbers = keys.numbers(kOwnSection, key);
  if (!numbers)
    return;
  if (numbers->size() != 1 && numbers->size() != 3)
    return keys.refuse(kOwnSection, key, "one number is needed, or 3 for the channels.");
  for (std::size_t i = 0; i < 3; i++)
    values[i] = static_cast<float>((*numbers)[numbers->size() == 1 ? 0 : i]);
  if (key == "scale" && std::find(values.begin(), values.end(), 0.0F) != values.end())
    keys.refuse(kOwnSection, key, "a scale is 0, which makes all pictures one.");
}

template <typename Choice>
void read_choice(KeyFile &keys, const std::string &key, const std::vector<std::string> &choices,
                 Choice &value)
{
  if (const auto read = keys.choice(kOwnSection, key, choices))
    value = static_cast<Choice>(*read);
}

void read_bars(KeyFile &keys, ImageInput &image)
{
  constexpr const char *kKey = "letterbox-colour";
  read_channels(keys, kKey, image.bars);
  for (const float level : image.bars)
    if (!(level >= 0 && level <= 255) || level != static_cast<float>(static_cast<int>(level)))
      keys.refuse(kOwnSection, kKey, "a channel is a whole number from 0 to 255.");
}

// The decoder's word, with the keys that say how it reads the outputs: they travel together.
void read_decoder(KeyFile &keys, Model &model)
{
  const auto decoder = keys.text(kOwnSection, "decoder");
  model.decoder = decoder.value_or("");
  for (const char *key : {"scores", "boxes", "box-unit"}) {
    const auto value = keys.text(kOwnSection, key);
    if (value && !decoder)
      keys.refuse(kOwnSection, key, "it belongs to a decoder, and there is no key decoder.");
    if (value)
      model.decoder += std::string(",") + key + "=" + *value;
  }
  if (const auto read = read_output_setting(model.decoder); !read)
    keys.refuse(kOwnSection, "decoder", read.error().message);
}

void read_own(KeyFile &keys, Model &model)
{
  ImageInput &image = model.image;
  check_own_keys(keys, kOwnSection, "",
                 {"layout", "channel-order", "fit", "letterbox-place", "letterbox-colour", "mean",
                  "scale", "device-id", "decoder", "scores", "boxes", "box-unit"});
  read_choice(keys, "layout", {"nhwc", "nchw"}, image.layout);
  read_choice(keys, "channel-order", {"rgb", "bgr"}, image.order);
  read_choice(keys, "fit", {"stretch", "letterbox"}, image.fit);
  read_choice(keys, "letterbox-place", {"centre", "top-left"}, image.place);
  read_bars(keys, image);
  read_channels(keys, "mean", image.mean);
  read_channels(keys, "scale", image.scale);
  const auto id =
      keys.integers(kOwnSection, "device-id", 0, std::numeric_limits<std::uint32_t>::max());
  if (const auto only = keys.only(kOwnSection, "device-id", id))
    model.device_id = static_cast<std::uint32_t>(*only);
  read_decoder(keys, model);
}

void read_tensors(KeyFile &keys, Model &model)
{
  for (const std::string &section : keys.sections()) {
    if (section == kFileSection || section == kOwnSection)
      continue;
    TensorInfo tensor;
    tensor.name = section;
    if (read_tensor(keys, tensor) == Direction::Output) {
      model.outputs.push_back(std::move(tensor));
      continue;
    }
    if (!model.input.name.empty())
      keys.refuse(section, "dir",
                  "there is an input already, [" + model.input.name +
                      "]; models of one input are supported.");
    model.input = std::move(tensor);
    read_ranges(keys, section, model.image);
  }
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
  auto keys = KeyFile::open(description);
  if (!keys)
    return keys.error();
  // in this order, because mean and scale of [gst-drm] override ranges
  for (const auto &read : {read_version, read_tensors, read_own})
    read(*keys, model);
  if (keys->first_error())
    return *keys->first_error();
  return model;
}

} // namespace gstdrm::metis

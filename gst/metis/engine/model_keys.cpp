// SPDX-License-Identifier: LGPL-2.1-or-later
#include "model_keys.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

namespace gstdrm::metis {

namespace {

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

std::string quoted(std::string_view part)
{
  std::string text(1, '"');
  text += part;
  text += '"';
  return text;
}

} // namespace

Result<KeyFile> KeyFile::open(const std::string &path)
{
  std::unique_ptr<GKeyFile, Free> file(g_key_file_new());
  GError *failed = nullptr;
  if (g_key_file_load_from_file(file.get(), path.c_str(), G_KEY_FILE_NONE, &failed))
    return KeyFile(path, std::move(file));
  const std::unique_ptr<GError, decltype(&g_error_free)> owner(failed, &g_error_free);
  return Error{ErrorCode::Unsupported,
               "The description " + path + " cannot be read: " + failed->message + ".", 0};
}

std::vector<std::string> KeyFile::sections() const
{
  return strings(g_key_file_get_groups(file_.get(), nullptr));
}

bool KeyFile::has_section(const std::string &section) const
{
  return g_key_file_has_group(file_.get(), section.c_str());
}

std::vector<std::string> KeyFile::keys(const std::string &section) const
{
  return strings(g_key_file_get_keys(file_.get(), section.c_str(), nullptr, nullptr));
}

Result<std::optional<std::string>> KeyFile::text(const std::string &section,
                                                 const std::string &key) const
{
  if (!g_key_file_has_key(file_.get(), section.c_str(), key.c_str(), nullptr))
    return std::optional<std::string>();
  GError *failed = nullptr;
  const std::unique_ptr<gchar, decltype(&g_free)> value(
      g_key_file_get_string(file_.get(), section.c_str(), key.c_str(), &failed), &g_free);
  if (!value) {
    const std::unique_ptr<GError, decltype(&g_error_free)> owner(failed, &g_error_free);
    return error(section, key, std::string("the value is no text: ") + failed->message + ".");
  }
  std::string text(trimmed(value.get()));
  if (text.empty())
    return error(section, key, "the value is empty.");
  return std::optional<std::string>(std::move(text));
}

Result<std::optional<std::size_t>> KeyFile::choice(const std::string &section,
                                                   const std::string &key,
                                                   const std::vector<std::string> &choices) const
{
  const auto value = text(section, key);
  if (!value)
    return value.error();
  if (!*value)
    return std::optional<std::size_t>();
  const auto found = std::find(choices.begin(), choices.end(), **value);
  if (found != choices.end())
    return std::optional<std::size_t>(static_cast<std::size_t>(found - choices.begin()));
  std::string names;
  for (const std::string &choice : choices)
    names += (names.empty() ? "" : ", ") + choice;
  return error(section, key,
               "\"" + **value + "\" is not supported; it may be one of " + names + ".");
}

Result<std::optional<std::vector<std::int64_t>>> KeyFile::integers(const std::string &section,
                                                                   const std::string &key,
                                                                   std::int64_t least,
                                                                   std::int64_t most) const
{
  const auto value = text(section, key);
  if (!value)
    return value.error();
  if (!*value)
    return std::optional<std::vector<std::int64_t>>();
  std::vector<std::int64_t> made;
  for (const std::string_view part : split(**value, ',')) {
    const auto one = number<std::int64_t>(part);
    if (!one || *one < least || *one > most)
      return error(section, key,
                   quoted(part) + " is no whole number from " + std::to_string(least) + " to " +
                       std::to_string(most) + ".");
    made.push_back(*one);
  }
  return std::optional(std::move(made));
}

Result<std::optional<std::vector<double>>> KeyFile::numbers(const std::string &section,
                                                            const std::string &key) const
{
  const auto value = text(section, key);
  if (!value)
    return value.error();
  if (!*value)
    return std::optional<std::vector<double>>();
  std::vector<double> made;
  for (const std::string_view part : split(**value, ',')) {
    const auto one = finite(part);
    if (!one)
      return error(section, key, quoted(part) + " is no number such as 127.5.");
    made.push_back(*one);
  }
  return std::optional(std::move(made));
}

Result<std::optional<KeyFile::Pairs>> KeyFile::pairs(const std::string &section,
                                                     const std::string &key) const
{
  const auto value = text(section, key);
  if (!value)
    return value.error();
  if (!*value)
    return std::optional<Pairs>();
  Pairs made;
  for (const std::string_view part : split(**value, ';')) {
    const auto both = split(part, ',');
    const auto first = finite(both.front());
    const auto second = finite(both.back());
    if (both.size() != 2 || !first || !second)
      return error(section, key, quoted(part) + " is no pair of numbers such as 0.0,255.0.");
    made.emplace_back(*first, *second);
  }
  return std::optional(std::move(made));
}

Error KeyFile::error(const std::string &section, const std::string &key,
                     const std::string &why) const
{
  return Error{
      ErrorCode::Unsupported,
      path_ + ", section [" + section + "]" + (key.empty() ? "" : ", key " + key) + ": " + why, 0};
}

} // namespace gstdrm::metis

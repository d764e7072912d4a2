// SPDX-License-Identifier: LGPL-2.1-or-later
#include "json_reader.hpp"

#include <cstdio>
#include <utility>

#include <glib.h>

#include "machine.hpp"

namespace inspect {

namespace {

constexpr int kMaxDepth = 64; // of nested objects

struct FreeTokener {
  void operator()(json_tokener *tokener) const noexcept { json_tokener_free(tokener); }
};
using Tokener = std::unique_ptr<json_tokener, FreeTokener>;

// Writes characters beyond ASCII as \u escapes (RFC 8259, section 7), because json-c 0.18 takes
// them for control characters in strict mode. `text` has to be valid UTF-8.
std::string in_ascii(std::string_view text)
{
  std::string ascii;
  ascii.reserve(text.size());
  const auto escape = [&ascii](unsigned unit) {
    char written[16];
    std::snprintf(written, sizeof(written), "\\u%04x", unit);
    ascii += written;
  };
  for (const char *at = text.data(); at < text.data() + text.size(); at = g_utf8_next_char(at)) {
    const gunichar character = g_utf8_get_char(at);
    if (character < 0x80) {
      ascii += *at;
    } else if (character < 0x10000) {
      escape(character);
    } else { // a surrogate pair
      escape(0xd800 + ((character - 0x10000) >> 10));
      escape(0xdc00 + ((character - 0x10000) & 0x3ff));
    }
  }
  return ascii;
}

} // namespace

std::string parse_json(std::string_view text, Json &root)
{
  const char *end = nullptr;
  if (!g_utf8_validate(text.data(), static_cast<gssize>(text.size()), &end))
    return "is no JSON: no UTF-8, at byte " + std::to_string(end - text.data());
  const Tokener tokener(json_tokener_new_ex(kMaxDepth));
  if (!tokener)
    return "cannot be read: out of memory";
  // strict: only white space may follow the end
  json_tokener_set_flags(tokener.get(), JSON_TOKENER_STRICT);
  const std::string ascii = in_ascii(text);
  root.reset(json_tokener_parse_ex(tokener.get(), ascii.data(), static_cast<int>(ascii.size())));
  const json_tokener_error error = json_tokener_get_error(tokener.get());
  if (error == json_tokener_continue)
    return "ends in the middle: it was truncated";
  if (error != json_tokener_success)
    return std::string("is no JSON: ") + json_tokener_error_desc(error) + ", at byte " +
           std::to_string(json_tokener_get_parse_end(tokener.get()));
  return {};
}

Reader::Reader(json_object *object, std::string place) : object_(object), place_(std::move(place))
{
  if (!json_object_is_type(object, json_type_object))
    fail("is no object");
}

void Reader::fail(const std::string &what)
{
  if (problem_.empty())
    problem_ = place_ + " " + what;
}

bool Reader::take_problem(const Reader &part)
{
  if (problem_.empty())
    problem_ = part.problem_;
  return problem_.empty();
}

json_object *Reader::get(const char *key, json_type type)
{
  json_object *value = nullptr;
  if (!problem_.empty())
    return nullptr;
  if (!json_object_object_get_ex(object_, key, &value) || !json_object_is_type(value, type)) {
    fail(std::string("has no ") + json_type_to_name(type) + " \"" + key + "\"");
    return nullptr;
  }
  return value;
}

json_object *Reader::get_or_null(const char *key, json_type type)
{
  json_object *value = nullptr;
  if (problem_.empty() && json_object_object_get_ex(object_, key, &value) && !value)
    return nullptr;
  return get(key, type);
}

std::string Reader::text(const char *key)
{
  json_object *value = get(key, json_type_string);
  if (!value)
    return {};
  std::string text(json_object_get_string(value),
                   static_cast<std::size_t>(json_object_get_string_len(value)));
  if (printable(text) != text)
    fail(std::string("has a \"") + key + "\" that is no plain text");
  return text;
}

std::uint64_t Reader::number(const char *key)
{
  json_object *value = get(key, json_type_int);
  const std::int64_t number = value ? json_object_get_int64(value) : 0;
  if (number < 0)
    fail(std::string("has a negative \"") + key + "\"");
  return number < 0 ? 0 : static_cast<std::uint64_t>(number);
}

std::optional<bool> Reader::flag(const char *key)
{
  json_object *value = get_or_null(key, json_type_boolean);
  return value ? std::optional(json_object_get_boolean(value) != 0) : std::nullopt;
}

json_object *Reader::list(const char *key, std::size_t most)
{
  json_object *value = get(key, json_type_array);
  if (value && json_object_array_length(value) > most) {
    fail(std::string("has more than ") + std::to_string(most) + " members in \"" + key + "\"");
    return nullptr;
  }
  return value;
}

} // namespace inspect

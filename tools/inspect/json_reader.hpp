// SPDX-License-Identifier: LGPL-2.1-or-later
// JSON of a file that anybody may have written: checked access to what is there, and one line about
// the first thing that is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <json-c/json.h>

namespace inspect {

struct PutJson {
  void operator()(json_object *object) const noexcept { json_object_put(object); }
};
using Json = std::unique_ptr<json_object, PutJson>;

// What is wrong with the text, any bytes, as JSON; empty if nothing is.
std::string parse_json(std::string_view text, Json &root);

// Reads one object, which is borrowed, and stores the first problem. `place` is what messages call
// the object.
class Reader {
public:
  Reader(json_object *object, std::string place);

  void fail(const std::string &what);
  [[nodiscard]] const std::string &problem() const { return problem_; }
  // Takes over the problem of a part of this object. Returns false if there is one.
  bool take_problem(const Reader &part);

  // nullptr after a failure: there is no such member, or it is of another type.
  json_object *get(const char *key, json_type type);
  // nullptr also for a null.
  json_object *get_or_null(const char *key, json_type type);
  // Valid text without control characters.
  std::string text(const char *key);
  // An integer from 0 on.
  std::uint64_t number(const char *key);
  // nullopt for a null.
  std::optional<bool> flag(const char *key);
  // An array of at most so many members.
  json_object *list(const char *key, std::size_t most);

private:
  json_object *object_;
  std::string place_;
  std::string problem_;
};

} // namespace inspect

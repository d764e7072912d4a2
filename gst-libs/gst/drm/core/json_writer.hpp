// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gstdrm {

// Writes one JSON text (RFC 8259) piece by piece. The caller keeps begin and end in step, and gives
// a key before each value in an object. One thread.
class JsonWriter {
public:
  JsonWriter &begin_object();
  JsonWriter &end_object();
  JsonWriter &begin_array();
  JsonWriter &end_array();
  JsonWriter &key(std::string_view name);
  // Any bytes: what is no UTF-8 is written as U+FFFD, a byte each.
  JsonWriter &string(std::string_view text);
  JsonWriter &number(std::uint64_t value);
  // The shortest decimal that reads back as this float; null for what JSON has no number for.
  JsonWriter &real(float value);
  JsonWriter &null();

  [[nodiscard]] const std::string &text() const noexcept { return text_; }

private:
  void separate();
  void write_quoted(std::string_view text);

  std::string text_;
  std::vector<bool> has_members_; // of each object and array that is open
  bool after_key_ = false;
};

} // namespace gstdrm

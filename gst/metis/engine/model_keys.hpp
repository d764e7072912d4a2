// SPDX-License-Identifier: LGPL-2.1-or-later
// A key file whose errors name file, section and key.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <glib.h>
#include <gst/drm/core/result.hpp>

namespace gstdrm::metis {

// Reads one GKeyFile. One thread.
class KeyFile {
public:
  using Pairs = std::vector<std::pair<double, double>>;

  static Result<KeyFile> open(const std::string &path);

  [[nodiscard]] const std::string &path() const noexcept { return path_; }
  [[nodiscard]] std::vector<std::string> sections() const;
  [[nodiscard]] bool has_section(const std::string &section) const;
  [[nodiscard]] std::vector<std::string> keys(const std::string &section) const;

  // All getters return nullopt if the key is missing. An empty value is an Error.
  Result<std::optional<std::string>> text(const std::string &section, const std::string &key) const;
  // The index of the value among `choices`.
  Result<std::optional<std::size_t>> choice(const std::string &section, const std::string &key,
                                            const std::vector<std::string> &choices) const;
  // Integers from `least` to `most`, separated by commas.
  Result<std::optional<std::vector<std::int64_t>>> integers(const std::string &section,
                                                            const std::string &key,
                                                            std::int64_t least,
                                                            std::int64_t most) const;
  // Finite numbers with a decimal point, separated by commas.
  Result<std::optional<std::vector<double>>> numbers(const std::string &section,
                                                     const std::string &key) const;
  // Pairs, separated by semicolons, of numbers that are separated by a comma.
  Result<std::optional<Pairs>> pairs(const std::string &section, const std::string &key) const;

  // "FILE, section [SECTION], key KEY: why"; without ", key KEY" if `key` is empty.
  [[nodiscard]] Error error(const std::string &section, const std::string &key,
                            const std::string &why) const;

private:
  struct Free {
    void operator()(GKeyFile *file) const noexcept { g_key_file_unref(file); }
  };

  KeyFile(std::string path, std::unique_ptr<GKeyFile, Free> file)
      : path_(std::move(path)), file_(std::move(file))
  {
  }

  std::string path_;
  std::unique_ptr<GKeyFile, Free> file_;
};

} // namespace gstdrm::metis

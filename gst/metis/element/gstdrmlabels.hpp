// SPDX-License-Identifier: LGPL-2.1-or-later
// The names of a model's classes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gst/drm/core/result.hpp>

namespace gstdrm {

class Labels {
public:
  Labels() = default;
  // One name per line; empty `path`: no names. Error of code Layout: the file cannot be read.
  static Result<Labels> read(const std::string &path);

  // The name, in UTF-8; empty where there is none.
  [[nodiscard]] std::string name_of(std::uint32_t label) const;

private:
  std::vector<std::string> names_;
};

} // namespace gstdrm

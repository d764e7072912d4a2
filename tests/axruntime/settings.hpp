// SPDX-License-Identifier: LGPL-2.1-or-later
// What GST_DRM_AXRUNTIME_TEST asks of the test runtime.
#pragma once

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

namespace gstdrm::test {

// "name=value,name,…"; see tests/axruntime/README.md.
class Settings {
public:
  static Settings read()
  {
    Settings settings;
    const char *text = std::getenv("GST_DRM_AXRUNTIME_TEST");
    std::istringstream parts(text ? text : "");
    for (std::string part; std::getline(parts, part, ',');) {
      const auto equals = part.find('=');
      settings.values_[part.substr(0, equals)] =
          equals == std::string::npos ? "" : part.substr(equals + 1);
    }
    return settings;
  }

  [[nodiscard]] bool has(const std::string &name) const { return values_.count(name) != 0; }
  [[nodiscard]] std::string text(const std::string &name, const std::string &otherwise = {}) const
  {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }
  [[nodiscard]] unsigned long number(const std::string &name, unsigned long otherwise) const
  {
    return has(name) ? std::strtoul(text(name).c_str(), nullptr, 0) : otherwise;
  }

private:
  std::map<std::string, std::string> values_;
};

} // namespace gstdrm::test

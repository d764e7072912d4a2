// SPDX-License-Identifier: LGPL-2.1-or-later
// Which device tests the build has, as meson lists them: what a page says of both worlds is then
// checked in each of them.
#pragma once

#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <string>

namespace gstdrm::test {

// Nothing: this build has none at all (TSan).
inline std::optional<std::set<std::string>> device_tests_of_this_build()
{
  const char *path = std::getenv("GST_DRM_TEST_DEVICE_TESTS");
  if (!path)
    return std::nullopt;
  std::set<std::string> names;
  std::ifstream file(path);
  for (std::string name; file >> name;)
    names.insert(name);
  return names;
}

} // namespace gstdrm::test

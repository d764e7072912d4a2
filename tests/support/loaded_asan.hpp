// SPDX-License-Identifier: LGPL-2.1-or-later
// Programs without a sanitizer that load the project's plugins, such as gst-launch-1.0.
#pragma once

#include <fstream>
#include <string>

namespace gstdrm::test {

// ASan's library, which has to be the first that such a program loads; empty: there is none here.
inline std::string loaded_asan()
{
  std::ifstream maps("/proc/self/maps"); // see proc(5)
  for (std::string line; std::getline(maps, line);)
    if (const std::size_t path = line.find('/');
        path != std::string::npos && line.find("/libasan.so", path) != std::string::npos)
      return line.substr(path);
  return "";
}

} // namespace gstdrm::test

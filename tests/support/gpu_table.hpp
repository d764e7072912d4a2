// SPDX-License-Identifier: LGPL-2.1-or-later
// The tables of real GPUs in tests/data/egl-formats: what eglQueryDmaBufModifiersEXT() returned, in
// its order. Lines are `FOURCC 0xMODIFIER external_only`; a fourcc with a space is 0x and 8 digits.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/drm_facts.hpp"
#include "core/format.hpp"

namespace gstdrm::test {

inline const std::vector<std::string> &gpu_table_names()
{
  static const std::vector<std::string> names = {
      "amd-navi31",     "amd-vangogh",    "amd-gfx1201",    "nouveau-nv106",
      "freedreno-a660", "asahi-g13g",     "llvmpipe",       "amd-navi10",
      "amd-navi21",     "amd-navi33",     "amd-phoenix",    "amd-raphael_mendocino",
      "amd-raven",      "amd-raven2",     "amd-rembrandt",  "amd-renoir",
      "amd-strix1",     "amd-vega10",     "amd-vega20",     "freedreno-a201",
      "freedreno-a305", "freedreno-a420", "freedreno-a618", "freedreno-a702",
      "nouveau-nv12b",  "nouveau-nv162"};
  return names;
}

inline std::uint32_t fourcc_of(const std::string &text)
{
  if (text.size() == 4)
    return make_fourcc(text[0], text[1], text[2], text[3]);
  return static_cast<std::uint32_t>(std::stoul(text, nullptr, 16));
}

inline std::vector<Format> load_gpu_table(const std::string &name)
{
  const char *data = std::getenv("GST_DRM_TEST_DATA");
#ifdef GST_DRM_TEST_DATA_DIR
  if (!data)
    data = GST_DRM_TEST_DATA_DIR;
#endif
  const std::string path =
      std::string(data ? data : "tests/data") + "/egl-formats/" + name + ".txt";
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error("cannot read " + path + "; set GST_DRM_TEST_DATA to tests/data");
  std::vector<Format> pairs;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line.front() == '#')
      continue;
    std::istringstream words(line);
    std::string fourcc;
    std::string modifier;
    words >> fourcc >> modifier;
    pairs.push_back({fourcc_of(fourcc), std::stoull(modifier, nullptr, 16)});
  }
  return pairs;
}

} // namespace gstdrm::test

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
      "nouveau-nv12b",  "nouveau-nv162",  "nvidia-gh100"};
  return names;
}

inline std::uint32_t fourcc_of(const std::string &text)
{
  if (text.size() == 4)
    return make_fourcc(text[0], text[1], text[2], text[3]);
  return static_cast<std::uint32_t>(std::stoul(text, nullptr, 16));
}

struct GpuRow {
  Format format;
  bool external_only = false;
};

// A format that the driver lists without modifiers is a row with the implicit modifier, at the end.
inline std::vector<GpuRow> load_gpu_rows(const std::string &name)
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
  const std::string implicit_line =
      "# formats advertised with no explicit modifier (implicit only): ";
  std::vector<GpuRow> rows;
  std::vector<GpuRow> implicit;
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(implicit_line, 0) == 0) {
      std::istringstream words(line.substr(implicit_line.size()));
      for (std::string fourcc; words >> fourcc && fourcc != "-";)
        implicit.push_back({{fourcc_of(fourcc), kModImplicit}, false});
    }
    if (line.empty() || line.front() == '#')
      continue;
    std::istringstream words(line);
    std::string fourcc;
    std::string modifier;
    int external_only = 0;
    if (!(words >> fourcc >> modifier >> external_only))
      throw std::runtime_error("cannot read this line of " + path + ": " + line);
    rows.push_back({{fourcc_of(fourcc), std::stoull(modifier, nullptr, 16)}, external_only != 0});
  }
  rows.insert(rows.end(), implicit.begin(), implicit.end());
  return rows;
}

// The explicit pairs.
inline std::vector<Format> load_gpu_table(const std::string &name)
{
  std::vector<Format> pairs;
  for (const GpuRow &row : load_gpu_rows(name))
    if (row.format.modifier != kModImplicit)
      pairs.push_back(row.format);
  return pairs;
}

} // namespace gstdrm::test

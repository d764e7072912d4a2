// SPDX-License-Identifier: LGPL-2.1-or-later
#include "machine.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <drm_fourcc.h>

#include "formats.hpp"
#ifdef HAVE_JSON_C
#include "support/saved_machine.hpp"
#endif

namespace gstdrm::test::vadriver {

#ifdef HAVE_JSON_C

namespace {

void add(Settings &settings, std::uint32_t format, std::uint64_t modifier)
{
  if (modifier == DRM_FORMAT_MOD_INVALID) { // such as radeonsi's of surfaces made without a list
    settings.implicit_unless_listed = true;
    return;
  }
  auto it = std::find_if(settings.machine.begin(), settings.machine.end(),
                         [=](const FormatModifiers &m) { return m.format == format; });
  if (it == settings.machine.end())
    it = settings.machine.insert(it, FormatModifiers{format, {}});
  // a machine is saved in the order of numbers, where LINEAR is the first; drivers tile when they can
  it->modifiers.insert(modifier == DRM_FORMAT_MOD_LINEAR ? it->modifiers.end()
                                                         : it->modifiers.begin(),
                       modifier);
}

void play(const SavedSource &source, Settings &settings)
{
  settings.machine.clear();
  settings.formats.clear();
  settings.modifiers.clear();
  settings.list_modifiers = true;
  settings.linear_by_descriptor = false;
  settings.vendor = "saved machine, " + (source.driver.empty() ? source.name : source.driver);
  for (const Format &format : source.formats)
    if (const PixelFormat *known = format_by_drm(format.fourcc))
      add(settings, known->va_fourcc, format.modifier);
  for (const FormatModifiers &one : settings.machine) {
    settings.formats.push_back(one.format);
    for (const std::uint64_t modifier : one.modifiers)
      if (std::find(settings.modifiers.begin(), settings.modifiers.end(), modifier) ==
          settings.modifiers.end())
        settings.modifiers.push_back(modifier);
  }
}

} // namespace

bool play_machine(const std::string &file, Settings &settings)
{
  const std::size_t hash = file.find('#');
  const std::string name = hash == std::string::npos ? "" : file.substr(hash + 1);
  std::vector<SavedSource> sources;
  std::string error;
  if (!read_saved_machine(file.substr(0, hash), sources, error)) {
    std::fprintf(stderr, "GST_DRM_VA_TEST: %s\n", error.c_str());
    return false;
  }
  const auto it = std::find_if(sources.begin(), sources.end(), [&name](const SavedSource &source) {
    return source.kind == "va" && (name.empty() || source.name == name);
  });
  if (it == sources.end()) {
    std::fprintf(stderr, "GST_DRM_VA_TEST: %s has no VA-API driver that answered\n", file.c_str());
    return false;
  }
  play(*it, settings);
  return !settings.machine.empty();
}

#else

bool play_machine(const std::string &, Settings &)
{
  std::fprintf(stderr, "GST_DRM_VA_TEST: machine= needs a build with json-c\n");
  return false;
}

#endif

} // namespace gstdrm::test::vadriver

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "driver_child.hpp"

#include <cstdlib>
#include <string_view>

#include "config.h"
#include "gst/drm/core/child_side.hpp"
#include "gst/drm/enumerate/source.hpp"
#include "manifests.hpp"
#include "snapshot.hpp"

namespace inspect {

namespace {

Source to_source(const gstdrm::Source &raw, const std::string &kind)
{
  Source source{kind, raw.name, raw.device, raw.driver, raw.description, raw.problem, {}};
  for (const gstdrm::Format &format : raw.formats.pairs())
    source.pairs.push_back({format.fourcc, format.modifier, raw.external_only.contains(format),
                            gstdrm::count_planes(raw, format)});
  return source;
}

gstdrm::Sources enumerate([[maybe_unused]] const std::string &kind,
                          [[maybe_unused]] const gstdrm::OnlyDevice *only)
{
#ifdef HAVE_GBM
  if (kind == "gbm")
    return gstdrm::enumerate_gbm(only);
#endif
#ifdef HAVE_EGL_HEADERS
  if (kind == "egl")
    return gstdrm::enumerate_egl(only);
#endif
#ifdef HAVE_VULKAN_HEADERS
  if (kind == "vulkan")
    return gstdrm::enumerate_vulkan(only);
#endif
  return {}; // this program was built without it
}

std::vector<Source> ask(const std::string &kind, const gstdrm::OnlyDevice *only)
{
  std::vector<Source> sources;
  for (const gstdrm::Source &source : enumerate(kind, only))
    sources.push_back(to_source(source, kind));
  return sources;
}

bool send(int fd, char mark, std::vector<Source> sources)
{
  Machine machine;
  machine.sources = std::move(sources);
  return gstdrm::write_all(fd, mark + write_snapshot(machine) + '\0');
}

} // namespace

std::vector<Source> ask_here(const std::string &kind)
{
  return ask(kind, nullptr);
}

int answer_driver_question(const std::vector<std::string> &words)
{
  if (words.size() < 3 || words.size() > 4)
    return EXIT_FAILURE;
  gstdrm::close_inherited();
  const std::string &kind = words[0];
  const int output = gstdrm::take_standard_output().release(); // never closed
  if (output < 0 || !gstdrm::end_with(static_cast<pid_t>(std::atol(words[2].c_str()))))
    return EXIT_FAILURE;
  if (words.size() > 3)
    use_manifest(kind, words[3]);
  const gstdrm::OnlyDevice only{static_cast<std::size_t>(std::atol(words[1].c_str())),
                                [&](const gstdrm::Source &source) {
                                  (void)send(output, kAsking, {to_source(source, kind)});
                                }};
  return send(output, kAnswer, ask(kind, &only)) ? EXIT_SUCCESS : EXIT_FAILURE;
}

} // namespace inspect

// SPDX-License-Identifier: LGPL-2.1-or-later
// gst-drm-va-probe: probes the VA-API driver of one render node in its own process, and writes the
// result to its standard output (va_machine.hpp). The plugin starts it; users may run it to
// see what a driver does.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include <gst/drm/core/child_side.hpp>
#include <gst/drm/core/log.hpp>

#include "va_display.hpp"
#include "va_machine.hpp"
#include "va_probe.hpp"

namespace gstdrm::va {
namespace {

constexpr char kUsage[] =
    "usage: gst-drm-va-probe NODE [LEVEL [PARENT]]\n"
    "  NODE    a render node, such as /dev/dri/renderD128\n"
    "  LEVEL   of the log, 5 to 7 as in GST_DEBUG (5)\n"
    "  PARENT  number of the process that waits for the answer; the program ends with it\n";

constexpr std::string_view kOpening = "libva: Trying to open ";

int answer_fd = STDOUT_FILENO;
int most_detailed = static_cast<int>(LogLevel::Debug);

// Ends the process if the reader has gone.
void say(std::string_view text) noexcept
{
  if (!write_all(answer_fd, text))
    ::_exit(EXIT_FAILURE);
}

std::string &driver_file()
{
  static std::string file;
  return file;
}

bool reads(LogLevel level) noexcept
{
  return static_cast<int>(level) <= most_detailed;
}

void write_log(LogLevel level, const char * /*file*/, const char * /*function*/, int /*line*/,
               const char *text) noexcept
{
  const std::string_view line(text);
  if (line.starts_with(kOpening)) {
    driver_file() = line.substr(kOpening.size());
    say(report::driver(driver_file()));
  }
  say(report::log(level, line));
}

constexpr LogSink kSink{&most_detailed, reads, write_log};

std::string answer(const std::string &path)
{
  auto display = Display::open(path);
  if (!display)
    return report::none(display.error().message);
  say(report::driver((*display)->vendor() + ", " + driver_file()));
  auto capabilities = query_capabilities(*display);
  if (!capabilities)
    return report::none(capabilities.error().message);
  for (const auto &refused : capabilities->refused)
    GSTDRM_DEBUG("not in the templates: %s", refused.c_str());
  MachineNode node{path, (*display)->vendor(), std::move(*capabilities)};
  // Closing the driver is part of the probe, so send the answer after it.
  GSTDRM_DEBUG("vaTerminate on %s", path.c_str());
  *display = nullptr;
  return report::node(node);
}

int main(int argc, char **argv)
{
  if (argc < 2 || argc > 4) {
    (void)std::fputs(kUsage, stderr);
    return EXIT_FAILURE;
  }
  close_inherited();
  if (argc > 3 && !end_with(static_cast<pid_t>(std::atol(argv[3]))))
    return EXIT_FAILURE;
  if (argc > 2)
    most_detailed = std::max(most_detailed, std::atoi(argv[2]));
  answer_fd = take_standard_output().release(); // open until the process ends
  if (answer_fd < 0)
    return EXIT_FAILURE;
  set_log_sink(&kSink);
  say(report::greeting());
  say(answer(argv[1]));
  say(report::end());
  return EXIT_SUCCESS;
}

} // namespace
} // namespace gstdrm::va

// Skip exit handlers and destructors of drivers: some crash, and the answer is written.
int main(int argc, char **argv)
{
  int status = EXIT_FAILURE;
  try {
    status = gstdrm::va::main(argc, argv);
  } catch (const std::exception &problem) {
    (void)std::fprintf(stderr, "gst-drm-va-probe: %s\n", problem.what());
  }
  ::_exit(status);
}

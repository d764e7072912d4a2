// SPDX-License-Identifier: LGPL-2.1-or-later
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include <gst/drm/core/child_run.hpp>
#include <gst/gst.h>

#include "engine/va_device.hpp"
#include "engine/va_probe_report.hpp"
#include "engine/va_text.hpp"
#include "gstvamachineprobe.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_va_dmabuf_src_debug);
#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

namespace gstdrm::va {
namespace {

constexpr char kProgram[] = "gst-drm-va-probe";
constexpr char kProgramVariable[] = "GST_DRM_VA_PROBE";
constexpr char kLimitVariable[] = "GST_DRM_VA_PROBE_TIMEOUT";
// A suspended GPU takes one or two seconds to wake up, a driver one more to compile its shaders,
// and a loaded machine several times as long.
constexpr unsigned kLimitSeconds = 20;
constexpr unsigned kMaxLimitSeconds = 3600;

struct DriverProbe {
  std::string program; // empty: probe in this process
  unsigned limit_s = kLimitSeconds;
};

bool runs(const std::string &program)
{
  return ::access(program.c_str(), X_OK) == 0;
}

// The program that the variable names, or the one installed with the plugin; empty if the variable
// is `no` or no program can be run. The program is beside the plugin and not in libexecdir, because
// a machine may have plugins and drivers of two architectures, and a moved folder keeps it.
std::string find_program(const std::string &folder)
{
  const char *named = ::secure_getenv(kProgramVariable);
  if (named && std::string_view(named) == "no") {
    GST_INFO("%s=no: drivers are probed in this process", kProgramVariable);
    return {};
  }
  const std::string installed = folder + "/gst-drm/" + kProgram;
  const std::string built = folder + "/" + kProgram; // in a build folder
  for (const std::string &program : {named ? std::string(named) : installed, built}) {
    if (runs(program))
      return program;
    if (named)
      break;
  }
  GST_WARNING("VA-API drivers are probed in this process, which ends with one that crashes: %s is "
              "no program that can be run. Install the whole of gst-drm, or correct %s.",
              named ? named : installed.c_str(), kProgramVariable);
  return {};
}

unsigned find_limit()
{
  const char *text = ::secure_getenv(kLimitVariable);
  if (!text)
    return kLimitSeconds;
  const std::string_view word(text);
  unsigned seconds = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), seconds);
  if (read.ec == std::errc() && read.ptr == word.data() + word.size() && seconds >= 1 &&
      seconds <= kMaxLimitSeconds)
    return seconds;
  GST_WARNING("%s='%s' is not used: it is a number of seconds from 1 to %u. The limit is %u.",
              kLimitVariable, text, kMaxLimitSeconds, kLimitSeconds);
  return kLimitSeconds;
}

void probe_here(const std::string &path, Machine &machine)
{
  auto device = open_device(path);
  if (!device) {
    GST_INFO("not in the templates: %s", device.error().message.c_str());
    return;
  }
  for (const auto &refused : device->capabilities.refused)
    GST_DEBUG("not in the templates: %s", refused.c_str());
  machine.nodes.push_back({path, device->display->vendor(), std::move(device->capabilities)});
}

void pass_on(const ProbeReport &report)
{
  for (const auto &line : report.log)
    GST_CAT_LEVEL_LOG(GST_CAT_DEFAULT, static_cast<GstDebugLevel>(line.level), nullptr, "%s",
                      line.text.c_str());
}

// How the probe failed, as the end of a sentence about the driver.
std::string what_happened(const ChildRun &run, const ProbeReport &report, unsigned limit_s)
{
  switch (run.end) {
  case ChildRun::End::Killed:
    return "crashed (" + signal_text(run.number) + ")";
  case ChildRun::End::TimeLimit:
    return "gave no answer within " + std::to_string(limit_s) + " s (" + kLimitVariable + ")";
  case ChildRun::End::TooMuch:
    return "made the probe write too much";
  case ChildRun::End::Exited:
    if (run.number != 0)
      return "ended the process with status " + std::to_string(run.number);
    break;
  case ChildRun::End::Unknown:
    break;
  }
  return "spoiled the probe's report: " + report.fault;
}

// True for failures that the machine may have caused: its load exceeds the time limit, and the
// kernel sends SIGKILL when memory is short.
bool may_pass(const ChildRun &run)
{
  return run.end == ChildRun::End::TimeLimit ||
         (run.end == ChildRun::End::Killed && run.number == SIGKILL);
}

void fail(const std::string &path, const ChildRun &run, const ProbeReport &report,
          const DriverProbe &prober, Machine &machine)
{
  const std::string what = what_happened(run, report, prober.limit_s);
  const std::string driver = report.driver.empty() ? "unknown" : report.driver;
  machine.failed.push_back(
      {path,
       one_line(path + ": its VA-API driver (" + driver + ") " + what + " when it was probed"),
       may_pass(run)});
  GST_WARNING(
      "%s. Nothing of this node is offered, and no element opens it. The last line of its "
      "log: '%s'. Update the driver, or choose another with LIBVA_DRIVER_NAME; `%s %s` shows "
      "what it does. %s=no loads it into this process.",
      machine.failed.back().reason.c_str(),
      report.log.empty() ? "" : report.log.back().text.c_str(), prober.program.c_str(),
      path.c_str(), kProgramVariable);
}

// Returns false if the program cannot be used, which is not the driver's fault.
bool probe_apart(const std::string &path, const DriverProbe &prober, Machine &machine)
{
  const int level = gst_debug_category_get_threshold(GST_CAT_DEFAULT);
  const auto run =
      run_child({prober.program, path, std::to_string(level), std::to_string(::getpid())},
                {std::chrono::seconds(prober.limit_s), kMaxReport});
  if (!run) {
    GST_WARNING("VA-API drivers are probed in this process, which ends with one that crashes: %s "
                "cannot be started: %s",
                prober.program.c_str(), run.error().message.c_str());
    return false;
  }
  const auto report = read_report(run->output, path);
  pass_on(report);
  const bool ended = run->end == ChildRun::End::Exited || run->end == ChildRun::End::Unknown;
  if (ended && run->number == 0 && report.fault.empty()) {
    if (report.node)
      machine.nodes.push_back(*report.node);
    else
      GST_INFO("not in the templates: %s", report.reason.c_str());
    return true;
  }
  if (!report.greeted && run->end != ChildRun::End::TimeLimit) {
    GST_WARNING("VA-API drivers are probed in this process, which ends with one that crashes: %s "
                "is not the program of this version (status %d, %zu bytes: %s). Install the whole "
                "of gst-drm %s.",
                prober.program.c_str(), run->number, run->output.size(), report.fault.c_str(),
                VERSION);
    return false;
  }
  fail(path, *run, report, prober, machine);
  return true;
}

// What one thread found about one node.
struct Answer {
  Machine machine;
  bool usable = false; // the result of probe_apart()
};

// Probes all nodes at the same time, so that several hanging drivers cost one time limit.
std::vector<Answer> probe_all_apart(const std::vector<std::string> &paths,
                                    const DriverProbe &prober)
{
  std::vector<Answer> answers(paths.size());
  const auto ask = [&](std::size_t i) noexcept {
    try {
      answers[i].usable = probe_apart(paths[i], prober, answers[i].machine);
    } catch (...) {
      GST_ERROR("%s is not probed: out of memory", paths[i].c_str());
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(paths.size());
  for (std::size_t i = 1; i < paths.size(); ++i) {
    try {
      threads.emplace_back(ask, i);
    } catch (const std::system_error &) {
      ask(i); // on this thread, if no other can be made
    }
  }
  ask(0);
  for (std::thread &thread : threads)
    thread.join();
  return answers;
}

} // namespace

Machine probe_nodes(const std::vector<std::string> &paths, const std::string &folder)
{
  Machine machine;
  if (paths.empty())
    return machine;
  const DriverProbe prober{find_program(folder), find_limit()};
  std::vector<Answer> answers(paths.size());
  if (!prober.program.empty())
    answers = probe_all_apart(paths, prober);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    Machine &own = answers[i].machine;
    if (!answers[i].usable)
      probe_here(paths[i], own);
    std::move(own.nodes.begin(), own.nodes.end(), std::back_inserter(machine.nodes));
    std::move(own.failed.begin(), own.failed.end(), std::back_inserter(machine.failed));
  }
  return machine;
}

} // namespace gstdrm::va

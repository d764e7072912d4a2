// SPDX-License-Identifier: LGPL-2.1-or-later
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gst/drm/core/child_run.hpp>
#include <gst/drm/core/drm_node.hpp>
#include <gst/drm/element/producer.hpp>

#include "engine/va_device.hpp"
#include "engine/va_text.hpp"
#include "gstvamachine.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_va_dmabuf_src_debug);
#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

namespace gstdrm::va {
namespace {

// Written by load_machine() alone, in the thread that loads the plugin, before any class exists.
Machine &loaded_machine()
{
  static Machine machine;
  return machine;
}

std::string &loaded_folder()
{
  static std::string folder;
  return folder;
}

std::string folder_of(GstPlugin *plugin)
{
  const gchar *file = gst_plugin_get_filename(plugin);
  return file ? std::filesystem::path(file).parent_path().string() : std::string(".");
}

// The node of that path, or that a link of that path leads to.
template <typename Node>
const Node *find_node(const std::vector<Node> &nodes, const std::string &path)
{
  std::error_code failed;
  const auto target = std::filesystem::canonical(path, failed);
  for (const Node &node : nodes)
    if (node.path == path || (!failed && target == node.path))
      return &node;
  return nullptr;
}

constexpr char kKey[] = "key";
constexpr char kNodes[] = "nodes";

// Beginnings of the names of variables that libva and its drivers read.
constexpr std::array<std::string_view, 9> kVariables{
    "LIBVA_", "MESA_", "GALLIUM_", "AMD_", "RADEON_", "NOUVEAU_", "INTEL_", "IHD_", "GST_DRM_VA_"};

// The registry notices new and removed nodes, but not changed permissions: these go into the key.
std::string rights_on(const std::string &path)
{
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return path;
  const bool may = ::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0;
  return path + " " + std::to_string(status.st_mode) + " " + std::to_string(status.st_uid) + " " +
         std::to_string(status.st_gid) + (may ? " open" : " denied");
}

// The key of the plugin's cache: changes when a probe may find something else although no file has
// changed, i.e. with the plugin's version and the environment that drivers read.
std::string cache_key()
{
  std::vector<std::string> lines{"version=" VERSION};
  gchar **names = g_listenv();
  for (gchar **name = names; *name; ++name) {
    const bool counts =
        std::any_of(kVariables.begin(), kVariables.end(), [name](std::string_view beginning) {
          return std::string_view(*name).starts_with(beginning);
        });
    const gchar *value =
        counts ? g_getenv(*name) : nullptr; // another thread may have taken it away
    if (value)
      lines.push_back(std::string(*name) + "=" + value);
  }
  g_strfreev(names);
  for (const std::string &path : list_drm_nodes(DrmNodeType::Render))
    lines.push_back(rights_on(path));
  std::sort(lines.begin(), lines.end());
  std::string key;
  for (const std::string &line : lines)
    key += line + "\n";
  g_autofree gchar *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, key.c_str(), -1);
  return sum;
}

// (transfer full)
GstStructure *machine_to_cache(const Machine &machine, const std::string &key)
{
  return gst_structure_new("vadmabuf-probe", kKey, G_TYPE_STRING, key.c_str(), kNodes,
                           G_TYPE_STRING, write_machine(machine).c_str(), nullptr);
}

// nullopt if there is no cache, if it has another key, and if it cannot be read.
std::optional<Machine> machine_from_cache(const GstStructure *cache, const std::string &key)
{
  const gchar *stored = cache ? gst_structure_get_string(cache, kKey) : nullptr;
  const gchar *text = cache ? gst_structure_get_string(cache, kNodes) : nullptr;
  if (!stored || key != stored || !text)
    return std::nullopt;
  return read_machine(text);
}

// --- the probe of each driver, in a process of its own ------------------------------------------

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

Machine probe_nodes(const std::vector<std::string> &paths)
{
  Machine machine;
  if (paths.empty())
    return machine;
  const DriverProbe prober{find_program(loaded_folder()), find_limit()};
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

void load_machine(GstPlugin *plugin)
{
  loaded_folder() = folder_of(plugin);
  const auto key = cache_key();
  Machine &machine = loaded_machine();
  if (auto cached = machine_from_cache(gst_plugin_get_cache_data(plugin), key)) {
    GST_DEBUG("%zu render nodes are known from the registry", cached->nodes.size());
    for (const FailedNode &node : cached->failed)
      GST_WARNING("%s. Known from the registry; it is asked again when %s", node.reason.c_str(),
                  node.may_pass ? "an element is to open it" : "its file changes");
    machine = std::move(*cached);
    return;
  }
  machine = probe_nodes(list_drm_nodes(DrmNodeType::Render));
  if (!machine.nodes.empty() || !machine.failed.empty())
    gst_plugin_set_cache_data(plugin, machine_to_cache(machine, key));
}

const std::vector<MachineNode> &machine_nodes()
{
  return loaded_machine().nodes;
}

const MachineNode *find_machine_node(const std::string &path)
{
  const auto &nodes = machine_nodes();
  if (path.empty())
    return nodes.empty() ? nullptr : &nodes.front();
  return find_node(nodes, path);
}

const std::vector<FailedNode> &failed_nodes()
{
  return loaded_machine().failed;
}

const FailedNode *find_failed_node(const std::string &path)
{
  return find_node(failed_nodes(), path);
}

GstPtr<GstCaps> device_caps(const Capabilities &capabilities, const FormatSet &formats)
{
  return producer_caps(&formats, {capabilities.min_width, capabilities.min_height,
                                  capabilities.max_width, capabilities.max_height});
}

FormatSet readable(const Capabilities &capabilities, const FormatSet &drawn)
{
  return FormatSet::unite(drawn, capabilities.sources);
}

GstPtr<GstCaps> node_caps(const MachineNode &node, GstPadDirection direction,
                          std::optional<ImplicitModifier> implicit_modifier)
{
  const Capabilities &capabilities = node.capabilities;
  const bool reads = direction == GST_PAD_SINK;
  FormatSet formats = reads ? readable(capabilities, capabilities.formats) : capabilities.formats;
  if (!implicit_modifier)
    formats = FormatSet::unite(formats, with_implicit(formats, reads ? ImplicitModifier::Driver
                                                                     : ImplicitModifier::Linear));
  else
    formats = reads ? with_implicit(formats, *implicit_modifier)
                    : producer_formats(formats, *implicit_modifier);
  auto caps = device_caps(capabilities, formats);
  if (!capabilities.takes_modifiers || capabilities.lists_modifiers)
    return caps;
  for (guint i = 0; i < gst_caps_get_size(caps.get()); ++i)
    gst_structure_remove_field(gst_caps_get_structure(caps.get(), i), "drm-format");
  return caps;
}

GstPtr<GstCaps> machine_caps(GstPadDirection direction,
                             std::optional<ImplicitModifier> implicit_modifier)
{
  GstPtr<GstCaps> all;
  for (const MachineNode &node : machine_nodes()) {
    auto caps = node_caps(node, direction, implicit_modifier);
    all = all ? GstPtr<GstCaps>::adopt(gst_caps_merge(all.release(), caps.release()))
              : std::move(caps);
  }
  return all ? std::move(all) : producer_caps(nullptr, {});
}

GstPtr<GstCaps> idle_caps(const std::string &path, GstPadDirection direction,
                          ImplicitModifier implicit_modifier)
{
  // Without any caps the element could not be linked, and its error would never be posted.
  if (implicit_modifier == ImplicitModifier::Refuse)
    implicit_modifier = ImplicitModifier::Auto;
  const auto *node = find_machine_node(path);
  return node ? node_caps(*node, direction, implicit_modifier)
              : machine_caps(direction, implicit_modifier);
}

} // namespace gstdrm::va

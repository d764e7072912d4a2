// SPDX-License-Identifier: LGPL-2.1-or-later
// The probe's result for the render nodes of a machine, and its text form, which the registry and
// the report of the probe program contain. The readers trust neither: they
// refuse any text that the writers here would not write.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gst/drm/core/log.hpp>

#include "va_probe.hpp"

namespace gstdrm::va {

struct MachineNode {
  std::string path; // /dev/dri/renderD128
  std::string vendor;
  Capabilities capabilities;
};

// A node whose driver crashed, hung or did not answer when it was probed.
struct FailedNode {
  std::string path;
  std::string reason; // a sentence that begins with the path, without a full stop
  // It was too slow, or the kernel killed it, as when memory is short: another probe may succeed.
  bool may_pass = false;
};

struct Machine {
  std::vector<MachineNode> nodes; // in the order of their numbers
  std::vector<FailedNode> failed;
};

// One line, without a line feed. The node's vendor and path are one line each.
std::string write_node(const MachineNode &node);
std::optional<MachineNode> read_node(std::string_view line);

std::string write_machine(const Machine &machine);
std::optional<Machine> read_machine(std::string_view text);

// --- the report of gst-drm-va-probe about one render node ---------------------------------------

// Lines of text, each written before the next step, so that the last line of a crashed probe names
// the step.
inline constexpr std::size_t kMaxReport = std::size_t{4} << 20; // bytes

// Each function returns one line with its line feed. Their order: the greeting, log and driver
// lines, the node or the reason why there is none, the end.
namespace report {
std::string greeting(); // of this version of the plugin
std::string log(LogLevel level, std::string_view text);
std::string driver(std::string_view name);
std::string node(const MachineNode &found);
std::string none(std::string_view reason);
std::string end();
} // namespace report

struct ProbeReport {
  struct Line {
    LogLevel level;
    std::string text;
  };
  bool greeted = false;  // the text is from the program of this version
  std::string fault;     // the first error in the text; empty if it is complete
  std::vector<Line> log; // up to the fault
  std::string driver;    // its name, and its file if libva named it
  std::string reason;    // why the driver cannot be used
  std::optional<MachineNode> node;
};

// `path`: the node that was asked for.
ProbeReport read_report(std::string_view text, std::string_view path);

} // namespace gstdrm::va

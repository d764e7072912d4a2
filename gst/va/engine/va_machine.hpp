// SPDX-License-Identifier: LGPL-2.1-or-later
// What a probe found out about the render nodes of a machine, and its form as text: the registry
// keeps that text, and the program that probes answers in it (va_probe_report.hpp). Both may hold
// anything, so the readers refuse whatever the writers here would not have written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  // It was too slow, or the kernel ended it, as when memory is short: it may answer another time.
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

} // namespace gstdrm::va

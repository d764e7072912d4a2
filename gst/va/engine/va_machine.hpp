// SPDX-License-Identifier: LGPL-2.1-or-later
// The probe's result for the render nodes of a machine, and its text form, which the registry and
// the report of the probe program (va_probe_report.hpp) contain. The readers trust neither: they
// refuse any text that the writers here would not write.
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

} // namespace gstdrm::va

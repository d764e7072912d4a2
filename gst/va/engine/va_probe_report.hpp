// SPDX-License-Identifier: LGPL-2.1-or-later
// The report of gst-drm-va-probe about one render node: lines of text, each written before the next
// step, so that the last line of a crashed probe names the step.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gst/drm/core/log.hpp>

#include "va_machine.hpp"

namespace gstdrm::va {

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

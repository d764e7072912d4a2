// SPDX-License-Identifier: LGPL-2.1-or-later
// What of a machine decides whether frames can go without copies: memory for them, fences, devices,
// links, rights.
#pragma once

#include <string>
#include <vector>

namespace verify {

enum class Light {
  Green,
  Yellow, // works, but less than it could, or only for some pipelines
  Red,    // frames cannot go without copies until this is changed
};

struct Finding {
  Light light = Light::Green;
  std::string subject;
  std::string found;
  std::string advice; // empty if it is green
};

// `root` is where the machine's /dev, /proc, /sys and /boot are; empty for this machine, of which
// its limits and its GStreamer are looked at as well. Opens no device.
std::vector<Finding> check_machine(const std::string &root);

// One line for each, and the advice below it. `colours` are those of a terminal.
std::string write_findings(const std::vector<Finding> &findings, bool colours);

} // namespace verify

// SPDX-License-Identifier: LGPL-2.1-or-later
// Which other programs use a display, for the message that says that it is taken. Reads files of
// the system alone. Any thread.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace gstdrm::kms {

// Where the system tells. Tests put trees of their own here.
struct SystemPaths {
  std::string proc = "/proc";
  std::string debug = "/sys/kernel/debug/dri";    // root's
  std::string sessions = "/run/systemd/sessions"; // of logind, everybody's
};

struct Holder {
  pid_t process = 0;
  std::string name; // as ps shows it
};

struct Holders {
  std::vector<Holder> programs; // the master alone where that is known
  bool is_master = false;       // the program is the master; else each of them may be it
  bool all_seen = false;        // the processes of every user
  std::string session;          // of the screen: "wayland", "x11", or what logind says; empty: none
};

// Of the card with this node, without this process.
Holders find_holders(dev_t node, const SystemPaths &paths = {});

// Sentences for a person: who has the display, and what can be done.
std::string describe_holders(const Holders &holders);

} // namespace gstdrm::kms

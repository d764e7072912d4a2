// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a pipeline on this machine and describes each link.
#pragma once

#include <string>

namespace inspect {

struct Negotiated {
  bool works = false; // frames reached every sink
  std::string text;   // several lines
};

// `description` has the syntax of gst-launch-1.0. Runs until each sink has its first frame, an
// error is posted, or limit_ms have passed.
Negotiated negotiate(const std::string &description, unsigned limit_ms);

} // namespace inspect

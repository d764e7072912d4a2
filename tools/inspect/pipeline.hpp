// SPDX-License-Identifier: LGPL-2.1-or-later
// Negotiates a pipeline for real, on this machine, and tells each link.
#pragma once

#include <string>

namespace inspect {

struct Negotiated {
  bool works = false; // frames reached every sink
  std::string text;   // several lines
};

// `description` as gst-launch-1.0 reads it. Runs until each sink has its first frame, an error is
// posted, or limit_ms have passed.
Negotiated negotiate(const std::string &description, unsigned limit_ms);

} // namespace inspect

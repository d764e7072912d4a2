// SPDX-License-Identifier: LGPL-2.1-or-later
// A machine that gst-drm-inspect-1.0 --save wrote, for drivers of the tests' own that play it: what a
// user's board could do. The tool checks such a file with care; here a bad one is an error and no more.
#pragma once

#include <string>
#include <vector>

#include "gst/drm/core/format.hpp"

namespace gstdrm::test {

struct SavedSource {
  std::string kind; // "kms", "va" and so on
  std::string name; // "kms:card0:31"
  std::string driver;
  std::string description; // "primary plane"
  std::vector<Format> formats;
};

// Sources that have a problem are left out. false: it cannot be read, and `error` says why.
bool read_saved_machine(const std::string &path, std::vector<SavedSource> &sources,
                        std::string &error);

} // namespace gstdrm::test

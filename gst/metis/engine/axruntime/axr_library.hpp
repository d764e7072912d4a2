// SPDX-License-Identifier: LGPL-2.1-or-later
// libaxruntime.so, found and opened.
#pragma once

#include <string>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "axr_api.hpp"

namespace gstdrm::metis::axr {

// Names a file that is opened instead of those of library_names().
constexpr const char *kLibraryVariable = "GST_DRM_AXRUNTIME";

// What to try, in this order: the name alone, which the dynamic linker looks for, then the
// runtimes that are installed under `root` (runtime-VERSION/lib/libaxruntime.so), the newest first.
std::vector<std::string> library_names(const std::string &root = "/opt/axelera");

// Stays loaded until the process ends: the runtime has threads of its own.
struct Library {
  Api api;
  std::string path; // of the file
};

// Any thread. ErrorCode::Device with ENOENT: no such library, or it needs another one that is
// missing. ErrorCode::Unsupported: functions are missing, which the message names, or the version
// of the interface is none.
Result<Library> open_library();

} // namespace gstdrm::metis::axr

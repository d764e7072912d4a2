// SPDX-License-Identifier: LGPL-2.1-or-later
// The CPU back end, which is a shared object of its own: only who uses it needs OpenCV.
#pragma once

#include <memory>
#include <string>

#include <gst/drm/core/result.hpp>

#include "engine/backend.hpp"

namespace gstdrm::metis {

// Loads the part, which stays loaded, and opens the model with it. The part is looked for beside
// the object that has this function, and in the folder gst-drm there. Any thread.
Result<std::unique_ptr<Backend>> open_cpu(const BackendOptions &options);

// The part's path, for a plugin that lies in `folder`. Error: there is none.
Result<std::string> find_cpu_part(const std::string &folder);

// As open_cpu(), with the part's path.
Result<std::unique_ptr<Backend>> open_cpu_part(const std::string &part,
                                               const BackendOptions &options);

} // namespace gstdrm::metis

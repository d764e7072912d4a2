// SPDX-License-Identifier: LGPL-2.1-or-later
// A model as files describe it: the model's own file, and a modelinfo file beside it.
#pragma once

#include <string>

#include <gst/drm/core/result.hpp>

#include "model.hpp"

namespace gstdrm::metis {

// Checks that `path` is a readable file that is not empty, and reads PATH.modelinfo, or else the
// .modelinfo file of PATH without its last extension, if there is one. The format is that of
// GStreamer 1.28 (gst_analytics_modelinfo_load()) with keys of this project, see
// docs/elements/metis-models.md. The Error for a mistake names file, section and key.
Result<Model> read_model(const std::string &path);

} // namespace gstdrm::metis

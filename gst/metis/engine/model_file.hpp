// SPDX-License-Identifier: LGPL-2.1-or-later
// A model as files describe it: the model's own file, and a modelinfo file beside it.
#pragma once

#include <string>

#include <gst/drm/core/result.hpp>

#include "model.hpp"

namespace gstdrm::metis {

// Looks whether `path` is a file that can be read and has content, and reads PATH.modelinfo, or
// else that of PATH without its last extension, where there is one. What neither says is left as
// Model has it. The format is that of GStreamer 1.28 (gst_analytics_modelinfo_load()) with keys of
// this project's own: docs/elements/metis-models.md has them all. Each mistake is an Error that
// names file, section and key.
Result<Model> read_model(const std::string &path);

} // namespace gstdrm::metis

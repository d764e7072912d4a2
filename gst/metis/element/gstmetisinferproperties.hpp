// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of metisdmabufinfer as GObject knows them.
#pragma once

#include <string>

#include <gst/gst.h>

#include "gstmetisinfersettings.hpp"

namespace gstdrm::metis {

// The id of drm-stats, which is no setting.
inline constexpr guint kInferStatsProperty = 1;

void install_infer_properties(GObjectClass *klass);

// The value's text; empty where it has none.
std::string text_from(const GValue *value);
// From a property to the settings and back; false where there is no such property. `text` is
// text_from() of the value, made by the caller before a lock is held.
bool set_infer_property(InferSettings &settings, guint id, const GValue *value, std::string text);
bool get_infer_property(const InferSettings &settings, guint id, GValue *value);

} // namespace gstdrm::metis

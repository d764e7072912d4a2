// SPDX-License-Identifier: LGPL-2.1-or-later
// What the probe found, as the plugin's data in GStreamer's registry.
#pragma once

#include <optional>
#include <string>

#include <gst/gst.h>

#include "engine/va_machine.hpp"

namespace gstdrm::va {

// Differs where the probe may find something else although no file has changed: the plugin's
// version, and the environment that drivers read.
std::string cache_key();

// (transfer full)
GstStructure *machine_to_cache(const Machine &machine, const std::string &key);
// Empty where there is nothing in the cache, where it has another key, and where it cannot be read.
std::optional<Machine> machine_from_cache(const GstStructure *cache, const std::string &key);

} // namespace gstdrm::va

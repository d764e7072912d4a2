// SPDX-License-Identifier: LGPL-2.1-or-later
// What the links of a pipeline agreed on.
#pragma once

#include <string>
#include <vector>

#include <gst/gst.h>

namespace demo {

// Frees `text` and returns it as a string.
std::string take(gchar *text);

// One row per link with raw video, from upstream to the element.
std::vector<std::string> links_before(GstElement *sink);

} // namespace demo

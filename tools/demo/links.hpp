// SPDX-License-Identifier: LGPL-2.1-or-later
// What the links of a pipeline agreed on.
#pragma once

#include <string>
#include <vector>

#include <gst/gst.h>

namespace demo {

// The text as a string; frees it.
std::string take(gchar *text);

// One row per link from where the video becomes raw to the element, in the order of the stream.
std::vector<std::string> links_before(GstElement *sink);

} // namespace demo

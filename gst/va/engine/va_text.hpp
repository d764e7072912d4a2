// SPDX-License-Identifier: LGPL-2.1-or-later
// Text from drivers, which may contain any bytes, as lines for GStreamer's structures, logs and
// messages.
#pragma once

#include <string>
#include <string_view>

namespace gstdrm::va {

// Returns true for valid UTF-8 without control characters and line separators.
bool is_one_line(std::string_view text);
// Replaces each byte that is_one_line() refuses by '?', and cuts the text after 1000 bytes.
std::string one_line(std::string_view text);

} // namespace gstdrm::va

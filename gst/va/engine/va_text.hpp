// SPDX-License-Identifier: LGPL-2.1-or-later
// Text from drivers, which may hold anything, as lines that GStreamer's structures, logs and
// messages take.
#pragma once

#include <string>
#include <string_view>

namespace gstdrm::va {

// Valid UTF-8 on one line: no control character, no line separator.
bool is_one_line(std::string_view text);
// The same text with a '?' for each byte that is_one_line() would refuse, cut after 1000 bytes.
std::string one_line(std::string_view text);

} // namespace gstdrm::va

// SPDX-License-Identifier: LGPL-2.1-or-later
// A machine as JSON (docs/gst-drm-inspect.md has the schema).
#pragma once

#include <string>
#include <string_view>

#include "machine.hpp"

namespace inspect {

std::string write_snapshot(const Machine &machine);

// `name` is the file's, for messages. Any bytes.
Outcome<Machine> parse_snapshot(std::string_view text, const std::string &name);

// The file's bytes; a Failure for what cannot be read, and for more than 16 MiB.
Outcome<std::string> read_file(const std::string &path);

} // namespace inspect

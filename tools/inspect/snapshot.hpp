// SPDX-License-Identifier: LGPL-2.1-or-later
// A machine as JSON (docs/gst-drm-inspect.md has the schema).
#pragma once

#include <string>
#include <string_view>

#include "machine.hpp"

namespace inspect {

std::string write_snapshot(const Machine &machine);

// `text` may be any bytes. `name` is the name of the file, for messages.
Outcome<Machine> parse_snapshot(std::string_view text, const std::string &name);

// The bytes of the file. Returns a Failure if it cannot be read or has more than 16 MiB.
Outcome<std::string> read_file(const std::string &path);

// Returns an empty text, or what went wrong. An existing file stays unchanged until the new one is
// written completely.
std::string write_file(const std::string &path, const std::string &text);

} // namespace inspect

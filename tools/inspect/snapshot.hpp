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

// What went wrong, for a person; empty: written. A file that was there stays as it was until all of
// the new one is written.
std::string write_file(const std::string &path, const std::string &text);

} // namespace inspect

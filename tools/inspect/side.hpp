// SPDX-License-Identifier: LGPL-2.1-or-later
// One side of a link: a source of the machine, a saved table or machine, or an element.
#pragma once

#include <string>

#include <gst/gst.h>

#include "element_ptr.hpp"
#include "machine.hpp"

namespace inspect {

struct Side {
  std::string label;       // "kms:card0:31 (primary plane of vkms, /dev/dri/card0)"
  std::string node;        // path on this machine; may be empty
  std::vector<Pair> pairs; // of dmabufs; sorted
  bool any_format = false; // all pairs; `pairs` is empty then
  Caps caps;               // of an element, including other memory than dmabufs
};

enum class End { Source, Sink };

// Finds what `text` names: a source of `machine`, or the only one whose name starts with it; else a
// file with a table or a saved machine, FILE#NAME for one of its sources; else an element with its
// properties, in the syntax of gst-launch-1.0, whose pad of that end is queried.
Outcome<Side> find_side(const Machine &machine, const std::string &text, End end);

Side side_of(const Machine &machine, const Source &source);

Side side_of_caps(std::string label, Caps caps);

// The sources of a file, which is a saved machine or one table.
Outcome<Machine> read_sources(const std::string &path);

} // namespace inspect

// SPDX-License-Identifier: LGPL-2.1-or-later
// One side of a link: a source of the machine, a saved table or machine, or an element.
#pragma once

#include <string>

#include <gst/gst.h>

#include "machine.hpp"

namespace inspect {

struct UnrefCaps {
  void operator()(GstCaps *caps) const noexcept { gst_caps_unref(caps); }
};
using Caps = std::unique_ptr<GstCaps, UnrefCaps>;

struct Side {
  std::string label;       // "kms:card0:31 (primary plane of vkms, /dev/dri/card0)"
  std::string node;        // path on this machine; empty where there is none
  std::vector<Pair> pairs; // of dmabufs; sorted
  bool any_format = false; // takes every pair, and pairs is empty
  Caps caps;               // of elements, with what they do without dmabufs
};

enum class End { Source, Sink };

// Finds what `text` names: a source of `machine`, or the only one whose name starts so; else a file
// with a table or with a saved machine, FILE#NAME for one of its sources; else an element with its
// properties, as gst-launch-1.0 reads it, whose pad of that end is asked.
Outcome<Side> find_side(const Machine &machine, const std::string &text, End end);

// What a source of the machine says.
Side side_of(const Machine &machine, const Source &source);

// What a pad says.
Side side_of_caps(std::string label, Caps caps);

// The sources of a file: those of a saved machine, or one table.
Outcome<Machine> read_sources(const std::string &path);

} // namespace inspect

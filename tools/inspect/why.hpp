// SPDX-License-Identifier: LGPL-2.1-or-later
// What two sides have in common, and what helps if they have nothing in common.
#pragma once

#include <string>

#include "side.hpp"

namespace inspect {

struct Answer {
  bool common = false; // they can share dmabufs
  std::string shared;  // "3 pairs of 2 formats"; empty if nothing is
  std::string text;    // several lines, which include `shared`
};

Answer explain(const Side &source, const Side &sink);

// The pairs of dmabufs and the entries of caps that the first side offers and the second does not
// take; "nothing" if there are none.
std::string refusals(const Side &source, const Side &sink);

// A line about caps that no element can take because of a mistake in them: of `between`, which may
// be nullptr, or of a capsfilter of the pipeline. Empty if there is none.
std::string mistake_written(GstElement *pipeline, const GstCaps *between);

// The caps between two elements, which GStreamer's error about a link has only at the end of its
// text. nullptr if it has none.
Caps caps_between(const std::string &link_error);

// The fourccs with their modifiers, indented; fourccs with the same modifiers are listed together.
std::string list_pairs(const std::vector<Pair> &pairs);

// Each source with its pairs, by device; sources of a device that are alike share a block. `about`,
// if it is given, tells more of a device.
std::string list_machine(const Machine &machine,
                         std::string (*about)(const std::string &node) = nullptr);

} // namespace inspect

// SPDX-License-Identifier: LGPL-2.1-or-later
// What two sides have in common, and what would help where it is nothing.
#pragma once

#include <string>

#include "side.hpp"

namespace inspect {

struct Answer {
  bool common = false; // they can share dmabufs
  std::string shared;  // what of: "3 pairs of 2 formats"; empty if there is nothing
  std::string text;    // several lines, `shared` among them
};

Answer explain(const Side &source, const Side &sink);

// What the first side offers and the second does not take: pairs of dmabufs, and entries of the
// caps that have nothing in common with it. "nothing" where there is none.
std::string refusals(const Side &source, const Side &sink);

// What is wrong with caps as they are written, whatever elements take, in a sentence; empty where
// nothing is, and for nullptr.
std::string mistake_in(const GstCaps *caps);

// The caps that were to stand between two elements: GStreamer's error about a link has them at the
// end of its text, and nowhere else. nullptr where there are none.
Caps caps_between(const std::string &link_error);

// "NV12  LINEAR, INTEL_Y_TILED", a line for each fourcc; "  " before each.
std::string list_pairs(const std::vector<Pair> &pairs);

// Each source with its pairs.
std::string list_machine(const Machine &machine);

} // namespace inspect

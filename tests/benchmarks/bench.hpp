// SPDX-License-Identifier: LGPL-2.1-or-later
// What the benchmarks share: pairs of inputs, and the three things that the library is compared
// with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gst/drm/drm.h>

#include "core/format_set.hpp"

namespace gstdrm::bench {

struct SetDeleter {
  void operator()(GstDrmFormatSet *set) const { gst_drm_format_set_unref(set); }
};
using SetPtr = std::unique_ptr<GstDrmFormatSet, SetDeleter>;

struct CapsDeleter {
  void operator()(GstCaps *caps) const { gst_caps_unref(caps); }
};
using CapsPtr = std::unique_ptr<GstCaps, CapsDeleter>;

// The same two sets in every form that is timed. Lists in caps have the order of the driver.
struct Inputs {
  std::string name;
  std::vector<Format> a; // sorted
  std::vector<Format> b;
  SetPtr set_a;
  SetPtr set_b;
  CapsPtr caps_a;
  CapsPtr caps_b;
};

Inputs make_inputs(std::string name, std::vector<Format> a, std::vector<Format> b);
// Tables of real GPUs, and sets of 1000 and 10000 pairs that have all or nothing in common.
const std::vector<Inputs> &all_inputs();
const Inputs &inputs(const std::string &name);

// The floor: a merge of two sorted arrays into a third that is large enough, and nothing else: no
// memory is allocated. The number of pairs.
std::size_t floor_intersect(const std::vector<Format> &a, const std::vector<Format> &b,
                            std::vector<Format> &out);
std::size_t floor_unite(const std::vector<Format> &a, const std::vector<Format> &b,
                        std::vector<Format> &out);

// The idea of wlroots' wlr_drm_format_set_intersect(), written anew: a list of formats that is
// searched from the start, and for each format found a list of modifiers, each compared with each.
struct WlrootsFormat {
  std::uint32_t fourcc;
  std::vector<std::uint64_t> modifiers;
};
using WlrootsSet = std::vector<WlrootsFormat>;
WlrootsSet wlroots_set(const std::vector<Format> &pairs);
WlrootsSet wlroots_intersect(const WlrootsSet &a, const WlrootsSet &b);

} // namespace gstdrm::bench

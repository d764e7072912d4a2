// SPDX-License-Identifier: LGPL-2.1-or-later
// What an element of this machine would find on a saved one.
#pragma once

#include <optional>
#include <string>

#include "side.hpp"

namespace inspect {

// The name of its factory; empty where it has none.
std::string factory_of(GstElement *element);

// The pairs of the device of the saved machine that the element would use: of all of its sources
// that fit. A Failure where the machine has none. Nothing: the element uses no device that a
// machine lists, and its pads say what there is.
std::optional<Outcome<Side>> side_of_device(const Machine &machine, GstElement *element,
                                            GstPad *pad);

// A line for a person where properties choose what a saved machine does not have; empty: none do.
std::string unused_properties(GstElement *element);

} // namespace inspect

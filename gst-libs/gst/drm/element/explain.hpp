// SPDX-License-Identifier: LGPL-2.1-or-later
// The text of a failed negotiation, the same for every element: who has what, who refuses it, what
// keeps them apart, and what would help.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gst/drm/core/result.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/gstdrmcaps-words.hpp>

#include "chain.hpp"

namespace gstdrm {

// The side that sends frames.
struct Sender {
  std::string name;    // "videotestsrc0 (videotestsrc)", see origin_name() and peer_name()
  const char *verb;    // between the name and what the caps say: "has", "offers"
  const GstCaps *caps; // fixed, or a list
  // What can become of these caps on the pad where the others are asked; nullptr where the element
  // changes nothing.
  const GstCaps *sendable = nullptr;
};

// A failed negotiation, as the element sees it that explains it.
struct Negotiation {
  // For gcc 12 at -O3: it takes the destruction of an aggregate that an exception left half made
  // for a use of what was not made (-Wmaybe-uninitialized). These members are moved, which cannot
  // throw.
  Negotiation(std::string failed, Sender from, std::vector<Restriction> to)
      : headline(std::move(failed)), sender(std::move(from)), receivers(std::move(to))
  {
  }
  std::string headline; // a whole sentence: what failed, and with which device
  Sender sender;
  std::vector<Restriction> receivers; // in the order of the stream, see restrictions_after()
};

// The nearest fix, in whole sentences, for caps that one side sends and the other refuses. Elements
// differ in what they can convert, so each supplies its own.
using Suggest = std::function<std::string(const GstCaps *sent, const GstCaps *refusing)>;

struct Mismatch {
  std::string text;   // for a person; long lists of formats are cut
  std::string advice; // the end of the text: what would help
  std::string debug;  // the caps of all sides in full
  // gst_drm_explain_mismatch() of the sender and the receiver that refuses
  std::shared_ptr<const GstStructure> details;
};

// Names the receiver that refuses: two receivers that contradict each other, or the first one whose
// caps leave nothing of what can be sent.
Mismatch describe_mismatch(const Negotiation &negotiation, const Suggest &suggest);

// "dmabufupload0 finds nothing in common.", for the headline.
std::string nothing_in_common(GstElement *element);

// About a frame of the element `sender`. Empty for errors of the device, whose own sentence says
// what to do.
[[nodiscard]] std::string advice_on(const Error &error, const std::string &sender);

// Caps that the element behind the sink pad sent and that contradict themselves.
[[nodiscard]] Failure unreadable_caps(GstPad *sink, const Error &error, const GstCaps *caps);

} // namespace gstdrm

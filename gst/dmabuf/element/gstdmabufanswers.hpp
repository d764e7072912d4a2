// SPDX-License-Identifier: LGPL-2.1-or-later
// Answers to caps queries, remembered: one element asks and is asked the same many times while a
// pipeline starts, and a GPU's list has hundreds of pairs.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include <gst/drm/core/ordered_mutex.hpp>

#include "gstdmabufcaps.hpp"

namespace gstdrm {

// What an element answers, from what its peer on the other side answers. An answer depends on
// nothing but the templates, the rules, the peer's answer and the filter, and the last three are
// the key: nothing that is remembered can be out of date. Owned by one element; any thread.
class CapsAnswers {
public:
  // Filters remembered per pad: a neighbour asks with two or three of its own.
  static constexpr std::size_t kMostFilters = 8;

  struct Question {
    CapsRules rules;
    GstPadDirection direction;     // of the pad that is asked
    const CapsParts &own_limits;   // of that pad's template
    const CapsParts &other_limits; // of the template of the element's other pad
    GstCaps *peer;                 // what that pad's peer takes or sends, without a filter
    GstCaps *filter;               // or nullptr
  };

  // What the pad can take or send, in the order that filter_parts() keeps.
  GstPtr<GstCaps> answer(const Question &question);
  // Lets go of all that is remembered.
  void forget();

private:
  struct Given {
    GstPtr<GstCaps> filter; // none: unfiltered
    GstPtr<GstCaps> answer;
  };
  struct Known {
    CapsRules rules{};
    GstPtr<GstCaps> peer;
    std::shared_ptr<const CapsParts> allowed; // the unfiltered answer
    std::vector<Given> given;
    std::size_t next = 0; // the one that is replaced when there are enough
  };

  std::shared_ptr<const CapsParts> recall(const Question &question, GstPtr<GstCaps> &answer);
  void remember(const Question &question, std::shared_ptr<const CapsParts> allowed,
                const GstPtr<GstCaps> &answer);
  Known &known(GstPadDirection direction) { return known_[direction == GST_PAD_SINK ? 1 : 0]; }

  // Guards known_; nothing is called out of the element under it.
  OrderedMutex lock_{100, "CapsAnswers::lock_"};
  std::array<Known, 2> known_;
};

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
// An element whose downstream peer answers caps queries with odd caps.
#pragma once

#include <string>

#include "support/dmabuf_elements.hpp"
#include "support/odd_queries.hpp"

namespace gstdrm::test {

// No CRITICAL comes of it, and one message at most for what is refused.
inline void try_odd_peer(const std::string &element, const GstPtr<GstCaps> &answer)
{
  const Harness h(element);
  gst_harness_set_sink_caps(h.get(), gst_caps_ref(answer.get()));
  gst_harness_play(h.get());
  for (const OddCaps &filter : kOddCaps)
    ask_caps(GST_PAD_PEER(h.get()->srcpad), odd_caps(filter).get(), filter.name);
  fail_unless(h.messages(GST_MESSAGE_WARNING).size() <= 1);
  h.negotiate(dmabuf_caps("XR24", 64, 48));
  fail_unless(h.messages(GST_MESSAGE_ERROR).size() <= 1);
}

} // namespace gstdrm::test

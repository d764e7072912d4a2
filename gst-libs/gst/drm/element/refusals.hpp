// SPDX-License-Identifier: LGPL-2.1-or-later
// What an element does with the frames of caps that it has accepted and that its device then
// refuses: RECONFIGURE asks upstream to choose again, frames are dropped until it has, and the
// stream ends with one message where no choice is left or none is made.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>

namespace gstdrm {

// By the streaming thread, except where a function says otherwise.
class Refusals {
public:
  // Buffers of refused caps that may come before upstream has to have chosen again: more than a
  // decoder's pool and a queue of decoded frames hold, about a second at 60 Hz.
  static constexpr guint kMaxDropped = 64;

  // Parts of the message that ends the stream; string literals.
  struct Words {
    const char *side;       // who offers the element's caps, at the start of a sentence
    const char *suggestion; // a sentence: what the user can do
  };

  // `pad` is the element's sink pad. Messages go to `category`.
  Refusals(GstElement *element, GstPad *pad, GstDebugCategory *category, Words words) noexcept
      : element_(element), pad_(pad), category_(category), words_(words)
  {
  }

  // Forgets everything: the element starts.
  void restart();

  // The stream has new caps. `reason` is why their frames are dropped; empty if they are used.
  void begin(std::string reason);
  // Whether the frames of the present caps are dropped.
  [[nodiscard]] bool refuses() const noexcept { return !reason_.empty(); }

  // The device cannot use the frames of the present caps; the caller has taken them out of what the
  // caps query answers. Drops the present frame. GST_FLOW_NOT_NEGOTIATED, after a message, where
  // upstream has nothing else that the element takes.
  GstFlowReturn refuse(const std::string &reason);
  // Drops one more frame. GST_FLOW_NOT_NEGOTIATED, after a message, where upstream has had its
  // time.
  GstFlowReturn drop();
  // Frames dropped since restart(). Any thread.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

  // Asks upstream to choose again, as the answer of the caps query has changed. The stream goes on
  // meanwhile. Any thread, without a lock that the caps query takes.
  void request_choice();

private:
  GstFlowReturn give_up(const std::string &what);

  GstElement *element_; // borrowed: the element owns this
  GstPad *pad_;         // borrowed: the element's
  GstDebugCategory *category_;
  Words words_;
  std::string reason_;
  guint dropped_in_a_row_ = 0;
  bool gave_up_ = false; // and said so
  std::atomic<std::uint64_t> dropped_{0};
};

} // namespace gstdrm

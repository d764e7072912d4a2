// SPDX-License-Identifier: LGPL-2.1-or-later
// One message for each negotiation that fails, whoever notices the failure and however often
// upstream tries the same caps.
#pragma once

#include <atomic>
#include <functional>

#include "errors.hpp"
#include "explain.hpp"

namespace gstdrm {

// Posts what describe_mismatch() found, with the caps of all sides as the debug text: an error, or
// a warning.
void post_mismatch(GstElement *element, const Mismatch &mismatch,
                   GstMessageType type = GST_MESSAGE_ERROR);

// Owned by one element. begin(), succeed(), reset(), has_refused() and take() are the streaming
// thread's; any thread may call claim(), post() and warn_of_empty_answer().
class FailedNegotiation {
public:
  // The stream starts anew: every failure is worth a message.
  void reset();
  // Upstream sends caps. GStreamer sends sticky events again before each buffer, so caps that
  // failed last are not another failure.
  void begin(const GstCaps *caps);
  // The caps were taken, or a frame of theirs was: the next failure is another one.
  void succeed();
  // Whether `caps` equal those of the last begin(), and no succeed() or reset() has followed. An
  // element that refuses them again needs no new reason.
  [[nodiscard]] bool has_refused(const GstCaps *caps) const;

  // True for the first caller of the negotiation under way, which posts the message.
  [[nodiscard]] bool claim() { return posted_.claim(); }
  // Posts, unless the negotiation has its message.
  void post(GstElement *element, const Error &error) { posted_.post(element, error); }
  void post(GstElement *element, const Failure &failure) { posted_.post(element, failure); }

  // Gives a CAPS event to `pass_on`, mostly the handler of the base class, and returns its result.
  // `event` is consumed. Where the caps are refused, the text of `explain` is posted. Nothing is
  // posted where a flush or a state change ended the attempt: see is_flushing() (chain.hpp), or
  // `pass_on` called interrupt().
  bool take(GstElement *element, GstEvent *event, const std::function<bool(GstEvent *)> &pass_on,
            const std::function<Mismatch(const GstCaps *)> &explain);

  // A caps query that meets nothing is no failure yet, as upstream may be probing. Upstream's own
  // error, if it comes to that, says "not negotiated" and no more: what `explain` returns is posted
  // as a warning, once since reset().
  void warn_of_empty_answer(GstElement *element, const std::function<Mismatch()> &explain);

  // For `pass_on`: the caps are not refused, but the attempt was ended.
  void interrupt() noexcept { interrupted_ = true; }

private:
  OncePerFailure posted_;
  std::atomic<bool> warned_{false};
  bool interrupted_ = false; // streaming thread: the attempt under way was ended
  GstPtr<GstCaps> refused_;  // streaming thread: the caps that failed last
};

} // namespace gstdrm

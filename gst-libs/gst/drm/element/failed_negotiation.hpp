// SPDX-License-Identifier: LGPL-2.1-or-later
// One message for each negotiation that fails, whoever notices the failure and however often
// upstream tries the same caps.
#pragma once

#include <atomic>
#include <functional>

#include <gst/drm/gstdrm-guard-private.hpp>

#include "errors.hpp"
#include "explain.hpp"

namespace gstdrm {

// Posts what describe_mismatch() found, with the caps of all sides as the debug text.
void post_mismatch(GstElement *element, const Mismatch &mismatch);

// A CAPS event, but for the caps "NULL" that unixfdsrc sends while its unixfdsink has none: others
// follow.
bool brings_caps(GstEvent *event);

// Calls `Method` of the object Of(self) with each CAPS event that comes to `sink`. GstPad refuses
// caps that the element does not accept before the element sees their event: the refusal is right,
// the method only says why.
template <auto Of, auto Method> void watch_caps_events(GstPad *sink, gpointer self)
{
  const auto probe = [](GstPad *, GstPadProbeInfo *info, gpointer data) noexcept {
    constexpr void (*explain)(void *, GstEvent *) = logging<Of, Method>;
    if (GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info); brings_caps(event))
      explain(data, event);
    return GST_PAD_PROBE_OK;
  };
  gst_pad_add_probe(sink, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, probe, self, nullptr);
}

// Owned by one element. begin(), succeed(), reset(), has_refused() and take() are the streaming
// thread's; any thread may call claim() and post().
class FailedNegotiation {
public:
  // Posts the text of `explain` where a caps query of the element's `sink` pad ends a stream. Most
  // sources ask with a filter, send nothing where the answer is empty, and post an error that says
  // only that negotiation failed: the reason has to come before that error. Such a query comes from
  // a streaming thread, to a pad that is active. One without a filter ends the stream where a
  // source asks and can send nothing of the answer. Every other query is only a question.
  // To be called once, when the element is made. `explain` gets the filter, or what the source can
  // send.
  void watch(GstPad *sink, std::function<Mismatch(const GstCaps *)> explain);
  // After watch(): posts that text where caps come that `sink` does not accept. GstPad refuses them
  // before the element sees their event.
  void watch_caps(GstPad *sink);

  // The stream starts anew: every failure is worth a message.
  void reset() { succeed(); }
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

  // For `pass_on`: the caps are not refused, but the attempt was ended.
  void interrupt() noexcept { interrupted_ = true; }

private:
  void explain_empty_answer(GstElement *element, GstPad *sink, GstQuery *answered);
  void explain_refused_caps(GstElement *element, GstPad *sink, GstEvent *event);
  static GstPadProbeReturn on_event(GstPad *pad, GstPadProbeInfo *info, gpointer self);
  static GstPadProbeReturn on_answer(GstPad *pad, GstPadProbeInfo *info, gpointer self);

  OncePerFailure posted_;
  std::function<Mismatch(const GstCaps *)> explain_; // of an empty answer
  // The message was about an empty answer: caps that come all the same are no other failure.
  std::atomic<bool> answered_empty_{false};
  bool interrupted_ = false; // streaming thread: the attempt under way was ended
  GstPtr<GstCaps> refused_;  // streaming thread: the caps that failed last
};

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
// A synchronous bus handler that calls back into the element of each message, on the thread that
// posted it: a lock that the element holds meanwhile stops the test.
#pragma once

#include <memory>

#include "support/dmabuf_elements.hpp"
#include "support/odd_queries.hpp"

namespace gstdrm::test {

class CallsBack {
public:
  // `may_have_buffers`: the caps whose allocation queries may be answered.
  explicit CallsBack(const Harness &h, bool (*may_have_buffers)(const GstCaps *) = can_be_honoured)
      : h_(h), may_have_buffers_(may_have_buffers), bus_(gst_element_get_bus(h.element()))
  {
    gst_bus_set_sync_handler(bus_, on_message, this, nullptr);
  }
  CallsBack(const CallsBack &) = delete;
  CallsBack &operator=(const CallsBack &) = delete;
  ~CallsBack()
  {
    gst_bus_set_sync_handler(bus_, nullptr, nullptr, nullptr);
    gst_object_unref(bus_);
    gst_element_set_state(other_.get(), GST_STATE_NULL);
  }
  [[nodiscard]] int calls() const { return calls_; }

private:
  static GstBusSyncReply on_message(GstBus *, GstMessage *message, gpointer self) noexcept
  {
    static_cast<CallsBack *>(self)->handle(message);
    return GST_BUS_PASS;
  }
  void handle(GstMessage *message)
  {
    locks_.check(GST_MESSAGE_TYPE_NAME(message));
    constexpr auto kOfFailures =
        static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING | GST_MESSAGE_INFO);
    if ((GST_MESSAGE_TYPE(message) & kOfFailures) == 0 || inside_)
      return; // what is done below posts messages as well
    inside_ = true;
    calls_++;
    touch_properties(G_OBJECT(h_.element()));
    for (const char *name : {"sink", "src"}) {
      const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(h_.element(), name));
      ask_everything(pad.get(), could_be_sent, may_have_buffers_);
    }
    gst_harness_push_upstream_event(h_.get(), gst_event_new_reconfigure());
    gst_element_set_state(other_.get(), GST_STATE_PAUSED);
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) { // as a player that starts anew
      gst_harness_push_event(h_.get(), gst_event_new_flush_start());
      gst_harness_push_event(h_.get(), gst_event_new_flush_stop(FALSE));
    }
    inside_ = false;
  }
  const Harness &h_;
  const NoLocks locks_;
  bool (*const may_have_buffers_)(const GstCaps *);
  GstBus *bus_;
  const GstPtr<GstElement> other_ = GstPtr<GstElement>::adopt(
      GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make("fakesink", nullptr))));
  int calls_ = 0;
  bool inside_ = false;
};

// What makes an element post a message.
struct MessageRow {
  const char *element;
  const char *downstream;                           // takes these
  const char *format;                               // of plain caps
  GstBuffer *(*change)(GstBuffer *frame) = nullptr; // before it is pushed
};

// A frame that is too small for its caps.
inline GstBuffer *cut(GstBuffer *frame)
{
  gst_buffer_set_size(frame, 100);
  return frame;
}

// Pushes one frame of the row. The handler is called on the streaming thread, within the element,
// and calls the element. `launched` is the row's element as gst_parse_launch() makes it.
inline void call_back_within(const MessageRow &row, const std::string &launched,
                             bool (*may_have_buffers)(const GstCaps *) = can_be_honoured)
{
  const Harness h(launched);
  gst_harness_set_sink_caps(h.get(), caps_of(row.downstream).release());
  const CallsBack handler(h, may_have_buffers);
  const std::string caps = plain_caps(row.format, 64, 48);
  if (h.negotiate(caps)) {
    GstBuffer *frame = new_frame(caps);
    gst_harness_push(h.get(), row.change ? row.change(frame) : frame);
  }
  fail_unless(handler.calls() > 0);
}

} // namespace gstdrm::test

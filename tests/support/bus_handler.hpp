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
  explicit CallsBack(const Harness &h) : h_(h), bus_(gst_element_get_bus(h.element()))
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
    constexpr auto kOfFailures =
        static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING | GST_MESSAGE_INFO);
    if ((GST_MESSAGE_TYPE(message) & kOfFailures) == 0 || inside_)
      return; // what is done below posts messages as well
    inside_ = true;
    calls_++;
    touch_properties();
    for (const char *name : {"sink", "src"}) {
      const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(h_.element(), name));
      ask_everything(pad.get(), could_be_sent);
    }
    gst_harness_push_upstream_event(h_.get(), gst_event_new_reconfigure());
    gst_element_set_state(other_.get(), GST_STATE_PAUSED);
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) { // as a player that starts anew
      gst_harness_push_event(h_.get(), gst_event_new_flush_start());
      gst_harness_push_event(h_.get(), gst_event_new_flush_stop(FALSE));
    }
    inside_ = false;
  }
  // Reads all, and writes the same values back.
  void touch_properties() const
  {
    guint n = 0;
    const std::unique_ptr<GParamSpec *, decltype(&g_free)> specs(
        g_object_class_list_properties(G_OBJECT_GET_CLASS(h_.element()), &n), g_free);
    for (guint i = 0; i < n; i++) {
      const GParamSpec *spec = specs.get()[i];
      if ((spec->flags & G_PARAM_READABLE) == 0 || spec->owner_type == GST_TYPE_OBJECT)
        continue;
      GValue value = G_VALUE_INIT;
      g_value_init(&value, spec->value_type);
      g_object_get_property(G_OBJECT(h_.element()), spec->name, &value);
      if (spec->flags & G_PARAM_WRITABLE)
        g_object_set_property(G_OBJECT(h_.element()), spec->name, &value);
      g_value_unset(&value);
    }
  }

  const Harness &h_;
  GstBus *bus_;
  const GstPtr<GstElement> other_ = GstPtr<GstElement>::adopt(
      GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make("fakesink", nullptr))));
  int calls_ = 0;
  bool inside_ = false;
};

} // namespace gstdrm::test

// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc with a device: queries and events that nobody should send, in every state, and answers
// of downstream that no source can follow.
#include <atomic>
#include <string>

#include "support/odd_queries.hpp"
#include "va_support.hpp"

namespace {

using namespace gstdrm::test;

GST_START_TEST(test_odd_queries)
{
  const GstState state = __i__ == 0 ? GST_STATE_READY : __i__ == 1 ? GST_STATE_PAUSED : GST_STATE_PLAYING;
  set_driver(kRichestDriver);
  Pipeline pipeline(source("", dma_caps("NV12", 64, 48)));
  GstElement *src = pipeline.get("src");
  if (state == GST_STATE_READY)
    gst_element_set_state(src, GST_STATE_READY);
  else
    fail_unless(pipeline.play());
  if (state == GST_STATE_PAUSED)
    gst_element_set_state(GST_ELEMENT(GST_ELEMENT_PARENT(src)), GST_STATE_PAUSED);
  GstPad *pad = gst_element_get_static_pad(src, "src");
  ask_everything(pad, could_be_sent);
  send_odd_events(pad);
  gst_object_unref(pad);
}
GST_END_TEST

// A capsfilter after it with each of the odd caps: an error with a reason, or a stream, and no CRITICAL.
GST_START_TEST(test_odd_peer)
{
  const OddCaps &row = kOddCaps[__i__];
  const auto caps = odd_caps(row);
  set_driver(kRichestDriver);
  Pipeline pipeline("vadmabufsrc name=src num-buffers=1 ! capsfilter name=f ! fakesink");
  g_object_set(pipeline.get("f"), "caps", caps.get(), nullptr);
  if (pipeline.play())
    fail_if(pipeline.wait_for_end().empty(), "%s: neither error nor end", row.name);
}
GST_END_TEST

struct BusRow {
  const char *driver;
  const char *properties;
  const char *drm_format;
  GstMessageType type;
};
const BusRow kBusRows[] = {
    {"fail=init", "", "NV12", GST_MESSAGE_ERROR},                                      // start, the application's thread
    {"modifiers=linear", "", "NV12:0x0100000000000001", GST_MESSAGE_ERROR},            // nothing in common
    {"fail=create", "", "NV12", GST_MESSAGE_ERROR},                                    // no surface of any format
    {"surfaces=3", "pattern=frame-counter", "NV12", GST_MESSAGE_ERROR},                // no pool
    {"vpp=0", "zero-copy=require", "NV12", GST_MESSAGE_ERROR},                         // caps
    {"vpp=0", "", "NV12", GST_MESSAGE_INFO},                                           // the first copy
    {"fail=begin:5", "pattern=frame-counter", "NV12", GST_MESSAGE_ERROR},              // a frame
    {"async=5,fences=0,fail=sync:3", "pattern=frame-counter", "NV12", GST_MESSAGE_ERROR}, // the worker waits for one
};

// A synchronous bus handler that calls back into the element, on the thread that posted the message: a lock that is held
// meanwhile stops the test.
struct CallsIntoSource {
  GstElement *src;
  GstMessageType type;
  const gstdrm::GstPtr<GstElement> other =
      gstdrm::GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make("fakesink", nullptr))));
  std::atomic<int> calls{0};
  std::atomic<bool> inside{false};

  static GstBusSyncReply on_message(GstBus *, GstMessage *message, gpointer self) noexcept
  {
    auto &handler = *static_cast<CallsIntoSource *>(self);
    if (GST_MESSAGE_TYPE(message) == handler.type && GST_MESSAGE_SRC(message) == GST_OBJECT(handler.src) && !handler.inside.exchange(true)) {
      handler.call();
      handler.inside = false;
    }
    return GST_BUS_PASS;
  }
  void call()
  {
    touch_properties(G_OBJECT(src));
    const auto pad = gstdrm::GstPtr<GstPad>::adopt(gst_element_get_static_pad(src, "src"));
    ask_everything(pad.get(), could_be_sent);
    gst_pad_send_event(pad.get(), gst_event_new_reconfigure());
    gst_pad_send_event(pad.get(), gst_event_new_latency(0));
    gst_element_get_state(src, nullptr, nullptr, 0);
    // not of the source: GstBaseSrc holds its live lock while it asks for a frame
    gst_element_set_state(other.get(), GST_STATE_PAUSED);
    gst_element_set_state(other.get(), GST_STATE_NULL);
    calls++;
  }
};

GST_START_TEST(test_bus_handler)
{
  const BusRow &row = kBusRows[__i__];
  say(std::string(row.driver) + " " + row.properties);
  set_driver(kRichestDriver); // for the template
  gst_object_unref(gst_object_ref_sink(gst_element_factory_make("vadmabufsrc", nullptr)));
  set_driver(std::string("formats=NV12,") + row.driver);
  Pipeline pipeline(source(std::string("num-buffers=20 ") + row.properties, dma_caps(row.drm_format, 320, 240), "fakesink"));
  CallsIntoSource handler{pipeline.get("src"), row.type};
  const auto bus = gstdrm::GstPtr<GstBus>::adopt(gst_element_get_bus(GST_ELEMENT(GST_ELEMENT_PARENT(handler.src))));
  gst_bus_set_sync_handler(bus.get(), nullptr, nullptr, nullptr);
  gst_bus_set_sync_handler(bus.get(), CallsIntoSource::on_message, &handler, nullptr);
  pipeline.play();
  fail_if(pipeline.wait_for_end().empty());
  fail_unless(handler.calls > 0);
  pipeline.stop();
  gst_bus_set_sync_handler(bus.get(), nullptr, nullptr, nullptr);
}
GST_END_TEST

Suite *va_odd_queries_suite()
{
  Suite *suite = suite_create("va_odd_queries");
  TCase *tcase = tcase_create("odd queries");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_odd_queries, 0, 3);
  tcase_add_loop_test(tcase, test_odd_peer, 0, kOddCapsCount);
  tcase_add_loop_test(tcase, test_bus_handler, 0, G_N_ELEMENTS(kBusRows));
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_odd_queries)

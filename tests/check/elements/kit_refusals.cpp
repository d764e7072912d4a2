// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of caps that a device refuses: what becomes of them, what upstream and the application hear.
#include <string>

#include "support/check_main.hpp"

#include <gst/drm/element/refusals.hpp>

namespace {

using gstdrm::Refusals;

GstPad *new_pad(GstPadDirection direction, const char *caps_text)
{
  GstCaps *caps = gst_caps_from_string(caps_text);
  GstPadTemplate *pad_template = gst_pad_template_new(direction == GST_PAD_SRC ? "src" : "sink", direction,
                                                      GST_PAD_ALWAYS, caps);
  GstPad *pad = gst_pad_new_from_template(pad_template, nullptr);
  gst_object_ref_sink(pad);
  gst_object_unref(pad_template);
  gst_caps_unref(caps);
  gst_pad_set_active(pad, TRUE);
  return pad;
}

// An element whose sink pad takes some caps, and an upstream that offers others.
struct Stream {
  static constexpr Refusals::Words kWords{"The device", "Try another."};

  GstElement *element = gst_element_factory_make("identity", nullptr);
  GstBus *bus = gst_bus_new();
  GstPad *upstream;
  GstPad *sink;
  guint reconfigures = 0;
  Refusals refusals;

  Stream(const char *offered, const char *taken)
      : upstream(new_pad(GST_PAD_SRC, offered)), sink(new_pad(GST_PAD_SINK, taken)),
        refusals(element, sink, GST_CAT_DEFAULT, kWords)
  {
    gst_element_set_bus(element, bus);
    gst_pad_link_full(upstream, sink, GST_PAD_LINK_CHECK_NOTHING);
    gst_pad_add_probe(upstream, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, on_event, this, nullptr);
  }
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  ~Stream()
  {
    gst_element_set_bus(element, nullptr);
    for (GstPad *pad : {upstream, sink}) {
      gst_pad_set_active(pad, FALSE);
      gst_object_unref(pad);
    }
    gst_object_unref(bus);
    gst_object_unref(element);
  }
  static GstPadProbeReturn on_event(GstPad *, GstPadProbeInfo *info, gpointer data) noexcept
  {
    if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_RECONFIGURE)
      static_cast<Stream *>(data)->reconfigures++;
    return GST_PAD_PROBE_OK;
  }
  // The text of the next error; empty: there is none.
  std::string next_error()
  {
    GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    if (!message)
      return "";
    GError *error = nullptr;
    const GstStructure *details = nullptr;
    gst_message_parse_error_details(message, &details);
    fail_unless(details && gst_structure_has_field(details, "text")); // both sides, for applications
    gst_message_parse_error(message, &error, nullptr);
    fail_unless(g_error_matches(error, GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION));
    std::string text = error->message;
    g_error_free(error);
    gst_message_unref(message);
    return text;
  }
};

void contains(const std::string &text, const char *part)
{
  fail_unless(text.find(part) != std::string::npos, "\"%s\" is not in \"%s\"", part, text.c_str());
}

GST_START_TEST(test_until_upstream_chooses)
{
  Stream stream("video/x-raw, format={ NV12, BGRx }", "video/x-raw, format=BGRx");
  Refusals &refusals = stream.refusals;
  fail_if(refusals.refuses());
  fail_unless_equals_int(refusals.refuse("Too wide."), GST_FLOW_OK);
  fail_unless(refusals.refuses());
  for (guint i = 1; i < Refusals::kMaxDropped; i++)
    fail_unless_equals_int(refusals.drop(), GST_FLOW_OK);
  refusals.begin(""); // upstream has chosen
  fail_if(refusals.refuses());
  fail_unless_equals_uint64(refusals.dropped(), Refusals::kMaxDropped);
  // the next refusal has all its time
  fail_unless_equals_int(refusals.refuse("Too high."), GST_FLOW_OK);
  fail_unless_equals_int(refusals.drop(), GST_FLOW_OK);
  fail_unless(stream.next_error().empty());
  refusals.restart();
  fail_if(refusals.refuses());
  fail_unless_equals_uint64(refusals.dropped(), 0);
}
GST_END_TEST

GST_START_TEST(test_nothing_is_left)
{
  Stream stream("video/x-raw, format=NV12", "video/x-raw, format=BGRx");
  fail_unless_equals_int(stream.refusals.refuse("Too wide."), GST_FLOW_NOT_NEGOTIATED);
  const std::string text = stream.next_error();
  for (const char *part : {"No format is left. Too wide.", "The device offers", "BGRx", "NV12", "Try another."})
    contains(text, part);
}
GST_END_TEST

GST_START_TEST(test_upstream_does_not_choose)
{
  Stream stream("video/x-raw, format={ NV12, BGRx }", "video/x-raw, format=BGRx");
  GstFlowReturn ret = stream.refusals.refuse("Too wide.");
  for (guint i = 1; i < Refusals::kMaxDropped; i++)
    ret = stream.refusals.drop();
  fail_unless_equals_int(ret, GST_FLOW_OK);
  fail_unless(stream.next_error().empty());
  for (int i = 0; i < 3; i++)
    fail_unless_equals_int(stream.refusals.drop(), GST_FLOW_NOT_NEGOTIATED);
  contains(stream.next_error(), "64 buffers after RECONFIGURE. Too wide.");
  fail_unless(stream.next_error().empty()); // one message
}
GST_END_TEST

// Other caps are another choice: where they are refused too, that is said as well.
GST_START_TEST(test_gives_up_twice)
{
  Stream stream("video/x-raw, format=NV12", "video/x-raw, format=BGRx");
  for (const char *reason : {"Too wide.", "Too high."}) {
    stream.refusals.begin("");
    fail_unless_equals_int(stream.refusals.refuse(reason), GST_FLOW_NOT_NEGOTIATED);
    contains(stream.next_error(), reason);
  }
}
GST_END_TEST

// Caps that are refused as well give upstream no more time.
GST_START_TEST(test_one_refused_pair_after_the_other)
{
  Stream stream("video/x-raw, format={ NV12, BGRx }", "video/x-raw, format=BGRx");
  GstFlowReturn ret = stream.refusals.refuse("Too wide.");
  for (guint i = 1; i < Refusals::kMaxDropped; i++) {
    stream.refusals.begin("Too wide.");
    ret = stream.refusals.drop();
  }
  fail_unless_equals_int(ret, GST_FLOW_OK);
  fail_unless_equals_int(stream.refusals.drop(), GST_FLOW_NOT_NEGOTIATED);
  fail_if(stream.next_error().empty());
}
GST_END_TEST

GST_START_TEST(test_request_choice)
{
  Stream stream("ANY", "ANY");
  stream.refusals.request_choice();
  stream.refusals.request_choice();
  fail_unless_equals_int(stream.reconfigures, 2);
}
GST_END_TEST

Suite *kit_refusals_suite()
{
  Suite *suite = suite_create("kit refusals");
  TCase *tcase = tcase_create("refused caps");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_until_upstream_chooses);
  tcase_add_test(tcase, test_nothing_is_left);
  tcase_add_test(tcase, test_gives_up_twice);
  tcase_add_test(tcase, test_upstream_does_not_choose);
  tcase_add_test(tcase, test_one_refused_pair_after_the_other);
  tcase_add_test(tcase, test_request_choice);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(kit_refusals)

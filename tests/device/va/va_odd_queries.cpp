// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc with a device: queries and events that nobody should send, in every state, and answers
// of downstream that no source can follow.
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

Suite *va_odd_queries_suite()
{
  Suite *suite = suite_create("va_odd_queries");
  TCase *tcase = tcase_create("odd queries");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_odd_queries, 0, 3);
  tcase_add_loop_test(tcase, test_odd_peer, 0, kOddCapsCount);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(va_odd_queries)

// SPDX-License-Identifier: LGPL-2.1-or-later
// metisdmabufinfer while the stream changes: flushes, new caps, pads that are closed, states.
#include "metisdmabufinfer.hpp"

namespace {

using namespace gstdrm::test::infer;

void start_stream(const Harness &harness, const std::string &caps)
{
  gst_pad_push_event(harness.get()->srcpad, gst_event_new_stream_start("again"));
  gst_pad_push_event(harness.get()->srcpad, gst_event_new_caps(gstdrm::test::caps_of(caps).get()));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_pad_push_event(harness.get()->srcpad, gst_event_new_segment(&segment));
}

GST_START_TEST(test_flush)
{
  const Harness harness(element_with(""));
  const std::string plain = plain_caps("NV12", kWidth, kHeight);
  fail_unless(harness.negotiate(plain));
  push(harness, new_frame(plain, 1));
  pull(harness);
  push(harness, new_frame(plain, 2));
  fail_unless(gst_harness_push_event(harness.get(), gst_event_new_flush_start()));
  fail_unless_equals_int(gst_harness_push(harness.get(), new_frame(plain, 3)), GST_FLOW_FLUSHING);
  fail_unless(gst_harness_push_event(harness.get(), gst_event_new_flush_stop(TRUE)));
  while (harness.try_pull())
    ;
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  fail_unless(gst_harness_push_event(harness.get(), gst_event_new_segment(&segment)));
  push(harness, new_frame(plain, 4));
  const auto output = pull(harness);
  fail_unless(GST_BUFFER_PTS(output.get()) == 4 * 33 * GST_MSECOND);
  check_tensors(output.get(), true);
}
GST_END_TEST

// A sticky event that a flush meets inside the element is sent once only by upstream: it reaches downstream all the same.
GST_START_TEST(test_flush_keeps_sticky_events)
{
  const Harness harness(element_with(""));
  const std::string plain = plain_caps("NV12", kWidth, kHeight);
  fail_unless(harness.negotiate(plain));
  push(harness, new_frame(plain, 1));
  pull(harness);
  // the task sleeps with a first event, so that the second one stays inside
  const auto src = GstPtr<GstPad>::adopt(gst_element_get_static_pad(harness.element(), "src"));
  const auto block = [](GstPad *, GstPadProbeInfo *, gpointer) { return GST_PAD_PROBE_OK; };
  const gulong probe = gst_pad_add_probe(src.get(), GST_PAD_PROBE_TYPE_BLOCK_DOWNSTREAM, block, nullptr, nullptr);
  gst_harness_push_event(harness.get(), gst_event_new_gap(0, GST_SECOND));
  while (!gst_pad_is_blocking(src.get()))
    g_usleep(1000);
  fail_unless(gst_harness_push_event(harness.get(), gst_event_new_tag(gst_tag_list_new(GST_TAG_TITLE, "kept", nullptr))));
  fail_unless(gst_harness_push_event(harness.get(), gst_event_new_flush_start()));
  gst_pad_remove_probe(src.get(), probe);
  fail_unless(gst_harness_push_event(harness.get(), gst_event_new_flush_stop(TRUE)));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  fail_unless(gst_harness_push_event(harness.get(), gst_event_new_segment(&segment)));
  push(harness, new_frame(plain, 2));
  pull(harness);
  GstEvent *tags = gst_pad_get_sticky_event(harness.get()->sinkpad, GST_EVENT_TAG, 0);
  fail_unless(tags != nullptr);
  gst_event_unref(tags);
}
GST_END_TEST

// All frames of the old caps leave before the new ones.
GST_START_TEST(test_new_caps)
{
  const Harness harness(element_with("max-in-flight=4"));
  fail_unless(harness.negotiate(plain_caps("NV12", kWidth, kHeight)));
  for (guint i = 0; i < 3; i++)
    push(harness, new_frame(plain_caps("NV12", kWidth, kHeight), i));
  fail_unless(harness.negotiate(plain_caps("BGRx", 100, 80)));
  fail_unless_equals_int(static_cast<int>(gst_harness_buffers_in_queue(harness.get())), 3);
  push(harness, new_frame(plain_caps("BGRx", 100, 80), 3));
  for (guint i = 0; i < 4; i++) {
    const auto output = pull(harness);
    GstDrmTensorMeta *meta = gst_buffer_get_drm_tensor_meta(output.get(), kGroup);
    fail_unless(meta != nullptr);
    fail_unless_equals_float(meta->placement.scale_x, i < 3 ? 128.0 / kWidth : 1.28f);
  }
}
GST_END_TEST

GST_START_TEST(test_restart)
{
  const Harness harness(element_with(""));
  const std::string plain = plain_caps("NV12", kWidth, kHeight);
  std::size_t descriptors = 0;
  for (int i = 0; i < 3; i++) {
    fail_unless_equals_int(gst_element_set_state(harness.element(), GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
    start_stream(harness, plain);
    push(harness, new_frame(plain, 1));
    push(harness, new_frame(plain, 2)); // under way when the element stops, or not
    pull(harness);
    fail_unless_equals_int(gst_element_set_state(harness.element(), GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
    while (harness.try_pull())
      ;
    if (i == 1)
      descriptors = gstdrm::test::count_fds();
  }
  fail_unless_equals_int(static_cast<int>(gstdrm::test::count_fds()), static_cast<int>(descriptors));
}
GST_END_TEST

// An application opens the pads of an element that it never started: there is no model, and no task.
GST_START_TEST(test_pads_without_a_start)
{
  const auto element = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(gstdrm::test::make_element(element_with("")))));
  const auto src = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element.get(), "src"));
  const auto sink = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element.get(), "sink"));
  fail_unless(!gst_pad_set_active(src.get(), TRUE));
  fail_unless(gst_pad_set_active(sink.get(), TRUE));
  fail_unless(!gst_pad_send_event(sink.get(), gst_event_new_stream_start("by hand")));
  gst_pad_set_active(sink.get(), FALSE);
}
GST_END_TEST

// The sink pad alone is closed and opened, without a flush, as an application does that exchanges what is before it.
GST_START_TEST(test_sink_pad_alone)
{
  const Harness harness(element_with(""));
  const std::string plain = plain_caps("NV12", kWidth, kHeight);
  fail_unless(harness.negotiate(plain));
  const auto sink = GstPtr<GstPad>::adopt(gst_element_get_static_pad(harness.element(), "sink"));
  for (guint i = 1; i <= 20; i++) {
    push(harness, new_frame(plain, i));
    fail_unless(gst_pad_set_active(sink.get(), FALSE));
    fail_unless_equals_int(gst_harness_push(harness.get(), new_frame(plain, 99)), GST_FLOW_FLUSHING);
    fail_unless(gst_pad_set_active(sink.get(), TRUE));
    while (harness.try_pull())
      ;
    start_stream(harness, plain);
    push(harness, new_frame(plain, 100 + i));
    GstPtr<GstBuffer> output; // the frame of before may be downstream by now
    do
      output = pull(harness);
    while (GST_BUFFER_PTS(output.get()) != (100 + i) * 33 * GST_MSECOND);
    check_tensors(output.get(), true);
  }
}
GST_END_TEST

// Downstream goes down first, while upstream still sends: a sticky event in between is no error of the stream.
GST_START_TEST(test_downstream_goes_down_first)
{
  const Harness harness(element_with(""));
  const std::string plain = plain_caps("NV12", kWidth, kHeight);
  fail_unless(harness.negotiate(plain));
  push(harness, new_frame(plain, 1));
  pull(harness);
  fail_unless(gst_pad_set_active(harness.get()->sinkpad, FALSE));
  while (gst_harness_push(harness.get(), new_frame(plain, 2)) == GST_FLOW_OK)
    g_usleep(1000);
  gst_harness_push_event(harness.get(), gst_event_new_tag(gst_tag_list_new(GST_TAG_TITLE, "late", nullptr)));
  fail_unless_equals_int(gst_harness_push(harness.get(), new_frame(plain, 3)), GST_FLOW_FLUSHING);
  fail_unless(harness.messages(GST_MESSAGE_ERROR).empty());
}
GST_END_TEST

} // namespace

TCase *gstdrm::test::infer::change_cases()
{
  TCase *tc = tcase_create("changes");
  tcase_add_test(tc, test_flush);
  tcase_add_test(tc, test_flush_keeps_sticky_events);
  tcase_add_test(tc, test_new_caps);
  tcase_add_test(tc, test_restart);
  tcase_add_test(tc, test_pads_without_a_start);
  tcase_add_test(tc, test_sink_pad_alone);
  tcase_add_test(tc, test_downstream_goes_down_first);
  return tc;
}

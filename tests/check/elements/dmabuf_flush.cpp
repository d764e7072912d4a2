// SPDX-License-Identifier: LGPL-2.1-or-later
// Every wait of both elements ends on a flush and on the way to NULL, without an error message.
// tests/device does the same with real fences.
#include "support/held_frames.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

const std::string kPlain = plain_caps("NV12", 641, 481);
const std::string kDmaBuf = dmabuf_caps("NV12", 641, 481);

enum class End { Flush, Null, Inactive };

void end_wait(const Harness &h, End how)
{
  if (how == End::Flush) {
    fail_unless(gst_harness_push_event(h.get(), gst_event_new_flush_start()));
  } else if (how == End::Null) {
    fail_unless_equals_int(gst_element_set_state(h.element(), GST_STATE_NULL),
                           GST_STATE_CHANGE_SUCCESS);
  } else {
    const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(h.element(), "sink"));
    fail_unless(gst_pad_set_active(pad.get(), FALSE));
  }
}

// As upstream goes on after a flush, or in a second run.
void restart(const Harness &h, End how, const std::string &caps)
{
  if (how == End::Flush) {
    fail_unless(gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE)));
  } else if (how == End::Null) {
    gst_harness_play(h.get());
  } else {
    const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(h.element(), "sink"));
    fail_unless(gst_pad_set_active(pad.get(), TRUE));
  }
  if (how != End::Flush) {
    gst_pad_push_event(h.get()->srcpad, gst_event_new_stream_start("again"));
    fail_unless(h.negotiate(caps));
  }
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  fail_unless(gst_pad_push_event(h.get()->srcpad, gst_event_new_segment(&segment)));
}

constexpr End kEnds[] = {End::Flush, End::Null, End::Inactive};

GST_START_TEST(test_fence)
{
  const End how = kEnds[__i__ / 2];
  const bool up = __i__ % 2 == 0;
  const Harness h(up ? std::string("dmabufupload allocator=") + test_kinds().front()
                     : "dmabufdownload");
  fail_unless(h.negotiate(kPlain));
  const NeverDone device;
  {
    Pusher pusher(h, device.frame(kPlain));
    pusher.wait_until_stuck();
    end_wait(h, how);
    fail_unless_equals_int(pusher.join(), GST_FLOW_FLUSHING);
  }
  fail_unless(h.messages(GST_MESSAGE_ERROR).empty());
  fail_unless(gst_harness_try_pull(h.get()) == nullptr);
  restart(h, how, kPlain);
  check_drawn(h.push(new_frame(kPlain, 2)).get(), video_info(kPlain), 2);
}
GST_END_TEST

// A frame that comes while the flush lasts waits for nothing either.
GST_START_TEST(test_during_flush)
{
  const Harness h("dmabufdownload");
  fail_unless(h.negotiate(kPlain));
  const NeverDone device;
  fail_unless(gst_harness_push_event(h.get(), gst_event_new_flush_start()));
  fail_unless_equals_int(gst_harness_push(h.get(), device.frame(kPlain)), GST_FLOW_FLUSHING);
  restart(h, End::Flush, kPlain);
  check_drawn(h.push(new_frame(kPlain, 3)).get(), video_info(kPlain), 3);
}
GST_END_TEST

GstBufferPool *one_buffer = nullptr;

gboolean offer_one_buffer(GstPad *pad, GstObject *parent, GstQuery *query)
{
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return gst_pad_query_default(pad, parent, query);
  gst_query_add_allocation_pool(query, one_buffer, static_cast<guint>(video_info(kPlain).size), 1,
                                1);
  return TRUE;
}

// Downstream's pool has one buffer, which downstream holds.
GST_START_TEST(test_pool)
{
  const End how = kEnds[__i__];
  one_buffer = gst_video_buffer_pool_new();
  {
    const Harness h("dmabufdownload");
    gst_pad_set_query_function(h.get()->sinkpad, offer_one_buffer);
    fail_unless(h.negotiate(kDmaBuf));
    auto held = h.push(new_dmabuf_frame(test_kinds().front(), kPlain, 1));
    fail_unless(held->pool == one_buffer);
    {
      Pusher pusher(h, new_dmabuf_frame(test_kinds().front(), kPlain, 2));
      pusher.wait_until_stuck();
      end_wait(h, how);
      fail_unless_equals_int(pusher.join(), GST_FLOW_FLUSHING);
    }
    fail_unless(h.messages(GST_MESSAGE_ERROR).empty());
    held.reset();
    restart(h, how, kDmaBuf);
    check_drawn(h.push(new_dmabuf_frame(test_kinds().front(), kPlain, 3)).get(), video_info(kPlain),
                3);
  }
  gst_object_unref(one_buffer);
}
GST_END_TEST

Suite *dmabuf_flush_suite()
{
  Suite *suite = suite_create("dmabuf-flush");
  TCase *tcase = tcase_create("waits");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_fence, 0, 2 * G_N_ELEMENTS(kEnds));
  tcase_add_test(tcase, test_during_flush);
  tcase_add_loop_test(tcase, test_pool, 0, G_N_ELEMENTS(kEnds));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabuf_flush)

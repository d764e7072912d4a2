// SPDX-License-Identifier: LGPL-2.1-or-later
// One message for each negotiation that fails, however often upstream sends the same caps.
#include "support/check_main.hpp"

#include <gst/drm/element/failed_negotiation.hpp>

namespace {

using gstdrm::FailedNegotiation;
using gstdrm::GstPtr;
using gstdrm::Mismatch;

// What ends an attempt, so that it says nothing of its caps.
enum class Ended { No, BySelf, ByFlush, ByPeersFlush, BySinksFlush };

struct Row {
  const char *name;
  const char *caps[3]; // of three CAPS events, one after the other
  bool taken[3];
  bool posts_itself; // the element has posted its own reason when the event is refused
  unsigned explained;
  Ended ended = Ended::No;
  int ended_attempt = 0;
};

constexpr Row kRows[] = {
    {"taken", {"a/a", "a/b", "a/a"}, {true, true, true}, false, 0},
    {"the same again", {"a/a", "a/a", "a/a"}, {false, false, false}, false, 1},
    {"other caps", {"a/a", "a/b", "a/b"}, {false, false, false}, false, 2},
    {"taken in between", {"a/a", "a/b", "a/a"}, {false, true, false}, false, 2},
    {"the element's own reason", {"a/a", "a/a", "a/b"}, {false, false, false}, true, 0},
    {"a flush that the element saw", {"a/a", "a/a", "a/a"}, {false, true, true}, false, 0, Ended::BySelf},
    {"a flush of the element's pads", {"a/a", "a/a", "a/a"}, {false, true, true}, false, 0, Ended::ByFlush},
    {"a flush of the peer", {"a/a", "a/a", "a/a"}, {false, true, true}, false, 0, Ended::ByPeersFlush},
    {"a flush of the sink behind the peer", {"a/a", "a/a", "a/a"}, {false, true, true}, false, 0, Ended::BySinksFlush},
    {"refused after a flush that the element saw", {"a/a", "a/a", "a/a"}, {false, false, false}, false, 1, Ended::BySelf},
    {"refused after a flush", {"a/a", "a/a", "a/a"}, {false, false, false}, false, 1, Ended::ByFlush},
    {"refused before and after a flush that the element saw", {"a/a", "a/a", "a/a"}, {false, false, false}, false, 1, Ended::BySelf, 1},
    {"refused before and after a flush", {"a/a", "a/a", "a/a"}, {false, false, false}, false, 1, Ended::ByFlush, 1},
    {"other caps before a flush", {"a/b", "a/a", "a/a"}, {false, false, false}, false, 2, Ended::ByFlush, 1},
};

GST_START_TEST(test_row)
{
  const Row &row = kRows[__i__];
  gstdrm::test::say(row.name);
  GstElement *element = gst_element_factory_make("identity", nullptr);
  GstElement *next = gst_element_factory_make("identity", nullptr);
  GstElement *sink = gst_element_factory_make("fakesink", nullptr);
  fail_unless(gst_element_link_many(element, next, sink, nullptr));
  GstBus *bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  gst_element_set_state(element, GST_STATE_PAUSED); // pads of a stopped element count as flushing
  gst_element_set_state(next, GST_STATE_PAUSED);
  gst_element_set_state(sink, GST_STATE_PAUSED);
  const auto own = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element, "sink"));
  const auto peer = GstPtr<GstPad>::adopt(gst_element_get_static_pad(next, "sink"));
  const auto last = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink, "sink"));
  GstPad *flushing = row.ended == Ended::ByFlush        ? own.get()
                     : row.ended == Ended::ByPeersFlush ? peer.get()
                     : row.ended == Ended::BySinksFlush ? last.get()
                                                        : nullptr;
  FailedNegotiation negotiation;
  for (int i = 0; i < 3; i++) {
    if (flushing && i == row.ended_attempt)
      GST_PAD_SET_FLUSHING(flushing);
    else if (flushing)
      GST_PAD_UNSET_FLUSHING(flushing);
    const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(row.caps[i]));
    const auto pass_on = [&](GstEvent *event) {
      gst_event_unref(event);
      if (row.ended == Ended::BySelf && i == row.ended_attempt)
        negotiation.interrupt();
      if (!row.taken[i] && row.posts_itself)
        negotiation.post(element, gstdrm::Error{gstdrm::ErrorCode::Caps, "own", 0});
      return row.taken[i];
    };
    const auto explain = [&](const GstCaps *refused) {
      fail_unless(gst_caps_is_equal(refused, caps.get()));
      return Mismatch{"explained", "debug"};
    };
    fail_unless(negotiation.take(element, gst_event_new_caps(caps.get()), pass_on, explain) == row.taken[i]);
    // An attempt that was ended says nothing, and what was known before stays.
    const bool ended = row.ended != Ended::No && i == row.ended_attempt;
    const bool known = i > 0 && !row.taken[i - 1] && g_str_equal(row.caps[i - 1], row.caps[i]);
    const bool refused = !row.taken[i] && (!ended || known);
    fail_unless(negotiation.has_refused(caps.get()) == refused, "attempt %d", i);
  }
  unsigned explained = 0;
  while (GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR)) {
    GError *error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    fail_unless(g_error_matches(error, GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION));
    explained += g_str_equal(error->message, "explained");
    g_error_free(error);
    gst_message_unref(message);
  }
  fail_unless_equals_int(explained, row.explained);
  gst_element_set_bus(element, nullptr);
  gst_object_unref(bus);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_state(next, GST_STATE_NULL);
  gst_element_set_state(sink, GST_STATE_NULL);
  gst_object_unref(sink);
  gst_object_unref(next);
  gst_object_unref(element);
}
GST_END_TEST

// An element without take() asks before it refuses the same caps once more.
GST_START_TEST(test_has_refused)
{
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string("video/x-raw, format=NV12"));
  const auto same = GstPtr<GstCaps>::adopt(gst_caps_copy(caps.get()));
  const auto other = GstPtr<GstCaps>::adopt(gst_caps_from_string("video/x-raw, format=BGRx"));
  FailedNegotiation negotiation;
  fail_if(negotiation.has_refused(caps.get()));
  negotiation.begin(caps.get());
  fail_unless(negotiation.claim());
  fail_unless(negotiation.has_refused(same.get()));
  fail_if(negotiation.has_refused(other.get()));
  negotiation.begin(same.get());
  fail_if(negotiation.claim(), "a second message for the same caps");
  negotiation.begin(other.get());
  fail_unless(negotiation.claim());
  fail_if(negotiation.has_refused(caps.get()));
  negotiation.succeed();
  fail_if(negotiation.has_refused(other.get()));
  fail_unless(negotiation.claim(), "what fails after a success is another failure");
  negotiation.begin(caps.get());
  negotiation.reset();
  fail_if(negotiation.has_refused(caps.get()));
}
GST_END_TEST

// Who asks, for what, and whether the empty answer is the end of a stream.
struct Question {
  const char *name;
  const char *filter; // nullptr: none
  bool streams;       // asked by the streaming thread of the pad before
  GstState state;
  unsigned explained;
};

constexpr const char *kOverlays = "video/x-raw(memory:SystemMemory, meta:GstVideoOverlayComposition), format=YUY2";

constexpr Question kQuestions[] = {
    {"a source", "video/x-raw, format=YUY2", true, GST_STATE_PAUSED, 1},
    {"several formats", "video/x-raw, format=YUY2; video/x-raw(memory:DMABuf), format=DMA_DRM", true, GST_STATE_PAUSED, 1},
    {"what is taken", "video/x-raw, format={YUY2, NV12}", true, GST_STATE_PAUSED, 0},
    {"the application", "video/x-raw, format=YUY2", false, GST_STATE_PAUSED, 0},
    {"before PAUSED", "video/x-raw, format=YUY2", true, GST_STATE_READY, 0},
    {"no filter", nullptr, true, GST_STATE_PAUSED, 0},
    {"an EMPTY filter", "EMPTY", true, GST_STATE_PAUSED, 0},
    {"what a decoder takes", "video/x-h264", true, GST_STATE_PAUSED, 0},
    {"overlays beside the frames", kOverlays, true, GST_STATE_PAUSED, 0},
    {"overlays, or none", "video/x-raw, format=YUY2; video/x-raw(memory:SystemMemory, meta:GstVideoOverlayComposition), format=YUY2", true,
     GST_STATE_PAUSED, 1},
};

struct Asker {
  GstPad *pad;
  GstPtr<GstCaps> filter;
  int answers = 0;
  bool empty = false;
};

void ask(gpointer data)
{
  auto *asker = static_cast<Asker *>(data);
  for (; asker->answers < 2; asker->answers++) { // a source may ask again
    const auto caps = GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(asker->pad, asker->filter.get()));
    asker->empty = gst_caps_is_empty(caps.get());
  }
  gst_pad_pause_task(asker->pad);
}

unsigned errors_on(GstBus *bus)
{
  unsigned errors = 0;
  while (GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR)) {
    errors++;
    gst_message_unref(message);
  }
  return errors;
}

GST_START_TEST(test_question)
{
  const Question &row = kQuestions[__i__];
  gstdrm::test::say(row.name);
  const auto pipeline = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(
      gst_parse_launch("identity name=me ! capsfilter caps=video/x-raw,format=NV12 ! fakesink async=false", nullptr))));
  const auto me = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "me"));
  const auto sink = GstPtr<GstPad>::adopt(gst_element_get_static_pad(me.get(), "sink"));
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline.get()));
  FailedNegotiation negotiation;
  negotiation.watch(sink.get(), [](const GstCaps *) { return Mismatch{"explained", "", "debug", {}}; });
  const auto src = GstPtr<GstPad>::adopt(GST_PAD(gst_object_ref_sink(gst_pad_new("src", GST_PAD_SRC))));
  fail_unless(gst_pad_link(src.get(), sink.get()) == GST_PAD_LINK_OK);
  gst_pad_set_active(src.get(), TRUE);
  gst_element_set_state(pipeline.get(), row.state);
  Asker asker{src.get(), GstPtr<GstCaps>::adopt(row.filter ? gst_caps_from_string(row.filter) : nullptr)};
  if (row.streams) {
    gst_pad_start_task(src.get(), ask, &asker, nullptr);
    while (gst_pad_get_task_state(src.get()) != GST_TASK_PAUSED)
      g_usleep(100);
    gst_pad_stop_task(src.get()); // waits for the task
  } else {
    ask(&asker);
  }
  fail_unless_equals_int(asker.answers, 2);
  fail_unless_equals_int(errors_on(bus.get()), row.explained);
  // Caps that come all the same are no second failure; those after a success are.
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string("video/x-raw, format=YUY2"));
  negotiation.begin(caps.get());
  fail_unless(negotiation.claim() == (row.explained == 0));
  negotiation.succeed();
  fail_unless(negotiation.claim());
  gst_pad_set_active(src.get(), FALSE);
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
}
GST_END_TEST

Suite *kit_negotiation_suite()
{
  Suite *suite = suite_create("kit-negotiation");
  TCase *tc = tcase_create("caps");
  tcase_add_loop_test(tc, test_row, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tc, test_has_refused);
  tcase_add_loop_test(tc, test_question, 0, G_N_ELEMENTS(kQuestions));
  suite_add_tcase(suite, tc);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(kit_negotiation)

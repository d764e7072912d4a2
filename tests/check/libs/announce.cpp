// SPDX-License-Identifier: LGPL-2.1-or-later
// gst_drm_pad_announce_release_fences(): an application with an appsrc announces release fences, and
// downstream knows of it before each buffer. The sink here keeps an announcement as kmsdmabufsink
// does, from an allocation query to the next one or to the next caps.
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include <gst/app/gstappsrc.h>
#include <gst/base/gstbasesink.h>
#include <gst/drm/drm.h>

#include "support/check_main.hpp"

namespace {

// --- the sink ------------------------------------------------------------------------------------

struct Fences {
  GstBaseSink parent;
  bool announced;
  std::atomic<int> covered, uncovered, queries;
  std::atomic<bool> reconfigure_now;
};

struct FencesClass {
  GstBaseSinkClass parent_class;
};

GType fences_get_type();
G_DEFINE_TYPE(Fences, fences, GST_TYPE_BASE_SINK)

Fences &fences_of(gpointer sink)
{
  return *static_cast<Fences *>(sink);
}

gboolean fences_set_caps(GstBaseSink *sink, GstCaps *)
{
  fences_of(sink).announced = false;
  return TRUE;
}

gboolean fences_propose_allocation(GstBaseSink *sink, GstQuery *query)
{
  GstCaps *caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  if (!caps)
    return FALSE;
  fences_of(sink).announced = gst_drm_query_has_release_fences(query);
  ++fences_of(sink).queries;
  return TRUE;
}

GstFlowReturn fences_render(GstBaseSink *sink, GstBuffer *)
{
  Fences &fences = fences_of(sink);
  ++(fences.announced ? fences.covered : fences.uncovered);
  if (fences.reconfigure_now.exchange(false)) {
    fences.announced = false; // as for another display
    gst_pad_push_event(GST_BASE_SINK_PAD(sink), gst_event_new_reconfigure());
  }
  return GST_FLOW_OK;
}

void fences_class_init(FencesClass *klass)
{
  GstBaseSinkClass *sink_class = GST_BASE_SINK_CLASS(klass);
  sink_class->set_caps = fences_set_caps;
  sink_class->propose_allocation = fences_propose_allocation;
  sink_class->render = fences_render;
  gst_element_class_add_pad_template(GST_ELEMENT_CLASS(klass),
                                     gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_CAPS_ANY));
}

void fences_init(Fences *) {}

// --- a pipeline with an appsrc --------------------------------------------------------------------

constexpr const char *kFirst = "video/x-raw, format=NV12, width=64, height=64, framerate=30/1";
constexpr const char *kSecond = "video/x-raw, format=NV12, width=32, height=32, framerate=30/1";

struct Stream {
  GstElement *pipeline = gst_pipeline_new(nullptr);
  GstElement *source = gst_element_factory_make("appsrc", nullptr);
  Fences *sink = nullptr;
  GstPad *pad = gst_element_get_static_pad(source, "src");

  // `between`: a bin description of what is linked between the two; nullptr: nothing
  explicit Stream(const char *between = nullptr)
  {
    g_object_set(source, "format", GST_FORMAT_TIME, nullptr);
    gst_bin_add(GST_BIN(pipeline), source);
    GstElement *last = source;
    if (between) {
      last = gst_parse_bin_from_description(between, TRUE, nullptr);
      fail_unless(last != nullptr, "%s", between);
      gst_bin_add(GST_BIN(pipeline), last);
      fail_unless(gst_element_link(source, last));
    }
    add_sink(last);
  }
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  ~Stream()
  {
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pad);
    gst_object_unref(pipeline);
  }

  void add_sink(GstElement *last)
  {
    sink = static_cast<Fences *>(g_object_new(fences_get_type(), "async", FALSE, "sync", FALSE, nullptr));
    gst_bin_add(GST_BIN(pipeline), GST_ELEMENT(sink));
    fail_unless(gst_element_link(last, GST_ELEMENT(sink)));
  }

  void play() { fail_unless(gst_element_set_state(pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE); }

  void set_caps(const char *text)
  {
    g_autoptr(GstCaps) caps = gst_caps_from_string(text);
    gst_app_src_set_caps(GST_APP_SRC(source), caps);
  }

  void push(int n)
  {
    for (int i = 0; i < n; ++i)
      fail_unless_equals_int(gst_app_src_push_buffer(GST_APP_SRC(source), gst_buffer_new_allocate(nullptr, 6144, nullptr)),
                             GST_FLOW_OK);
  }

  void push_sample(const char *text)
  {
    g_autoptr(GstCaps) caps = gst_caps_from_string(text);
    g_autoptr(GstBuffer) buffer = gst_buffer_new_allocate(nullptr, 6144, nullptr);
    g_autoptr(GstSample) sample = gst_sample_new(buffer, caps, nullptr, nullptr);
    fail_unless_equals_int(gst_app_src_push_sample(GST_APP_SRC(source), sample), GST_FLOW_OK);
  }

  void wait_for(int buffers) const
  {
    while (sink->covered + sink->uncovered < buffers)
      g_usleep(1000);
  }

  // Everything that was pushed has been shown.
  void finish() const
  {
    gst_app_src_end_of_stream(GST_APP_SRC(source));
    GstBus *bus = gst_element_get_bus(pipeline);
    GstMessage *message = gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE,
                                                     static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    fail_unless_equals_int(GST_MESSAGE_TYPE(message), GST_MESSAGE_EOS);
    gst_message_unref(message);
    gst_object_unref(bus);
  }
};

void expect_covered(const Stream &stream, const char *name, int buffers)
{
  fail_unless(stream.sink->covered == buffers && stream.sink->uncovered == 0, "%s: %d buffers were announced, %d were not",
              name, stream.sink->covered.load(), stream.sink->uncovered.load());
}

// --- cases ---------------------------------------------------------------------------------------

struct Row {
  const char *name;
  const char *between;
  enum { Before, After, Samples } caps; // when and how appsrc gets them
};

const Row kRows[] = {
    {"caps before the start", nullptr, Row::Before},
    {"caps after the start", nullptr, Row::After},
    {"caps of samples", nullptr, Row::Samples},
    {"behind a queue", "queue", Row::Before},
    {"behind a queue, caps after the start", "queue", Row::After},
    {"behind filters that pass buffers through", "identity ! capsfilter caps=video/x-raw ! identity", Row::Before},
    {"behind filters and a queue, samples", "capsfilter caps=video/x-raw ! queue ! identity", Row::Samples},
};

GST_START_TEST(test_every_buffer_is_announced)
{
  const Row &row = kRows[__i__];
  Stream stream(row.between);
  fail_unless(gst_drm_pad_announce_release_fences(stream.pad) != 0);
  if (row.caps == Row::Before)
    stream.set_caps(kFirst);
  stream.play();
  if (row.caps == Row::After)
    stream.set_caps(kFirst);
  if (row.caps == Row::Samples)
    for (int i = 0; i < 5; ++i)
      stream.push_sample(kFirst);
  else
    stream.push(5);
  stream.finish();
  expect_covered(stream, row.name, 5);
}
GST_END_TEST

GST_START_TEST(test_new_caps)
{
  Stream stream;
  gst_drm_pad_announce_release_fences(stream.pad);
  stream.set_caps(kFirst);
  stream.play();
  stream.push(3);
  stream.set_caps(kSecond);
  stream.push(3);
  for (const char *caps : {kFirst, kFirst, kSecond, kFirst})
    stream.push_sample(caps);
  stream.finish();
  expect_covered(stream, "new caps", 10);
}
GST_END_TEST

GST_START_TEST(test_one_query_per_caps)
{
  Stream stream;
  gst_drm_pad_announce_release_fences(stream.pad);
  stream.set_caps(kFirst);
  stream.play();
  stream.push(100);
  stream.finish();
  fail_unless(stream.sink->queries >= 1 && stream.sink->queries <= 2, "%d queries for one caps", stream.sink->queries.load());
}
GST_END_TEST

// The sink forgets, and asks for another negotiation; what is pushed after that is announced again.
GST_START_TEST(test_reconfigure)
{
  Stream stream;
  gst_drm_pad_announce_release_fences(stream.pad);
  stream.set_caps(kFirst);
  stream.play();
  for (int i = 1; i <= 20; ++i) {
    stream.sink->reconfigure_now = true;
    stream.push(1);
    stream.wait_for(i);
  }
  stream.finish();
  expect_covered(stream, "reconfigure", 20);
}
GST_END_TEST

GST_START_TEST(test_flush)
{
  Stream stream;
  gst_drm_pad_announce_release_fences(stream.pad);
  stream.set_caps(kFirst);
  stream.play();
  stream.push(3);
  stream.wait_for(3);
  fail_unless(gst_element_send_event(stream.source, gst_event_new_flush_start()));
  fail_unless(gst_element_send_event(stream.source, gst_event_new_flush_stop(TRUE)));
  stream.push(3);
  stream.finish();
  expect_covered(stream, "flush", 6);
}
GST_END_TEST

// Another sink in the place of the first: the caps are sent again, and so is the announcement.
GST_START_TEST(test_another_sink)
{
  Stream stream;
  gst_drm_pad_announce_release_fences(stream.pad);
  stream.set_caps(kFirst);
  stream.play();
  stream.push(3);
  stream.wait_for(3);
  expect_covered(stream, "the first sink", 3);
  GstElement *first = GST_ELEMENT(stream.sink);
  gst_element_unlink(stream.source, first);
  gst_element_set_state(first, GST_STATE_NULL);
  gst_bin_remove(GST_BIN(stream.pipeline), first);
  stream.add_sink(stream.source);
  gst_element_sync_state_with_parent(GST_ELEMENT(stream.sink));
  stream.push(3);
  stream.finish();
  expect_covered(stream, "the second sink", 3);
}
GST_END_TEST

GST_START_TEST(test_in_the_middle_and_twice)
{
  Stream stream;
  stream.set_caps(kFirst);
  stream.play();
  stream.push(3);
  stream.wait_for(3);
  fail_unless_equals_int(stream.sink->uncovered, 3); // or the other tests say nothing
  const gulong first = gst_drm_pad_announce_release_fences(stream.pad);
  const gulong second = gst_drm_pad_announce_release_fences(stream.pad);
  fail_unless(first != 0 && second != 0 && first != second);
  stream.push(3);
  stream.wait_for(6);
  fail_unless_equals_int(stream.sink->covered, 3);
  gst_pad_remove_probe(stream.pad, first);
  gst_pad_remove_probe(stream.pad, second);
  stream.set_caps(kSecond); // ends the announcement
  stream.push(3);
  stream.finish();
  fail_unless_equals_int(stream.sink->covered, 3);
  fail_unless_equals_int(stream.sink->uncovered, 6);
}
GST_END_TEST

// A pad without a base class behind it, which makes no query of its own.
struct PlainPad {
  GstElement *sink = GST_ELEMENT(gst_object_ref_sink(g_object_new(fences_get_type(), "async", FALSE, "sync", FALSE, nullptr)));
  GstPad *source = gst_pad_new("src", GST_PAD_SRC);
  GstPad *peer = gst_element_get_static_pad(sink, "sink");
  GstCaps *caps = gst_caps_from_string(kFirst);

  PlainPad()
  {
    fail_unless_equals_int(gst_pad_link(source, peer), GST_PAD_LINK_OK);
    gst_drm_pad_announce_release_fences(source);
    gst_pad_set_active(source, TRUE);
    gst_element_set_state(sink, GST_STATE_PLAYING);
    gst_check_setup_events(source, sink, caps, GST_FORMAT_TIME);
  }
  PlainPad(const PlainPad &) = delete;
  PlainPad &operator=(const PlainPad &) = delete;
  ~PlainPad()
  {
    gst_pad_set_active(source, FALSE);
    gst_element_set_state(sink, GST_STATE_NULL);
    gst_caps_unref(caps);
    gst_object_unref(peer);
    gst_object_unref(source);
    gst_object_unref(sink);
  }

  void push() const
  {
    fail_unless_equals_int(gst_pad_push(source, gst_buffer_new_allocate(nullptr, 64, nullptr)), GST_FLOW_OK);
  }
};

GST_START_TEST(test_plain_pad)
{
  const PlainPad pad;
  GstBufferList *list = gst_buffer_list_new();
  gst_buffer_list_add(list, gst_buffer_new_allocate(nullptr, 64, nullptr));
  gst_buffer_list_add(list, gst_buffer_new_allocate(nullptr, 64, nullptr));
  fail_unless_equals_int(gst_pad_push_list(pad.source, list), GST_FLOW_OK);
  pad.push();
  fail_unless_equals_int(fences_of(pad.sink).covered, 3);
  fail_unless_equals_int(fences_of(pad.sink).queries, 1);
}
GST_END_TEST

GST_START_TEST(test_plain_pad_reconfigures)
{
  const PlainPad pad;
  fences_of(pad.sink).reconfigure_now = true;
  pad.push();
  pad.push();
  fail_unless_equals_int(fences_of(pad.sink).covered, 2);
  fail_unless_equals_int(fences_of(pad.sink).queries, 2);
}
GST_END_TEST

// A query of the producer's own is announced, and is enough; one of other caps is not.
GST_START_TEST(test_own_query)
{
  const PlainPad pad;
  for (const char *text : {kSecond, kFirst}) {
    g_autoptr(GstCaps) caps = gst_caps_from_string(text);
    GstQuery *query = gst_query_new_allocation(caps, FALSE);
    fail_unless(gst_pad_peer_query(pad.source, query));
    fail_unless(gst_drm_query_has_release_fences(query));
    gst_query_unref(query);
    pad.push();
    fail_unless_equals_int(fences_of(pad.sink).queries, 2); // that of kSecond and one more
    if (text == kSecond) {
      fences_of(pad.sink).queries = 1;
      gst_pad_push_event(pad.peer, gst_event_new_reconfigure());
    }
  }
  fail_unless_equals_int(fences_of(pad.sink).uncovered, 0);
}
GST_END_TEST

GST_START_TEST(test_programmer_mistakes)
{
  GstPad *sink = gst_pad_new("sink", GST_PAD_SINK);
  gulong id = 1;
  EXPECT_CRITICAL(id = gst_drm_pad_announce_release_fences(sink));
  fail_unless_equals_int(id, 0);
  EXPECT_CRITICAL(gst_drm_pad_announce_release_fences(nullptr));
  gst_object_unref(sink);
}
GST_END_TEST

Suite *announce_suite()
{
  Suite *suite = suite_create("announce");
  TCase *tcase = tcase_create("announce");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_every_buffer_is_announced, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tcase, test_new_caps);
  tcase_add_test(tcase, test_one_query_per_caps);
  tcase_add_test(tcase, test_reconfigure);
  tcase_add_test(tcase, test_flush);
  tcase_add_test(tcase, test_another_sink);
  tcase_add_test(tcase, test_in_the_middle_and_twice);
  tcase_add_test(tcase, test_plain_pad);
  tcase_add_test(tcase, test_plain_pad_reconfigures);
  tcase_add_test(tcase, test_own_query);
  tcase_add_test(tcase, test_programmer_mistakes);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(announce)

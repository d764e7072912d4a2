// SPDX-License-Identifier: LGPL-2.1-or-later
// What egl_odd_upload and egl_odd_download share: rates, events, texts of caps, and the start of both programs.
#pragma once

#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "support/dmabuf_elements.hpp"
#include "support/has_egl.hpp"
#include "support/no_display_server.hpp"

#include <gst/gl/gl.h>

namespace gstdrm::test {

inline std::string with(const std::string &caps, const char *more)
{
  return caps + ", " + more;
}

// As plain_caps(), without a rate.
inline std::string plain(const char *format, int width = 64, int height = 48)
{
  return std::string("video/x-raw, format=(string)") + format + ", width=(int)" + std::to_string(width) + ", height=(int)" +
         std::to_string(height);
}

inline GstVideoInfo info_of(const GstPtr<GstCaps> &caps)
{
  GstVideoInfo info;
  fail_unless(gst_video_info_from_caps(&info, caps.get()), "%s", text_of(caps.get()).c_str());
  return info;
}

inline constexpr const char *kRates[] = {"framerate=(fraction)0/1", "framerate=(fraction)2147483647/1", "framerate=(fraction)1/2147483647",
                                  "framerate=(fraction)30000/1001", "views=(int)1"};

struct EventRow {
  const char *name;
  GstEvent *(*make)();
};

inline GstEvent *segment_of_rate(gdouble rate)
{
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.rate = rate;
  if (rate < 0)
    segment.stop = segment.position = GST_SECOND;
  return gst_event_new_segment(&segment);
}

inline const EventRow kEvents[] = {
    {"a gap", [] { return gst_event_new_gap(GST_SECOND, GST_SECOND); }},
    {"a gap without an end", [] { return gst_event_new_gap(GST_SECOND, GST_CLOCK_TIME_NONE); }},
    {"backwards", [] { return segment_of_rate(-1); }},
    {"slow", [] { return segment_of_rate(0.125); }},
    {"fast", [] { return segment_of_rate(64); }},
};

inline bool is_same(GstEvent *one, GstEvent *other)
{
  if (GST_EVENT_TYPE(one) != GST_EVENT_TYPE(other))
    return false;
  if (GST_EVENT_TYPE(one) != GST_EVENT_SEGMENT)
    return gst_structure_is_equal(gst_event_get_structure(one), gst_event_get_structure(other)) != FALSE;
  const GstSegment *first = nullptr;
  const GstSegment *second = nullptr;
  gst_event_parse_segment(one, &first);
  gst_event_parse_segment(other, &second);
  return first->rate == second->rate && first->stop == second->stop;
}

// The event, as it was sent.
inline void check_arrival(GstHarness *h, const EventRow &row)
{
  const auto sent = GstPtr<GstEvent>::adopt(row.make());
  for (;;) {
    const auto got = GstPtr<GstEvent>::adopt(gst_harness_try_pull_event(h));
    fail_unless(static_cast<bool>(got), "%s does not arrive", row.name);
    if (is_same(got.get(), sent.get()))
      return;
  }
}

// A consumer that keeps everything gets what the pool of the element may make, and the user is told why no more comes. A flushing seek
// ends the wait for another one, and so does NULL.
inline void check_kept_frames_are_said(const std::string &launch, const char *element, unsigned most)
{
  const auto pipeline = GstPtr<GstElement>::adopt(
      gst_parse_launch((launch + " ! fakesink name=sink sync=false signal-handoffs=true").c_str(), nullptr));
  fail_unless(static_cast<bool>(pipeline));
  struct Kept {
    std::mutex lock;
    std::vector<GstPtr<GstBuffer>> buffers;
  } kept;
  const auto sink = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "sink"));
  g_signal_connect(sink.get(), "handoff", G_CALLBACK(+[](GstElement *, GstBuffer *buffer, GstPad *, gpointer data) {
                     auto *all = static_cast<Kept *>(data);
                     const std::lock_guard guard(all->lock);
                     all->buffers.push_back(GstPtr<GstBuffer>::share(buffer));
                   }),
                   &kept);
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline.get()));
  const auto message = GstPtr<GstMessage>::adopt(
      gst_bus_timed_pop_filtered(bus.get(), 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_WARNING | GST_MESSAGE_ERROR)));
  fail_unless(message && GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_WARNING, "no warning");
  g_autoptr(GError) error = nullptr;
  gst_message_parse_warning(message.get(), &error, nullptr);
  say(error->message);
  fail_unless(g_str_has_prefix(error->message, element) && strstr(error->message, "waits for a free buffer"), "%s", error->message);
  fail_unless(gst_element_seek_simple(pipeline.get(), GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0));
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  const std::lock_guard guard(kept.lock);
  fail_unless_equals_int(kept.buffers.size(), most);
}

// The process's limit of descriptors, as it was before a case.
inline struct rlimit descriptors_before;

// A group of cases of which one that fails leaves nothing to the next: neither its limit of
// descriptors nor its harnesses.
inline TCase *add_odd_cases(Suite *suite)
{
  TCase *tcase = tcase_create("odd");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_checked_fixture(
      tcase, [] { fail_unless(::getrlimit(RLIMIT_NOFILE, &descriptors_before) == 0); },
      [] {
        fail_unless(::setrlimit(RLIMIT_NOFILE, &descriptors_before) == 0);
        Harness::end_forgotten();
      });
  return tcase;
}

inline int run_with_egl(int argc, char **argv, Suite *(*suite)())
{
  use_no_display_server();
  g_setenv("CK_FORK", "no", TRUE); // a fork has none of the driver's threads, and waits for them
  // a thread of its own opens files at any time, also where the case leaves no descriptor
  g_setenv("MESA_SHADER_CACHE_DISABLE", "true", TRUE);
  gst_check_init(&argc, &argv);
  if (!has_egl()) {
    g_printerr("GStreamer finds no OpenGL by EGL on this machine\n");
    return 77;
  }
  return run_suite(suite());
}

} // namespace gstdrm::test

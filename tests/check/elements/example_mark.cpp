// SPDX-License-Identifier: LGPL-2.1-or-later
// The worked example of docs/new-element.md does what the page says: it draws in place, copies only
// what it may not change, counts that, and explains what it refuses.
#include <algorithm>
#include <string>

#include <sys/resource.h>

#include "support/bus_handler.hpp"
#include "support/crops.hpp"
#include "support/held_frames.hpp"
#include "support/mark.hpp"
#include "support/threads.hpp"

namespace {

using gstdrm::GstPtr;
using gstdrm::test::dmabuf_caps;
using gstdrm::test::Harness;
using gstdrm::test::new_dmabuf_frame;
using gstdrm::test::plain_caps;
using gstdrm::test::video_info;

constexpr int kWidth = 64;
constexpr int kHeight = 48;
constexpr guint kSide = 16;

const std::string kCaps = dmabuf_caps("XR24", kWidth, kHeight);
const std::string kPlain = plain_caps("BGRx", kWidth, kHeight);

// White in the corner, and what upstream drew elsewhere.
void check_marked(GstBuffer *buffer, guint side = kSide)
{
  gstdrm::test::for_each_row(
      buffer, video_info(kPlain), GST_MAP_READ, [side](guint plane, guint row, std::uint8_t *data, std::size_t bytes) {
        for (guint x = 0; x < bytes; x++) {
          const bool marked = row < side && x < 4 * side;
          fail_unless_equals_int(data[x], marked ? 0xff : gstdrm::test::pattern(0, plane, row, x));
        }
      });
}

GST_START_TEST(test_in_place)
{
  const Harness harness("drmmark");
  fail_unless(harness.negotiate(kCaps));
  for (int i = 0; i < 3; i++) {
    GstBuffer *input = new_dmabuf_frame("memfd", kPlain);
    const GstMemory *memory = gst_buffer_peek_memory(input, 0);
    const auto output = harness.push(input);
    fail_unless(output.get() == input && gst_buffer_peek_memory(output.get(), 0) == memory);
    check_marked(output.get());
  }
  fail_unless_equals_int(harness.stat("frames"), 3);
  fail_unless_equals_int(harness.stat("copies"), 0);
}
GST_END_TEST

// A property of the filter's own, changed while frames flow; a square larger than the frame is cut.
GST_START_TEST(test_size)
{
  const Harness harness("drmmark size=4");
  fail_unless(harness.negotiate(kCaps));
  check_marked(harness.push(new_dmabuf_frame("memfd", kPlain)).get(), 4);
  for (const guint size : {guint{20}, guint{G_MAXINT}}) {
    g_object_set(harness.element(), "size", size, nullptr);
    guint now = 0;
    g_object_get(harness.element(), "size", &now, nullptr);
    fail_unless_equals_int(now, size);
    check_marked(harness.push(new_dmabuf_frame("memfd", kPlain)).get(), std::min<guint>(size, kWidth));
  }
}
GST_END_TEST

// The format, the size and the memory of the copies change with the caps.
GST_START_TEST(test_other_caps)
{
  const Harness harness("drmmark");
  for (const char *format : {"XR24", "NV12", "AR24"}) {
    fail_unless(harness.negotiate(dmabuf_caps(format, 2 * kWidth, kHeight)));
    const char *name = format[0] == 'N' ? "NV12" : format[0] == 'X' ? "BGRx" : "BGRA";
    const auto kept = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("memfd", plain_caps(name, 2 * kWidth, kHeight)));
    const auto output = harness.push(gst_buffer_ref(kept.get()));
    fail_unless(output.get() != kept.get() && gstdrm::test::all_dmabuf(output.get()));
    gstdrm::test::check_drawn(kept.get(), video_info(plain_caps(name, 2 * kWidth, kHeight)));
  }
  fail_unless_equals_int(harness.stat("copies"), 3);
}
GST_END_TEST

// Somebody else reads the frame, as behind a tee: it stays as it is.
GST_START_TEST(test_shared)
{
  const Harness harness("drmmark");
  fail_unless(harness.negotiate(kCaps));
  for (guint i = 1; i <= 2; i++) {
    const auto kept = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("memfd", kPlain));
    GST_BUFFER_PTS(kept.get()) = i * GST_SECOND;
    const auto output = harness.push(gst_buffer_ref(kept.get()));
    fail_unless(gstdrm::test::all_dmabuf(output.get()));
    fail_unless(GST_BUFFER_PTS(output.get()) == i * GST_SECOND);
    check_marked(output.get());
    gstdrm::test::check_drawn(kept.get(), video_info(kPlain));
    fail_unless_equals_int(harness.stat("copies"), i);
  }
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_INFO), "another element holds the frame");
}
GST_END_TEST

GST_START_TEST(test_require)
{
  const Harness harness("drmmark zero-copy=require");
  fail_unless(harness.negotiate(kCaps));
  const auto kept = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("memfd", kPlain));
  fail_unless_equals_int(gst_harness_push(harness.get(), gst_buffer_ref(kept.get())), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), "zero-copy=require", "before the tee");
  fail_unless_equals_int(harness.stat("copies"), 0);
}
GST_END_TEST

GST_START_TEST(test_bad_frame)
{
  const Harness harness("drmmark");
  fail_unless(harness.negotiate(dmabuf_caps("XR24", 2 * kWidth, kHeight)));
  fail_unless_equals_int(gst_harness_push(harness.get(), new_dmabuf_frame("memfd", kPlain)), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), "128x48");
}
GST_END_TEST

void send_segment(const Harness &harness)
{
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_pad_push_event(harness.get()->srcpad, gst_event_new_segment(&segment));
}

// Another buffer holds the same memory: a shallow copy, as of a buffer that was made writable.
GST_START_TEST(test_shared_memory)
{
  const Harness harness("drmmark");
  fail_unless(harness.negotiate(kCaps));
  const auto kept = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("memfd", kPlain));
  const auto output = harness.push(gst_buffer_copy(kept.get()));
  check_marked(output.get());
  gstdrm::test::check_drawn(kept.get(), video_info(kPlain));
  fail_unless_equals_int(harness.stat("copies"), 1);
}
GST_END_TEST

// A producer may name the pseudo-format in its GstVideoMeta (GStreamer 1.24), of a frame that nobody
// else holds, and of one that another element holds.
GST_START_TEST(test_pseudo_format)
{
  const Harness harness("drmmark");
  fail_unless(harness.negotiate(kCaps));
  auto frame = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("memfd", kPlain));
  gst_buffer_get_video_meta(frame.get())->format = GST_DRM_VIDEO_FORMAT_DMA_DRM;
  const bool shared = __i__ == 1;
  GstBuffer *input = frame.get();
  const auto output = harness.push(shared ? gst_buffer_ref(input) : frame.release());
  fail_unless((output.get() == input) != shared);
  // drmmark leaves upstream's meta as it found it
  fail_unless_equals_int(gst_buffer_get_video_meta(input)->format, GST_DRM_VIDEO_FORMAT_DMA_DRM);
  fail_unless_equals_int(harness.stat("copies"), shared);
  gst_buffer_get_video_meta(output.get())->format = GST_VIDEO_FORMAT_BGRx; // to read it here
  check_marked(output.get());
}
GST_END_TEST

// A copy is the same picture: what is known of it goes along.
GST_START_TEST(test_metas)
{
  const Harness harness("drmmark");
  fail_unless(harness.negotiate(kCaps));
  auto frame = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("memfd", kPlain));
  gst_buffer_add_video_region_of_interest_meta(frame.get(), "face", 1, 2, 3, 4);
  gstdrm::test::add_crop(frame.get(), {8, 4, 16, 12});
  const bool shared = __i__ == 1;
  GstBuffer *input = frame.get();
  const auto output = harness.push(shared ? gst_buffer_ref(input) : frame.release());
  const auto *roi = reinterpret_cast<GstVideoRegionOfInterestMeta *>(
      gst_buffer_get_meta(output.get(), GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
  fail_unless(roi && roi->w == 3 && roi->h == 4);
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta(output.get());
  fail_unless(crop && crop->x == 8 && crop->height == 12);
}
GST_END_TEST

// Each failure has its message: one after a frame that was fine, and one after a flush.
GST_START_TEST(test_every_failure_is_told)
{
  const Harness harness("drmmark");
  fail_unless(harness.negotiate(kCaps));
  const auto push_bad = [&harness] {
    return gst_harness_push(harness.get(), new_dmabuf_frame("memfd", plain_caps("BGRx", 32, 32)));
  };
  for (int i = 0; i < 2; i++) {
    (void)harness.push(new_dmabuf_frame("memfd", kPlain));
    fail_unless_equals_int(push_bad(), GST_FLOW_ERROR);
    CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), "cannot take a frame of", "64x48");
  }
  fail_unless_equals_int(push_bad(), GST_FLOW_ERROR);
  fail_unless(harness.messages(GST_MESSAGE_ERROR).empty(), "the same failure again");
  gst_harness_push_event(harness.get(), gst_event_new_flush_start());
  gst_harness_push_event(harness.get(), gst_event_new_flush_stop(FALSE));
  send_segment(harness);
  fail_unless_equals_int(push_bad(), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), "cannot take a frame of", "64x48");
}
GST_END_TEST

// NULL gives the memory of the copies back, and of those that an application keeps when it
// has let them go. The next run counts from zero, and announces its first copy.
GST_START_TEST(test_stop)
{
  const Harness harness("drmmark");
  const auto source = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("memfd", kPlain));
  unsigned before = 0;
  for (int i = 0; i < 3; i++) {
    fail_unless(harness.negotiate(kCaps));
    if (i > 0) {
      gst_pad_push_event(harness.get()->srcpad, gst_event_new_stream_start("again"));
      fail_unless(harness.negotiate(kCaps));
      send_segment(harness);
    }
    fail_unless(harness.copy_reason().empty());
    if (i == 1) // GStreamer opens some descriptors once
      before = gstdrm::test::count_fds();
    auto kept = harness.push(gst_buffer_ref(source.get()));
    auto longer = harness.push(gst_buffer_ref(source.get()));
    fail_unless_equals_int(harness.stat("copies"), 2);
    fail_unless_equals_int(harness.stat("frames"), 2);
    CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_INFO), "another element holds the frame");
    gst_element_set_state(harness.element(), GST_STATE_NULL);
    check_marked(kept.get());
    kept.reset();
    check_marked(longer.get());
    longer.reset();
    if (i > 0)
      fail_unless_equals_int(gstdrm::test::count_fds(), before);
  }
}
GST_END_TEST

// Whoever keeps every copy uses the process's descriptors up: that is said, with what helps.
GST_START_TEST(test_descriptors_end)
{
  const Harness harness("drmmark");
  fail_unless(harness.negotiate(kCaps));
  const auto source = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("memfd", kPlain));
  std::vector<GstPtr<GstBuffer>> kept;
  kept.push_back(harness.push(gst_buffer_ref(source.get())));
  struct rlimit limit {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t before = std::exchange(limit.rlim_cur, gstdrm::test::count_fds() + 6);
  setrlimit(RLIMIT_NOFILE, &limit);
  GstFlowReturn flow = GST_FLOW_OK;
  for (int i = 0; i < 100 && flow == GST_FLOW_OK; i++)
    flow = gst_harness_push(harness.get(), gst_buffer_ref(source.get()));
  limit.rlim_cur = before;
  setrlimit(RLIMIT_NOFILE, &limit);
  fail_unless_equals_int(flow, GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), "copy of the frame", "Too many open files", "ulimit -n");
}
GST_END_TEST

// The wait for a producer ends with a flush and with a way out of the stream, without a message, and a later stream
// waits again. Without a fence of a kernel, an unwritten pipe stands for a dma-buf of the frame.
GST_START_TEST(test_wait_ends)
{
  const bool flush = __i__ == 0;
  const Harness harness("drmmark");
  fail_unless(harness.negotiate(kCaps));
  const gstdrm::test::NeverDone device;
  for (int i = 0; i < 2; i++) {
    {
      gstdrm::test::Pusher pusher(harness, device.hold(new_dmabuf_frame("memfd", kPlain), 1));
      pusher.wait_until_stuck();
      if (flush)
        gst_harness_push_event(harness.get(), gst_event_new_flush_start());
      else
        gst_element_set_state(harness.element(), GST_STATE_READY);
      fail_unless_equals_int(pusher.join(), GST_FLOW_FLUSHING);
    }
    fail_unless(harness.messages(GST_MESSAGE_ERROR).empty());
    if (flush) {
      gst_harness_push_event(harness.get(), gst_event_new_flush_stop(FALSE));
    } else {
      gst_element_set_state(harness.element(), GST_STATE_PLAYING);
      gst_pad_push_event(harness.get()->srcpad, gst_event_new_stream_start("again"));
      fail_unless(harness.negotiate(kCaps));
    }
    send_segment(harness);
    check_marked(harness.push(new_dmabuf_frame("memfd", kPlain)).get());
  }
}
GST_END_TEST

// A synchronous bus handler calls the element from within its messages: of a copy, of a bad frame,
// and of caps that downstream refuses.
GST_START_TEST(test_bus_handler)
{
  const Harness harness("drmmark");
  if (__i__ == 2)
    gst_harness_set_sink_caps_str(harness.get(), dmabuf_caps("NV12", kWidth, kHeight).c_str());
  const gstdrm::test::CallsBack handler(harness);
  const auto kept = GstPtr<GstBuffer>::adopt(
      new_dmabuf_frame("memfd", __i__ == 0 ? kPlain : plain_caps("BGRx", 32, 32)));
  if (harness.negotiate(kCaps))
    gst_harness_push(harness.get(), gst_buffer_ref(kept.get()));
  fail_unless(handler.calls() > 0);
}
GST_END_TEST

// Queries and events that nobody should send, before and after caps.
GST_START_TEST(test_odd_queries)
{
  const Harness harness("drmmark");
  if (__i__ == 1)
    fail_unless(harness.negotiate(kCaps));
  for (const char *name : {"sink", "src"}) {
    const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(harness.element(), name));
    gstdrm::test::ask_everything(pad.get());
    gstdrm::test::send_odd_events(pad.get());
    for (const auto &row : gstdrm::test::kOddCaps)
      if (GST_PAD_IS_SINK(pad.get()))
        gstdrm::test::send_odd_caps(pad.get(), row);
  }
}
GST_END_TEST

// Other threads read and set properties, ask, and flush, while the element starts, streams and
// stops.
GST_START_TEST(test_threads)
{
  const Harness harness("drmmark");
  const auto source = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("memfd", kPlain));
  GstElement *element = harness.element();
  std::atomic<bool> over{false};
  const auto stream = [&] {
    for (int i = 0; i < 30; i++) {
      gst_element_set_state(element, GST_STATE_PLAYING);
      (void)harness.negotiate(kCaps); // a flush may come before
      send_segment(harness);
      for (int frame = 0; frame < 3; frame++)
        gst_harness_push(harness.get(), gst_buffer_ref(source.get()));
      gst_element_set_state(element, GST_STATE_NULL);
    }
    over = true;
  };
  const auto touch = [&] {
    while (!over) {
      GstStructure *stats = nullptr;
      g_object_get(element, "drm-stats", &stats, nullptr);
      gst_structure_free(stats);
      g_object_set(element, "zero-copy", 0, "size", 8, nullptr);
    }
  };
  const auto flush = [&] {
    const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element, "sink"));
    while (!over) {
      gst_pad_send_event(pad.get(), gst_event_new_flush_start());
      const auto caps = GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), nullptr));
      std::this_thread::yield();
    }
  };
  gstdrm::test::at_once({stream, touch, flush});
  fail_unless(harness.messages(GST_MESSAGE_ERROR).empty());
}
GST_END_TEST

GST_START_TEST(test_explains)
{
  const Harness harness("drmmark");
  gst_harness_set_sink_caps_str(harness.get(), dmabuf_caps("NV12", kWidth, kHeight).c_str());
  fail_if(harness.negotiate(kCaps));
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), "nothing in common", "XR24", "NV12");
}
GST_END_TEST

Suite *example_mark_suite()
{
  gstdrm::test::register_mark();
  Suite *suite = suite_create("example-mark");
  TCase *tc = tcase_create("drmmark");
  tcase_add_test(tc, test_in_place);
  tcase_add_test(tc, test_size);
  tcase_add_test(tc, test_other_caps);
  tcase_add_test(tc, test_shared);
  tcase_add_test(tc, test_shared_memory);
  tcase_add_test(tc, test_require);
  tcase_add_test(tc, test_bad_frame);
  tcase_add_loop_test(tc, test_pseudo_format, 0, 2);
  tcase_add_loop_test(tc, test_metas, 0, 2);
  tcase_add_test(tc, test_every_failure_is_told);
  tcase_add_test(tc, test_stop);
  tcase_add_test(tc, test_descriptors_end);
  tcase_add_loop_test(tc, test_wait_ends, 0, 2);
  tcase_add_loop_test(tc, test_bus_handler, 0, 3);
  tcase_add_loop_test(tc, test_odd_queries, 0, 2);
  tcase_add_test(tc, test_threads);
  tcase_add_test(tc, test_explains);
  suite_add_tcase(suite, tc);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(example_mark)

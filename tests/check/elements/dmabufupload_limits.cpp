// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufupload where buffers, descriptors or memory end: it is bounded, says who holds what, and
// every wait ends with a buffer, a flush or NULL.
#include <csignal>
#include <thread>

#include <sys/resource.h>

#include "support/descriptors.hpp"
#include "support/dmabuf_elements.hpp"
#include "support/templates.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

const std::string kNv12 = plain_caps("NV12", 320, 240);

std::string upload(const char *properties)
{
  return std::string("dmabufupload allocator=") + test_kinds().front() + " " + properties;
}

// The next message of this type, however long it takes; the texts of all later ones are the test's.
std::string wait_for_message(const Harness &h, GstMessageType type)
{
  GstBus *bus = gst_element_get_bus(h.element());
  GstMessage *message = gst_bus_timed_pop_filtered(bus, 60 * GST_SECOND, type);
  gst_object_unref(bus);
  fail_unless(message != nullptr, "no %s", gst_message_type_get_name(type));
  GError *error = nullptr;
  if (type == GST_MESSAGE_ERROR)
    gst_message_parse_error(message, &error, nullptr);
  else
    gst_message_parse_warning(message, &error, nullptr);
  gst_message_unref(message);
  std::string text = error->message;
  g_error_free(error);
  return text;
}

void check_says(const std::string &text, std::initializer_list<const char *> parts)
{
  for (const char *part : parts)
    fail_unless(text.find(part) != std::string::npos, "'%s' does not say '%s'", text.c_str(), part);
}

// A soft limit of this process, until the end of the test.
class Limit {
public:
  Limit(decltype(RLIMIT_NOFILE) what, rlim_t value) : what_(what)
  {
    getrlimit(what_, &before_);
    struct rlimit lower = before_;
    lower.rlim_cur = value;
    fail_unless_equals_int(setrlimit(what_, &lower), 0);
  }
  Limit(const Limit &) = delete;
  Limit &operator=(const Limit &) = delete;
  ~Limit() { setrlimit(what_, &before_); }

private:
  decltype(RLIMIT_NOFILE) what_;
  struct rlimit before_ = {};
};

enum class Source { Copies, OfferedPool };

// Frames through the element, from a pool of the element's own or from the one it offers.
class Stream {
public:
  Stream(const Harness &h, Source source) : h_(h)
  {
    fail_unless(h.negotiate(kNv12), "%s", h.last_error().c_str());
    if (source == Source::OfferedPool)
      pool_ = take_pool(h.ask_allocation(kNv12).get(), kNv12, true);
  }
  ~Stream()
  {
    if (pool_)
      gst_buffer_pool_set_active(pool_.get(), FALSE);
  }
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  // What a producer's thread does for one frame.
  GstFlowReturn produce() const
  {
    if (!pool_)
      return gst_harness_push(h_.get(), new_frame(kNv12));
    GstBuffer *buffer = nullptr;
    const GstFlowReturn flow = gst_buffer_pool_acquire_buffer(pool_.get(), &buffer, nullptr);
    return flow == GST_FLOW_OK ? gst_harness_push(h_.get(), buffer) : flow;
  }

private:
  const Harness &h_;
  GstPtr<GstBufferPool> pool_;
};

GstPtr<GstBuffer> pull(const Harness &h)
{
  return GstPtr<GstBuffer>::adopt(gst_harness_pull(h.get()));
}

// A consumer that keeps everything: one warning that names it, and the stream goes on when it lets go.
GST_START_TEST(test_bound)
{
  const Source source = __i__ == 0 ? Source::Copies : Source::OfferedPool;
  const Harness h(upload("max-buffers=2"));
  const Stream stream(h, source);
  for (int i = 0; i < 2; ++i)
    fail_unless_equals_int(stream.produce(), GST_FLOW_OK);
  std::vector<GstPtr<GstBuffer>> kept;
  kept.push_back(pull(h));
  kept.push_back(pull(h));
  GstFlowReturn flow = GST_FLOW_ERROR;
  std::thread producer([&] { flow = stream.produce(); });
  const std::string text = wait_for_message(h, GST_MESSAGE_WARNING);
  check_says(text, {"waits for a free buffer", "it made 2 (", "MiB", "2 are in use", "held by", "max-buffers"});
  kept.erase(kept.begin());
  producer.join();
  fail_unless_equals_int(flow, GST_FLOW_OK);
  kept.push_back(pull(h));
  kept.clear();
  for (int i = 0; i < 10; ++i) {
    fail_unless_equals_int(stream.produce(), GST_FLOW_OK);
    (void)pull(h);
  }
  fail_unless(h.messages(GST_MESSAGE_WARNING).empty());
  fail_unless(h.messages(GST_MESSAGE_ERROR).empty());
}
GST_END_TEST

enum class End { Flush, Null };

struct EndRow {
  Source source;
  End end;
};

constexpr EndRow kEnds[] = {
    {Source::Copies, End::Flush},
    {Source::Copies, End::Null},
    {Source::OfferedPool, End::Flush},
    {Source::OfferedPool, End::Null},
};

GST_START_TEST(test_wait_ends)
{
  const EndRow &row = kEnds[__i__];
  const Harness h(upload("max-buffers=1"));
  {
    const Stream stream(h, row.source);
    fail_unless_equals_int(stream.produce(), GST_FLOW_OK);
    GstPtr<GstBuffer> kept = pull(h);
    GstFlowReturn flow = GST_FLOW_OK;
    std::thread producer([&] { flow = stream.produce(); });
    (void)wait_for_message(h, GST_MESSAGE_WARNING); // it does wait
    if (row.end == End::Flush)
      gst_pad_push_event(h.get()->srcpad, gst_event_new_flush_start());
    else
      gst_element_set_state(h.element(), GST_STATE_NULL);
    producer.join();
    fail_unless_equals_int(flow, GST_FLOW_FLUSHING);
    kept.reset();
    if (row.end == End::Flush) {
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      gst_pad_push_event(h.get()->srcpad, gst_event_new_flush_stop(FALSE));
      gst_pad_push_event(h.get()->srcpad, gst_event_new_segment(&segment));
      fail_unless_equals_int(stream.produce(), GST_FLOW_OK);
      (void)pull(h);
    }
  }
  fail_unless(h.messages(GST_MESSAGE_ERROR).empty());
}
GST_END_TEST

// Stopped while it waits, and started again: it works, and may warn again.
GST_START_TEST(test_restarted)
{
  const Harness h(upload("max-buffers=1"));
  for (int i = 0; i < 2; ++i) {
    fail_unless(h.negotiate(plain_caps("NV12", 320 + 2 * i, 240)));
    const std::string caps = plain_caps("NV12", 320 + 2 * i, 240);
    GstPtr<GstBuffer> kept = h.push(new_frame(caps));
    GstFlowReturn flow = GST_FLOW_OK;
    std::thread producer([&] { flow = gst_harness_push(h.get(), new_frame(caps)); });
    (void)wait_for_message(h, GST_MESSAGE_WARNING);
    gst_element_set_state(h.element(), GST_STATE_READY);
    producer.join();
    fail_unless_equals_int(flow, GST_FLOW_FLUSHING);
    gst_element_set_state(h.element(), GST_STATE_PLAYING);
    gst_pad_push_event(h.get()->srcpad, gst_event_new_stream_start("again"));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(h.get()->srcpad, gst_event_new_caps(caps_of(caps).get()));
    gst_pad_push_event(h.get()->srcpad, gst_event_new_segment(&segment));
  }
}
GST_END_TEST

// Descriptors end while frames flow: one error with numbers and a cure, before upstream's own,
// for each time that it happens.
GST_START_TEST(test_descriptors_end)
{
  const Source source = __i__ == 0 ? Source::Copies : Source::OfferedPool;
  const Harness h(upload("max-buffers=1000"));
  const Stream stream(h, source);
  fail_unless_equals_int(stream.produce(), GST_FLOW_OK);
  for (int failure = 0; failure < 3; ++failure) {
    GstFlowReturn flow = GST_FLOW_OK;
    {
      const Limit limit(RLIMIT_NOFILE, count_fds() + 10);
      for (int i = 0; i < 100 && flow == GST_FLOW_OK; ++i)
        flow = stream.produce();
    }
    fail_unless_equals_int(flow, GST_FLOW_ERROR);
    const std::vector<std::string> errors = h.messages(GST_MESSAGE_ERROR);
    fail_unless_equals_int(errors.size(), 1);
    check_says(errors.front(), {"cannot make another buffer", "Too many open files", "It has made", "MiB", "are in use",
                                "held by", "max-buffers", "ulimit -n"});
    if (failure == 0) { // the application lets go, frames flow, and it keeps everything once more
      while (GstBuffer *kept = gst_harness_try_pull(h.get()))
        gst_buffer_unref(kept);
      fail_unless_equals_int(stream.produce(), GST_FLOW_OK);
    } else { // it seeks
      gst_pad_push_event(h.get()->srcpad, gst_event_new_flush_start());
      gst_pad_push_event(h.get()->srcpad, gst_event_new_flush_stop(FALSE));
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      gst_pad_push_event(h.get()->srcpad, gst_event_new_segment(&segment));
    }
  }
}
GST_END_TEST

// Too few are left for the pool itself, which takes one or two, as GStreamer was built: one error, and no critical of
// GStreamer's; there is room again, and frames flow.
GST_START_TEST(test_no_descriptor_for_a_pool)
{
  const Harness h(upload(""));
  fail_unless(h.negotiate(kNv12), "%s", h.last_error().c_str());
  GstBuffer *frame = new_frame(kNv12);
  GstFlowReturn flow = GST_FLOW_OK;
  {
    const FewDescriptors few(static_cast<unsigned>(__i__));
    fail_if(h.ask_allocation(kNv12)); // upstream's own memory is copied
    flow = gst_harness_push(h.get(), frame);
  }
  fail_unless_equals_int(flow, GST_FLOW_ERROR);
  const std::vector<std::string> errors = h.messages(GST_MESSAGE_ERROR);
  fail_unless_equals_int(errors.size(), 1);
  check_says(errors.front(), {"cannot allocate dma-bufs of 320x240 NV12", "EMFILE", "ulimit -n"});
  gst_pad_push_event(h.get()->srcpad, gst_event_new_flush_start()); // the application goes on
  gst_pad_push_event(h.get()->srcpad, gst_event_new_flush_stop(FALSE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_pad_push_event(h.get()->srcpad, gst_event_new_segment(&segment));
  fail_unless_equals_int(gst_harness_push(h.get(), new_frame(kNv12)), GST_FLOW_OK);
  (void)pull(h);
}
GST_END_TEST

// No memory for the first frame: the error says why, and which log says more. The kernel refuses a larger memfd with
// EFBIG, and a signal that is ignored here.
GST_START_TEST(test_no_first_frame)
{
  const Harness h(upload(""));
  const Stream stream(h, Source::Copies);
  GstFlowReturn flow = GST_FLOW_OK;
  {
    const Limit limit(RLIMIT_FSIZE, 4096);
    const auto before = std::signal(SIGXFSZ, SIG_IGN);
    flow = stream.produce();
    std::signal(SIGXFSZ, before);
  }
  fail_unless_equals_int(flow, GST_FLOW_ERROR);
  const std::vector<std::string> errors = h.messages(GST_MESSAGE_ERROR);
  fail_unless_equals_int(errors.size(), 1);
  check_says(errors.front(), {"cannot allocate dma-bufs of 320x240 NV12", "File too large", "property allocator",
                              "GST_DEBUG=drmallocator:5"});
}
GST_END_TEST

guint offered_max(const Harness &h, const std::string &caps)
{
  fail_unless(h.negotiate(caps));
  const GstPtr<GstQuery> query = h.ask_allocation(caps, false); // nothing is allocated
  guint max = 0;
  gst_query_parse_nth_allocation_pool(query.get(), 0, nullptr, nullptr, nullptr, &max);
  return max;
}

// By itself a pool makes what half of the descriptors and half of the memory hold, and a few always.
GST_START_TEST(test_automatic_bound)
{
  const guint64 memory = static_cast<guint64>(sysconf(_SC_PHYS_PAGES)) * static_cast<guint64>(sysconf(_SC_PAGESIZE));
  const guint64 frame = guint64{8192} * 8192 * 4;
  const Limit limit(RLIMIT_NOFILE, 200);
  {
    const Harness h(upload(""));
    fail_unless_equals_int(offered_max(h, plain_caps("NV12", 64, 64)), 100);
  }
  {
    const Harness h(upload(""));
    fail_unless_equals_uint64(offered_max(h, plain_caps("BGRx", 8192, 8192)),
                              std::clamp<guint64>(memory / 2 / frame, 1 + 20, 100));
  }
  {
    const Harness h(upload("max-buffers=7"));
    fail_unless_equals_int(offered_max(h, plain_caps("NV12", 64, 64)), 7);
  }
}
GST_END_TEST

// No fewer than downstream says that it keeps, and one to write into.
GST_START_TEST(test_bound_below_what_downstream_keeps)
{
  const Harness h(upload("max-buffers=2"));
  offer_pool(h, nullptr, 0, 5);
  fail_unless_equals_int(offered_max(h, kNv12), 6);
  std::vector<GstPtr<GstBuffer>> kept;
  for (guint i = 0; i < 6; ++i)
    kept.push_back(h.push(new_frame(kNv12, i)));
}
GST_END_TEST

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they map terabytes themselves

// Address space ends: the frame cannot be mapped, which is one error and no crash.
GST_START_TEST(test_address_space_ends)
{
  const std::string caps = plain_caps("BGRx", 4096, 4096); // 64 MiB, so that nothing smaller fails
  const Harness h(upload(""));
  fail_unless(h.negotiate(caps));
  GstBuffer *frame = new_frame(caps);
  unsigned long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  GstFlowReturn flow = GST_FLOW_OK;
  {
    const Limit limit(RLIMIT_AS, pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (32 << 20));
    flow = gst_harness_push(h.get(), frame);
  }
  fail_unless_equals_int(flow, GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "cannot be mapped");
}
GST_END_TEST

#endif

// What an application keeps works after the element is gone, and lets everything go at its end.
GST_START_TEST(test_kept_for_ever)
{
  const GstVideoInfo info = video_info(kNv12);
  std::size_t before = 0;
  for (int round = 0; round < 3; ++round) { // GStreamer opens some descriptors once
    if (round == 1)
      before = count_fds();
    GstPtr<GstBuffer> buffer;
    GstPtr<GstBuffer> shallow;
    GstPtr<GstSample> sample;
    GstPtr<GstMemory> memory;
    GstPtr<GstAllocator> allocator;
    GstPtr<GstCaps> caps;
    GstPtr<GstBufferPool> pool;
    {
      const Harness h(upload("max-buffers=4"));
      const Stream stream(h, Source::OfferedPool);
      fail_unless_equals_int(stream.produce(), GST_FLOW_OK);
      (void)pull(h);
      buffer = h.push(new_frame(kNv12, 1));
      GstPtr<GstBuffer> other = h.push(new_frame(kNv12, 2));
      shallow = GstPtr<GstBuffer>::adopt(gst_buffer_copy(other.get()));
      caps = h.output_caps();
      sample = GstPtr<GstSample>::adopt(
          gst_sample_new(h.push(new_frame(kNv12, 3)).get(), caps.get(), nullptr, nullptr));
      memory = GstPtr<GstMemory>::share(gst_buffer_peek_memory(buffer.get(), 0));
      allocator = GstPtr<GstAllocator>::share(memory->allocator);
      pool = take_pool(h.ask_allocation(kNv12).get(), kNv12, true);
      if (round == 0)
        gst_element_set_state(h.element(), GST_STATE_NULL);
    }
    check_drawn(buffer.get(), info, 1);
    check_drawn(shallow.get(), info, 2);
    check_drawn(gst_sample_get_buffer(sample.get()), info, 3);
    GstPtr<GstBuffer> late = GstPtr<GstBuffer>::adopt(acquire(pool)); // told to nobody, and works
    draw(late.get(), info, 4);
    check_drawn(late.get(), info, 4);
    late.reset();
    gst_buffer_pool_set_active(pool.get(), FALSE);
  }
  fail_unless_equals_int(count_fds(), before);
}
GST_END_TEST

GST_START_TEST(test_largest_size)
{
  check_template_sizes(__i__ == 0 ? "dmabufupload" : "dmabufdownload");
}
GST_END_TEST

// Answers to queries end there too, whatever was asked; a larger picture is refused with its size.
GST_START_TEST(test_larger_is_refused)
{
  const Harness h(__i__ == 0 ? "dmabufupload" : "dmabufdownload");
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(h.element(), "sink"));
  const auto asked = caps_of("video/x-raw, format=NV12, width=[1, 2147483647], height=[1, 2147483647]");
  const auto answer = GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), asked.get()));
  const GValue *width = gst_structure_get_value(gst_caps_get_structure(answer.get(), 0), "width");
  fail_unless_equals_int(gst_value_get_int_range_max(width), 16384);
  fail_if(h.negotiate(plain_caps("NV12", 16385, 480)));
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "16385", "16384");
}
GST_END_TEST

Suite *dmabufupload_limits_suite()
{
  Suite *suite = suite_create("dmabufupload-limits");
  TCase *tcase = tcase_create("limits");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_largest_size, 0, 2);
  tcase_add_loop_test(tcase, test_larger_is_refused, 0, 2);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_bound, 0, 2);
  tcase_add_loop_test(tcase, test_wait_ends, 0, G_N_ELEMENTS(kEnds));
  tcase_add_test(tcase, test_restarted);
  tcase_add_loop_test(tcase, test_descriptors_end, 0, 2);
  tcase_add_loop_test(tcase, test_no_descriptor_for_a_pool, 0, 2);
  tcase_add_test(tcase, test_no_first_frame);
  tcase_add_test(tcase, test_automatic_bound);
  tcase_add_test(tcase, test_bound_below_what_downstream_keeps);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  tcase_add_test(tcase, test_address_space_ends);
#endif
  tcase_add_test(tcase, test_kept_for_ever);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabufupload_limits)

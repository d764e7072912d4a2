// SPDX-License-Identifier: LGPL-2.1-or-later
// Streams through dmabufupload and dmabufdownload for as long as one likes: descriptors, memory and
// allocations stay flat. GST_DRM_SOAK_FRAMES says for how many frames a topology runs (./run soak).
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>

#include "support/count_memfds.hpp"
#include "support/dmabuf_elements.hpp"

// Frames of a topology in `./run tests`; tests/device names fewer.

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

// What the probe on a pad does with each buffer beside letting it pass.
enum class Middle { Nothing, KeepsCopies, PassesCopies };

struct Topology {
  const char *name;
  const char *pipeline;        // UP stands for dmabufupload and its allocator, FRAMES for the number
  Middle middle;               // on the source pad of the first upload
  std::uint64_t most_made;     // frames that are in use at once, at most
  std::uint64_t copies;        // per frame, of both elements together
  guint most_frames = 1U << 31; // decoders are slow, and nothing new happens after some hundred
};

#define SOURCE(format, width)                                                                      \
  "videotestsrc pattern=black num-buffers=FRAMES ! video/x-raw, format=" format ", width=" #width   \
  ", height=16 ! "
#define SHORT_QUEUE "queue max-size-buffers=2 max-size-bytes=0 max-size-time=0"

// Made: each allocator's proof, a frame for each time that a pool is configured (upstream asks more
// than once), and what is in use at once: two in each queue, one in each thread's hands, the kept.
constexpr Topology kTopologies[] = {
    {"upstream writes into the pool", SOURCE("BGRx", 64) "UP ! dmabufdownload ! fakesink name=sink", Middle::Nothing, 8, 0},
    {"frames are copied", SOURCE("BGRx", 64) "identity drop-allocation=true ! UP ! dmabufdownload ! fakesink name=sink", Middle::Nothing, 8, 1},
    {"tee and queues", SOURCE("BGRx", 64) "UP ! tee name=t  t. ! " SHORT_QUEUE " ! dmabufdownload ! fakesink name=sink  t. ! " SHORT_QUEUE " ! fakesink", Middle::Nothing, 16, 0},
    {"padded rows are copied twice", SOURCE("I420", 100) "identity drop-allocation=true ! UP ! dmabufdownload ! fakesink name=sink", Middle::Nothing, 8, 2},
    {"tee before two uploads", SOURCE("BGRx", 64) "tee name=t  t. ! " SHORT_QUEUE " ! UP ! fakesink name=sink  t. ! " SHORT_QUEUE " ! UP ! dmabufdownload ! fakesink", Middle::Nothing, 24, 2, 5000},
    {"five copies are kept", SOURCE("I420", 100) "UP ! dmabufdownload ! fakesink name=sink", Middle::KeepsCopies, 16, 1, 5000},
    {"copies go on, tee behind them", SOURCE("I420", 100) "UP ! tee name=t  t. ! " SHORT_QUEUE " ! dmabufdownload ! fakesink name=sink  t. ! " SHORT_QUEUE " ! fakesink", Middle::PassesCopies, 16, 1, 5000},
    {"plain caps, tee", SOURCE("I420", 100) "UP ! video/x-raw ! tee name=t  t. ! " SHORT_QUEUE " ! fakesink name=sink  t. ! " SHORT_QUEUE " ! fakesink", Middle::Nothing, 16, 0, 5000},
    {"a decoder", SOURCE("I420", 64) "vp8enc deadline=1 ! vp8dec ! UP ! dmabufdownload ! fakesink name=sink", Middle::Nothing, 16, 1, 300},
};
constexpr int kSoakTopologies = 4; // the first ones run for as long as they are told

guint soak_frames()
{
  const char *text = std::getenv("GST_DRM_SOAK_FRAMES");
  return text ? static_cast<guint>(std::strtoul(text, nullptr, 10)) : 20000;
}

std::string with(std::string text, const std::string &word, const std::string &by)
{
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
  return text;
}

// Bytes of this process that are in memory.
std::uint64_t resident_bytes()
{
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

struct Sample {
  guint frames = 0;
  std::size_t descriptors = 0;
  std::uint64_t resident = 0;
  std::uint64_t made = 0;
  std::uint64_t copies = 0;
};

std::uint64_t copies_in(GstElement *pipeline)
{
  std::uint64_t copies = 0;
  GstIterator *iterator = gst_bin_iterate_elements(GST_BIN(pipeline));
  GValue item = G_VALUE_INIT;
  while (gst_iterator_next(iterator, &item) == GST_ITERATOR_OK) {
    auto *element = static_cast<GstElement *>(g_value_get_object(&item));
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), "drm-stats")) {
      GstStructure *stats = nullptr;
      guint64 one = 0;
      g_object_get(element, "drm-stats", &stats, nullptr);
      gst_structure_get_uint64(stats, "copies", &one);
      gst_structure_free(stats);
      copies += one;
    }
    g_value_reset(&item);
  }
  g_value_unset(&item);
  gst_iterator_free(iterator);
  return copies;
}

class Soak {
public:
  Soak(const Topology &topology, guint frames)
      : topology_(topology), frames_(frames), made_before_(memfds_made())
  {
    std::string text = with(topology.pipeline, "FRAMES", std::to_string(frames));
    text = with(text, "UP", std::string("dmabufupload allocator=") + test_kinds().front());
    GError *error = nullptr;
    pipeline_ = GstPtr<GstElement>::adopt(gst_parse_launch(text.c_str(), &error));
    fail_unless(pipeline_ && !error, "%s: %s", text.c_str(), error ? error->message : "");
    const auto sink = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline_.get()), "sink"));
    const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.get(), "sink"));
    gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, on_frame, this, nullptr);
    if (topology.middle != Middle::Nothing)
      watch_upload();
  }
  Soak(const Soak &) = delete;
  Soak &operator=(const Soak &) = delete;
  ~Soak() { gst_element_set_state(pipeline_.get(), GST_STATE_NULL); }

  void run()
  {
    gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);
    const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline_.get()));
    const auto message = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(
        bus.get(), GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
    fail_unless_equals_int(GST_MESSAGE_TYPE(message.get()), GST_MESSAGE_EOS);
    fail_unless_equals_int(seen_.load(), frames_);
    samples_.push_back(take(frames_));
    gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
  }

  void print() const
  {
    g_print("# %s\n# %10s %12s %12s %12s %12s\n", topology_.name, "frames", "descriptors", "RSS KiB", "allocations",
            "copies");
    for (const Sample &sample : samples_)
      g_print("# %10u %12zu %12" G_GUINT64_FORMAT " %12" G_GUINT64_FORMAT " %12" G_GUINT64_FORMAT "\n", sample.frames,
              sample.descriptors, sample.resident / 1024, sample.made, sample.copies);
  }

  // The first sample is of the stream that runs: buffers are made, and caches of GStreamer filled.
  void check() const
  {
    const Sample &first = samples_.front();
    const Sample &last = samples_.back();
    fail_unless(last.made <= topology_.most_made, "%s: %" G_GUINT64_FORMAT " frames were allocated, and %" G_GUINT64_FORMAT
                " are in use at most", topology_.name, last.made, topology_.most_made);
    fail_unless(last.descriptors <= first.descriptors + topology_.most_made, "%s: from %zu to %zu descriptors",
                topology_.name, first.descriptors, last.descriptors);
    fail_unless_equals_uint64(last.copies, topology_.copies * frames_);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they keep what was freed
    constexpr std::uint64_t kSlack = 4U << 20; // of malloc; a leak of 300 bytes a frame is more from 14000 frames on
    fail_unless(last.resident <= first.resident + kSlack, "%s: from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
                " bytes of memory", topology_.name, first.resident, last.resident);
#endif
  }

private:
  Sample take(guint frames)
  {
    return {frames, count_fds(), resident_bytes(), memfds_made() - made_before_, copies_in(pipeline_.get())};
  }

  static GstPadProbeReturn on_frame(GstPad *, GstPadProbeInfo *, gpointer data)
  {
    auto *self = static_cast<Soak *>(data);
    const guint frames = self->seen_.fetch_add(1);
    constexpr guint kSamples = 5;
    if (frames > 0 && frames % std::max(1U, self->frames_ / kSamples) == 0)
      self->samples_.push_back(self->take(frames));
    return GST_PAD_PROBE_OK;
  }

  void watch_upload()
  {
    GstIterator *iterator = gst_bin_iterate_elements(GST_BIN(pipeline_.get()));
    GValue item = G_VALUE_INIT;
    while (gst_iterator_next(iterator, &item) == GST_ITERATOR_OK) {
      auto *element = static_cast<GstElement *>(g_value_get_object(&item));
      if (g_str_has_prefix(GST_OBJECT_NAME(element), "dmabufupload")) {
        const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element, "src"));
        gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, on_upload, this, nullptr);
      }
      g_value_reset(&item);
    }
    g_value_unset(&item);
    gst_iterator_free(iterator);
  }

  static GstPadProbeReturn on_upload(GstPad *, GstPadProbeInfo *info, gpointer data)
  {
    auto *self = static_cast<Soak *>(data);
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    if (self->topology_.middle == Middle::PassesCopies) {
      GST_PAD_PROBE_INFO_DATA(info) = gst_buffer_copy(buffer);
      gst_buffer_unref(buffer);
    } else {
      self->kept_[self->uploaded_++ % self->kept_.size()].reset(gst_buffer_copy(buffer));
    }
    return GST_PAD_PROBE_OK;
  }

  const Topology &topology_;
  const guint frames_;
  const std::uint64_t made_before_;
  GstPtr<GstElement> pipeline_;
  std::atomic<guint> seen_{0};
  std::vector<Sample> samples_; // of the sink's thread, then of the test's
  std::array<GstPtr<GstBuffer>, 5> kept_; // of the upload's thread
  std::size_t uploaded_ = 0;
};

GST_START_TEST(test_topology)
{
  const Topology &topology = kTopologies[__i__];
  const unsigned descriptors = count_fds();
  {
    Soak soak(topology, std::min(soak_frames(), topology.most_frames));
    soak.run();
    soak.print();
    soak.check();
  }
  // GStreamer keeps some of its own, for timers and threads
  fail_unless(count_fds() <= descriptors + 8, "%u descriptors, then %u", descriptors, count_fds());
}
GST_END_TEST

Suite *dmabuf_soak_suite()
{
  Suite *suite = suite_create("dmabuf-soak");
  TCase *soak = tcase_create("soak");
  suite_add_tcase(suite, soak);
  tcase_set_timeout(soak, 0);
  tcase_add_loop_test(soak, test_topology, 0, kSoakTopologies);
  TCase *more = tcase_create("more");
  suite_add_tcase(suite, more);
  tcase_set_timeout(more, 0);
  tcase_add_loop_test(more, test_topology, kSoakTopologies, G_N_ELEMENTS(kTopologies));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabuf_soak)

// SPDX-License-Identifier: LGPL-2.1-or-later
// When buffers go back. To a producer that announces release fences: at once when the commit that
// replaces them was made, with that commit's fence. To any other: when the flip has completed.
// Nobody writes into what is scanned out: the order of writes and flips is held against the
// kernel's trace of its vblank events.
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <cerrno>
#include <cinttypes>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/unique_fd.hpp>

#include "kms_support.hpp"
#include "support/box_time.hpp"

using namespace gstdrm::test;
using gstdrm::UniqueFd;

namespace {

constexpr int kPatience = 20'000; // looks, some milliseconds apart
const std::string kCaps = dma_drm_caps("XR24", 640, 480);

void wait_until(const Sink &sink, const char *stat, guint64 value)
{
  for (int i = 0; i < kPatience && sink.stat(stat) < value; i++)
    g_usleep(2000);
  ck_assert_uint_eq(sink.stat(stat), value);
}

struct Fence {
  int status = 0; // linux/sync_file.h: 1 signalled, 0 pending
  guint64 time_ns = 0;
};

// The buffer's release fence; false: none.
bool release_fence(GstBuffer *buffer, Fence &fence)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  const UniqueFd fd(meta ? gst_drm_sync_meta_dup_release_fence(meta) : -1);
  if (!fd)
    return false;
  sync_fence_info details = {};
  sync_file_info info = {};
  info.num_fences = 1;
  info.sync_fence_info = reinterpret_cast<guintptr>(&details);
  ck_assert_int_eq(ioctl(fd.get(), SYNC_IOC_FILE_INFO, &info), 0);
  fence = {info.status, details.timestamp_ns};
  return true;
}

// An allocation query of a producer, that honours release fences or does not.
void ask(Sink &sink, bool announce)
{
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(kCaps.c_str()));
  GstQuery *query = gst_query_new_allocation(caps.get(), FALSE);
  if (announce)
    gst_drm_query_announce_release_fences(query);
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.element(), "sink"));
  ck_assert(gst_pad_query(pad.get(), query));
  gst_query_unref(query);
}

// As a producer that honours release fences asks, or one that does not.
void negotiate(Sink &sink, bool announce)
{
  ck_assert(sink.set_caps(kCaps));
  ask(sink, announce);
}

GstPtr<GstBuffer> picture(bool with_meta)
{
  static const GstVideoInfo info = video_info(plain_caps("BGRx", 640, 480));
  static const GstPtr<GstBuffer> noise = make_noise(info, 1);
  GstPtr<GstBuffer> buffer = to_dmabuf(info, noise.get(), Shape::Tight);
  if (with_meta)
    gst_buffer_add_drm_sync_meta(buffer.get());
  return buffer;
}

struct Row {
  const char *name;
  bool announce, with_meta;
  bool early; // is what is expected
};

const Row kRows[] = {
    {"announced", true, true, true},
    {"not announced", false, true, false},
    {"announced, but the buffer has no GstDrmSyncMeta", true, false, false},
};

int references(const GstPtr<GstBuffer> &buffer)
{
  return GST_MINI_OBJECT_REFCOUNT_VALUE(buffer.get());
}

} // namespace

GST_START_TEST(test_when_a_buffer_goes_back)
{
  const Row &row = kRows[__i__];
  g_print("# %s\n", row.name);
  Sink sink;
  negotiate(sink, row.announce);
  const GstPtr<GstBuffer> a = picture(row.with_meta), b = picture(row.with_meta);
  ck_assert_int_eq(sink.push(gst_buffer_ref(a.get())), GST_FLOW_OK);
  wait_until(sink, "shown", 1);
  ck_assert_int_ge(references(a), 2);
  ck_assert_int_eq(sink.push(gst_buffer_ref(b.get())), GST_FLOW_OK); // commits at once
  Fence fence;
  // the flip is still to come
  ck_assert_uint_eq(sink.stat("shown"), 1);
  ck_assert_int_eq(references(a), row.early ? 1 : 2);
  ck_assert_int_eq(release_fence(a.get(), fence), row.early);
  ck_assert_int_eq(fence.status, 0);
  ck_assert_uint_eq(sink.stat("held"), row.early ? 1 : 2);
  wait_until(sink, "shown", 2);
  sink.eos();
  ck_assert_int_eq(references(a), 1);
  ck_assert_int_eq(release_fence(a.get(), fence), row.early);
  ck_assert_uint_eq(sink.stat("release-fences"), row.early ? 1 : 0);
  if (row.early) { // it signalled with the flip, by the kernel's clock; events carry microseconds
    ck_assert_int_eq(fence.status, 1);
    ck_assert_uint_eq(fence.time_ns / 1000, sink.stat("last-flip-time") / 1000);
  }
  ck_assert(!release_fence(b.get(), fence)); // on screen
}
GST_END_TEST

namespace {

// What the kernel says of vblank events that it sent, in CLOCK_MONOTONIC.
class Trace {
public:
  Trace()
  {
    set("trace_clock", "mono");
    set("events/drm/drm_vblank_event_delivered/enable", "1");
    set("tracing_on", "1");
  }
  ~Trace() { set("events/drm/drm_vblank_event_delivered/enable", "0"); }
  Trace(const Trace &) = delete;
  Trace &operator=(const Trace &) = delete;

  // In ns, oldest first.
  [[nodiscard]] static std::vector<guint64> times()
  {
    std::vector<guint64> times;
    FILE *file = std::fopen(path("trace").c_str(), "re");
    ck_assert_msg(file != nullptr, "no trace: %s", strerror(errno));
    char line[512];
    while (std::fgets(line, sizeof(line), file)) {
      const char *event = std::strstr(line, ": drm_vblank_event_delivered:");
      if (!event)
        continue;
      const char *start = event; // "   123.456789"
      while (start > line && start[-1] != ' ')
        start--;
      guint64 seconds = 0, micro = 0;
      ck_assert_int_eq(std::sscanf(start, "%" SCNu64 ".%6" SCNu64, &seconds, &micro), 2);
      times.push_back(seconds * GST_SECOND + micro * GST_USECOND);
    }
    std::fclose(file);
    return times;
  }

private:
  static std::string path(const char *name) { return std::string("/sys/kernel/tracing/") + name; }
  static void set(const char *name, const char *value)
  {
    const UniqueFd fd(open(path(name).c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    ck_assert_msg(fd && write(fd.get(), value, strlen(value)) > 0, "%s: %s", name, strerror(errno));
  }
};

// A producer that writes into buffers of a small pool as soon as they come back.
struct Producer {
  struct Frame {
    GstMemory *memory; // only compared
    guint64 written_at, pushed_at;
  };
  std::vector<Frame> frames;
  GstPtr<GstBufferPool> pool;

  explicit Producer(guint buffers)
  {
    GError *error = nullptr;
    const auto allocator = GstPtr<GstDrmAllocator>::adopt(
        gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_UDMABUF, nullptr, &error));
    ck_assert_msg(allocator, "%s", error ? error->message : "?");
    pool.reset(gst_drm_buffer_pool_new(allocator.get()));
    const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(kCaps.c_str()));
    GstStructure *config = gst_buffer_pool_get_config(pool.get());
    gst_buffer_pool_config_set_params(config, caps.get(), 640 * 480 * 4, buffers, buffers);
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    ck_assert(gst_buffer_pool_set_config(pool.get(), config));
    ck_assert(gst_buffer_pool_set_active(pool.get(), TRUE));
  }
  ~Producer() { gst_buffer_pool_set_active(pool.get(), FALSE); }

  void push_one(Sink &sink)
  {
    GstBuffer *buffer = nullptr;
    ck_assert_int_eq(gst_buffer_pool_acquire_buffer(pool.get(), &buffer, nullptr), GST_FLOW_OK);
    Frame frame = {gst_buffer_peek_memory(buffer, 0), now_ns(), 0};
    ck_assert_uint_gt(gst_buffer_memset(buffer, 0, static_cast<guint8>(frames.size()), 4096), 0);
    frame.pushed_at = now_ns();
    ck_assert_int_eq(sink.push(buffer), GST_FLOW_OK);
    frames.push_back(frame);
  }
};

struct Stream {
  const char *name;
  bool announce;
  guint buffers;
};

const Stream kStreams[] = {
    {"release fences, 2 buffers", true, 2},
    {"release fences, 3 buffers", true, 3},
    {"release fences, 4 buffers", true, 4},
    {"without, 4 buffers", false, 4},
};

} // namespace

// sync=false and nothing dropped: the n-th frame pushed is the n-th flip. A buffer may be written
// before it is pushed and after the flip that replaced it, and at no time between.
GST_START_TEST(test_nobody_writes_what_is_scanned_out)
{
  const Stream &stream = kStreams[__i__];
  g_print("# %s\n", stream.name);
  constexpr guint kFrames = 240;
  std::vector<Producer::Frame> frames;
  std::vector<guint64> flips;
  {
    const Trace trace;
    const std::size_t before = Trace::times().size();
    Sink sink("enable-last-sample=false");
    Producer producer(stream.buffers);
    negotiate(sink, stream.announce);
    for (guint i = 0; i < kFrames; i++)
      producer.push_one(sink);
    wait_until(sink, "shown", kFrames);
    g_print("# %" G_GUINT64_FORMAT " of %u buffers went back with a fence\n",
            sink.stat("release-fences"), kFrames);
    ck_assert_uint_eq(sink.stat("release-fences"), stream.announce ? kFrames - 1 : 0);
    frames = producer.frames;
    flips = Trace::times();
    flips.erase(flips.begin(), flips.begin() + static_cast<std::ptrdiff_t>(before));
  }
  ck_assert_uint_eq(flips.size(), kFrames);
  std::map<GstMemory *, std::size_t> last; // frame that the memory held
  for (std::size_t i = 0; i < frames.size(); i++) {
    const auto earlier = last.find(frames[i].memory);
    if (earlier != last.end()) {
      const std::size_t old = earlier->second;
      ck_assert_msg(frames[i].written_at >= flips[old + 1],
                    "%s: frame %zu was written at %" G_GUINT64_FORMAT
                    " into the buffer of frame %zu, which was pushed "
                    "at %" G_GUINT64_FORMAT " and replaced on screen at %" G_GUINT64_FORMAT,
                    stream.name, i, frames[i].written_at, old, frames[old].pushed_at,
                    flips[old + 1]);
    }
    last[frames[i].memory] = i;
  }
  ck_assert_uint_le(last.size(), stream.buffers);
}
GST_END_TEST

namespace {

// The announcement that reaches the sink, and what else the query says.
GstPadProbeReturn on_query(GstPad *, GstPadProbeInfo *info, gpointer announced)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION)
    *static_cast<int *>(announced) = gst_drm_query_has_release_fences(query);
  return GST_PAD_PROBE_OK;
}

struct Line {
  const char *name, *line;
  int announced;
  bool early;
};

const Line kLines[] = {
    {"dmabufupload",
     "videotestsrc num-buffers=60 ! video/x-raw, format=BGRx, width=320, height=240 ! dmabufupload "
     "! "
     "kmsdmabufsink name=sink mode=match driver-name=vkms sync=false zero-copy=require",
     1, true},
    {"dmabufupload, with a queue",
     "videotestsrc num-buffers=60 ! video/x-raw, format=BGRx, width=320, height=240 ! dmabufupload "
     "! queue ! "
     "kmsdmabufsink name=sink mode=match driver-name=vkms sync=false zero-copy=require",
     1, true},
    {"videotestsrc",
     "videotestsrc num-buffers=60 ! video/x-raw, format=BGRx, width=320, height=240 ! "
     "kmsdmabufsink name=sink mode=match driver-name=vkms sync=false",
     0, false},
};

} // namespace

namespace {

// What ends an agreement, although caps and state stay.
struct Ending {
  const char *name;
  void (*happens)(Sink &sink);
  bool ends;
};

const Ending kEndings[] = {
    {"the same producer asks once more", [](Sink &sink) { ask(sink, true); }, false},
    {"an allocation query without the announcement", [](Sink &sink) { ask(sink, false); }, true},
    {"another producer, which asks nothing: its STREAM_START", [](Sink &sink) { sink.set_caps(kCaps); },
     true},
};

} // namespace

// The agreement is the producer's that made it.
GST_START_TEST(test_an_agreement_ends_with_its_producer)
{
  const Ending &ending = kEndings[__i__];
  g_print("# %s\n", ending.name);
  Sink sink("enable-last-sample=false");
  negotiate(sink, true);
  for (guint i = 1; i <= 2; i++) {
    ck_assert_int_eq(sink.push(picture(true).release()), GST_FLOW_OK);
    wait_until(sink, "shown", i);
  }
  ck_assert_uint_eq(sink.stat("release-fences"), 1);
  ending.happens(sink);
  for (guint i = 3; i <= 5; i++) {
    ck_assert_int_eq(sink.push(picture(true).release()), GST_FLOW_OK);
    wait_until(sink, "shown", i);
  }
  // the last frame under the agreement is given back under it
  ck_assert_uint_eq(sink.stat("release-fences"), ending.ends ? 2 : 4);
}
GST_END_TEST

GST_START_TEST(test_elements_announce_it)
{
  const Line &row = kLines[__i__];
  g_print("# %s\n", row.name);
  GError *error = nullptr;
  const auto pipeline = GstPtr<GstElement>::adopt(gst_parse_launch(row.line, &error));
  ck_assert_msg(pipeline && !error, "%s", error ? error->message : "?");
  const auto sink = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "sink"));
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.get(), "sink"));
  int announced = -1;
  gst_pad_add_probe(
      pad.get(),
      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH),
      on_query, &announced, nullptr);
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline.get()));
  const auto message = GstPtr<GstMessage>::adopt(
      gst_bus_timed_pop_filtered(bus.get(), 60 * GST_SECOND,
                                 static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
  ck_assert(message && GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_EOS);
  GstStructure *stats = nullptr;
  g_object_get(sink.get(), "drm-stats", &stats, nullptr);
  guint64 fences = 0, shown = 0;
  gst_structure_get_uint64(stats, "release-fences", &fences);
  gst_structure_get_uint64(stats, "shown", &shown);
  gst_structure_free(stats);
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  ck_assert_int_eq(announced, row.announced);
  ck_assert_uint_eq(shown, 60);
  ck_assert_uint_eq(fences, row.early ? 59 : 0);
}
GST_END_TEST

static Suite *kms_release_suite(void)
{
  Suite *s = suite_create("kms-release");
  TCase *tc = tcase_create("release");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 100);
  tcase_add_loop_test(tc, test_when_a_buffer_goes_back, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tc, test_nobody_writes_what_is_scanned_out, 0, G_N_ELEMENTS(kStreams));
  tcase_add_loop_test(tc, test_an_agreement_ends_with_its_producer, 0, G_N_ELEMENTS(kEndings));
  tcase_add_loop_test(tc, test_elements_announce_it, 0, G_N_ELEMENTS(kLines));
  return s;
}

GST_DRM_CHECK_MAIN(kms_release)

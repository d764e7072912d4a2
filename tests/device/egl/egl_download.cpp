// SPDX-License-Identifier: LGPL-2.1-or-later
// egldmabufdownload on a real GL: counters, fences, what it refuses. Where GL imports no
// dma-bufs, the same cases pass through the copy.
#include <algorithm>
#include <array>

#include <sys/wait.h>
#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/unique_fd.hpp>

#include "driver_names.hpp"
#include "egl_download_pixels.hpp"
#include "egl_download_support.hpp"
#include "support/consumer.hpp"
#include "support/open_fds.hpp"

using namespace gstdrm::test;
using gstdrm::GstPtr;

namespace {

struct Counted {
  Download *download;
  int buffers = 0;
  std::uint64_t imports = 0;
};

GstPadProbeReturn count_buffer(GstPad *, GstPadProbeInfo *, gpointer data)
{
  auto *counted = static_cast<Counted *>(data);
  if (++counted->buffers == 30)
    counted->imports = counted->download->stat("imports");
  return GST_PAD_PROBE_OK;
}

} // namespace

// llvmpipe has native fences where the kernel makes a sync_file for it, by udmabuf (Mesa 26.1): in
// the box, where they have to be there.
static bool gl_has_fences()
{
  return g_getenv("GST_DRM_IN_BOX") || ::access("/dev/udmabuf", R_OK | W_OK) == 0;
}

GST_START_TEST(test_steady_state)
{
  Download download(source(64, 48, 300) + " ! egldmabufdownload name=d ! " + dma_drm("NV12") +
                    " ! fakesink name=sink");
  Counted counted{&download};
  const auto sink = download.element("sink");
  GstPad *pad = gst_element_get_static_pad(sink.get(), "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, count_buffer, &counted, nullptr);
  gst_object_unref(pad);
  download.play();
  download.check_end();
  fail_unless_equals_int(counted.buffers, 300);
  fail_unless_equals_uint64(download.stat("frames"), 300);
  if (!gl_draws()) {
    fail_unless_equals_uint64(download.stat("copies"), 300);
    fail_unless_equals_uint64(download.stat("imports"), 0);
    return;
  }
  fail_unless_equals_uint64(download.stat("copies"), 0);
  fail_unless_equals_uint64(download.stat("imports"), counted.imports);
  fail_unless(counted.imports >= 1 && counted.imports <= 4, "%u imports",
              static_cast<unsigned>(counted.imports));
  fail_unless_equals_uint64(download.stat("draws"), 300);
  fail_unless_equals_uint64(download.stat("hops"), 300);
  fail_unless_equals_uint64(download.stat("waits"), gl_has_fences() ? 0 : 300);
  fail_unless(download.stat("import-hits") >= 296);
}
GST_END_TEST

GST_START_TEST(test_fence)
{
  if (!gl_draws() || !gl_has_fences())
    return;
  Download download(source(64, 48, 2) + " ! egldmabufdownload name=d ! " + dma_drm("XR24") +
                    " ! appsink name=out sync=false");
  download.play();
  const auto sample = download.pull("out");
  fail_unless(sample);
  GstBuffer *buffer = gst_sample_get_buffer(sample.get());
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  fail_unless(meta != nullptr);
  const int fence = gst_drm_sync_meta_dup_acquire_fence(meta);
  fail_unless(fence >= 0, "no acquire fence");
  ::close(fence);
  for (guint i = 0; i < gst_buffer_n_memory(buffer); i++)
    fail_unless(gst_is_dmabuf_memory(gst_buffer_peek_memory(buffer, i)));
}
GST_END_TEST

namespace {

// Where a card is; empty: there is none.
std::string find_card()
{
  const auto allocator = GstPtr<GstDrmAllocator>::adopt(
      gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_DUMB, nullptr, nullptr));
  return allocator ? gst_drm_allocator_get_device(allocator.get()) : "";
}

struct UnfencedRow {
  const char *name;
  const char *gl_version;
  bool has_fence; // of the kernel's, in place of glFinish()
};

const UnfencedRow kUnfenced[] = {
    {"Mesa", nullptr, true},
    {"another driver", kOtherVersion, false},
};

} // namespace

// A driver of a GPU without native fences: what Mesa leaves with a dma-buf, the kernel hands out,
// and the CPU waits for nothing. Of other drivers nothing is known.
GST_START_TEST(test_no_native_fences)
{
  if (!gl_draws())
    return;
  constexpr int kFrames = 3;
  const UnfencedRow &row = kUnfenced[__i__];
  if (row.has_fence && find_card().empty())
    return; // the frames are memfds, whose fences nobody can ask for
  const DriverName name(row.gl_version, Syncs::Missing);
  Download download(source(64, 48, kFrames) + " ! egldmabufdownload name=d ! " + dma_drm("XR24") +
                    " ! appsink name=out sync=false");
  download.play();
  for (int i = 0; i < kFrames; i++) {
    const auto sample = download.pull("out");
    fail_unless(sample, "%s: %s", row.name, download.outcome().c_str());
    GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(gst_sample_get_buffer(sample.get()));
    const gstdrm::UniqueFd fence(meta ? gst_drm_sync_meta_dup_acquire_fence(meta) : -1);
    fail_unless(static_cast<bool>(fence) == row.has_fence, "%s", row.name);
  }
  fail_unless_equals_uint64(download.stat("draws"), kFrames);
  fail_unless_equals_uint64(download.stat("waits"), row.has_fence ? 0 : kFrames);
}
GST_END_TEST

namespace {

void let_the_cpu_read(GstDrmConstraints *asked)
{
  gst_drm_constraints_set_number(asked, GST_DRM_CONSTRAINT_CPU_ACCESS, GST_DRM_ACCESS_READ);
}

struct MemoryRow {
  const char *name;
  const char *caps; // a drm-format, or plain caps
  Consumer consumer;
  bool is_of_gbm;
};

const MemoryRow kMemories[] = {
    {"a device reads", "XR24", {"display", 0, 0}, true},
    {"the CPU reads", "XR24", {"reader", 0, 0, let_the_cpu_read}, false},
    {"plain video", "video/x-raw,format=BGRx", {"reader", 0, 0}, false},
};

} // namespace

// OpenGL draws on the machine's card here, by its name: GBM has memory of it, which may be slow for
// the CPU to read.
GST_START_TEST(test_memory)
{
  const MemoryRow &row = kMemories[__i__];
  const std::string card = find_card();
  fail_if(card.empty() && g_getenv("GST_DRM_IN_BOX"), "no card in the box");
  if (!gl_draws() || card.empty())
    return;
  const DriverName name(nullptr, Syncs::Made, card.c_str());
  const bool is_plain = contains(row.caps, "video/");
  Download download(source(64, 48, 1) + " ! egldmabufdownload name=d ! " +
                    (is_plain ? row.caps : dma_drm(row.caps)) + " ! appsink name=out sync=false");
  const auto sink = download.element("out");
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.get(), "sink"));
  answer_as(pad.get(), row.consumer);
  download.play();
  const auto sample = download.pull("out");
  fail_unless(sample, "%s: %s", row.name, download.outcome().c_str());
  fail_unless_equals_uint64(download.stat("draws"), 1);
  const GstMemory *memory = gst_buffer_peek_memory(gst_sample_get_buffer(sample.get()), 0);
  const auto kind = gst_drm_allocator_get_kind(GST_DRM_ALLOCATOR(memory->allocator));
  fail_unless((kind == GST_DRM_ALLOCATOR_KIND_GBM) == row.is_of_gbm, "%s: %s", row.name,
              G_OBJECT_TYPE_NAME(memory->allocator));
}
GST_END_TEST

namespace {

struct RefusalRow {
  const char *properties;
  const char *caps;
  const char *said_drawing; // nullptr: it plays
  const char *said_copying;
};

const RefusalRow kRefusals[] = {
    {"", "XR24:0x0100000000000001", "INTEL_X_TILED", "INTEL_X_TILED"},
    {"zero-copy=require", "YUYV", "nothing in common", "zero-copy=require"},
    {"zero-copy=require", "XR24", nullptr, "zero-copy=require"},
    {"zero-copy=prefer", "YUYV", nullptr, nullptr},
};

} // namespace

GST_START_TEST(test_refusals)
{
  const RefusalRow &row = kRefusals[__i__];
  Download download(source(64, 48, 3) + " ! egldmabufdownload name=d " + row.properties + " ! " +
                    dma_drm(row.caps) + " ! fakesink");
  download.play();
  const std::string said = download.outcome();
  say(said);
  const char *wanted = gl_draws() ? row.said_drawing : row.said_copying;
  fail_unless(contains(said, wanted ? wanted : "end of stream"), "%s %s: %s", row.properties,
              row.caps, said.c_str());
}
GST_END_TEST

// Downstream chooses again in mid-stream: another format, then another size.
GST_START_TEST(test_renegotiation)
{
  Download download(
      "gltestsrc pattern=snow ! capsfilter name=in caps-change-mode=delayed "
      "caps=video/x-raw(memory:GLMemory),format=RGBA,width=64,height=48 ! "
      "egldmabufdownload name=d ! capsfilter name=filter caps-change-mode=delayed caps=" +
      dma_drm("XR24") + " ! appsink name=out sync=false max-buffers=1");
  const auto set_caps = [&](const char *name, const std::string &text) {
    const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(text.c_str()));
    g_object_set(download.element(name).get(), "caps", caps.get(), nullptr);
  };
  const auto next_with = [&](const char *text) {
    for (int i = 0; i < 100; i++) {
      const auto sample = download.pull("out");
      fail_unless(sample, "%s: %s", text, download.outcome().c_str());
      g_autofree gchar *caps = gst_caps_to_string(gst_sample_get_caps(sample.get()));
      if (contains(caps, text))
        return;
    }
    fail("no frame with %s", text);
  };
  download.play();
  next_with("XR24");
  unsigned fds = 0;
  for (int round = 0; round < 20; round++) {
    set_caps("filter", dma_drm("NV12"));
    next_with("NV12");
    set_caps("filter", dma_drm("XR24"));
    next_with("XR24");
    set_caps("in", round % 2 ? "video/x-raw(memory:GLMemory),format=RGBA,width=64,height=48"
                             : "video/x-raw(memory:GLMemory),format=RGBA,width=95,height=33");
    next_with(round % 2 ? "width=(int)64" : "width=(int)95");
    if (round == 3)
      fds = count_fds();
  }
  // frames on their way differ by a few
  fail_unless(count_fds() <= fds + 6, "%u descriptors, %u before", count_fds(), fds);
}
GST_END_TEST

// Upstream asks before it sends caps, is told that nothing meets, and posts an error without a reason:
// this element's comes first.
GST_START_TEST(test_nothing_in_midstream)
{
  Download download(source(64, 48, -1) +
                    " ! egldmabufdownload name=d ! capsfilter name=filter "
                    "caps-change-mode=delayed caps=" +
                    dma_drm("XR24") + " ! appsink name=out sync=false max-buffers=1");
  download.play();
  fail_unless(download.pull("out"), "%s", download.outcome().c_str());
  const auto caps =
      GstPtr<GstCaps>::adopt(gst_caps_from_string(dma_drm("XR24:0x0100000000000001").c_str()));
  g_object_set(download.element("filter").get(), "caps", caps.get(), nullptr);
  while (download.pull("out")) {
  }
  const std::string said = download.outcome();
  say(said);
  fail_unless(contains(said, "INTEL_X_TILED"), "%s", said.c_str());
}
GST_END_TEST

// An application keeps every frame: the pool ends, the streaming thread waits, and NULL ends that
// wait. The frames stay readable.
GST_START_TEST(test_kept_frames)
{
  std::vector<GstPtr<GstSample>> kept;
  {
    Download download("gltestsrc pattern=red ! "
                      "video/x-raw(memory:GLMemory),format=RGBA,width=16,height=16 ! "
                      "egldmabufdownload name=d ! " +
                      dma_drm("AB24") + " ! appsink name=out sync=false");
    download.play();
    for (int i = 0; i < 64; i++) {
      kept.push_back(download.pull("out"));
      fail_unless(kept.back());
    }
    if (__i__ == 1) { // a flush ends the wait as well
      const auto element = download.element("d");
      GstPad *pad = gst_element_get_static_pad(element.get(), "sink");
      fail_unless(gst_pad_send_event(pad, gst_event_new_flush_start()));
      gst_object_unref(pad);
    }
    download.stop();
  }
  for (const auto &sample : kept) {
    const Rgba picture = rgba_of(sample.get());
    fail_unless_equals_int(picture.at(8, 8)[0], 255);
    fail_unless_equals_int(picture.at(8, 8)[1], 0);
  }
}
GST_END_TEST

namespace {

// Downstream with an allocator of its own, whose pool holds two buffers.
GstPadProbeReturn offer_pool(GstPad *, GstPadProbeInfo *info, gpointer allocator)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  GstCaps *caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  GstBufferPool *pool = gst_drm_buffer_pool_new(GST_DRM_ALLOCATOR(allocator));
  GstStructure *config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, 0, 2, 2);
  gst_buffer_pool_config_set_allocator(config, GST_ALLOCATOR(allocator), nullptr);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  fail_unless(gst_buffer_pool_set_config(pool, config));
  gst_query_add_allocation_pool(query, pool, 0, 2, 2);
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  gst_object_unref(pool);
  return GST_PAD_PROBE_HANDLED;
}

} // namespace

GST_START_TEST(test_downstream_pool)
{
  g_autoptr(GError) error = nullptr;
  GstDrmAllocator *allocator =
      gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_UDMABUF, nullptr, &error);
  if (!allocator) {
    g_print("# no udmabuf here: %s\n", error->message);
    return;
  }
  {
    Download download(source(64, 48, 40) + " ! egldmabufdownload name=d ! " + dma_drm("NV12") +
                      " ! appsink name=out sync=false");
    const auto sink = download.element("out");
    GstPad *pad = gst_element_get_static_pad(sink.get(), "sink");
    gst_pad_add_probe(
        pad,
        static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH),
        offer_pool, allocator, nullptr);
    gst_object_unref(pad);
    download.play();
    for (int i = 0; i < 40; i++) {
      const auto sample = download.pull("out");
      fail_unless(sample, "%s", download.outcome().c_str());
      GstBuffer *buffer = gst_sample_get_buffer(sample.get());
      fail_unless(gst_buffer_peek_memory(buffer, 0)->allocator == GST_ALLOCATOR(allocator),
                  "the memory is not downstream's");
    }
  }
  gst_object_unref(allocator);
}
GST_END_TEST

namespace {

// What the GL thread gives back of a stream, it gives back when it comes to it.
unsigned fds_once_at_most(unsigned limit)
{
  const gint64 end = g_get_monotonic_time() + 20 * G_TIME_SPAN_SECOND;
  unsigned fds = count_fds();
  while (fds > limit && g_get_monotonic_time() < end) {
    g_usleep(1000);
    fds = count_fds();
  }
  return fds;
}

} // namespace

// Nothing is left of a stream but the display.
GST_START_TEST(test_restarts)
{
  Download download(source(64, 48, 3) + " ! egldmabufdownload name=d ! " + dma_drm("NV12") +
                    " ! fakesink");
  unsigned fds = 0;
  for (int i = 0; i < 10; i++) {
    download.play();
    download.check_end();
    fail_unless_equals_uint64(download.stat("frames"), 3);
    download.stop();
    if (i < 3) // threads that GLib keeps have descriptors as well
      fds = std::max(fds, count_fds());
  }
  const unsigned left = fds_once_at_most(fds);
  fail_unless(left <= fds, "%u descriptors, %u after three streams", left, fds);
}
GST_END_TEST

GST_START_TEST(test_display)
{
  static const std::array<const char *, 4> kFormats{"XR24", "NV12", "P010", "YU12"};
  GstElementFactory *factory = gst_element_factory_find("kmsdmabufsink");
  if (!factory || !g_file_test("/dev/dri/card0", G_FILE_TEST_EXISTS)) {
    g_print("# no display here\n");
    gst_clear_object(&factory);
    return;
  }
  gst_object_unref(factory);
  Download download(source(640, 480, 10) + " ! egldmabufdownload name=d ! " +
                    dma_drm(kFormats[static_cast<std::size_t>(__i__)]) +
                    " ! kmsdmabufsink name=sink mode=match zero-copy=require sync=false");
  download.play();
  const std::string said = download.outcome();
  fail_unless_equals_string(said.c_str(), "end of stream");
  fail_unless_equals_uint64(download.stat("copies", "sink"), 0);
  fail_unless_equals_uint64(download.stat("frames"), 10);
  fail_unless_equals_uint64(download.stat("copies"), gl_draws() ? 0 : 10);
}
GST_END_TEST

static Suite *egl_download_suite()
{
  Suite *suite = suite_create("egl_download");
  TCase *tcase = tcase_create("gl");
  TCase *ended = tcase_create("ended");
  for (TCase *each : {tcase, ended}) {
    tcase_set_timeout(each, 120);
    tcase_add_unchecked_fixture(each, Download::open_display, Download::close_display);
    tcase_add_checked_fixture(each, nullptr, Download::end_forgotten);
    suite_add_tcase(suite, each);
  }
  add_download_pixel_cases(tcase);
  add_download_state_cases(tcase);
  add_download_handler_cases(tcase, ended);
  tcase_add_test(tcase, test_steady_state);
  tcase_add_test(tcase, test_fence);
  tcase_add_loop_test(tcase, test_no_native_fences, 0, G_N_ELEMENTS(kUnfenced));
  tcase_add_loop_test(tcase, test_memory, 0, G_N_ELEMENTS(kMemories));
  tcase_add_loop_test(tcase, test_refusals, 0, G_N_ELEMENTS(kRefusals));
  tcase_add_test(tcase, test_renegotiation);
  tcase_add_test(tcase, test_nothing_in_midstream);
  tcase_add_loop_test(tcase, test_kept_frames, 0, 2);
  tcase_add_test(tcase, test_downstream_pool);
  tcase_add_test(tcase, test_restarts);
  tcase_add_loop_test(tcase, test_display, 0, 4);
  return suite;
}

// 0 where a pipeline has OpenGL. In a process of its own: a driver that ends the process ends that
// one. Before GStreamer begins here, since a fork has none of the threads that GLib believes in.
static int find_gl()
{
  const pid_t child = ::fork();
  if (child == 0) {
    gst_init(nullptr, nullptr);
    GstElement *pipeline = gst_parse_launch("gltestsrc num-buffers=1 ! fakesink", nullptr);
    if (!pipeline)
      ::_exit(77);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    GstMessage *message = gst_bus_timed_pop_filtered(
        GST_ELEMENT_BUS(pipeline), 60 * GST_SECOND,
        static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
    const bool found = message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
    if (!found)
      g_printerr("skipped: gltestsrc finds no OpenGL here\n");
    ::_exit(found ? 0 : 77);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status))
    return 1;
  return WEXITSTATUS(status);
}

// GL without a window, on the first EGL device that GStreamer finds; the display stays free for
// kmsdmabufsink.
int main(int argc, char **argv)
{
  g_setenv("GST_GL_PLATFORM", "egl", TRUE);
  g_setenv("CK_FORK", "no", FALSE); // as in an application: drivers keep threads between streams
  g_setenv("GST_GL_WINDOW", "egl-device", FALSE);
  const int without_gl = find_gl();
  gst_check_init(&argc, &argv);
  for (const char *name : {"gltestsrc", "gldownload", "egldmabufdownload"}) {
    GstElementFactory *factory = gst_element_factory_find(name);
    if (!factory) {
      g_printerr("skipped: there is no %s here\n", name);
      return 77;
    }
    gst_object_unref(factory);
  }
  if (without_gl != 0)
    return without_gl;
  return run_suite(egl_download_suite());
}

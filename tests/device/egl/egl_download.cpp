// SPDX-License-Identifier: LGPL-2.1-or-later
// egldmabufdownload on a real GL: pixels, counters, fences, what it refuses. Where GL imports no
// dma-bufs, the same cases pass through the copy.
#include <array>

#include <sys/wait.h>
#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/app/gstappsink.h>

#include "egl_download_support.hpp"
#include "support/open_fds.hpp"

using namespace gstdrm::test;
using gstdrm::GstPtr;

namespace {

// Found out in a case, as libcheck's assertions work there alone.
bool gl_draws()
{
  static const bool known = draws();
  return known;
}

std::string dma_drm(const char *drm_format)
{
  return std::string("video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=(string)") + drm_format;
}

std::string source(int width, int height, int frames, const char *pattern = "snow")
{
  return "gltestsrc num-buffers=" + std::to_string(frames) + " pattern=" + pattern +
         " ! video/x-raw(memory:GLMemory),format=RGBA,width=" + std::to_string(width) +
         ",height=" + std::to_string(height);
}

bool contains(const std::string &text, const char *part)
{
  return text.find(part) != std::string::npos;
}

// Two frames of the largest row, the same in every run.
std::string noise_file()
{
  static const std::string path =
      std::string(g_get_tmp_dir()) + "/gst-drm-noise-" + std::to_string(::getpid()) + ".rgba";
  std::string bytes(321 * 241 * 4 * 2, '\0');
  std::uint32_t state = 1;
  for (char &byte : bytes) {
    state = state * 1664525U + 1013904223U; // Numerical Recipes, 7.1
    byte = static_cast<char>(state >> 24);
  }
  fail_unless(
      g_file_set_contents(path.c_str(), bytes.data(), static_cast<gssize>(bytes.size()), nullptr));
  return path;
}

struct PixelsRow {
  const char *caps; // drm-format, or caps where there is a comma
  int width, height;
  int steps; // that a sample may differ by
};

// P010 through the copy: GStreamer's converter works with 8 bits from RGBA, 4 steps of 10.
const PixelsRow kPixels[] = {
    {"XR24", 320, 240, 0},
    {"AR24", 320, 240, 0},
    {"XB24", 61, 33, 0},
    {"AB24", 1, 1, 0},
    {"NV12", 320, 240, 1},
    {"NV12", 321, 241, 1},
    {"NV12", 1, 1, 1},
    {"NV12,colorimetry=(string)bt709", 64, 48, 1},
    {"NV12,colorimetry=(string)1:4:0:0", 64, 48, 1},
    {"NV12,colorimetry=(string)1:3:0:0", 64, 48, 1},
    {"NV21", 63, 47, 1},
    {"P010,colorimetry=(string)bt2020", 320, 240, 1},
    {"P010", 63, 47, 1},
    {"YU12", 320, 240, 1},
    {"YU12,colorimetry=(string)bt709", 63, 47, 1},
    {"YV12", 64, 48, 1},
    {"plain NV12", 321, 241, 1},
    {"plain RGBx", 64, 48, 0},
};

std::string caps_of(const PixelsRow &row)
{
  const std::string text = row.caps;
  return text.rfind("plain ", 0) == 0 ? "video/x-raw,format=" + text.substr(6) : dma_drm(row.caps);
}

} // namespace

// Against what upstream's own gldownload reads of the same textures.
GST_START_TEST(test_pixels)
{
  const PixelsRow &row = kPixels[__i__];
  const std::string noise = "filesrc location=" + noise_file() +
                            " ! rawvideoparse format=rgba width=" + std::to_string(row.width) +
                            " height=" + std::to_string(row.height) + " framerate=30/1 ! glupload";
  Download download(noise +
                    " ! tee name=t t. ! queue ! gldownload ! video/x-raw,format=RGBA ! appsink "
                    "name=rgba sync=false t. ! queue ! egldmabufdownload name=d ! " +
                    caps_of(row) + " ! appsink name=out sync=false");
  download.play();
  for (int frame = 0; frame < 2; frame++) {
    const auto reference = download.pull("rgba");
    const auto made = download.pull("out");
    fail_unless(reference && made, "%s: %s", row.caps, download.outcome().c_str());
    const Difference found = difference(made.get(), rgba_of(reference.get()));
    g_print("# %s %dx%d: at most %g steps, %g on average\n", row.caps, row.width, row.height,
            found.most, found.mean);
    // GStreamer's converter takes chroma at the edges from other pixels, and makes 10 bits of 8
    const bool exact = gl_draws() || row.steps == 0;
    const double mean = row.width == 1 ? 32 : contains(row.caps, "P0") ? 8 : 2;
    fail_unless(exact ? found.most <= row.steps : found.mean <= mean,
                "%s %dx%d: at most %g steps, %g on average", row.caps, row.width, row.height,
                found.most, found.mean);
  }
  fail_unless_equals_uint64(download.stat(gl_draws() ? "copies" : "draws"), 0);
  ::unlink(noise_file().c_str());
}
GST_END_TEST

namespace {

GstPadProbeReturn add_flip(GstPad *, GstPadProbeInfo *info, gpointer)
{
  GstBuffer *buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
  auto *meta = gst_buffer_add_video_affine_transformation_meta(buffer);
  meta->matrix[5] = -1;
  meta->matrix[13] = 1;
  GST_PAD_PROBE_INFO_DATA(info) = buffer;
  return GST_PAD_PROBE_OK;
}

} // namespace

// A picture whose halves differ, so that one that is mirrored or on its head is noticed.
GST_START_TEST(test_flip)
{
  if (!gl_draws()) // the copy reads the texture as it is, as gldownload does
    return;
  Download download(source(64, 48, 1, "smpte") +
                    " ! tee name=t t. ! queue ! gldownload ! video/x-raw,format=RGBA ! appsink "
                    "name=rgba sync=false t. ! queue ! egldmabufdownload name=d ! " +
                    dma_drm("XR24") + " ! appsink name=out sync=false");
  const auto element = download.element("d");
  GstPad *pad = gst_element_get_static_pad(element.get(), "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, add_flip, nullptr, nullptr);
  gst_object_unref(pad);
  download.play();
  const auto reference = download.pull("rgba");
  const auto made = download.pull("out");
  fail_unless(reference && made);
  const Rgba picture = rgba_of(reference.get());
  fail_unless(difference(made.get(), picture.upside_down()).most == 0);
  fail_unless(difference(made.get(), picture).most > 0);
  fail_if(gst_buffer_get_video_affine_transformation_meta(gst_sample_get_buffer(made.get())),
          "a flip that was carried out is said again");
}
GST_END_TEST

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
  fail_unless_equals_string(download.outcome().c_str(), "end of stream");
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

// Nothing is left of a stream but the GL context, whose display GStreamer keeps.
GST_START_TEST(test_restarts)
{
  Download download(source(64, 48, 3) + " ! egldmabufdownload name=d ! " + dma_drm("NV12") +
                    " ! fakesink");
  unsigned fds = 0;
  for (int i = 0; i < 10; i++) {
    download.play();
    fail_unless_equals_string(download.outcome().c_str(), "end of stream");
    fail_unless_equals_uint64(download.stat("frames"), 3);
    download.stop();
    if (i == 2)
      fds = count_fds();
  }
  fail_unless(count_fds() <= fds, "%u descriptors, %u after the third", count_fds(), fds);
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
                    " ! kmsdmabufsink name=sink zero-copy=require sync=false");
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
  tcase_set_timeout(tcase, 120);
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_pixels, 0, G_N_ELEMENTS(kPixels));
  tcase_add_test(tcase, test_flip);
  tcase_add_test(tcase, test_steady_state);
  tcase_add_test(tcase, test_fence);
  tcase_add_loop_test(tcase, test_refusals, 0, G_N_ELEMENTS(kRefusals));
  tcase_add_test(tcase, test_renegotiation);
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
  g_setenv("CK_FORK", "no", TRUE); // as in an application: drivers keep threads between streams
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

// SPDX-License-Identifier: LGPL-2.1-or-later
// Both EGL elements in a process that has few descriptors (ulimit -n) or little memory (ulimit -v)
// left, and egldmabufupload between a pool of two and a consumer that keeps whatever it gets: a
// frame or one error that says what to do, never both and never neither, nothing that grows, and
// all is as before when there is room again. The OpenGL context is there before the room ends:
// without a descriptor GLib ends a process that starts another thread of such a kind.
#include <cstdio>
#include <functional>
#include <vector>

#include <drm_fourcc.h>
#include <unistd.h>

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/drm/gstdrmbufferpool.h>
#include <gst/gl/gl.h>

#include "egl_pipeline.hpp"
#include "egl_refusing.hpp"
#include "support/descriptors.hpp"
#include "support/little_memory.hpp"
#include "support/open_fds.hpp"

namespace gstdrm::test {
namespace {

using Frame = std::unique_ptr<PatternFrame>;

Frame new_frame(std::uint32_t fourcc, int width, int height)
{
  auto frame = std::make_unique<PatternFrame>(GST_DRM_ALLOCATOR_KIND_UDMABUF, fourcc, width, height,
                                              Placement{.stride_align = 256});
  frame->fill(1);
  return frame;
}

// The texts of the errors that an element has on the bus; takes all errors off.
std::vector<std::string> errors_of(const EglPipeline &stream, const char *name)
{
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(stream.bin()));
  std::vector<std::string> texts;
  while (GstMessage *message = gst_bus_pop_filtered(bus.get(), GST_MESSAGE_ERROR)) {
    g_autoptr(GError) error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    if (g_str_equal(GST_OBJECT_NAME(GST_MESSAGE_SRC(message)), name))
      texts.emplace_back(error->message);
    gst_message_unref(message);
  }
  return texts;
}

// GL threads end on their own.
void check_settles(unsigned fds, int images)
{
  for (int i = 0; count_fds() > fds || live_images() > images; i++) {
    fail_unless(i < 100000, "%u descriptors, %u before (%s); %d images, %d before", count_fds(), fds,
                text_of_fds().c_str(), live_images(), images);
    g_usleep(100);
  }
}

struct ElementRow {
  const char *name;     // of the element in question
  const char *settings; // of egldmabufupload; nullptr: it is egldmabufdownload
  bool imports;         // where the driver does not, the row says nothing
  // Without descriptors: what to do, or that it is these which are missing, where limits are named for other reasons, too.
  const char *advice = "ulimit -n";
};
const ElementRow kElements[] = {
    {"u", "mode=import zero-copy=require", true},
    {"u", "", false},
    {"u", "mode=copy", false},
    {"d", nullptr, false, "open files"},
};

GstPadProbeReturn drop_reconfigure(GstPad *, GstPadProbeInfo *info, gpointer) noexcept
{
  return GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_RECONFIGURE
             ? GST_PAD_PROBE_DROP
             : GST_PAD_PROBE_OK;
}

// A stream whose second frame has other caps, for which the element makes everything anew.
class Stream {
public:
  explicit Stream(const ElementRow &row, int width, int height)
      : row_(row), first_(new_frame(DRM_FORMAT_XRGB8888, 64, 48)),
        second_(new_frame(DRM_FORMAT_XRGB8888, width, height)),
        pipeline_(description(row, width, height))
  {
    if (row.settings)
      return;
    // gltestsrc would make a pool of its own anew, for which GStreamer looks at no limit
    const auto pad =
        GstPtr<GstPad>::adopt(gst_element_get_static_pad(pipeline_.element("d").get(), "sink"));
    gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_EVENT_UPSTREAM,
                      reinterpret_cast<GstPadProbeCallback>(drop_reconfigure), nullptr, nullptr);
  }

  // The first frame, for which there is room.
  void begin()
  {
    if (!row_.settings)
      set_format("RGBA");
    pipeline_.play();
    if (row_.settings)
      push(*first_);
    const auto sample = pipeline_.pull();
    fail_unless(sample, "%s", sample ? "" : pipeline_.outcome().c_str());
  }
  // Whether the other one comes out.
  bool goes_on()
  {
    if (row_.settings) {
      push(*second_);
      return static_cast<bool>(pipeline_.pull());
    }
    set_format("BGRx");
    while (const auto sample = pipeline_.pull()) { // some were under way
      const GstStructure *caps = gst_caps_get_structure(gst_sample_get_caps(sample.get()), 0);
      if (g_str_equal(gst_structure_get_string(caps, "format"), "BGRx"))
        return true;
    }
    return false;
  }
  // The one error.
  std::string error()
  {
    const auto errors = errors_of(pipeline_, row_.name);
    fail_unless(errors.size() == 1, "%u errors of %s: %s", static_cast<unsigned>(errors.size()),
                row_.name, errors.empty() ? "" : errors[0].c_str());
    return errors[0];
  }
  void end()
  {
    pipeline_.stop();
    pipeline_.forget_failure();
  }

private:
  static std::string description(const ElementRow &row, int width, int height)
  {
    if (row.settings)
      return std::string("appsrc name=in format=time ! egldmabufupload name=u ") + row.settings +
             " ! video/x-raw(memory:GLMemory),texture-target=2D ! appsink name=out sync=false";
    return "gltestsrc ! video/x-raw(memory:GLMemory),format=RGBA,texture-target=2D,width=" +
           std::to_string(width) + ",height=" + std::to_string(height) +
           " ! egldmabufdownload name=d ! capsfilter name=f ! "
           "appsink name=out sync=false max-buffers=1";
  }
  void push(const PatternFrame &frame) const
  {
    pipeline_.push(frame, dma_drm_caps("XR24", static_cast<int>(frame.layout().width),
                                       static_cast<int>(frame.layout().height)));
  }
  void set_format(const std::string &format) const
  {
    const auto caps =
        GstPtr<GstCaps>::adopt(gst_caps_from_string(("video/x-raw,format=" + format).c_str()));
    g_object_set(pipeline_.element("f").get(), "caps", caps.get(), nullptr);
  }

  const ElementRow &row_;
  Frame first_, second_;
  EglPipeline pipeline_;
};

struct Outcomes {
  int frames = 0;
  int told = 0;
};

// Once with little room, and once more with enough.
void try_with(Stream &stream, const std::function<bool(Stream &)> &with_little, Outcomes &outcomes,
              const char *advice)
{
  stream.begin();
  if (with_little(stream)) {
    outcomes.frames++;
  } else {
    const std::string said = stream.error();
    if (outcomes.told++ == 0)
      say(said);
    fail_unless(contains(said, advice), "no '%s' in '%s'", advice, said.c_str());
  }
  stream.end();
  stream.begin();
  fail_unless(stream.goes_on(), "%s", stream.error().c_str());
  stream.end();
}

} // namespace

GST_START_TEST(test_few_descriptors)
{
  const ElementRow &row = kElements[__i__];
  if (row.imports && !imports_here())
    return;
  Stream stream(row, 130, 50);
  Outcomes outcomes;
  unsigned fds = 0;
  int images = 0;
  for (unsigned left = 0; left < 16; left++) {
    try_with(
        stream,
        [left](Stream &poor) {
          const FewDescriptors few(left);
          return poor.goes_on();
        },
        outcomes, row.advice);
    if (left == 0) { // threads that GLib keeps have descriptors as well
      fds = count_fds();
      images = live_images();
    }
    check_settles(fds, images);
  }
  g_print("# %s %s: %d frames, %d errors\n", row.name, row.settings, outcomes.frames,
          outcomes.told);
  fail_unless(outcomes.frames > 0);
}
GST_END_TEST

#if !defined(__SANITIZE_ADDRESS__) // whose shadow takes terabytes of addresses
namespace {

// Frames of 14 MiB.
constexpr std::size_t kMegabytes[] = {4, 12, 20, 40, 160};

} // namespace

GST_START_TEST(test_little_memory)
{
  const ElementRow &row = kElements[__i__];
  if (row.imports && !imports_here())
    return;
  Stream stream(row, 2560, 1440);
  Outcomes outcomes;
  unsigned fds = 0;
  int images = 0;
  for (const std::size_t megabytes : kMegabytes) {
    try_with(
        stream,
        [megabytes](Stream &poor) {
          const LittleMemory little(megabytes << 20);
          return little.is_set() && poor.goes_on();
        },
        outcomes, ".");
    if (megabytes == kMegabytes[0]) {
      fds = count_fds();
      images = live_images();
    }
  }
  g_print("# %s %s: %d frames, %d errors\n", row.name, row.settings, outcomes.frames,
          outcomes.told);
  fail_unless(outcomes.frames > 0 && outcomes.told > 0, "%d frames, %d errors", outcomes.frames,
              outcomes.told);
  check_settles(fds + 2, images); // of threads that GLib keeps
}
GST_END_TEST
#endif

namespace {

// Two buffers, and no more.
GstPtr<GstBufferPool> pool_of_two(const std::string &text)
{
  g_autoptr(GError) error = nullptr;
  const auto allocator = GstPtr<GstDrmAllocator>::adopt(
      gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_UDMABUF, nullptr, &error));
  fail_unless(allocator, "%s", error ? error->message : "");
  auto pool = GstPtr<GstBufferPool>::adopt(gst_drm_buffer_pool_new(allocator.get()));
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(text.c_str()));
  GstStructure *config = gst_buffer_pool_get_config(pool.get());
  gst_buffer_pool_config_set_params(config, caps.get(), 0, 2, 2);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  fail_unless(gst_buffer_pool_set_config(pool.get(), config));
  fail_unless(gst_buffer_pool_set_active(pool.get(), TRUE));
  return pool;
}

GstPtr<GstBuffer> acquire(GstBufferPool *pool, GstBufferPoolAcquireFlags flags)
{
  GstBufferPoolAcquireParams params{};
  params.flags = flags;
  GstBuffer *buffer = nullptr;
  (void)gst_buffer_pool_acquire_buffer(pool, &buffer, &params);
  return GstPtr<GstBuffer>::adopt(buffer);
}

GstPtr<GstBuffer> acquire_now(GstBufferPool *pool)
{
  return acquire(pool, GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT);
}

struct KeepRow {
  const char *name;
  const char *settings;
  const char *drm_format;
  const char *gl; // caps behind the element
  bool imports;
  bool keeps_frames; // a texture is the frame itself
};
const KeepRow kKeepers[] = {
    {"imports", "mode=import zero-copy=require", "XR24", "format=RGBA", true, true},
    {"planes", "mode=import zero-copy=require", "NV12", "format=NV12", true, true},
    {"draws", "mode=import zero-copy=require", "P010", "format=RGBA,texture-target=2D", true,
     false},
    {"copies", "mode=copy", "XR24", "format=BGRx", false, false},
};

} // namespace

// What the consumer keeps are the frames themselves where they are imported: the pool is empty
// then, and one that comes back comes back to the pool. A copy or a drawn texture gives the frame
// back at once. Nothing depends on the element in the end.
GST_START_TEST(test_pool_of_two_and_a_keeper)
{
  const KeepRow &row = kKeepers[__i__];
  if (row.imports && !imports_here())
    return;
  const unsigned fds = count_fds();
  const int images = live_images();
  const std::string caps = dma_drm_caps(row.drm_format, 64, 48);
  auto pool = pool_of_two(caps);
  std::vector<GstPtr<GstSample>> kept;
  {
    EglPipeline stream("appsrc name=in format=time caps=\"" + caps +
                       "\" ! egldmabufupload name=u " + row.settings +
                       " ! video/x-raw(memory:GLMemory)," + row.gl +
                       " ! appsink name=out sync=false");
    stream.play();
    const auto pass = [&](GstPtr<GstBuffer> buffer) {
      fail_unless(buffer, "%s: the pool is empty", row.name);
      (void)gst_app_src_push_buffer(GST_APP_SRC(stream.element("in").get()), buffer.release());
      kept.push_back(stream.pull());
      fail_unless(kept.back(), "%s: %s", row.name, kept.back() ? "" : stream.outcome().c_str());
    };
    for (int i = 0; i < 2; i++)
      pass(acquire(pool.get(), GST_BUFFER_POOL_ACQUIRE_FLAG_NONE));
    fail_unless(!row.keeps_frames || !acquire_now(pool.get()), "%s", row.name);
    for (int i = 0; i < 8; i++) {
      if (row.keeps_frames)
        kept.erase(kept.begin());
      pass(acquire(pool.get(), GST_BUFFER_POOL_ACQUIRE_FLAG_NONE)); // waits for the GL thread
      fail_unless(!row.keeps_frames || !acquire_now(pool.get()), "%s", row.name);
    }
    fail_unless_equals_uint64(stream.stat("frames"), 10);
    fail_unless_equals_uint64(stream.stat("imports"), row.imports ? 2 : 0);
    fail_unless(errors_of(stream, "u").empty());
    stream.stop(); // although the pool is empty
  }
  GstVideoInfo info;
  for (const auto &sample : kept) {
    fail_unless(gst_video_info_from_caps(&info, gst_sample_get_caps(sample.get())));
    GstVideoFrame mapped;
    fail_unless(
        gst_video_frame_map(&mapped, &info, gst_sample_get_buffer(sample.get()), GST_MAP_READ),
        "%s", row.name);
    gst_video_frame_unmap(&mapped);
  }
  kept.clear();
  for (int i = 0; i < 2; i++) // all are back, which takes the GL thread a moment
    fail_unless(acquire(pool.get(), GST_BUFFER_POOL_ACQUIRE_FLAG_NONE), "%s", row.name);
  gst_buffer_pool_set_active(pool.get(), FALSE);
  pool.reset();
  check_settles(fds + 2, images); // of threads that GLib keeps
}
GST_END_TEST

// A keeper of textures that are no import gets as many as the element may make, one warning says
// why no more come, and the stream goes on when one comes back.
GST_START_TEST(test_keeper_of_textures)
{
  const KeepRow &row = kKeepers[2 + __i__];
  if (row.imports && !imports_here())
    return;
  constexpr unsigned kMost = 64;
  const std::string caps = dma_drm_caps(row.drm_format, 64, 48);
  auto pool = pool_of_two(caps);
  EglPipeline stream("appsrc name=in format=time caps=\"" + caps + "\" ! egldmabufupload name=u " +
                     row.settings + " ! video/x-raw(memory:GLMemory)," + row.gl +
                     " ! appsink name=out sync=false");
  stream.play();
  const auto push = [&] {
    (void)gst_app_src_push_buffer(GST_APP_SRC(stream.element("in").get()),
                                  acquire(pool.get(), GST_BUFFER_POOL_ACQUIRE_FLAG_NONE).release());
  };
  std::vector<GstPtr<GstSample>> kept;
  while (kept.size() < kMost) {
    push();
    kept.push_back(stream.pull());
    fail_unless(kept.back(), "%s: %s", row.name, kept.back() ? "" : stream.outcome().c_str());
  }
  push();
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(stream.bin()));
  const auto warning = GstPtr<GstMessage>::adopt(
      gst_bus_timed_pop_filtered(bus.get(), 60 * GST_SECOND, GST_MESSAGE_WARNING));
  fail_unless(warning, "%s: no warning", row.name);
  g_autoptr(GError) error = nullptr;
  gst_message_parse_warning(warning.get(), &error, nullptr);
  say(error->message);
  fail_unless(contains(error->message, "waits for a free buffer"), "%s", error->message);
  fail_unless(contains(error->message, "out (appsink)"), "%s", error->message);
  kept.erase(kept.begin());
  kept.push_back(stream.pull());
  fail_unless(kept.back(), "%s: the stream has stopped", row.name);
  push();
  stream.stop(); // while it waits, or before
  fail_unless(errors_of(stream, "u").empty());
  fail_if(gst_bus_have_pending(bus.get()) &&
          GstPtr<GstMessage>::adopt(gst_bus_pop_filtered(bus.get(), GST_MESSAGE_WARNING)));
  gst_buffer_pool_set_active(pool.get(), FALSE);
}
GST_END_TEST

namespace {

Suite *egl_limits_suite()
{
  Suite *suite = suite_create("egl_limits");
  TCase *tcase = add_case(suite, "limits");
  tcase_add_loop_test(tcase, test_few_descriptors, 0, G_N_ELEMENTS(kElements));
#if !defined(__SANITIZE_ADDRESS__)
  tcase_add_loop_test(tcase, test_little_memory, 0, G_N_ELEMENTS(kElements));
#endif
  tcase_add_loop_test(tcase, test_pool_of_two_and_a_keeper, 0, G_N_ELEMENTS(kKeepers));
  tcase_add_loop_test(tcase, test_keeper_of_textures, 0, 2); // drawn and copied
  return suite;
}

} // namespace
} // namespace gstdrm::test

int main(int argc, char **argv)
{
  g_setenv("GST_GL_PLATFORM", "egl", TRUE);
  g_setenv("GST_GL_API", "gles2", TRUE);
  g_setenv("GST_GL_WINDOW", "egl-device", FALSE);
  g_setenv("MESA_SHADER_CACHE_DISABLE", "true", TRUE); // its thread opens files at any time
  gst_check_init(&argc, &argv);
  const int failed = gstdrm::test::run_suite(gstdrm::test::egl_limits_suite());
  std::fflush(nullptr);
  if (failed) // a case that failed leaves its pipeline running
    ::_exit(failed);
  return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
// egldmabufupload in pipelines, on the machine's own driver: every format through import and
// through copy, pixel by pixel, in the colours of BT.601 and BT.709; what is imported and copied is
// counted. Where the driver imports nothing, the cases of imports see that refused.
#include "egl_pipeline.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include <drm_fourcc.h>
#include <unistd.h>

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/drm/core/drm_facts.hpp>

#include "support/open_fds.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr int kWidth = 66; // no multiple of any row alignment
constexpr int kHeight = 50;

struct FormatRow {
  std::uint32_t fourcc;
  const char *drm_format;
  const char *plain;
  bool is_yuv;
};
constexpr FormatRow kFormats[] = {
    {DRM_FORMAT_XRGB8888, "XR24", "BGRx", false}, {DRM_FORMAT_ARGB8888, "AR24", "BGRA", false},
    {DRM_FORMAT_ABGR8888, "AB24", "RGBA", false}, {DRM_FORMAT_NV12, "NV12", "NV12", true},
    {DRM_FORMAT_P010, "P010", "P010_10LE", true}, {DRM_FORMAT_YUYV, "YUYV", "YUY2", true},
};
constexpr int kFormatCount = G_N_ELEMENTS(kFormats);

struct Colors {
  const char *name;
  const char *colorimetry; // range:matrix:transfer:primaries
  YuvMatrix matrix;
};
constexpr Colors kColors[] = {
    {"BT.601, limited", "2:4:0:0", {0.299, 0.114, false}},
    {"BT.601, full", "1:4:0:0", {0.299, 0.114, true}},
    {"BT.709, limited", "2:3:0:0", {0.2126, 0.0722, false}},
    {"BT.709, full", "1:3:0:0", {0.2126, 0.0722, true}},
};

std::string caps_in(const FormatRow &format, const Colors &colors)
{
  return dma_drm_caps(format.drm_format, kWidth, kHeight,
                      format.is_yuv ? std::string(",colorimetry=(string)") + colors.colorimetry
                                    : std::string());
}

// Two frames, of an allocator each, that go round.
class Round {
public:
  explicit Round(std::uint32_t fourcc)
      : frames_{PatternFrame(GST_DRM_ALLOCATOR_KIND_UDMABUF, fourcc, kWidth, kHeight, {}),
                PatternFrame(GST_DRM_ALLOCATOR_KIND_DMA_HEAP, fourcc, kWidth, kHeight,
                             {.stride_align = 64, .own_buffers = true})}
  {
  }
  // The next one, with another picture than before.
  PatternFrame &next()
  {
    PatternFrame &frame = frames_[count_ % frames_.size()];
    frame.fill(++count_);
    return frame;
  }

private:
  std::array<PatternFrame, 2> frames_;
  unsigned count_ = 0;
};

constexpr unsigned kFrames = 6; // of each colour space

// `check(sample, frame, colors)` for each frame of each colour space, and the counters of each.
template <typename Check>
void run(const FormatRow &format, const std::string &description, bool imports, Check &&check)
{
  EglPipeline stream(description);
  stream.play();
  Round round(format.fourcc);
  for (const Colors &colors : kColors) {
    const std::uint64_t imported = stream.stat("imports");
    const std::uint64_t hits = stream.stat("import-hits");
    const std::uint64_t copies = stream.stat("copies");
    for (unsigned i = 0; i < kFrames; i++) {
      PatternFrame &frame = round.next();
      check(stream.pass(frame, caps_in(format, colors)).get(), frame, colors);
    }
    fail_unless_equals_uint64(stream.stat("imports") - imported, imports ? 2 : 0);
    fail_unless_equals_uint64(stream.stat("import-hits") - hits, imports ? kFrames - 2 : 0);
    fail_unless_equals_uint64(stream.stat("copies") - copies, imports ? 0 : kFrames);
    if (!format.is_yuv)
      break;
  }
}

GST_START_TEST(test_imports)
{
  if (!imports_here())
    return;
  const FormatRow &format = kFormats[__i__];
  run(format, through_rgba("mode=import zero-copy=require"), true,
      [&](GstSample *sample, const PatternFrame &frame, const Colors &colors) {
        const double distance = rgba_distance(sample, frame, colors.matrix);
        // YUY2 comes as one texture of bytes, which GStreamer converts less exactly
        const double limit = format.fourcc == DRM_FORMAT_YUYV ? 1.6 : 1;
        fail_unless(distance <= limit, "%s, %s: %g", format.drm_format, colors.name, distance);
      });
}
GST_END_TEST

// RGBA that the element draws of planes, as downstream takes nothing else.
constexpr FormatRow kDrawn[] = {
    {DRM_FORMAT_NV12, "NV12", "", true},     {DRM_FORMAT_NV21, "NV21", "", true},
    {DRM_FORMAT_YUV420, "YU12", "", true},   {DRM_FORMAT_YVU420, "YV12", "", true},
    {DRM_FORMAT_NV16, "NV16", "", true},     {DRM_FORMAT_NV24, "NV24", "", true},
    {DRM_FORMAT_YUYV, "YUYV", "", true},     {DRM_FORMAT_YVYU, "YVYU", "", true},
    {DRM_FORMAT_UYVY, "UYVY", "", true},     {DRM_FORMAT_VYUY, "VYUY", "", true},
    {DRM_FORMAT_P010, "P010", "", true},     {DRM_FORMAT_P012, "P012", "", true},
    {DRM_FORMAT_P016, "P016", "", true},     {DRM_FORMAT_P210, "P210", "", true},
    {DRM_FORMAT_Q410, "Q410", "", true},     {DRM_FORMAT_Q401, "Q401", "", true},
    {gstdrm::kFourccS010, "S010", "", true},
};

GST_START_TEST(test_drawn)
{
  if (!imports_here())
    return;
  const FormatRow &format = kDrawn[__i__];
  EglPipeline stream("appsrc name=in format=time ! egldmabufupload name=u zero-copy=require ! "
                     "video/x-raw(memory:GLMemory),format=RGBA,texture-target=2D ! gldownload ! "
                     "video/x-raw,format=RGBA ! appsink name=out sync=false");
  stream.play();
  Round round(format.fourcc);
  unsigned frames = 0;
  for (const Colors &colors : kColors) {
    const std::uint64_t imports = stream.stat("imports");
    for (unsigned i = 0; i < kFrames; i++) {
      PatternFrame &frame = round.next();
      const auto sample = stream.pass(frame, caps_in(format, colors));
      const double distance = rgba_distance(sample.get(), frame, colors.matrix);
      fail_unless(distance <= 1, "%s, %s: %g", format.drm_format, colors.name, distance);
      const GstStructure *caps = gst_caps_get_structure(gst_sample_get_caps(sample.get()), 0);
      fail_unless(g_str_has_prefix(gst_structure_get_string(caps, "colorimetry"), "1:1:"));
      fail_unless_equals_uint64(stream.stat("draws"), ++frames);
    }
    fail_unless_equals_uint64(stream.stat("imports") - imports, 2);
  }
  fail_unless_equals_uint64(stream.stat("copies"), 0);
  fail_unless_equals_uint64(stream.stat("fallbacks"), 0);
}
GST_END_TEST

GST_START_TEST(test_planes)
{
  const FormatRow &format = kFormats[__i__];
  // OpenGL ES reads no textures of 16 bits back (GStreamer 1.26)
  if (!imports_here() || !format.is_yuv || format.fourcc == DRM_FORMAT_P010)
    return;
  run(format, through("mode=import zero-copy=require", format.plain, format.plain), true,
      [&](GstSample *sample, const PatternFrame &frame, const Colors &colors) {
        check_planes(sample, frame);
        const GstStructure *caps = gst_caps_get_structure(gst_sample_get_caps(sample), 0);
        fail_unless_equals_string(gst_structure_get_string(caps, "colorimetry"),
                                  colors.colorimetry);
      });
}
GST_END_TEST

// What GStreamer's shader makes of the planes.
GST_START_TEST(test_converted_planes)
{
  const FormatRow &format = kFormats[__i__];
  if (!imports_here() || !format.is_yuv)
    return;
  run(format,
      std::string("appsrc name=in format=time ! egldmabufupload name=u zero-copy=require ! "
                  "video/x-raw(memory:GLMemory),format=") +
          format.plain +
          " ! glcolorconvert ! video/x-raw(memory:GLMemory),format=RGBA ! gldownload ! "
          "video/x-raw,format=RGBA ! appsink name=out sync=false",
      true, [&](GstSample *sample, const PatternFrame &frame, const Colors &colors) {
        const double distance = rgba_distance(sample, frame, colors.matrix);
        // GStreamer's shader, not the element: of 10 bits it makes 65535 steps, of which the 64
        // last are none
        const double limit = format.fourcc == DRM_FORMAT_P010 ? 1.1 : 1;
        fail_unless(distance <= limit, "%s, %s: %g", format.drm_format, colors.name, distance);
      });
}
GST_END_TEST

namespace {

constexpr const char *kPacked[] = {"VUYA", "Y410", "Y210"};

// The one frame of videotestsrc, as GStreamer's shader makes RGBA of its textures.
GstPtr<GstSample> converted(const char *format, const std::string &upload)
{
  const EglPipeline stream(
      "videotestsrc num-buffers=1 ! video/x-raw,width=66,height=50,format=" + std::string(format) +
      " ! " + upload + " ! video/x-raw(memory:GLMemory),format=" + format +
      " ! glcolorconvert ! video/x-raw(memory:GLMemory),format=RGBA ! "
      "gldownload ! video/x-raw,format=RGBA ! appsink name=out sync=false");
  gst_element_set_state(stream.bin(), GST_STATE_PLAYING);
  auto sample = stream.pull();
  fail_unless(sample, "%s: %s", format, sample ? "" : stream.outcome().c_str());
  return sample;
}

} // namespace

// YUV packed in whole pixels: the textures are those that the CPU's upload makes.
GST_START_TEST(test_packed)
{
  if (!imports_here())
    return;
  const char *format = kPacked[__i__];
  const auto uploaded = converted(format, "glupload");
  const auto imported =
      converted(format, "dmabufupload ! egldmabufupload name=u zero-copy=require");
  GstMapInfo one;
  GstMapInfo other;
  fail_unless(gst_buffer_map(gst_sample_get_buffer(uploaded.get()), &one, GST_MAP_READ));
  fail_unless(gst_buffer_map(gst_sample_get_buffer(imported.get()), &other, GST_MAP_READ));
  fail_unless_equals_uint64(one.size, other.size);
  fail_unless(std::memcmp(one.data, other.data, one.size) == 0, "%s", format);
  gst_buffer_unmap(gst_sample_get_buffer(uploaded.get()), &one);
  gst_buffer_unmap(gst_sample_get_buffer(imported.get()), &other);
}
GST_END_TEST

GST_START_TEST(test_copies)
{
  const FormatRow &format = kFormats[__i__];
  run(format, through("mode=copy", format.plain, format.plain), false,
      [&](GstSample *sample, const PatternFrame &frame, const Colors &) {
        check_planes(sample, frame);
      });
}
GST_END_TEST

// Downstream takes RGBA alone: the CPU converts.
GST_START_TEST(test_converted_copies)
{
  const FormatRow &format = kFormats[__i__];
  run(format, through("mode=copy", "RGBA", "RGBA"), false,
      [&](GstSample *sample, const PatternFrame &frame, const Colors &colors) {
        const double distance = rgba_distance(sample, frame, colors.matrix);
        fail_unless(distance <= 1, "%s, %s: %g", format.drm_format, colors.name, distance);
      });
}
GST_END_TEST

// What an import costs is paid once for each buffer, also with two readers, and across a flush.
GST_START_TEST(test_tee_and_seek)
{
  if (!imports_here())
    return;
  EglPipeline stream("appsrc name=in format=time stream-type=seekable ! egldmabufupload name=u "
                     "zero-copy=require ! video/x-raw(memory:GLMemory),format=RGBA ! tee name=t "
                     "t. ! queue ! gldownload ! video/x-raw,format=RGBA ! appsink name=out "
                     "sync=false t. ! queue ! gleffects_identity ! gldownload ! "
                     "video/x-raw,format=RGBA ! appsink name=second sync=false");
  g_signal_connect(stream.element("in").get(), "seek-data",
                   G_CALLBACK(+[](GstAppSrc *, guint64, gpointer) -> gboolean { return TRUE; }),
                   nullptr);
  stream.play();
  const FormatRow &format = kFormats[0];
  Round round(format.fourcc);
  for (int seek = 0; seek < 4; seek++) {
    for (unsigned i = 0; i < kFrames; i++) {
      PatternFrame &frame = round.next();
      const auto first = stream.pass(frame, caps_in(format, kColors[0]));
      const auto second = stream.pull("second");
      fail_unless(second);
      for (const auto &sample : {first, second})
        fail_unless(rgba_distance(sample.get(), frame, {}) <= 1);
    }
    fail_unless_equals_uint64(stream.stat("imports"), 2);
    fail_unless(gst_element_seek_simple(stream.bin(), GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0));
  }
  fail_unless_equals_uint64(stream.stat("copies"), 0);
  fail_unless_equals_uint64(stream.stat("import-hits"), 4 * kFrames - 2);
}
GST_END_TEST

// Downstream keeps GL memory when the pipeline ends: it can still be read, and the producer's frame
// is not given back before it is let go.
GST_START_TEST(test_kept_beyond_null)
{
  if (!imports_here())
    return;
  PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, DRM_FORMAT_XRGB8888, kWidth, kHeight, {});
  frame.fill(3);
  // appsrc may send a shallow copy of the buffer, so the memory tells
  const auto memory = [&frame] {
    return GstPtr<GstMemory>::share(gst_buffer_peek_memory(frame.buffer().get(), 0));
  }();
  const auto owners = [&memory] { return GST_MINI_OBJECT_REFCOUNT_VALUE(memory.get()); };
  const auto owners_before = owners();
  GstPtr<GstSample> kept;
  {
    EglPipeline stream("appsrc name=in format=time ! egldmabufupload name=u zero-copy=require ! "
                       "video/x-raw(memory:GLMemory),format=RGBA,texture-target=2D ! appsink "
                       "name=out sync=false");
    stream.play();
    const auto caps =
        GstPtr<GstCaps>::adopt(gst_caps_from_string(dma_drm_caps("XR24", kWidth, kHeight).c_str()));
    const auto sample = GstPtr<GstSample>::adopt(
        gst_sample_new(frame.buffer().get(), caps.get(), nullptr, nullptr));
    fail_unless_equals_int(
        gst_app_src_push_sample(GST_APP_SRC(stream.element("in").get()), sample.get()),
        GST_FLOW_OK);
    kept = stream.pull();
    fail_unless(kept, "%s", stream.outcome().c_str());
    fail_unless_equals_uint64(stream.stat("imports"), 1);
    stream.stop();
  }
  fail_unless(owners() > owners_before, "the frame is given back, and a texture shows it");
  fail_unless(rgba_distance(kept.get(), frame, {}) <= 1);
  kept.reset();
  while (owners() > owners_before)
    g_usleep(100); // the GL thread ends on its own
}
GST_END_TEST

// Another size and format with each frame. Two shaders round the colours one after the other.
GST_START_TEST(test_renegotiations)
{
  const bool imports = __i__ == 0;
  if (imports && !imports_here())
    return;
  EglPipeline stream(imports ? through_rgba("zero-copy=require")
                             : through("mode=copy", "RGBA", "RGBA"));
  stream.play();
  unsigned fds = 0;
  for (unsigned i = 0; i < 50; i++) {
    const FormatRow &format = kFormats[i % kFormatCount];
    const int width = 32 + 2 * static_cast<int>(i % 7);
    const int height = 32 + 2 * static_cast<int>(i % 11);
    PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, format.fourcc, static_cast<unsigned>(width),
                       static_cast<unsigned>(height), {});
    frame.fill(i);
    const auto sample = stream.pass(frame, dma_drm_caps(format.drm_format, width, height,
                                                        format.is_yuv ? ",colorimetry=bt601" : ""));
    const double distance = rgba_distance(sample.get(), frame, {});
    fail_unless(distance <= 1.5, "%u: %s %dx%d: %g", i, format.drm_format, width, height, distance);
    if (i == 20)
      fds = count_fds();
  }
  // frames on their way differ by a few
  fail_unless(count_fds() <= fds + 6, "%u descriptors, %u after 20", count_fds(), fds);
  fail_unless_equals_uint64(stream.stat("frames"), 50);
  fail_unless_equals_uint64(stream.stat(imports ? "imports" : "copies"), 50);
}
GST_END_TEST

Suite *egl_pipeline_suite()
{
  Suite *suite = suite_create("egl_pipeline");
  TCase *tcase = add_case(suite, "imports");
  tcase_add_loop_test(tcase, test_imports, 0, kFormatCount);
  tcase_add_loop_test(tcase, test_drawn, 0, G_N_ELEMENTS(kDrawn));
  tcase = add_case(suite, "planes");
  tcase_add_loop_test(tcase, test_planes, 0, kFormatCount);
  tcase_add_loop_test(tcase, test_converted_planes, 0, kFormatCount);
  tcase_add_loop_test(tcase, test_packed, 0, G_N_ELEMENTS(kPacked));
  tcase = add_case(suite, "copies");
  tcase_add_loop_test(tcase, test_copies, 0, kFormatCount);
  tcase_add_loop_test(tcase, test_converted_copies, 0, kFormatCount);
  tcase = add_case(suite, "streams");
  tcase_add_test(tcase, test_tee_and_seek);
  tcase_add_test(tcase, test_kept_beyond_null);
  tcase_add_loop_test(tcase, test_renegotiations, 0, 2);
  add_refusals(suite);
  add_copies(suite);
  add_bad_input(suite);
  add_device_queries(suite);
  add_losses(suite);
  add_cache(suite);
  add_downloads(suite);
  add_drawn(suite);
  add_shaders(suite);
  add_soak(suite);
  add_chain(suite);
  return suite;
}

} // namespace

// GL without a window, on the first EGL device that GStreamer finds; the display stays free for
// kmsdmabufsink. OpenGL ES, as desktop GL has no external textures.
int main(int argc, char **argv)
{
  g_setenv("GST_GL_PLATFORM", "egl", TRUE);
  g_setenv("GST_GL_API", "gles2", TRUE);
  g_setenv("GST_GL_WINDOW", "egl-device", FALSE);
  g_setenv("MESA_SHADER_CACHE_DISABLE", "true", TRUE); // its thread opens files at any time
  gst_check_init(&argc, &argv);
  for (const char *name : {"gldownload", "glcolorconvert", "egldmabufupload"}) {
    GstElementFactory *factory = gst_element_factory_find(name);
    if (!factory) {
      g_printerr("skipped: there is no %s here\n", name);
      return 77;
    }
    gst_object_unref(factory);
  }
  const int failed = run_suite(egl_pipeline_suite());
  std::fflush(nullptr);
  if (failed) // a case that failed leaves its pipeline running
    ::_exit(failed);
  return 0;
}

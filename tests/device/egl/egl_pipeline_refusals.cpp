// SPDX-License-Identifier: LGPL-2.1-or-later
// A driver that lists pairs and refuses them, in the whole element: found out by the proof, or in
// mid-stream. Everything but the refusal is the machine's own driver.
#include <vector>

#include <drm_fourcc.h>

#include <gst/drm/drm.h>
#include <gst/video/video.h>

#include "device/va/va_support.hpp"
#include "egl_picture.hpp"
#include "egl_pipeline.hpp"
#include "egl_refusing.hpp"

namespace gstdrm::test {
namespace {

constexpr YuvMatrix kBt601{};

} // namespace

// Another way of importing takes over where there is one, and counts as a fallback.
GST_START_TEST(test_refused_planes)
{
  if (!imports_here())
    return;
  const Refusing refusing([](const ImageRequest &request) {
    return request.fourcc == DRM_FORMAT_R8 || request.fourcc == DRM_FORMAT_GR88;
  });
  const Picture picture(DRM_FORMAT_NV12);
  EglPipeline stream("appsrc name=in format=time ! egldmabufupload name=u zero-copy=require ! "
                     "video/x-raw(memory:GLMemory),format={(string)NV12,(string)RGBA} ! "
                     "glcolorconvert ! "
                     "video/x-raw(memory:GLMemory),format=RGBA,texture-target=2D ! gldownload ! "
                     "video/x-raw,format=RGBA ! appsink name=out sync=false");
  stream.play();
  for (int i = 0; i < 3; i++)
    fail_unless(rgba_distance(stream.pass(picture.frame, Picture::nv12()).get(), picture.frame,
                              kBt601) <= 1);
  fail_unless_equals_uint64(stream.stat("copies"), 0);
  fail_unless_equals_uint64(stream.stat("imports"), 1);
  fail_unless_equals_uint64(stream.stat("import-hits"), 2);
  fail_unless_equals_uint64(stream.stat("fallbacks"), 1);
}
GST_END_TEST

namespace {

struct ErrorRow {
  const char *name;
  const char *settings;
  bool in_midstream; // the proof passes
};
const ErrorRow kErrors[] = {
    {"mode=import, by the proof", "mode=import", false},
    {"zero-copy=require, by the proof", "zero-copy=require", false},
    {"mode=import, in mid-stream", "mode=import", true},
    {"zero-copy=require, in mid-stream", "zero-copy=require", true},
};

} // namespace

// Upstream has nothing else, and a copy is forbidden: one error, with pair, driver and reason.
GST_START_TEST(test_refused_and_no_copy)
{
  if (!imports_here())
    return;
  const ErrorRow &row = kErrors[__i__];
  Picture first;
  Picture second;
  EglPipeline stream(through(row.settings, "RGBA", "RGBA"));
  stream.play();
  if (row.in_midstream)
    (void)stream.pass(first.frame, Picture::xr24());
  const Refusing refusing(refuses_xr24);
  stream.push(second.frame, Picture::xr24());
  fail_if(stream.pull(), "%s", row.name);
  const std::string said = stream.outcome();
  say(said);
  for (const char *part : {"XR24", "llvmpipe", "Mesa", "EGL_BAD", "eglCreateImage"})
    fail_unless(contains(said, part), "%s: no %s in '%s'", row.name, part, said.c_str());
  fail_unless_equals_uint64(stream.stat("copies"), 0);
}
GST_END_TEST

namespace {

GstPadProbeReturn count_reconfigure(GstPad *, GstPadProbeInfo *info, gpointer count) noexcept
{
  if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_RECONFIGURE)
    g_atomic_int_inc(static_cast<gint *>(count));
  return GST_PAD_PROBE_OK;
}

gint reconfigures; // the probe's, also beyond a case that fails

GstPtr<GstPad> watch_reconfigure(const EglPipeline &stream)
{
  reconfigures = 0;
  auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(stream.element("u").get(), "sink"));
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_EVENT_UPSTREAM,
                    reinterpret_cast<GstPadProbeCallback>(count_reconfigure), &reconfigures,
                    nullptr);
  return pad;
}

} // namespace

// The driver changes its mind in mid-stream, and a copy is allowed: no frame is lost. The pair
// leaves the offer, so that upstream may choose another one.
GST_START_TEST(test_refused_in_midstream)
{
  if (!imports_here())
    return;
  Picture first;
  Picture second;
  EglPipeline stream(through("", "RGBA", "RGBA"));
  stream.play();
  const auto pad = watch_reconfigure(stream);
  (void)stream.pass(first.frame, Picture::xr24());
  const gint before = g_atomic_int_get(&reconfigures); // of the context that was found
  const Refusing refusing(refuses_xr24);
  for (int i = 0; i < 3; i++)
    fail_unless(rgba_distance(stream.pass(second.frame, Picture::xr24()).get(), second.frame, {}) <=
                1);
  fail_unless_equals_uint64(stream.stat("imports"), 1);
  fail_unless_equals_uint64(stream.stat("copies"), 3);
  fail_unless_equals_uint64(stream.stat("fallbacks"), 1);
  fail_unless_equals_int(g_atomic_int_get(&reconfigures), before + 1);
  fail_unless(contains(stream.notices(), "copied by the CPU"));
}
GST_END_TEST

// The same with an external texture, in whose place no copy can be: the caps change, and a frame is
// lost.
GST_START_TEST(test_refused_external)
{
  if (!imports_here())
    return;
  Picture first(DRM_FORMAT_NV12);
  Picture second(DRM_FORMAT_NV12);
  EglPipeline stream(through_rgba(""));
  stream.play();
  (void)stream.pass(first.frame, Picture::nv12());
  const Refusing refusing([](const ImageRequest &) { return true; });
  stream.push(second.frame, Picture::nv12());
  for (int i = 0; i < 3; i++)
    fail_unless(
        rgba_distance(stream.pass(second.frame, Picture::nv12()).get(), second.frame, kBt601) <= 2);
  fail_unless_equals_uint64(stream.stat("frames"), 5);
  fail_unless_equals_uint64(stream.stat("copies"), 3);
  fail_unless_equals_uint64(stream.stat("fallbacks"), 2); // drawing the planes is refused, too
}
GST_END_TEST

// The planes are still imported: they are drawn, and nothing is copied.
GST_START_TEST(test_drawn_instead_of_external)
{
  if (!imports_here())
    return;
  Picture first(DRM_FORMAT_NV12);
  Picture second(DRM_FORMAT_NV12);
  EglPipeline stream(through_rgba("zero-copy=require"));
  stream.play();
  (void)stream.pass(first.frame, Picture::nv12());
  fail_unless_equals_uint64(stream.stat("draws"), 0);
  const Refusing refusing(
      [](const ImageRequest &request) { return request.fourcc == DRM_FORMAT_NV12; });
  stream.push(second.frame, Picture::nv12());
  for (int i = 0; i < 3; i++)
    fail_unless(
        rgba_distance(stream.pass(second.frame, Picture::nv12()).get(), second.frame, kBt601) <= 1);
  fail_unless_equals_uint64(stream.stat("draws"), 3);
  fail_unless_equals_uint64(stream.stat("fallbacks"), 1);
}
GST_END_TEST

// The same where the driver lists YUV as a whole 2D texture: the caps stay as they are.
GST_START_TEST(test_drawn_instead_of_2d)
{
  if (!imports_here())
    return;
  list_in_2d(DRM_FORMAT_NV12);
  Picture first(DRM_FORMAT_NV12);
  Picture second(DRM_FORMAT_NV12);
  EglPipeline stream(drawn("zero-copy=require", ",texture-target=2D"));
  stream.play();
  (void)stream.pass(first.frame, Picture::nv12());
  fail_unless_equals_uint64(stream.stat("draws"), 0);
  const Refusing refusing(
      [](const ImageRequest &request) { return request.fourcc == DRM_FORMAT_NV12; });
  stream.push(second.frame, Picture::nv12());
  for (int i = 0; i < 3; i++)
    fail_unless(
        rgba_distance(stream.pass(second.frame, Picture::nv12()).get(), second.frame, kBt601) <= 1);
  list_in_2d(0);
  fail_unless_equals_uint64(stream.stat("draws"), 3);
  fail_unless_equals_uint64(stream.stat("fallbacks"), 1);
}
GST_END_TEST

namespace {

unsigned refused_requests; // of the rules below; the GL thread's while a stream plays

bool refused(bool is_refused)
{
  refused_requests += is_refused;
  return is_refused;
}

bool refuses_wide_xr24(const ImageRequest &request)
{
  return request.fourcc == DRM_FORMAT_XRGB8888 && request.width > 100;
}

// AB24 is what a source of both formats takes first.
bool refuses_ab24(const ImageRequest &request)
{
  return refused(request.fourcc == DRM_FORMAT_ABGR8888);
}

bool refuses_wide_ab24(const ImageRequest &request)
{
  return refused(request.fourcc == DRM_FORMAT_ABGR8888 && request.width > 100);
}

bool refuses_short_rows_of_ab24(const ImageRequest &request)
{
  return refused(request.fourcc == DRM_FORMAT_ABGR8888 && request.pitches[0] < 8192);
}

bool refuses_tiles(const ImageRequest &request)
{
  return refused(request.modifier != DRM_FORMAT_MOD_LINEAR);
}

struct ChoiceRow {
  const char *name;
  bool (*refuses)(const ImageRequest &request);
  const char *source;
  int width;
  const char *expected; // drm-format of the stream in the end
  bool is_refused;      // what the source chooses first
};
constexpr const char *kTwoFormats =
    "videotestsrc num-buffers=20 ! video/x-raw,format={(string)BGRx,(string)RGBA} ! "
    "dmabufupload name=p";
// what it makes is tiled where that is taken
constexpr const char *kTiled =
    "vadmabufsrc num-buffers=20 ! video/x-raw(memory:DMABuf),format=DMA_DRM,"
    "drm-format={(string)XR24,(string)\"XR24:0x0100000000000001\"} ! identity";
const ChoiceRow kChoices[] = {
    {"a format", refuses_ab24, kTwoFormats, 64, "XR24", true},
    {"a format at a size", refuses_wide_ab24, kTwoFormats, 128, "XR24", true},
    {"the same at another size", refuses_wide_ab24, kTwoFormats, 64, "AB24", false},
    {"rows of every alignment", refuses_short_rows_of_ab24, kTwoFormats, 64, "XR24", true},
    {"a modifier", refuses_tiles, kTiled, 128, "XR24", true},
};

bool has_element(const char *name)
{
  GstElementFactory *factory = gst_element_factory_find(name);
  const bool found = factory != nullptr;
  gst_clear_object(&factory);
  return found;
}

} // namespace

// What the driver lists and refuses leaves the offer. Upstream has something else: it is told to
// choose again, its frames are dropped until it has, and the stream goes on without a copy.
GST_START_TEST(test_upstream_chooses_again)
{
  const ChoiceRow &row = kChoices[__i__];
  if (!imports_here() || (row.source == kTiled && !has_element("vadmabufsrc")))
    return;
  set_driver("list-modifiers=1,modifiers=x-tiled:linear");
  list_modifiers({I915_FORMAT_MOD_X_TILED});
  refused_requests = 0;
  const Refusing refusing(row.refuses);
  EglPipeline stream(
      std::string(row.source) +
      " ! video/x-raw(memory:DMABuf),format=DMA_DRM,width=" + std::to_string(row.width) +
      ",height=48 ! "
      "egldmabufupload name=u mode=import zero-copy=require ! "
      "video/x-raw(memory:GLMemory),format=RGBA ! appsink name=out sync=false");
  const auto pad = watch_reconfigure(stream);
  stream.play();
  const GstPtr<GstSample> sample = stream.pull();
  fail_unless(sample, "%s", sample ? "" : stream.outcome().c_str());
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(pad.get()));
  const char *drm_format =
      gst_structure_get_string(gst_caps_get_structure(caps.get(), 0), "drm-format");
  fail_unless(std::string(drm_format) == row.expected, "%s: %s", row.name, drm_format);
  while (stream.pull()) {
  }
  stream.play_to_end();
  fail_unless(row.is_refused == (refused_requests > 0), "%s: %u refusals", row.name,
              refused_requests);
  fail_unless(!row.is_refused || g_atomic_int_get(&reconfigures) >= 1, "%s", row.name);
  fail_unless_equals_uint64(stream.stat("copies"), 0);
  fail_unless(stream.stat("imports") >= 1);
}
GST_END_TEST

// A size is refused, and others are not: each change of caps is proved on its own, and what was
// found out once is not tried again.
GST_START_TEST(test_refused_size)
{
  if (!imports_here())
    return;
  const Refusing refusing(refuses_wide_xr24);
  const Picture small;
  PatternFrame large(GST_DRM_ALLOCATOR_KIND_UDMABUF, DRM_FORMAT_XRGB8888, 130, Picture::kHeight,
                     {});
  large.fill(2);
  EglPipeline stream(through("", "RGBA", "RGBA"));
  stream.play();
  unsigned requests = 0;
  for (int round = 1; round <= 3; round++) {
    for (const PatternFrame *frame : {&small.frame, static_cast<const PatternFrame *>(&large)}) {
      const int width = static_cast<int>(frame->layout().width);
      const auto sample = stream.pass(*frame, dma_drm_caps("XR24", width, Picture::kHeight));
      fail_unless(rgba_distance(sample.get(), *frame, {}) <= 1, "%d, %d", round, width);
    }
    fail_unless_equals_uint64(stream.stat("copies"), round);
    fail_unless_equals_uint64(stream.stat("imports"), round);
    if (round > 1) // of the small one, which the change of caps let go
      fail_unless_equals_int(image_requests() - requests, 1);
    requests = image_requests();
  }
}
GST_END_TEST

// One image of two planes: the second one fails, and nothing of the first is left.
GST_START_TEST(test_nth_request)
{
  if (!imports_here())
    return;
  const Picture picture(DRM_FORMAT_NV12);
  for (unsigned n = 1; n <= 6; n++) {
    const Refusing refusing([n](const ImageRequest &request) { return request.number == n; });
    EglPipeline stream("appsrc name=in format=time ! egldmabufupload name=u ! "
                       "video/x-raw(memory:GLMemory),format=NV12 ! gldownload ! "
                       "video/x-raw,format=NV12 ! appsink name=out sync=false");
    stream.play();
    for (int i = 0; i < 3; i++)
      check_planes(stream.pass(picture.frame, Picture::nv12()).get(), picture.frame);
    fail_unless(image_requests() >= 1 && stream.stat("frames") == 3, "%u", n);
    g_print("# request %u refused: %u requests, %u imports, %u copies\n", n, image_requests(),
            static_cast<unsigned>(stream.stat("imports")),
            static_cast<unsigned>(stream.stat("copies")));
  }
}
GST_END_TEST

void add_refusals(Suite *suite)
{
  TCase *tcase = add_case(suite, "a driver that refuses");
  tcase_add_test(tcase, test_refused_planes);
  tcase_add_loop_test(tcase, test_refused_and_no_copy, 0, G_N_ELEMENTS(kErrors));
  tcase_add_test(tcase, test_refused_in_midstream);
  tcase_add_test(tcase, test_refused_external);
  tcase_add_test(tcase, test_drawn_instead_of_external);
  tcase_add_test(tcase, test_drawn_instead_of_2d);
  tcase_add_loop_test(tcase, test_upstream_chooses_again, 0, G_N_ELEMENTS(kChoices));
  tcase_add_test(tcase, test_refused_size);
  tcase_add_test(tcase, test_nth_request);
}

} // namespace gstdrm::test

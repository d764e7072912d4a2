// SPDX-License-Identifier: LGPL-2.1-or-later
// OpenGL contexts that end under the elements: lost to a reset of the GPU, or replaced by the
// application.
#include <EGL/egl.h>
#include <drm_fourcc.h>

#include <gst/app/gstappsink.h>
#include <gst/gl/gl.h>

#include "egl_picture.hpp"
#include "egl_pipeline.hpp"
#include "egl_refusing.hpp"
#include "egl_resetting.hpp"

namespace gstdrm::test {
namespace {

GstPtr<GstGLContext> context_of(const EglPipeline &stream, const char *element = "u")
{
  GstGLContext *context = nullptr;
  g_object_get(stream.element(element).get(), "context", &context, nullptr);
  fail_unless(context != nullptr, "%s has no context", element);
  return GstPtr<GstGLContext>::adopt(context);
}

void check_pass(const EglPipeline &stream, const PatternFrame &frame)
{
  fail_unless(rgba_distance(stream.pass(frame, Picture::xr24()).get(), frame, {}) <= 1);
}

void check_loss(const std::string &said, const char *words)
{
  say(said);
  for (const char *part : {words, "is lost", "llvmpipe", "Set the pipeline to NULL"})
    fail_unless(contains(said, part), "no %s in '%s'", part, said.c_str());
}

void do_nothing(GstGLContext *, gpointer) noexcept {}

// Frames until the element gives up, which is soon after the GL thread has come to what it was
// given.
void push_until_error(const EglPipeline &stream, const PatternFrame &frame, GstGLContext *context)
{
  unsigned frames = 0;
  do {
    fail_unless(frames++ < 20, "20 frames went through a context that is lost");
    gst_gl_context_thread_add(context, do_nothing, nullptr);
    stream.push(frame, Picture::xr24());
  } while (stream.pull());
  g_print("# the loss was noticed after %u frames\n", frames);
}

// What appsink still had goes to the GL thread when the elements have ended.
void wait_for_images(int most)
{
  for (int tenths = 0; live_images() > most; tenths++) {
    fail_unless(tenths < 100000, "%d images instead of %d", live_images(), most);
    g_usleep(100);
  }
}

// pull() gives nothing more after an error.
void drain(const EglPipeline &stream)
{
  const auto sink = stream.element("out");
  while (GstPtr<GstSample>::adopt(gst_app_sink_try_pull_sample(GST_APP_SINK(sink.get()), 0))) {
  }
}

// Upstream that takes no notice of the error flushes the end of the stream away and sends one more.
void check_refusal(const EglPipeline &stream, const char *element, GstBuffer *frame)
{
  const auto pad =
      GstPtr<GstPad>::adopt(gst_element_get_static_pad(stream.element(element).get(), "sink"));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  for (GstEvent *event : {gst_event_new_flush_start(), gst_event_new_flush_stop(TRUE),
                          gst_event_new_segment(&segment)})
    (void)gst_pad_send_event(pad.get(), event);
  const GstFlowReturn flow = gst_pad_chain(pad.get(), frame);
  fail_unless(flow == GST_FLOW_ERROR || flow == GST_FLOW_NOT_NEGOTIATED, "%s: %s", element,
              gst_flow_get_name(flow));
}

GstPadProbeReturn keep_buffer(GstPad *, GstPadProbeInfo *info, gpointer kept) noexcept
{
  *static_cast<GstPtr<GstBuffer> *>(kept) =
      GstPtr<GstBuffer>::share(GST_PAD_PROBE_INFO_BUFFER(info));
  return GST_PAD_PROBE_REMOVE;
}

std::string download()
{
  return "gltestsrc name=src ! video/x-raw(memory:GLMemory),format=RGBA,width=64,height=48 ! "
         "egldmabufdownload name=d zero-copy=require ! "
         "video/x-raw(memory:DMABuf),format=DMA_DRM ! appsink name=out sync=false max-buffers=1";
}

// Another GstGLDisplay with contexts of its own, as an application has that opened a new one. Both
// are the same EGLDisplay here, which would end with either, so it stays.
GstContext *another_display()
{
  static GstGLDisplay *display = nullptr;
  if (!display) {
    display = gst_gl_display_new();
    GST_OBJECT_FLAG_SET(display, GST_OBJECT_FLAG_MAY_BE_LEAKED);
  }
  GstContext *context = gst_context_new(GST_GL_DISPLAY_CONTEXT_TYPE, TRUE);
  gst_context_set_gl_display(context, display);
  return context;
}

} // namespace

// Nobody asks GL for anything once the frames are imported, and a reset is noticed all the same: a
// single error, nothing is left of the context, and the pipeline plays again when it is told to.
GST_START_TEST(test_reset_in_midstream)
{
  const bool imports = __i__ == 0;
  if (imports && !imports_here())
    return;
  const Picture picture;
  EglPipeline stream(through(imports ? "mode=import zero-copy=require" : "mode=copy",
                             imports ? "RGBA" : "BGRx", imports ? "RGBA" : "BGRx"));
  const Robust robust;
  const int images = live_images();
  for (int round = 0; round < 3; round++) {
    stream.play();
    for (int i = 0; i < 3; i++)
      (void)stream.pass(picture.frame, Picture::xr24());
    fail_unless_equals_uint64(stream.stat(imports ? "import-hits" : "copies"), imports ? 2 : 3);
    {
      const GstPtr<GstGLContext> context = context_of(stream);
      lose_context(context.get());
      push_until_error(stream, picture.frame, context.get());
    }
    check_loss(stream.outcome(), "GL_INNOCENT_CONTEXT_RESET (0x8254)");
    fail_unless_equals_uint64(stream.stat("fallbacks"), 0);
    check_refusal(stream, "u", picture.frame.buffer().release());
    stream.stop();
    lose_context(nullptr);
    stream.forget_failure();
    wait_for_images(images);
  }
  stream.play();
  if (imports)
    check_pass(stream, picture.frame);
  else
    (void)stream.pass(picture.frame, Picture::xr24());
}
GST_END_TEST

// A context that is not robust: the next call of EGL that fails tells. That is no refusal of the
// format, so that neither a copy nor another format is tried.
GST_START_TEST(test_loss_at_an_import)
{
  if (!imports_here())
    return;
  const Picture first;
  const Picture second;
  EglPipeline stream(through("", "RGBA", "RGBA"));
  stream.play();
  check_pass(stream, first.frame);
  {
    const Refusing refusing([](const ImageRequest &) { return true; }, EGL_CONTEXT_LOST);
    stream.push(second.frame, Picture::xr24());
    fail_if(stream.pull());
  }
  check_loss(stream.outcome(), "EGL_CONTEXT_LOST (0x300e)");
  fail_unless_equals_uint64(stream.stat("copies"), 0);
  fail_unless_equals_uint64(stream.stat("fallbacks"), 0);
  stream.stop();
  stream.forget_failure();
  stream.play();
  check_pass(stream, second.frame);
}
GST_END_TEST

// The same while the proof is under way: it says nothing of the format, which stays on offer.
GST_START_TEST(test_loss_at_the_proof)
{
  if (!imports_here())
    return;
  const Picture picture;
  EglPipeline stream(through("", "RGBA", "RGBA"));
  stream.play();
  {
    const Refusing refusing([](const ImageRequest &) { return true; }, EGL_CONTEXT_LOST);
    stream.push(picture.frame, Picture::xr24());
    fail_if(stream.pull());
  }
  check_loss(stream.outcome(), "EGL_CONTEXT_LOST (0x300e)");
  fail_unless_equals_uint64(stream.stat("copies"), 0);
  stream.stop();
  stream.forget_failure();
  stream.play();
  check_pass(stream, picture.frame);
  fail_unless_equals_uint64(stream.stat("imports"), 1);
}
GST_END_TEST

GST_START_TEST(test_reset_under_download)
{
  if (!imports_here())
    return;
  EglPipeline stream(download());
  g_object_set(stream.element("out").get(), "enable-last-sample", FALSE, nullptr);
  const Robust robust;
  const int images = live_images();
  const auto pad =
      GstPtr<GstPad>::adopt(gst_element_get_static_pad(stream.element("d").get(), "sink"));
  for (int round = 0; round < 3; round++) {
    GstPtr<GstBuffer> texture;
    gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, keep_buffer, &texture, nullptr);
    stream.play();
    for (int i = 0; i < 3; i++)
      fail_unless(stream.pull(), "%s", stream.outcome().c_str());
    lose_context(context_of(stream, "d").get());
    while (stream.pull()) {
    }
    check_loss(stream.outcome(), "GL_INNOCENT_CONTEXT_RESET (0x8254)");
    drain(stream);
    wait_for_images(images); // before NULL
    check_refusal(stream, "d", texture.release());
    stream.stop();
    lose_context(nullptr);
    stream.forget_failure();
    wait_for_images(images);
  }
}
GST_END_TEST

// The CPU reads from a context that is lost without an error: no such frame goes downstream.
GST_START_TEST(test_reset_under_a_copying_download)
{
  if (imports_here()) // it would draw
    return;
  EglPipeline stream("gltestsrc ! video/x-raw(memory:GLMemory),format=RGBA,width=64,height=48 ! "
                     "egldmabufdownload name=d ! video/x-raw,format=RGBA ! appsink name=out "
                     "sync=false max-buffers=1");
  const Robust robust;
  for (int round = 0; round < 2; round++) {
    stream.play();
    for (int i = 0; i < 3; i++)
      fail_unless(stream.pull(), "%s", stream.outcome().c_str());
    fail_unless(stream.stat("copies", "d") >= 3);
    lose_context(context_of(stream, "d").get());
    for (int frames = 0; stream.pull(); frames++)
      fail_unless(frames < 20, "20 frames came of a context that is lost");
    check_loss(stream.outcome(), "GL_INNOCENT_CONTEXT_RESET (0x8254)");
    stream.stop();
    lose_context(nullptr);
    stream.forget_failure();
  }
}
GST_END_TEST

// The stream is agreed on anew under a context that is lost: what it says of formats counts for
// nothing, and the CPU would copy pictures that are not there.
GST_START_TEST(test_reset_at_a_renegotiation)
{
  if (!imports_here())
    return;
  EglPipeline stream("gltestsrc ! video/x-raw(memory:GLMemory),format=RGBA,width=64,height=48 ! "
                     "egldmabufdownload name=d ! "
                     "video/x-raw(memory:DMABuf),format=DMA_DRM ! appsink name=out sync=false "
                     "max-buffers=1");
  const Robust robust;
  stream.play();
  fail_unless(stream.pull(), "%s", stream.outcome().c_str());
  lose_context(context_of(stream, "d").get());
  const auto pad =
      GstPtr<GstPad>::adopt(gst_element_get_static_pad(stream.element("out").get(), "sink"));
  gst_pad_push_event(pad.get(), gst_event_new_reconfigure());
  for (int frames = 0; stream.pull(); frames++)
    fail_unless(frames < 20, "20 frames came of a context that is lost");
  check_loss(stream.outcome(), "GL_INNOCENT_CONTEXT_RESET (0x8254)");
  fail_unless_equals_uint64(stream.stat("copies", "d"), 0);
  stream.stop();
  lose_context(nullptr);
}
GST_END_TEST

// The application gives the element another display in mid-stream: a new context, where the same
// dma-buf is imported anew, and no frame is lost.
GST_START_TEST(test_replaced_in_midstream)
{
  if (!imports_here())
    return;
  const Picture picture;
  EglPipeline stream(
      "appsrc name=in format=time ! egldmabufupload name=u zero-copy=require ! "
      "video/x-raw(memory:GLMemory),format=RGBA,texture-target=2D ! appsink name=out "
      "sync=false");
  const Refusing counting({});
  stream.play();
  for (int i = 0; i < 2; i++)
    check_pass(stream, picture.frame);
  fail_unless_equals_uint64(stream.stat("imports"), 1);
  const unsigned requests = image_requests();
  const GstPtr<GstGLContext> before = context_of(stream);
  GstContext *other = another_display();
  gst_element_set_context(stream.element("u").get(), other);
  gst_context_unref(other);
  for (int i = 0; i < 2; i++)
    check_pass(stream, picture.frame);
  fail_unless(context_of(stream).get() != before.get());
  fail_unless_equals_uint64(stream.stat("imports"), 2);
  // what was proved on another context is proved again
  fail_unless_equals_int(image_requests(), 2 * requests);
  fail_unless_equals_uint64(stream.stat("frames"), 4);
  fail_unless_equals_uint64(stream.stat("copies"), 0);
}
GST_END_TEST

// The same with a context that imports nothing: the frames are copied to textures of the same caps.
GST_START_TEST(test_replaced_by_one_that_copies)
{
  if (!imports_here())
    return;
  const Picture picture;
  EglPipeline stream("appsrc name=in format=time ! egldmabufupload name=u ! "
                     "video/x-raw(memory:GLMemory),format=RGBA,texture-target=2D ! gldownload ! "
                     "video/x-raw,format=RGBA ! appsink name=out sync=false");
  stream.play();
  check_pass(stream, picture.frame);
  fail_unless_equals_uint64(stream.stat("imports"), 1);
  list_no_formats(true);
  GstContext *other = another_display();
  gst_element_set_context(stream.element("u").get(), other);
  gst_context_unref(other);
  for (int i = 0; i < 3; i++)
    check_pass(stream, picture.frame);
  list_no_formats(false);
  fail_unless_equals_uint64(stream.stat("imports"), 1);
  fail_unless_equals_uint64(stream.stat("copies"), 3);
}
GST_END_TEST

// The application answers with another display when the pipeline starts again.
GST_START_TEST(test_another_answer)
{
  if (!imports_here())
    return;
  const Picture picture;
  EglPipeline stream("appsrc name=in format=time ! egldmabufupload name=u zero-copy=require ! "
                     "video/x-raw(memory:GLMemory),format=RGBA ! egldmabufdownload name=d "
                     "zero-copy=require ! video/x-raw(memory:DMABuf),format=DMA_DRM ! appsink "
                     "name=out sync=false");
  const auto display_of = [&stream](const char *element) {
    const GstPtr<GstGLContext> context = context_of(stream, element);
    return GstPtr<GstGLDisplay>::adopt(gst_gl_context_get_display(context.get()));
  };
  stream.play();
  (void)stream.pass(picture.frame, Picture::xr24());
  const auto before = display_of("u");
  fail_unless(display_of("d").get() == before.get());
  stream.stop();
  GstContext *other = another_display();
  gst_element_set_context(stream.bin(), other);
  gst_context_unref(other);
  stream.play();
  for (int i = 0; i < 3; i++)
    (void)stream.pass(picture.frame, Picture::xr24());
  for (const char *element : {"u", "d"}) {
    fail_if(display_of(element).get() == before.get(), "%s", element);
    fail_unless_equals_uint64(stream.stat("frames", element), 3);
    fail_unless_equals_uint64(stream.stat("copies", element), 0);
  }
}
GST_END_TEST

void add_losses(Suite *suite)
{
  TCase *tcase = add_case(suite, "a context that ends");
  tcase_add_loop_test(tcase, test_reset_in_midstream, 0, 2);
  tcase_add_test(tcase, test_loss_at_an_import);
  tcase_add_test(tcase, test_loss_at_the_proof);
  tcase_add_test(tcase, test_reset_under_download);
  tcase_add_test(tcase, test_reset_under_a_copying_download);
  tcase_add_test(tcase, test_reset_at_a_renegotiation);
  tcase_add_test(tcase, test_replaced_in_midstream);
  tcase_add_test(tcase, test_replaced_by_one_that_copies);
  tcase_add_test(tcase, test_another_answer);
}

} // namespace gstdrm::test

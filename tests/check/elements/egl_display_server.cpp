// SPDX-License-Identifier: LGPL-2.1-or-later
// egldmabufupload and egldmabufdownload on a window system, as an application with a window has them; GST_DRM_TEST_WINDOW is which. Mesa's
// software renderer imports the frames from version 26 on, memfds too, and copies them before; in the box they are DMA buffers.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include <gst/app/gstappsink.h>
#include <gst/gl/gl.h>
#include <gst/gl/gstglfuncs.h>

#include "device/egl/egl_download_support.hpp"
#include "support/display_server.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

const std::string kWindow = GST_DRM_TEST_WINDOW;
const bool kIsX11 = kWindow == "x11";
const auto kServer = kIsX11 ? DisplayServer::Kind::X11 : DisplayServer::Kind::Wayland;
const auto kDisplayType = kIsX11 ? GST_GL_DISPLAY_TYPE_X11 : GST_GL_DISPLAY_TYPE_WAYLAND;
constexpr int kFrames = 4;

// Frames that go both to an appsink "in" and through `elements`, among them an egldmabufupload "u".
class Pipeline {
public:
  explicit Pipeline(const std::string &elements)
  {
    const std::string description = "videotestsrc pattern=snow num-buffers=" + std::to_string(kFrames) +
                                    " ! video/x-raw,format=RGBA,width=64,height=48 ! tee name=t "
                                    "t. ! queue ! appsink name=in sync=false t. ! queue ! dmabufupload ! " + elements;
    g_autoptr(GError) error = nullptr;
    bin_ = GstPtr<GstElement>::adopt(gst_parse_launch(description.c_str(), &error));
    fail_unless(bin_ && !error, "%s", error ? error->message : "no pipeline");
  }
  // A whole command line.
  struct AsItIs {};
  Pipeline(const std::string &line, AsItIs)
  {
    g_autoptr(GError) error = nullptr;
    bin_ = GstPtr<GstElement>::adopt(gst_parse_launch(line.c_str(), &error));
    fail_unless(bin_ && !error, "%s: %s", line.c_str(), error ? error->message : "no pipeline");
  }
  Pipeline(const Pipeline &) = delete;
  Pipeline &operator=(const Pipeline &) = delete;
  ~Pipeline() { gst_element_set_state(bin_.get(), GST_STATE_NULL); }

  void play() const { gst_element_set_state(bin_.get(), GST_STATE_PLAYING); }
  void give(GstContext *context) const // (transfer full)
  {
    gst_element_set_context(bin_.get(), context);
    gst_context_unref(context);
  }
  [[nodiscard]] GstPtr<GstElement> child(const char *name) const { return GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(bin_.get()), name)); }
  [[nodiscard]] GstPtr<GstSample> pull(const char *sink) const
  {
    auto sample = GstPtr<GstSample>::adopt(gst_app_sink_pull_sample(GST_APP_SINK(child(sink).get())));
    fail_unless(static_cast<bool>(sample), "%s: %s", sink, first_error().c_str());
    return sample;
  }
  [[nodiscard]] std::string first_error() const { return said(GST_MESSAGE_ERROR, 0); }
  void check_end() const
  {
    const std::string end = said(static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS), GST_CLOCK_TIME_NONE);
    fail_unless(end.empty(), "%s", end.c_str());
  }
  [[nodiscard]] GstPtr<GstGLContext> gl_context(const char *name) const
  {
    GstGLContext *context = nullptr;
    g_object_get(child(name).get(), "context", &context, nullptr);
    return GstPtr<GstGLContext>::adopt(context);
  }
  [[nodiscard]] std::uint64_t stat(const char *name, const char *counter) const
  {
    GstStructure *stats = nullptr;
    g_object_get(child(name).get(), "drm-stats", &stats, nullptr);
    guint64 value = G_MAXUINT64;
    gst_structure_get_uint64(stats, counter, &value);
    gst_structure_free(stats);
    return value;
  }

  [[nodiscard]] std::string copy_reason() const
  {
    GstStructure *stats = nullptr;
    g_object_get(child("u").get(), "drm-stats", &stats, nullptr);
    std::string reason = gst_structure_get_string(stats, "last-copy-reason");
    gst_structure_free(stats);
    return reason;
  }
  // The text of the next error; empty for the end of the stream.
  [[nodiscard]] std::string said(GstMessageType types, GstClockTime timeout) const
  {
    const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(bin_.get()));
    const auto message = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(bus.get(), timeout, types));
    if (!message || GST_MESSAGE_TYPE(message.get()) != GST_MESSAGE_ERROR)
      return "";
    g_autoptr(GError) error = nullptr;
    gst_message_parse_error(message.get(), &error, nullptr);
    return error->message;
  }

private:
  GstPtr<GstElement> bin_;
};

Rgba turned_left_to_right(const Rgba &picture)
{
  Rgba turned = picture;
  for (int y = 0; y < picture.height; y++)
    for (int x = 0; x < picture.width; x++)
      std::copy_n(picture.at(picture.width - 1 - x, y), 4, turned.pixels.begin() + (turned.at(x, y) - turned.pixels.data()));
  return turned;
}

GstPtr<GstGLDisplay> display_of(const GstPtr<GstGLContext> &context)
{
  return GstPtr<GstGLDisplay>::adopt(gst_gl_context_get_display(context.get()));
}

// Stands before all that uses a display. Contexts end on threads of their own, which must not outlive the process: libEGL closes the driver
// in its destructor.
class LastOfDisplay {
public:
  LastOfDisplay() = default;
  LastOfDisplay(const LastOfDisplay &) = delete;
  LastOfDisplay &operator=(const LastOfDisplay &) = delete;
  ~LastOfDisplay()
  {
    while (display_ && g_atomic_int_get(&G_OBJECT(display_.get())->ref_count) > 1)
      g_usleep(1000);
  }
  // Checks that it is the window system's.
  void keep(GstPtr<GstGLDisplay> display)
  {
    display_ = std::move(display);
    fail_unless_equals_int(gst_gl_display_get_handle_type(display_.get()), kDisplayType);
  }

private:
  GstPtr<GstGLDisplay> display_;
};

void read_mesa_version(GstGLContext *context, gpointer data) noexcept
{
  const auto *version = reinterpret_cast<const char *>(context->gl_vtable->GetString(GL_VERSION));
  const char *mesa = version ? std::strstr(version, "Mesa ") : nullptr;
  if (mesa)
    (void)std::sscanf(mesa, "Mesa %d", static_cast<int *>(data));
}

// Everything is imported, or everything is copied.
void check_imports(const Pipeline &pipeline, GstGLContext *context)
{
  int mesa = 0;
  gst_gl_context_thread_add(context, read_mesa_version, &mesa);
  const bool imports = mesa >= 26;
  const std::uint64_t uploads = pipeline.stat("u", "imports");
  const std::uint64_t copies = pipeline.stat("u", "copies");
  fail_unless(imports == (uploads > 0), "Mesa %d: %d imports", mesa, static_cast<int>(uploads));
  fail_unless_equals_uint64(copies, imports ? 0 : kFrames);
  if (imports) {
    fail_unless_equals_uint64(uploads + pipeline.stat("u", "import-hits"), kFrames);
    fail_unless_equals_uint64(pipeline.stat("d", "draws"), kFrames);
    fail_unless_equals_uint64(pipeline.stat("d", "copies"), 0);
  }
}

// --- pictures ------------------------------------------------------------------------------------

struct PictureRow {
  const char *drm_format;
  double most; // steps of the format from the exact picture
};

const PictureRow kPictures[] = {
    {"AB24", 0},
    {"XR24", 0},
    {"NV12", 2},
};

// GStreamer finds the window system by itself, and its elements draw between ours.
GST_START_TEST(test_pictures)
{
  const PictureRow &row = kPictures[__i__];
  LastOfDisplay last;
  const Pipeline pipeline("egldmabufupload name=u ! gltransformation scale-x=-1 ! egldmabufdownload name=d ! " + dma_drm(row.drm_format) + " ! appsink name=out sync=false");
  pipeline.play();
  for (int i = 0; i < kFrames; i++) {
    const Rgba wanted = turned_left_to_right(rgba_of(pipeline.pull("in").get()));
    const Difference off = difference(pipeline.pull("out").get(), wanted);
    fail_unless(off.most <= row.most, "%s, frame %d: %g steps", row.drm_format, i, off.most);
  }
  const GstPtr<GstGLContext> context = pipeline.gl_context("u");
  fail_unless(gst_gl_context_get_gl_platform(context.get()) == GST_GL_PLATFORM_EGL);
  last.keep(display_of(context));
  fail_unless(pipeline.gl_context("d").get() == context.get(), "the elements have two contexts");
  fail_unless_equals_uint64(pipeline.stat("u", "frames"), kFrames);
  fail_unless_equals_uint64(pipeline.stat("d", "frames"), kFrames);
  check_imports(pipeline, context.get());
}
GST_END_TEST

GST_START_TEST(test_window)
{
  LastOfDisplay last;
  const Pipeline pipeline("egldmabufupload name=u ! glimagesinkelement name=window sync=false");
  pipeline.play();
  for (int i = 0; i < kFrames; i++)
    (void)pipeline.pull("in");
  pipeline.check_end();
  fail_unless(pipeline.gl_context("window").get() == pipeline.gl_context("u").get());
  last.keep(display_of(pipeline.gl_context("u")));
  fail_unless_equals_uint64(pipeline.stat("u", "frames"), kFrames);
}
GST_END_TEST

// --- GLX ------------------------------------------------------------------------------------------

class Platform {
public:
  explicit Platform(const char *name) { g_setenv("GST_GL_PLATFORM", name, TRUE); }
  Platform(const Platform &) = delete;
  Platform &operator=(const Platform &) = delete;
  ~Platform() { g_setenv("GST_GL_PLATFORM", "egl", TRUE); }
};

// GStreamer prefers GLX on X11, which imports no DMA buffers: frames are copied, and the reason says how they would not be.
GST_START_TEST(test_glx_copies)
{
  const Platform glx("glx");
  LastOfDisplay last;
  for (const char *mode : {"auto", "copy"}) {
    const Pipeline pipeline(std::string("egldmabufupload name=u mode=") + mode + " ! glcolorconvert ! gldownload ! video/x-raw,format=RGBA ! appsink name=out sync=false");
    pipeline.play();
    for (int i = 0; i < kFrames; i++) {
      const Rgba wanted = rgba_of(pipeline.pull("in").get());
      const Difference off = difference(pipeline.pull("out").get(), wanted);
      fail_unless(off.most <= 0, "mode=%s, frame %d: %g steps", mode, i, off.most);
    }
    fail_unless(gst_gl_context_get_gl_platform(pipeline.gl_context("u").get()) == GST_GL_PLATFORM_GLX);
    last.keep(display_of(pipeline.gl_context("u")));
    fail_unless_equals_uint64(pipeline.stat("u", "copies"), kFrames);
    const std::string reason = pipeline.copy_reason();
    fail_unless(reason.find(*mode == 'c' ? "mode=copy" : "GST_GL_PLATFORM=egl") != std::string::npos, "%s", reason.c_str());
  }
}
GST_END_TEST

// And back: the CPU reads the textures, or an error says how it would not have to.
GST_START_TEST(test_glx_downloads)
{
  const Platform glx("glx");
  LastOfDisplay last;
  const Pipeline pipeline("videotestsrc pattern=snow num-buffers=" + std::to_string(kFrames) +
                          " ! video/x-raw,format=RGBA,width=64,height=48 ! tee name=t t. ! queue ! appsink name=in sync=false "
                          "t. ! queue ! glupload ! egldmabufdownload name=d ! " + dma_drm("AB24") + " ! appsink name=out sync=false",
                          Pipeline::AsItIs{});
  pipeline.play();
  for (int i = 0; i < kFrames; i++) {
    const Rgba wanted = rgba_of(pipeline.pull("in").get());
    const Difference off = difference(pipeline.pull("out").get(), wanted);
    fail_unless(off.most <= 0, "frame %d: %g steps", i, off.most);
  }
  fail_unless(gst_gl_context_get_gl_platform(pipeline.gl_context("d").get()) == GST_GL_PLATFORM_GLX);
  last.keep(display_of(pipeline.gl_context("d")));
  fail_unless_equals_uint64(pipeline.stat("d", "copies"), kFrames);
  const Pipeline refusing("gltestsrc ! egldmabufdownload zero-copy=require ! fakesink", Pipeline::AsItIs{});
  refusing.play();
  const std::string error = refusing.said(GST_MESSAGE_ERROR, GST_CLOCK_TIME_NONE);
  fail_unless(contains(error, "GST_GL_PLATFORM=egl"), "%s", error.c_str());
}
GST_END_TEST

// --- command lines of GStreamer's OpenGL elements --------------------------------------------------

#if !defined(__SANITIZE_ADDRESS__) // GStreamer's own: glviewconvert leaks, glvideomixer's glupload has a race

// Their pages' lines, with egldmabufupload in place of glupload.
const char *const kLines[] = {
    "videotestsrc ! egldmabufupload ! glimagesinkelement",
    "videotestsrc ! video/x-raw,format=I420 ! egldmabufupload ! glcolorconvert ! glimagesinkelement",
    "videotestsrc ! video/x-raw,format=YUY2 ! egldmabufupload ! glcolorconvert ! glimagesinkelement",
    "videotestsrc ! egldmabufupload ! gleffects effect=5 ! glimagesinkelement",
    "videotestsrc ! egldmabufupload ! glcolorscale ! glimagesinkelement",
    "videotestsrc ! egldmabufupload ! glcolorbalance saturation=0.0 ! glcolorconvert ! gldownload ! fakesink",
    "videotestsrc ! egldmabufupload ! gltransformation rotation-z=45 ! glimagesinkelement",
    "videotestsrc ! egldmabufupload ! glfiltercube ! glimagesinkelement",
    "videotestsrc ! egldmabufupload ! glfilterapp ! glimagesinkelement",
    "videotestsrc ! egldmabufupload ! gldeinterlace ! glimagesinkelement",
    "videotestsrc ! egldmabufupload ! glshader ! glimagesinkelement",
    "videotestsrc ! egldmabufupload ! glviewconvert output-mode-override=side-by-side ! glimagesinkelement",
    "videotestsrc ! egldmabufupload ! glalpha method=green ! glimagesinkelement",
    "videotestsrc ! egldmabufupload ! gloverlay ! glimagesinkelement",
    "glvideomixer name=m ! glimagesinkelement videotestsrc ! video/x-raw,format=YUY2 ! egldmabufupload ! glcolorconvert ! m. "
    "videotestsrc pattern=12 ! video/x-raw,format=I420,width=100,height=200 ! queue ! egldmabufupload ! glcolorconvert ! m.",
};

// And with dmabufupload in front, where frames are in DMA buffers.
GST_START_TEST(test_lines)
{
  std::string line = kLines[__i__ / 2];
  const auto replace_all = [&line](const std::string &what, const std::string &with) {
    for (std::size_t at = line.find(what); at != std::string::npos; at = line.find(what, at + with.size()))
      line.replace(at, what.size(), with);
  };
  replace_all("videotestsrc", "videotestsrc num-buffers=4");
  if (__i__ % 2 == 1)
    replace_all("egldmabufupload", "dmabufupload ! egldmabufupload");
  LastOfDisplay last;
  const Pipeline pipeline(line, Pipeline::AsItIs{});
  pipeline.play();
  pipeline.check_end();
}
GST_END_TEST

#endif

// --- an application's own display and context ----------------------------------------------------

struct Application {
  GstPtr<GstGLDisplay> display;
  GstPtr<GstGLContext> context;

  Application() : display(GstPtr<GstGLDisplay>::adopt(gst_gl_display_new_with_type(kDisplayType)))
  {
    fail_unless(static_cast<bool>(display), "no display of %s", kWindow.c_str());
    g_autoptr(GError) error = nullptr;
    GstGLContext *made = nullptr;
    fail_unless(gst_gl_display_create_context(display.get(), nullptr, &made, &error), "%s", error ? error->message : "");
    gst_gl_display_add_context(display.get(), made);
    context = GstPtr<GstGLContext>::adopt(made);
  }
  void share_with(const Pipeline &pipeline) const
  {
    GstContext *with_display = gst_context_new(GST_GL_DISPLAY_CONTEXT_TYPE, TRUE);
    gst_context_set_gl_display(with_display, display.get());
    pipeline.give(with_display);
    GstContext *with_context = gst_context_new("gst.gl.app_context", TRUE);
    gst_structure_set(gst_context_writable_structure(with_context), "context", GST_TYPE_GL_CONTEXT, context.get(), nullptr);
    pipeline.give(with_context);
  }
};

struct Reading {
  GstBuffer *buffer;
  guint texture;
  Rgba picture;
};

// On the application's own GL thread, with GL calls of its own.
void read_texture(GstGLContext *context, gpointer data) noexcept
{
  auto *reading = static_cast<Reading *>(data);
  const GstGLFuncs *gl = context->gl_vtable;
  if (GstGLSyncMeta *sync = gst_buffer_get_gl_sync_meta(reading->buffer))
    gst_gl_sync_meta_wait(sync, context);
  guint framebuffer = 0;
  gl->GenFramebuffers(1, &framebuffer);
  gl->BindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  gl->FramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, reading->texture, 0);
  gl->ReadPixels(0, 0, reading->picture.width, reading->picture.height, GL_RGBA, GL_UNSIGNED_BYTE, reading->picture.pixels.data());
  gl->BindFramebuffer(GL_FRAMEBUFFER, 0);
  gl->DeleteFramebuffers(1, &framebuffer);
}

GST_START_TEST(test_shared_with_an_application)
{
  LastOfDisplay last;
  const Application application;
  const Pipeline pipeline("egldmabufupload name=u ! video/x-raw(memory:GLMemory),format=RGBA ! appsink name=out sync=false");
  application.share_with(pipeline);
  pipeline.play();
  for (int i = 0; i < kFrames; i++) {
    const Rgba wanted = rgba_of(pipeline.pull("in").get());
    const GstPtr<GstSample> sample = pipeline.pull("out");
    GstBuffer *buffer = gst_sample_get_buffer(sample.get());
    GstVideoInfo info;
    GstVideoFrame frame;
    fail_unless(gst_video_info_from_caps(&info, gst_sample_get_caps(sample.get())));
    fail_unless(gst_video_frame_map(&frame, &info, buffer, static_cast<GstMapFlags>(GST_MAP_READ | GST_MAP_GL)));
    Reading reading{buffer, *static_cast<guint *>(frame.data[0]), wanted};
    std::fill(reading.picture.pixels.begin(), reading.picture.pixels.end(), std::uint8_t{0});
    gst_gl_context_thread_add(application.context.get(), read_texture, &reading);
    gst_video_frame_unmap(&frame);
    fail_unless(reading.picture.pixels == wanted.pixels, "frame %d: the application reads another picture", i);
  }
  const GstPtr<GstGLContext> context = pipeline.gl_context("u");
  last.keep(display_of(context));
  fail_unless(display_of(context).get() == application.display.get(), "the element has a display of its own");
  fail_unless(gst_gl_context_can_share(context.get(), application.context.get()));
}
GST_END_TEST

Suite *egl_display_server_suite()
{
  Suite *suite = suite_create("egl-display-server");
  TCase *tcase = tcase_create(GST_DRM_TEST_WINDOW);
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_pictures, 0, G_N_ELEMENTS(kPictures));
  tcase_add_test(tcase, test_window);
  tcase_add_test(tcase, test_shared_with_an_application);
  tcase_set_timeout(tcase, 120);
#if !defined(__SANITIZE_ADDRESS__)
  tcase_add_loop_test(tcase, test_lines, 0, 2 * G_N_ELEMENTS(kLines));
#endif
  if (kIsX11) {
    tcase_add_test(tcase, test_glx_copies);
    tcase_add_test(tcase, test_glx_downloads);
  }
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  if (!DisplayServer::is_installed(kServer)) {
    g_printerr("%s is not on this machine, so that nothing can be drawn on %s\n", DisplayServer::program(kServer), kWindow.c_str());
    return 77;
  }
  const DisplayServer server(kServer);
  if (!server.failure().empty()) {
    g_printerr("%s\n", server.failure().c_str());
    return EXIT_FAILURE;
  }
  g_setenv("LIBGL_ALWAYS_SOFTWARE", "1", TRUE); // Mesa looks for a GPU otherwise, and tells stderr what it did not find
  g_setenv("GST_GL_PLATFORM", "egl", TRUE);
  g_setenv("GST_GL_WINDOW", kWindow.c_str(), TRUE);
  gst_check_init(&argc, &argv);
  return run_suite(egl_display_server_suite());
}

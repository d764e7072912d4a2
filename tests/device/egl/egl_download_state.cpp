// SPDX-License-Identifier: LGPL-2.1-or-later
// What another user of the context left: no frame depends on it, or changes it, on a real GL. The
// same on a driver of the tests' own, with more versions of GL: tests/unit/egl/gl_state.cpp.
#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include <GLES2/gl2.h>
#include <GLES2/gl2ext.h>
#include <GLES3/gl3.h>
#include <unistd.h>

#include <gst/gl/gl.h>

#include "egl_download_pixels.hpp"
#include "egl_download_support.hpp"

namespace gstdrm::test {

namespace {

// What another user of the same context may have left: each of these alone keeps samples out of a
// frame, or blackens them. A sampler object is one of mipmaps unless it is told otherwise.
struct OddState {
  std::string problem; // asserted on the thread of the case
  bool is_desktop = false;
  bool has_fixed_functions = false;
  GLuint sampler = 0;
  GLuint array = 0;
  GLuint drawing = 0;
  GLuint reading = 0;
};

template <typename Function> Function look_up(GstGLContext *context, const char *name)
{
  return reinterpret_cast<Function>(gst_gl_context_get_proc_address(context, name));
}

constexpr GLenum kLogicOp = 0x0BF2, kClear = 0x1500; // GL_COLOR_LOGIC_OP with GL_CLEAR
constexpr GLenum kPolygonMode = 0x0B40, kFill = 0x1B02, kPoint = 0x1B00;
constexpr GLenum kFramebufferSrgb = 0x8DB9;
constexpr GLenum kClipDistance0 = 0x3000, kAlphaTest = 0x0BC0;
constexpr GLenum kSwitches[] = {GL_BLEND, GL_CULL_FACE,     GL_SCISSOR_TEST, GL_RASTERIZER_DISCARD,
                                kLogicOp, kFramebufferSrgb, kClipDistance0,  kAlphaTest};
constexpr GLfloat kSecondViewport[4] = {5, 6, 7.5F, 8};
constexpr GLuint kDivisor = 1; // one vertex for the whole triangle

bool has_switch(const OddState &odd, GLenum what)
{
  if (what == kAlphaTest)
    return odd.has_fixed_functions;
  return odd.is_desktop || (what != kLogicOp && what != kFramebufferSrgb && what != kClipDistance0);
}

bool is_version(GstGLContext *context, gint major, gint minor)
{
  return gst_gl_context_check_gl_version(context, gst_gl_context_get_gl_api(context), major,
                                         minor) != FALSE;
}

// The second draw buffer's colour mask and blending; OpenGL 3.0 and OpenGL ES 3.2.
struct SecondBuffer {
  explicit SecondBuffer(GstGLContext *context)
      : color_mask(look_up<PFNGLCOLORMASKIOESPROC>(context, "glColorMaski")),
        disable(look_up<PFNGLDISABLEIOESPROC>(context, "glDisablei")),
        is_enabled(look_up<PFNGLISENABLEDIOESPROC>(context, "glIsEnabledi")),
        get(look_up<void (*)(GLenum, GLuint, GLboolean *)>(context, "glGetBooleani_v"))
  {
    const int minor = gst_gl_context_get_gl_api(context) == GST_GL_API_GLES2 ? 2 : 0;
    has = is_version(context, 3, minor);
  }
  PFNGLCOLORMASKIOESPROC color_mask;
  PFNGLDISABLEIOESPROC disable;
  PFNGLISENABLEDIOESPROC is_enabled;
  void (*get)(GLenum, GLuint, GLboolean *);
  bool has = false;
};

// The second viewport, whose scissor is off. OpenGL ES has the functions by an extension.
struct SecondViewport {
  explicit SecondViewport(GstGLContext *context)
  {
    const bool is_gles = gst_gl_context_get_gl_api(context) == GST_GL_API_GLES2;
    const std::string suffix = is_gles ? "OES" : "";
    has = is_gles ? gst_gl_context_check_feature(context, "GL_OES_viewport_array") != FALSE
                  : is_version(context, 4, 1);
    set = look_up<PFNGLVIEWPORTINDEXEDFVOESPROC>(context, ("glViewportIndexedfv" + suffix).c_str());
    get = look_up<PFNGLGETFLOATI_VOESPROC>(context, ("glGetFloati_v" + suffix).c_str());
    disable = look_up<PFNGLDISABLEIOESPROC>(context, ("glDisablei" + suffix).c_str());
    is_enabled = look_up<PFNGLISENABLEDIOESPROC>(context, ("glIsEnabledi" + suffix).c_str());
  }
  PFNGLVIEWPORTINDEXEDFVOESPROC set = nullptr;
  PFNGLGETFLOATI_VOESPROC get = nullptr;
  PFNGLDISABLEIOESPROC disable = nullptr;
  PFNGLISENABLEDIOESPROC is_enabled = nullptr;
  bool has = false;
};

bool has_clip_control(GstGLContext *context)
{
  return gst_gl_context_get_gl_api(context) == GST_GL_API_GLES2
             ? gst_gl_context_check_feature(context, "GL_EXT_clip_control") != FALSE
             : is_version(context, 4, 5);
}

void set_clip_origin(GstGLContext *context, GLenum origin)
{
  const bool is_gles = gst_gl_context_get_gl_api(context) == GST_GL_API_GLES2;
  look_up<PFNGLCLIPCONTROLEXTPROC>(context, is_gles ? "glClipControlEXT" : "glClipControl")(
      origin, GL_NEGATIVE_ONE_TO_ONE_EXT);
}

void set_odd_places(GstGLContext *context)
{
  if (const SecondViewport second(context); second.has) {
    second.set(1, kSecondViewport);
    second.disable(GL_SCISSOR_TEST, 1);
  }
  if (has_clip_control(context))
    set_clip_origin(context, GL_UPPER_LEFT_EXT);
}

void set_odd_state(GstGLContext *context, gpointer data)
{
  auto *odd = static_cast<OddState *>(data);
  odd->is_desktop = gst_gl_context_get_gl_api(context) != GST_GL_API_GLES2;
  odd->has_fixed_functions = gst_gl_context_get_gl_api(context) == GST_GL_API_OPENGL;
  look_up<PFNGLCOLORMASKPROC>(context, "glColorMask")(GL_FALSE, GL_FALSE, GL_TRUE, GL_FALSE);
  for (const GLenum what : kSwitches)
    if (has_switch(*odd, what))
      look_up<PFNGLENABLEPROC>(context, "glEnable")(what);
  look_up<PFNGLBLENDFUNCPROC>(context, "glBlendFunc")(GL_ZERO, GL_ZERO);
  look_up<PFNGLSCISSORPROC>(context, "glScissor")(0, 0, 1, 1);
  look_up<PFNGLCULLFACEPROC>(context, "glCullFace")(GL_FRONT_AND_BACK);
  if (odd->is_desktop) {
    look_up<void (*)(GLenum)>(context, "glLogicOp")(kClear);
    look_up<PFNGLPOLYGONMODENVPROC>(context, "glPolygonMode")(GL_FRONT_AND_BACK, kPoint);
  }
  if (odd->has_fixed_functions)
    look_up<void (*)(GLenum, GLfloat)>(context, "glAlphaFunc")(GL_NEVER, 0);
  set_odd_places(context);
  if (const SecondBuffer second(context); second.has) {
    second.color_mask(1, GL_TRUE, GL_FALSE, GL_TRUE, GL_FALSE);
    second.disable(GL_BLEND, 1);
  }
  look_up<PFNGLGENVERTEXARRAYSPROC>(context, "glGenVertexArrays")(1, &odd->array);
  look_up<PFNGLBINDVERTEXARRAYPROC>(context, "glBindVertexArray")(odd->array);
  look_up<PFNGLENABLEVERTEXATTRIBARRAYPROC>(context, "glEnableVertexAttribArray")(0);
  look_up<PFNGLVERTEXATTRIBDIVISORPROC>(context, "glVertexAttribDivisor")(0, kDivisor);
  look_up<PFNGLGENSAMPLERSPROC>(context, "glGenSamplers")(1, &odd->sampler);
  look_up<PFNGLBINDSAMPLERPROC>(context, "glBindSampler")(0, odd->sampler);
  const auto make = look_up<PFNGLGENFRAMEBUFFERSPROC>(context, "glGenFramebuffers");
  const auto bind = look_up<PFNGLBINDFRAMEBUFFERPROC>(context, "glBindFramebuffer");
  make(1, &odd->drawing);
  make(1, &odd->reading);
  bind(GL_DRAW_FRAMEBUFFER, odd->drawing);
  bind(GL_READ_FRAMEBUFFER, odd->reading);
}

void reset_switches(GstGLContext *context, const OddState &odd)
{
  for (const GLenum what : kSwitches)
    if (has_switch(odd, what))
      look_up<PFNGLDISABLEPROC>(context, "glDisable")(what);
  if (odd.has_fixed_functions)
    look_up<void (*)(GLenum, GLfloat)>(context, "glAlphaFunc")(GL_ALWAYS, 0);
  if (has_clip_control(context))
    set_clip_origin(context, GL_LOWER_LEFT_EXT);
  look_up<PFNGLBLENDFUNCPROC>(context, "glBlendFunc")(GL_ONE, GL_ZERO);
  look_up<PFNGLCULLFACEPROC>(context, "glCullFace")(GL_BACK);
  if (odd.is_desktop)
    look_up<PFNGLPOLYGONMODENVPROC>(context, "glPolygonMode")(GL_FRONT_AND_BACK, kFill);
  look_up<PFNGLBINDVERTEXARRAYPROC>(context, "glBindVertexArray")(0);
  look_up<PFNGLDELETEVERTEXARRAYSPROC>(context, "glDeleteVertexArrays")(1, &odd.array);
}

// What belongs to one of several draw buffers, and to a vertex array of somebody else's.
void check_others(GstGLContext *context, OddState &odd)
{
  if (const SecondViewport second(context); second.has) {
    GLfloat box[4] = {};
    second.get(GL_VIEWPORT, 1, box);
    if (!std::equal(box, box + 4, kSecondViewport))
      odd.problem += "the second viewport is changed. ";
    if (second.is_enabled(GL_SCISSOR_TEST, 1))
      odd.problem += "the second scissor is on. ";
  }
  if (const SecondBuffer second(context); second.has) {
    GLboolean mask[4] = {};
    second.get(GL_COLOR_WRITEMASK, 1, mask);
    if (!mask[0] || mask[1] || !mask[2] || mask[3])
      odd.problem += "the second draw buffer has another colour mask. ";
    if (second.is_enabled(GL_BLEND, 1))
      odd.problem += "the second draw buffer blends. ";
  }
  look_up<PFNGLBINDVERTEXARRAYPROC>(context, "glBindVertexArray")(odd.array);
  GLint enabled = 0;
  look_up<PFNGLGETVERTEXATTRIBIVPROC>(context, "glGetVertexAttribiv")(
      0, GL_VERTEX_ATTRIB_ARRAY_ENABLED, &enabled);
  if (!enabled)
    odd.problem += "the vertex array of somebody else is changed. ";
}

// And puts it away, for the elements of GStreamer.
void check_odd_state(GstGLContext *context, gpointer data)
{
  auto *odd = static_cast<OddState *>(data);
  const auto get = look_up<PFNGLGETINTEGERVPROC>(context, "glGetIntegerv");
  const auto expect = [&](GLenum name, std::initializer_list<GLint> wanted, const char *text) {
    GLint found[4] = {};
    get(name, found);
    if (!std::equal(wanted.begin(), wanted.end(), found))
      odd->problem += std::string(text) + " is not put back. ";
  };
  expect(GL_COLOR_WRITEMASK, {0, 0, 1, 0}, "the colour mask");
  expect(GL_SAMPLER_BINDING, {static_cast<GLint>(odd->sampler)}, "the sampler object");
  expect(GL_DRAW_FRAMEBUFFER_BINDING, {static_cast<GLint>(odd->drawing)}, "the framebuffer");
  expect(GL_READ_FRAMEBUFFER_BINDING, {static_cast<GLint>(odd->reading)}, "that for reading");
  for (const GLenum what : kSwitches)
    if (has_switch(*odd, what) && !look_up<PFNGLISENABLEDPROC>(context, "glIsEnabled")(what))
      odd->problem += "switch " + std::to_string(what) + " is not put back. ";
  if (odd->is_desktop)
    expect(kPolygonMode, {kPoint}, "the polygon mode");
  if (has_clip_control(context))
    expect(GL_CLIP_ORIGIN_EXT, {GL_UPPER_LEFT_EXT}, "the clip origin");
  check_others(context, *odd);
  look_up<PFNGLCOLORMASKPROC>(context, "glColorMask")(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
  reset_switches(context, *odd);
  look_up<PFNGLDELETESAMPLERSPROC>(context, "glDeleteSamplers")(1, &odd->sampler);
  const auto remove = look_up<PFNGLDELETEFRAMEBUFFERSPROC>(context, "glDeleteFramebuffers");
  remove(1, &odd->drawing);
  remove(1, &odd->reading);
}

struct StateProbe {
  GstElement *element; // borrowed
  GstGLContextThreadFunc run;
  OddState *odd;
};

GstPadProbeReturn run_on_gl_thread(GstPad *, GstPadProbeInfo *, gpointer data)
{
  const auto *probe = static_cast<StateProbe *>(data);
  GstGLContext *context = nullptr;
  g_object_get(probe->element, "context", &context, nullptr);
  gst_gl_context_thread_add(context, probe->run, probe->odd);
  gst_object_unref(context);
  return GST_PAD_PROBE_REMOVE;
}

struct StateRow {
  const char *drm_format;
  bool flip;       // what is not flipped is copied
  const char *api; // of GST_GL_API
};
const StateRow kStates[] = {
    {"NV12", false, "opengl3"}, {"XR24", true, "opengl3"}, {"XR24", false, "opengl3"},
    {"NV12", false, "opengl"},  {"XR24", true, "opengl"},  {"XR24", false, "opengl"},
    {"NV12", false, "gles2"},   {"XR24", true, "gles2"},   {"XR24", false, "gles2"},
};

// For contexts that are made meanwhile.
class GlApi {
public:
  explicit GlApi(const char *api) : before_(g_strdup(g_getenv("GST_GL_API")))
  {
    g_setenv("GST_GL_API", api, TRUE);
  }
  GlApi(const GlApi &) = delete;
  GlApi &operator=(const GlApi &) = delete;
  ~GlApi()
  {
    if (before_)
      g_setenv("GST_GL_API", before_, TRUE);
    else
      g_unsetenv("GST_GL_API");
    g_free(before_);
  }

private:
  gchar *before_;
};

} // namespace

// In a context that somebody else has used, and will: the frame is right, and the state is put
// back.
GST_START_TEST(test_state)
{
  const StateRow &row = kStates[__i__];
  if (!gl_draws())
    return;
  const GlApi api(row.api);
  Download download("filesrc location=" + noise_file() +
                    " ! rawvideoparse format=rgba width=64 height=48 framerate=30/1 ! identity "
                    "eos-after=2 ! glupload name=up ! egldmabufdownload name=d ! " +
                    dma_drm(row.drm_format) + " ! appsink name=out sync=false");
  const auto element = download.element("d");
  OddState odd;
  StateProbe before{element.get(), set_odd_state, &odd};
  StateProbe after{element.get(), check_odd_state, &odd};
  const auto sink = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element.get(), "sink"));
  const auto src = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element.get(), "src"));
  if (row.flip)
    gst_pad_add_probe(sink.get(), GST_PAD_PROBE_TYPE_BUFFER, add_flip, nullptr, nullptr);
  gst_pad_add_probe(sink.get(), GST_PAD_PROBE_TYPE_BUFFER, run_on_gl_thread, &before, nullptr);
  gst_pad_add_probe(src.get(), GST_PAD_PROBE_TYPE_BUFFER, run_on_gl_thread, &after, nullptr);
  download.play();
  const auto made = download.pull("out");
  fail_unless(made, "%s", download.outcome().c_str());
  download.stop();
  fail_unless(odd.sampler != 0 && odd.reading != 0, "the context is one of version 2");
  fail_unless(odd.problem.empty(), "%s, flipped %d, %s: %s", row.drm_format, row.flip, row.api,
              odd.problem.c_str());
  Rgba picture{64, 48, {}};
  g_autofree gchar *bytes = nullptr;
  fail_unless(g_file_get_contents(noise_file().c_str(), &bytes, nullptr, nullptr));
  picture.pixels.assign(bytes, bytes + 64 * 48 * 4);
  const Difference found =
      difference(made.get(), row.flip ? picture.upside_down() : std::move(picture));
  fail_unless(found.most <= (std::string(row.drm_format) == "NV12" ? 1 : 0),
              "%s, flipped %d, %s: at most %g steps", row.drm_format, row.flip, row.api,
              found.most);
  ::unlink(noise_file().c_str());
}
GST_END_TEST

void add_download_state_cases(TCase *tcase)
{
  tcase_add_loop_test(tcase, test_state, 0, G_N_ELEMENTS(kStates));
}

} // namespace gstdrm::test

// SPDX-License-Identifier: LGPL-2.1-or-later
// The pixels of egldmabufdownload's frames on a real GL.
#include "egl_download_pixels.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include <GLES2/gl2.h>
#include <GLES2/gl2ext.h>
#include <GLES3/gl3.h>
#include <unistd.h>

#include <gst/gl/gl.h>

#include "egl_download_support.hpp"

namespace gstdrm::test {

namespace {

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
  bool too_small_to_draw =
      false; // the driver writes blocks of 4x4 pixels, and the frame ends with its first row
};

// P010 through the copy: GStreamer's converter works with 8 bits from RGBA, 4 steps of 10.
const PixelsRow kPixels[] = {
    {"XR24", 320, 240, 0},
    {"AR24", 320, 240, 0},
    {"XB24", 61, 33, 0},
    {"AB24", 1, 1, 0},
    {"XR24", 16384, 1, 0, true},
    {"XR24", 1, 16384, 0},
    {"NV12", 320, 240, 1},
    {"NV12", 321, 241, 1},
    {"NV12", 1, 241, 1},
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
  fail_unless_equals_uint64(
      download.stat(gl_draws() && !row.too_small_to_draw ? "copies" : "draws"), 0);
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

// What another user of the same context may have left: each of these alone keeps samples out of a
// frame, or blackens them. A sampler object is one of mipmaps unless it is told otherwise.
struct OddState {
  std::string problem; // asserted on the thread of the case
  bool is_desktop = false;
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
constexpr GLenum kSwitches[] = {GL_BLEND, GL_CULL_FACE,    GL_SCISSOR_TEST, GL_RASTERIZER_DISCARD,
                                kLogicOp, kFramebufferSrgb};
constexpr GLuint kDivisor = 1; // one vertex for the whole triangle

bool has_switch(const OddState &odd, GLenum what)
{
  return odd.is_desktop || (what != kLogicOp && what != kFramebufferSrgb);
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
    has = gst_gl_context_check_gl_version(context, gst_gl_context_get_gl_api(context), 3, minor);
  }
  PFNGLCOLORMASKIOESPROC color_mask;
  PFNGLDISABLEIOESPROC disable;
  PFNGLISENABLEDIOESPROC is_enabled;
  void (*get)(GLenum, GLuint, GLboolean *);
  bool has = false;
};

void set_odd_state(GstGLContext *context, gpointer data)
{
  auto *odd = static_cast<OddState *>(data);
  odd->is_desktop = gst_gl_context_get_gl_api(context) != GST_GL_API_GLES2;
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
  bool flip; // what is not flipped is copied
};
const StateRow kStates[] = {{"NV12", false}, {"XR24", true}, {"XR24", false}};

} // namespace

// In a context that somebody else has used, and will: the frame is right, and the state is put
// back.
GST_START_TEST(test_state)
{
  const StateRow &row = kStates[__i__];
  if (!gl_draws())
    return;
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
  fail_unless(odd.problem.empty(), "%s, flipped %d: %s", row.drm_format, row.flip,
              odd.problem.c_str());
  Rgba picture{64, 48, {}};
  g_autofree gchar *bytes = nullptr;
  fail_unless(g_file_get_contents(noise_file().c_str(), &bytes, nullptr, nullptr));
  picture.pixels.assign(bytes, bytes + 64 * 48 * 4);
  const Difference found =
      difference(made.get(), row.flip ? picture.upside_down() : std::move(picture));
  fail_unless(found.most <= (std::string(row.drm_format) == "NV12" ? 1 : 0),
              "%s, flipped %d: at most %g steps", row.drm_format, row.flip, found.most);
  ::unlink(noise_file().c_str());
}
GST_END_TEST

void add_download_pixel_cases(TCase *tcase)
{
  tcase_add_loop_test(tcase, test_pixels, 0, G_N_ELEMENTS(kPixels));
  tcase_add_test(tcase, test_flip);
  tcase_add_loop_test(tcase, test_state, 0, G_N_ELEMENTS(kStates));
}

} // namespace gstdrm::test

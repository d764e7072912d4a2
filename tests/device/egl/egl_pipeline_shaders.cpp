// SPDX-License-Identifier: LGPL-2.1-or-later
// What becomes of a stream whose driver does not compile a shader of the elements, or does not link
// the program.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include <GLES2/gl2.h>
#include <drm_fourcc.h>

#include <gst/gl/gl.h>

#include "egl_pipeline.hpp"
#include "egl_write_plane.hpp"

namespace gstdrm::test {

namespace {

decltype(GstGLContextClass::get_proc_address) driver_look_up = nullptr;
PFNGLGETSHADERIVPROC driver_get_shaderiv = nullptr;
PFNGLGETSHADERSOURCEPROC driver_get_source = nullptr;

PFNGLGETPROGRAMIVPROC driver_get_programiv = nullptr;
PFNGLGETATTACHEDSHADERSPROC driver_get_shaders = nullptr;

const char *refused_name = nullptr; // in the shader that is not compiled
bool refuses_link = false;          // of the program with that shader, which is compiled

bool has_refused_name(GLuint shader)
{
  std::array<GLchar, 4096> text{};
  driver_get_source(shader, text.size() - 1, nullptr, text.data());
  return std::strstr(text.data(), refused_name) != nullptr;
}

void get_shaderiv(GLuint shader, GLenum name, GLint *value) noexcept
{
  driver_get_shaderiv(shader, name, value);
  if (name == GL_COMPILE_STATUS && has_refused_name(shader))
    *value = GL_FALSE;
}

// Of the driver's own programs none is refused.
void get_programiv(GLuint program, GLenum name, GLint *value) noexcept
{
  driver_get_programiv(program, name, value);
  std::array<GLuint, 2> shaders{};
  GLsizei count = 0;
  driver_get_shaders(program, shaders.size(), &count, shaders.data());
  for (GLsizei i = 0; i < count && name == GL_LINK_STATUS; i++)
    if (has_refused_name(shaders[static_cast<std::size_t>(i)]))
      *value = GL_FALSE;
}

// As Mesa writes it.
void get_log(GLuint, GLsizei size, GLsizei *, GLchar *log) noexcept
{
  g_strlcpy(log, "0:3(5): error: no such word\n0:4(1): error: too many words\n",
            static_cast<gsize>(size));
}

gpointer find_function(GstGLAPI api, const gchar *name) noexcept
{
  const gpointer found = driver_look_up(api, name);
  const std::string_view asked(name);
  const auto keep = [found, api](auto &function, const char *other = nullptr) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        other ? driver_look_up(api, other) : found);
  };
  if (asked == "glGetShaderiv" && !refuses_link) {
    keep(driver_get_shaderiv);
    keep(driver_get_source, "glGetShaderSource");
    return reinterpret_cast<gpointer>(get_shaderiv);
  }
  if (asked == "glGetProgramiv" && refuses_link) {
    keep(driver_get_programiv);
    keep(driver_get_shaders, "glGetAttachedShaders");
    keep(driver_get_source, "glGetShaderSource");
    return reinterpret_cast<gpointer>(get_programiv);
  }
  if (asked == "glGetShaderInfoLog" || asked == "glGetProgramInfoLog")
    return reinterpret_cast<gpointer>(get_log);
  return found;
}

// For contexts that are made meanwhile.
class NoShader {
public:
  explicit NoShader(const char *name, bool links = false)
      : klass_(g_type_class_peek(g_type_from_name("GstGLContextEGL")))
  {
    refused_name = name;
    refuses_link = links;
    driver_look_up = std::exchange(GST_GL_CONTEXT_CLASS(klass_)->get_proc_address, find_function);
  }
  NoShader(const NoShader &) = delete;
  NoShader &operator=(const NoShader &) = delete;
  ~NoShader() { GST_GL_CONTEXT_CLASS(klass_)->get_proc_address = driver_look_up; }

private:
  gpointer klass_;
};

struct NoShaderRow {
  const char *name;
  const char *settings;
  bool copies; // else the driver converts
  bool links;  // is not linked; else not compiled
};
const NoShaderRow kNoShader[] = {
    {"it may not copy, so the driver converts", "zero-copy=require", false, false},
    {"it may copy, so that no frame is lost", "", true, false},
    {"it is not linked, and the driver converts", "zero-copy=require", false, true},
    {"it is not linked, and is copied", "", true, true},
};

} // namespace

// The next way is taken, as after an import that is refused; the pixels are right, and the user is
// told of a copy.
GST_START_TEST(test_shader_not_compiled)
{
  const NoShaderRow &row = kNoShader[__i__];
  if (!imports_here())
    return;
  PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, DRM_FORMAT_P010, 66, 50, {});
  frame.fill(2);
  const std::string caps = dma_drm_caps("P010", 66, 50, ",colorimetry=bt601");
  EglPipeline stream(drawn(row.settings, ""));
  const NoShader driver("chroma_scale", row.links); // of planes
  stream.play();
  for (int i = 0; i < 4; i++)
    stream.push(frame, caps);
  const int count = row.copies ? 4 : 3; // of the other texture target there is none for the first
  for (int i = 0; i < count; i++) {
    const auto sample = stream.pull();
    fail_unless(sample, "%s: %s", row.name, sample ? "" : stream.outcome().c_str());
    const double distance = rgba_distance(sample.get(), frame, {});
    fail_unless(distance <= (row.copies ? 1 : 2.8), "%s: %g", row.name, distance);
  }
  fail_unless_equals_uint64(stream.stat("draws"), 0);
  fail_unless_equals_uint64(stream.stat("fallbacks"), 1);
  fail_unless_equals_uint64(stream.stat("copies"), row.copies ? count : 0);
  const std::string said = stream.notices();
  say(said);
  fail_unless(said.empty() != row.copies, "%s: '%s'", row.name, said.c_str());
  const std::string reason = row.copies ? stream.copy_reason() : "import or draw";
  fail_unless(contains(reason, "import or draw"), "%s: '%s'", row.name, reason.c_str());
}
GST_END_TEST

// Nobody takes what the driver converts, and a copy is forbidden: one error with the driver's
// words, as one sentence.
GST_START_TEST(test_no_other_way)
{
  if (!imports_here())
    return;
  const bool links = __i__ == 1;
  PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, DRM_FORMAT_P010, 66, 50, {});
  frame.fill(2);
  EglPipeline stream(drawn("zero-copy=require", ",texture-target=2D"));
  const NoShader driver("chroma_scale", links);
  stream.play();
  stream.push(frame, dma_drm_caps("P010", 66, 50, ",colorimetry=bt601"));
  fail_if(stream.pull());
  const std::string said = stream.outcome();
  say(said);
  for (const char *part :
       {links ? "does not link the program" : "does not compile the fragment shader",
        "error: no such word, 0:4(1): error: too many words; ", "llvmpipe", "update the GPU"})
    fail_unless(contains(said, part), "no %s in '%s'", part, said.c_str());
  fail_unless(said.find('\n') == std::string::npos, "'%s'", said.c_str());
  fail_unless_equals_uint64(stream.stat("copies"), 0);
}
GST_END_TEST

namespace {

struct WayOutRow {
  const char *name;
  const char *settings;
  const char *target; // of the textures
  const char *format; // downstream
  bool copies;        // else: one error with what the driver says
};
const WayOutRow kWaysOut[] = {
    {"rows that the CPU may write", "zero-copy=prefer", "2D", "NV12", true},
    {"a copy is forbidden", "zero-copy=require", "2D", "NV12", false},
    {"a texture that the CPU cannot read", "zero-copy=prefer", "external-oes", "NV12", false},
    {"RGB of such a texture", "zero-copy=prefer", "external-oes", "BGRx", false},
};

// Nothing of it is lost with the chroma of NV12, and write_plane() can write it.
int grey_at(int x, int y)
{
  return (x + y) % 4 * 64;
}

int grey_distance(GstSample *sample)
{
  GstMapInfo map;
  fail_unless(gst_buffer_map(gst_sample_get_buffer(sample), &map, GST_MAP_READ));
  fail_unless_equals_uint64(map.size, 64 * 48 * 4);
  int largest = 0;
  for (int y = 0; y < 48; y++)
    for (int x = 0; x < 64; x++)
      for (int c = 0; c < 3; c++)
        largest = std::max(largest, std::abs(map.data[(y * 64 + x) * 4 + c] - grey_at(x, y)));
  gst_buffer_unmap(gst_sample_get_buffer(sample), &map);
  return largest;
}

} // namespace

// The way out of OpenGL finds out before the first frame.
GST_START_TEST(test_shader_of_the_download_not_compiled)
{
  const WayOutRow &row = kWaysOut[__i__];
  if (!imports_here())
    return;
  const PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, DRM_FORMAT_XRGB8888, 64, 48, {});
  write_plane(frame.layout().planes[0], 48, 2 * 64,
              [](int i, int y) { return 257 * grey_at(i / 2, y) / 64; });
  EglPipeline stream(std::string("appsrc name=in format=time ! egldmabufupload name=u ! "
                                 "video/x-raw(memory:GLMemory),format=RGBA,texture-target=") +
                     row.target + " ! egldmabufdownload name=d " + row.settings +
                     " ! video/x-raw,format=" + row.format +
                     " ! videoconvert ! video/x-raw,format=RGBA ! appsink name=out sync=false");
  const NoShader driver("subsampling");
  stream.play();
  for (int i = 0; i < 3; i++)
    stream.push(frame, dma_drm_caps("XR24", 64, 48));
  for (int i = 0; i < 3 && row.copies; i++) {
    const auto sample = stream.pull();
    fail_unless(sample, "%s: %s", row.name, sample ? "" : stream.outcome().c_str());
    const int distance = grey_distance(sample.get());
    fail_unless(distance <= 3, "%s: %d", row.name, distance);
  }
  fail_unless_equals_uint64(stream.stat("draws", "d"), 0);
  if (row.copies) {
    fail_unless_equals_uint64(stream.stat("copies", "d"), 3);
    const std::string reason = stream.copy_reason("d");
    fail_unless(contains(reason, "does not compile the shader"), "%s", reason.c_str());
    fail_unless(contains(stream.notices(), reason));
    return;
  }
  fail_if(stream.pull());
  const std::string said = stream.outcome();
  say(said);
  for (const char *part :
       {"d cannot draw frames of 64x48", "fragment shader", "llvmpipe", "update the GPU"})
    fail_unless(contains(said, part), "%s: no %s in '%s'", row.name, part, said.c_str());
  fail_unless_equals_uint64(stream.stat("frames", "d"), 0);
}
GST_END_TEST

void add_shaders(Suite *suite)
{
  TCase *tcase = add_case(suite, "shaders");
  tcase_add_loop_test(tcase, test_shader_not_compiled, 0, G_N_ELEMENTS(kNoShader));
  tcase_add_loop_test(tcase, test_no_other_way, 0, 2);
  tcase_add_loop_test(tcase, test_shader_of_the_download_not_compiled, 0, G_N_ELEMENTS(kWaysOut));
}

} // namespace gstdrm::test

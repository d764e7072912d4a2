// SPDX-License-Identifier: LGPL-2.1-or-later
// RGBA that the element draws of planes of more than 8 bits: where the samples of chroma are, and
// what becomes of a stream whose driver does not compile the shader.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <GLES2/gl2.h>
#include <drm_fourcc.h>
#include <sys/mman.h>

#include <gst/drm/core/sync_file.hpp>
#include <gst/gl/gl.h>
#include <gst/video/video.h>

#include "egl_pipeline.hpp"

namespace gstdrm::test {
namespace {

constexpr int kSize = 16;
constexpr int kChroma = kSize / 2;

std::string drawn(const std::string &settings, const std::string &caps)
{
  return "appsrc name=in format=time ! egldmabufupload name=u " + settings +
         " ! video/x-raw(memory:GLMemory),format=RGBA" + caps +
         " ! glcolorconvert ! video/x-raw(memory:GLMemory),format=RGBA,texture-target=2D ! "
         "gldownload ! video/x-raw,format=RGBA ! appsink name=out sync=false";
}

// --- chroma siting -------------------------------------------------------------------------------

struct SitingRow {
  const char *site; // of the caps; nullptr: none, which is GStreamer's default up to 576 rows, jpeg
  bool is_cosited;  // with the first pixel of two
  bool is_down;     // along the column instead of the row
};
const SitingRow kSitings[] = {
    {"mpeg2", true, false},  {"mpeg2", false, true},   {"jpeg", false, false},
    {"jpeg", false, true},   {"cosited", true, false}, {"cosited", true, true},
    {nullptr, false, false}, {nullptr, false, true},
};

constexpr double kMiddle = 512; // of 10 bits
// Red along the row or the column; far from the bounds of RGB.
constexpr std::array<double, kChroma> kRed{560, 430, 480, 590, 440, 600, 450, 520};

void write_plane(const PlaneLayout &plane, int rows, int words, const auto &value_of)
{
  const auto access = CpuAccess::begin(plane.fd, DmaBufAccess::Write);
  fail_unless(static_cast<bool>(access));
  void *map =
      ::mmap(nullptr, plane.object.size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, plane.fd, 0);
  fail_unless(map != MAP_FAILED);
  for (int y = 0; y < rows; y++)
    for (int i = 0; i < words; i++) {
      const auto word = static_cast<std::uint16_t>(static_cast<unsigned>(value_of(i, y)) << 6);
      std::memcpy(static_cast<std::uint8_t *>(map) + plane.offset_bytes +
                      static_cast<std::size_t>(y) * plane.stride_bytes +
                      static_cast<std::size_t>(i) * sizeof(word),
                  &word, sizeof(word));
    }
  ::munmap(map, plane.object.size_bytes);
}

// Between the two samples around it; the edge's own beyond the edge.
double red_at(int pixel, bool is_cosited)
{
  const double place = is_cosited ? pixel / 2.0 : (pixel - 0.5) / 2;
  const double first = std::floor(place);
  const auto sample = [](double index) {
    return kRed[static_cast<std::size_t>(std::clamp(index, 0.0, kChroma - 1.0))];
  };
  return sample(first) + (place - first) * (sample(first + 1) - sample(first));
}

} // namespace

GST_START_TEST(test_chroma_siting)
{
  const SitingRow &row = kSitings[__i__];
  if (!imports_here())
    return;
  const PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, DRM_FORMAT_P010, kSize, kSize, {});
  write_plane(frame.layout().planes[0], kSize, kSize, [](int, int) { return kMiddle; });
  write_plane(frame.layout().planes[1], kChroma, kSize, [&](int i, int y) {
    return i % 2 ? kRed[static_cast<std::size_t>(row.is_down ? y : i / 2)] : kMiddle;
  });
  EglPipeline stream(drawn("", ",texture-target=2D"));
  stream.play();
  const std::string site = row.site ? std::string(",chroma-site=(string)") + row.site : "";
  const auto sample =
      stream.pass(frame, dma_drm_caps("P010", kSize, kSize, ",colorimetry=bt601" + site));
  fail_unless_equals_uint64(stream.stat("draws"), 1);
  GstVideoInfo info;
  GstVideoFrame mapped;
  fail_unless(gst_video_info_from_caps(&info, gst_sample_get_caps(sample.get())));
  fail_unless(
      gst_video_frame_map(&mapped, &info, gst_sample_get_buffer(sample.get()), GST_MAP_READ));
  const double luma = (kMiddle - 64) * 255 / 876; // ITU-R BT.601, of 10 bits
  double worst = 0;
  for (int y = 0; y < kSize; y++)
    for (int x = 0; x < kSize; x++) {
      const auto *pixel =
          static_cast<const std::uint8_t *>(GST_VIDEO_FRAME_PLANE_DATA(&mapped, 0)) +
          y * GST_VIDEO_FRAME_PLANE_STRIDE(&mapped, 0) + 4 * x;
      const double red =
          luma + 1.402 * (red_at(row.is_down ? y : x, row.is_cosited) - kMiddle) * 255 / 896;
      worst = std::max(worst, std::abs(pixel[0] - red));
    }
  gst_video_frame_unmap(&mapped);
  fail_unless(worst <= 1, "%s: %g", row.site ? row.site : "none", worst);
}
GST_END_TEST

// --- a driver that does not compile it -----------------------------------------------------------

namespace {

decltype(GstGLContextClass::get_proc_address) driver_look_up = nullptr;
PFNGLGETSHADERIVPROC driver_get_shaderiv = nullptr;
PFNGLGETSHADERSOURCEPROC driver_get_source = nullptr;

const char *refused_name = nullptr; // in the shader that is not compiled

void get_shaderiv(GLuint shader, GLenum name, GLint *value) noexcept
{
  driver_get_shaderiv(shader, name, value);
  std::array<GLchar, 4096> text{};
  driver_get_source(shader, text.size() - 1, nullptr, text.data());
  if (name == GL_COMPILE_STATUS && std::strstr(text.data(), refused_name))
    *value = GL_FALSE;
}

gpointer find_function(GstGLAPI api, const gchar *name) noexcept
{
  const gpointer found = driver_look_up(api, name);
  if (std::string_view(name) != "glGetShaderiv")
    return found;
  driver_get_shaderiv = reinterpret_cast<PFNGLGETSHADERIVPROC>(found);
  driver_get_source =
      reinterpret_cast<PFNGLGETSHADERSOURCEPROC>(driver_look_up(api, "glGetShaderSource"));
  return reinterpret_cast<gpointer>(get_shaderiv);
}

// For contexts that are made meanwhile.
class NoShader {
public:
  explicit NoShader(const char *name)
      : klass_(g_type_class_peek(g_type_from_name("GstGLContextEGL")))
  {
    refused_name = name;
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
};
const NoShaderRow kNoShader[] = {
    {"it may not copy, so the driver converts", "zero-copy=require", false},
    {"it may copy, so that no frame is lost", "", true},
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
  const NoShader driver("chroma_scale"); // of planes
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

void add_drawn(Suite *suite)
{
  TCase *tcase = add_case(suite, "drawn");
  tcase_add_loop_test(tcase, test_chroma_siting, 0, G_N_ELEMENTS(kSitings));
  tcase_add_loop_test(tcase, test_shader_not_compiled, 0, G_N_ELEMENTS(kNoShader));
  tcase_add_loop_test(tcase, test_shader_of_the_download_not_compiled, 0, G_N_ELEMENTS(kWaysOut));
}

} // namespace gstdrm::test

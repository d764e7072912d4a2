// SPDX-License-Identifier: LGPL-2.1-or-later
// The pixels that PlanesPainter draws, on the machine's own GL, also where its driver imports no
// dma-buf: an image is a copy of the plane here. Imports are tests/device/egl/egl_pipeline.cpp's.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <drm_fourcc.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/drm_facts.hpp"
#include "egl_frames.hpp"
#include "engine/gl_planes.hpp"
#include "support/egl_context.hpp"

namespace gstdrm::egl {
namespace {

using test::MemfdFrame;

// --- images that are copies ----------------------------------------------------------------------

struct Plane {
  std::uint32_t fourcc = 0;
  GLsizei width = 0, height = 0;
  int fd = -1;
  std::size_t offset = 0, stride = 0;
};

struct Texels {
  GLint internal;
  GLenum format, type;
  std::size_t bytes;
};
const std::map<std::uint32_t, Texels> kTexels{
    {DRM_FORMAT_R8, {GL_R8, GL_RED, GL_UNSIGNED_BYTE, 1}},
    {DRM_FORMAT_GR88, {GL_RG8, GL_RG, GL_UNSIGNED_BYTE, 2}},
    {DRM_FORMAT_ABGR8888, {GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, 4}},
    {DRM_FORMAT_R16, {GL_R16_EXT, GL_RED, GL_UNSIGNED_SHORT, 2}},
    {DRM_FORMAT_GR1616, {GL_RG16_EXT, GL_RG, GL_UNSIGNED_SHORT, 4}},
};

Calls machine; // its own functions
PFNGLTEXIMAGE2DPROC tex_image = nullptr;

EGLImageKHR create_image(EGLDisplay, EGLContext, EGLenum, EGLClientBuffer, const EGLint *list)
{
  auto plane = std::make_unique<Plane>();
  for (; *list != EGL_NONE; list += 2) {
    switch (list[0]) {
    case EGL_LINUX_DRM_FOURCC_EXT:
      plane->fourcc = static_cast<std::uint32_t>(list[1]);
      break;
    case EGL_WIDTH:
      plane->width = list[1];
      break;
    case EGL_HEIGHT:
      plane->height = list[1];
      break;
    case EGL_DMA_BUF_PLANE0_FD_EXT:
      plane->fd = list[1];
      break;
    case EGL_DMA_BUF_PLANE0_OFFSET_EXT:
      plane->offset = static_cast<std::size_t>(list[1]);
      break;
    case EGL_DMA_BUF_PLANE0_PITCH_EXT:
      plane->stride = static_cast<std::size_t>(list[1]);
      break;
    default:
      break;
    }
  }
  return plane.release();
}

EGLBoolean destroy_image(EGLDisplay, EGLImageKHR image)
{
  const std::unique_ptr<Plane> plane(static_cast<Plane *>(image));
  return EGL_TRUE;
}

void copy_to_texture(GLenum target, GLeglImageOES image)
{
  const auto &plane = *static_cast<const Plane *>(image);
  const Texels &texels = kTexels.at(plane.fourcc);
  const std::size_t row = static_cast<std::size_t>(plane.width) * texels.bytes;
  std::vector<std::uint8_t> copy(row * static_cast<std::size_t>(plane.height));
  for (std::size_t y = 0; y < static_cast<std::size_t>(plane.height); y++)
    EXPECT_EQ(
        ::pread(plane.fd, &copy[y * row], row, static_cast<off_t>(plane.offset + y * plane.stride)),
        static_cast<ssize_t>(row));
  machine.gl.pixel_storei(GL_UNPACK_ALIGNMENT, 1);
  tex_image(target, 0, texels.internal, plane.width, plane.height, 0, texels.format, texels.type,
            copy.data());
}

EGLBoolean list_formats(EGLDisplay, EGLint room, EGLint *formats, EGLint *count)
{
  *count = 0;
  for (const auto &[fourcc, texels] : kTexels)
    if (const EGLint i = (*count)++; i < room)
      formats[i] = static_cast<EGLint>(fourcc);
  return EGL_TRUE;
}

EGLBoolean list_linear(EGLDisplay, EGLint, EGLint room, EGLuint64KHR *modifiers,
                       EGLBoolean *external_only, EGLint *count)
{
  *count = 1;
  if (room > 0) {
    *modifiers = kModLinear;
    *external_only = EGL_FALSE;
  }
  return EGL_TRUE;
}

const char *egl_string(EGLDisplay display, EGLint name)
{
  static std::string list;
  const char *own = machine.egl.query_string(display, name);
  if (name != EGL_EXTENSIONS)
    return own;
  list = std::string(own ? own : "") + " EGL_KHR_image_base EGL_EXT_image_dma_buf_import"
                                       " EGL_EXT_image_dma_buf_import_modifiers";
  return list.c_str();
}

// No software renderer of any Mesa is asked for imports before 26.
const GLubyte *gl_string(GLenum name)
{
  return name == GL_RENDERER ? reinterpret_cast<const GLubyte *>("copies")
                             : machine.gl.get_string(name);
}

class DrawnPixels : public testing::Test {
protected:
  void SetUp() override
  {
    std::string why_not;
    context_ = test::EglContext::make({test::EglPlatform::Surfaceless, 3, ""}, why_not);
    if (!context_)
      GTEST_SKIP() << why_not;
    machine = context_->calls();
    tex_image = reinterpret_cast<PFNGLTEXIMAGE2DPROC>(context_->loader()("glTexImage2D"));
    Calls calls = machine;
    calls.egl.query_string = egl_string;
    calls.egl.create_image = create_image;
    calls.egl.destroy_image = destroy_image;
    calls.egl.query_formats = list_formats;
    calls.egl.query_modifiers = list_linear;
    calls.gl.get_string = gl_string;
    calls.gl.image_target_texture_2d = copy_to_texture;
    auto device = Device::open(calls, context_->display());
    ASSERT_TRUE(device) << device.error().message;
    device_ = *device;
    ASSERT_EQ(device_->import_refusal(), "");
  }

  // The largest difference to the equations, of 255.
  double worst(const PlanesPainter &painter, const MemfdFrame &frame,
               const struct Samples &samples);

  std::unique_ptr<test::EglContext> context_;
  std::shared_ptr<Device> device_;
};

// --- frames --------------------------------------------------------------------------------------

// Where a sample is: in which plane, the first one of a row, and from there to the next.
struct Where {
  std::size_t plane, first, step;
};

// Written down a second time, from drm_fourcc.h.
struct FormatRow {
  std::uint32_t fourcc;
  unsigned bits, shift, hsub, vsub;
  Where y, cb, cr;
};
const FormatRow kFormats[] = {
    {DRM_FORMAT_NV12, 8, 0, 2, 2, {0, 0, 1}, {1, 0, 2}, {1, 1, 2}},
    {DRM_FORMAT_NV21, 8, 0, 2, 2, {0, 0, 1}, {1, 1, 2}, {1, 0, 2}},
    {DRM_FORMAT_NV16, 8, 0, 2, 1, {0, 0, 1}, {1, 0, 2}, {1, 1, 2}},
    {DRM_FORMAT_NV61, 8, 0, 2, 1, {0, 0, 1}, {1, 1, 2}, {1, 0, 2}},
    {DRM_FORMAT_NV24, 8, 0, 1, 1, {0, 0, 1}, {1, 0, 2}, {1, 1, 2}},
    {DRM_FORMAT_NV42, 8, 0, 1, 1, {0, 0, 1}, {1, 1, 2}, {1, 0, 2}},
    {DRM_FORMAT_YUV410, 8, 0, 4, 4, {0, 0, 1}, {1, 0, 1}, {2, 0, 1}},
    {DRM_FORMAT_YVU410, 8, 0, 4, 4, {0, 0, 1}, {2, 0, 1}, {1, 0, 1}},
    {DRM_FORMAT_YUV411, 8, 0, 4, 1, {0, 0, 1}, {1, 0, 1}, {2, 0, 1}},
    {DRM_FORMAT_YVU411, 8, 0, 4, 1, {0, 0, 1}, {2, 0, 1}, {1, 0, 1}},
    {DRM_FORMAT_YUV420, 8, 0, 2, 2, {0, 0, 1}, {1, 0, 1}, {2, 0, 1}},
    {DRM_FORMAT_YVU420, 8, 0, 2, 2, {0, 0, 1}, {2, 0, 1}, {1, 0, 1}},
    {DRM_FORMAT_YUV422, 8, 0, 2, 1, {0, 0, 1}, {1, 0, 1}, {2, 0, 1}},
    {DRM_FORMAT_YVU422, 8, 0, 2, 1, {0, 0, 1}, {2, 0, 1}, {1, 0, 1}},
    {DRM_FORMAT_YUV444, 8, 0, 1, 1, {0, 0, 1}, {1, 0, 1}, {2, 0, 1}},
    {DRM_FORMAT_YVU444, 8, 0, 1, 1, {0, 0, 1}, {2, 0, 1}, {1, 0, 1}},
    {DRM_FORMAT_YUYV, 8, 0, 2, 1, {0, 0, 2}, {0, 1, 4}, {0, 3, 4}},
    {DRM_FORMAT_YVYU, 8, 0, 2, 1, {0, 0, 2}, {0, 3, 4}, {0, 1, 4}},
    {DRM_FORMAT_UYVY, 8, 0, 2, 1, {0, 1, 2}, {0, 0, 4}, {0, 2, 4}},
    {DRM_FORMAT_VYUY, 8, 0, 2, 1, {0, 1, 2}, {0, 2, 4}, {0, 0, 4}},
    {DRM_FORMAT_P010, 10, 6, 2, 2, {0, 0, 1}, {1, 0, 2}, {1, 1, 2}},
    {DRM_FORMAT_P012, 12, 4, 2, 2, {0, 0, 1}, {1, 0, 2}, {1, 1, 2}},
    {DRM_FORMAT_P016, 16, 0, 2, 2, {0, 0, 1}, {1, 0, 2}, {1, 1, 2}},
    {DRM_FORMAT_P210, 10, 6, 2, 1, {0, 0, 1}, {1, 0, 2}, {1, 1, 2}},
    {DRM_FORMAT_Q410, 10, 6, 1, 1, {0, 0, 1}, {1, 0, 1}, {2, 0, 1}},
    {DRM_FORMAT_Q401, 10, 6, 1, 1, {0, 0, 1}, {2, 0, 1}, {1, 0, 1}},
    {kFourccS010, 10, 0, 2, 2, {0, 0, 1}, {1, 0, 1}, {2, 0, 1}},
    {kFourccS416, 16, 0, 1, 1, {0, 0, 1}, {1, 0, 1}, {2, 0, 1}},
};

// Noise far from the bounds of RGB, in the grid of one component.
struct Grid {
  std::size_t width, height;
  std::vector<unsigned> values;

  Grid(std::size_t w, std::size_t h, unsigned least, unsigned most, std::mt19937 &noise)
      : width(w), height(h), values(w * h)
  {
    std::uniform_int_distribution<unsigned> any(least, most);
    for (unsigned &value : values)
      value = any(noise);
  }
  [[nodiscard]] double at(double x, double y) const
  {
    const auto inside = [](double place, std::size_t size) {
      return static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(size - 1)));
    };
    return values[inside(y, height) * width + inside(x, width)];
  }
  // Between the four samples around.
  [[nodiscard]] double between(double x, double y) const
  {
    const double left = std::floor(x);
    const double top = std::floor(y);
    const auto row = [&](double line) {
      return at(left, line) + (x - left) * (at(left + 1, line) - at(left, line));
    };
    return row(top) + (y - top) * (row(top + 1) - row(top));
  }
  void write(const FrameLayout &layout, const FormatRow &format, const Where &where) const
  {
    const PlaneLayout &plane = layout.planes[where.plane];
    const std::size_t bytes = format.bits > 8 ? 2 : 1;
    for (std::size_t y = 0; y < height; y++)
      for (std::size_t x = 0; x < width; x++) {
        const auto word = static_cast<std::uint16_t>(values[y * width + x] << format.shift);
        const std::size_t at =
            plane.offset_bytes + y * plane.stride_bytes + (where.first + x * where.step) * bytes;
        EXPECT_EQ(::pwrite(plane.fd, &word, bytes, static_cast<off_t>(at)),
                  static_cast<ssize_t>(bytes));
      }
  }
};

struct Samples {
  const FormatRow &format;
  Grid y, cb, cr;
  Samples(const FormatRow &row, std::size_t width, std::size_t height, std::mt19937 &noise)
      : format(row), y(width, height, 60U << (row.bits - 8), 190U << (row.bits - 8), noise),
        cb(chroma(row, width, height, noise)), cr(chroma(row, width, height, noise))
  {
  }
  static Grid chroma(const FormatRow &row, std::size_t width, std::size_t height,
                     std::mt19937 &noise)
  {
    return {(width + row.hsub - 1) / row.hsub, (height + row.vsub - 1) / row.vsub,
            90U << (row.bits - 8), 166U << (row.bits - 8), noise};
  }
  // 0 to 255, by the recommendations.
  [[nodiscard]] std::array<double, 3> rgb(std::size_t x, std::size_t y_at,
                                          const YuvColours &colours) const
  {
    const auto place = [](std::size_t pixel, unsigned sub, Siting siting) {
      const auto p = static_cast<double>(pixel);
      return siting == Siting::Cosited ? p / sub : (p + 0.5) / sub - 0.5;
    };
    const double cx = place(x, format.hsub, colours.horizontal);
    const double cy = place(y_at, format.vsub, colours.vertical);
    const double step = 1U << (format.bits - 8);
    const bool limited = colours.range == YuvRange::Limited;
    const double most = (1U << format.bits) - 1;
    const double luma = y.at(static_cast<double>(x), static_cast<double>(y_at));
    const double scaled = limited ? (luma - 16 * step) / (219 * step) : luma / most;
    const auto difference = [&](const Grid &grid) {
      return (grid.between(cx, cy) - 128 * step) / (limited ? 224 * step : most);
    };
    const auto &[red, blue] = colours.luma;
    const double r = scaled + 2 * (1 - red) * difference(cr);
    const double b = scaled + 2 * (1 - blue) * difference(cb);
    const double g = (scaled - red * r - blue * b) / (1 - red - blue);
    return {255 * std::clamp(r, 0.0, 1.0), 255 * std::clamp(g, 0.0, 1.0),
            255 * std::clamp(b, 0.0, 1.0)};
  }
};

std::vector<std::uint8_t> read_back(GLuint texture, std::size_t width, std::size_t height)
{
  const GlCalls &gl = machine.gl;
  std::vector<std::uint8_t> pixels(4 * width * height);
  GLuint framebuffer = 0;
  gl.gen_framebuffers(1, &framebuffer);
  gl.bind_framebuffer(GL_FRAMEBUFFER, framebuffer);
  gl.framebuffer_texture_2d(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  gl.read_pixels(0, 0, static_cast<GLsizei>(width), static_cast<GLsizei>(height), GL_RGBA,
                 GL_UNSIGNED_BYTE, pixels.data());
  gl.bind_framebuffer(GL_FRAMEBUFFER, 0);
  gl.delete_framebuffers(1, &framebuffer);
  return pixels;
}

double DrawnPixels::worst(const PlanesPainter &painter, const MemfdFrame &frame,
                          const Samples &samples)
{
  const std::size_t width = frame.layout.width;
  const std::size_t height = frame.layout.height;
  const auto planes = import_frame(device_, frame.layout, Shape::Drawn, {});
  if (!planes) {
    ADD_FAILURE() << planes.error().message;
    return 255;
  }
  GLuint into = 0;
  machine.gl.gen_textures(1, &into);
  machine.gl.bind_texture(GL_TEXTURE_2D, into);
  tex_image(GL_TEXTURE_2D, 0, GL_RGBA8, static_cast<GLsizei>(width), static_cast<GLsizei>(height),
            0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  machine.gl.bind_texture(GL_TEXTURE_2D, 0);
  double largest = 0;
  for (const auto &[luma, range] : {std::pair{kBt601Luma, YuvRange::Limited},
                                    {kBt601Luma, YuvRange::Full},
                                    {kBt709Luma, YuvRange::Limited},
                                    {kBt709Luma, YuvRange::Full}})
    for (const Siting across : {Siting::Cosited, Siting::Centred})
      for (const Siting down : {Siting::Cosited, Siting::Centred}) {
        const Result<void> drawn = painter.draw(**planes, {luma, range, across, down}, into);
        EXPECT_TRUE(drawn) << (drawn ? "" : drawn.error().message);
        const std::vector<std::uint8_t> pixels = read_back(into, width, height);
        for (std::size_t i = 0; i < width * height; i++) {
          const std::array<double, 3> expected =
              samples.rgb(i % width, i / width, {luma, range, across, down});
          for (std::size_t c = 0; c < expected.size(); c++)
            largest = std::max(largest, std::abs(pixels[4 * i + c] - expected[c]));
          largest = std::max(largest, 255.0 - pixels[4 * i + 3]);
        }
      }
  machine.gl.delete_textures(1, &into);
  return largest;
}

} // namespace

// Every format, odd sizes among them. llvmpipe weighs texels of 8 bits in steps of 8 bits, so that
// chroma of the pixels between samples is off by up to 1, which R or B have twice.
TEST_F(DrawnPixels, AreThoseOfTheEquations)
{
  constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 4> kSizes{
      {{24, 16}, {27, 15}, {1, 1}, {3, 13}}};
  std::mt19937 noise(1); // NOLINT: the same each time
  for (const FormatRow &format : kFormats) {
    const auto painter = PlanesPainter::make(device_, format.fourcc);
    ASSERT_TRUE(painter) << painter.error().message;
    for (const auto &[width, height] : kSizes) {
      const MemfdFrame frame(format.fourcc, width, height, 16);
      const Samples samples(format, width, height, noise);
      samples.y.write(frame.layout, format, format.y);
      samples.cb.write(frame.layout, format, format.cb);
      samples.cr.write(frame.layout, format, format.cr);
      const bool is_between = format.hsub > 1 || format.vsub > 1;
      EXPECT_LE(worst(**painter, frame, samples), format.bits == 8 && is_between ? 2.7 : 1)
          << fourcc_to_string(format.fourcc) << " " << width << "x" << height;
    }
  }
}

} // namespace gstdrm::egl

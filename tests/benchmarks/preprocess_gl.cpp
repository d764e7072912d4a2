// SPDX-License-Identifier: LGPL-2.1-or-later
// A 1080p NV12 frame to the 640x640 tensor N×H×W×4 of int8, q = channel - 128: by the CPU as
// metisdmabufinfer does it, and by a shader that draws from dma-buf to dma-buf. In turn in one run,
// on the display that is there. No test: it needs a driver that imports (docs/benchmarks.md).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <drm_fourcc.h>
#include <sys/mman.h>

#include <gst/drm/alloc/sealed_memfd.hpp>

#include "engine/egl_device.hpp"
#include "engine/egl_image.hpp"
#include "preprocess_engine.hpp"
#include "support/egl_context.hpp"

namespace {

using namespace gstdrm;
using bench::kHeight;
using bench::kSize;
using bench::kWidth;

constexpr int kRounds = 9;
constexpr int kFrames = 20; // in each round

template <typename T> T need(Result<T> result)
{
  if (result)
    return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(EXIT_FAILURE);
}

// A linear frame in a memfd, which software renderers take for a dma-buf.
class Buffer {
public:
  Buffer(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height, std::uint32_t stride,
         std::size_t n_planes)
      : bytes_(std::size_t{stride} * height * (n_planes == 2 ? 3 : 2) / 2),
        fd_(need(create_sealed_memfd(bytes_)))
  {
    data_ = static_cast<std::uint8_t *>(
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0));
    if (data_ == MAP_FAILED)
      std::abort();
    layout_.format = {fourcc, kModLinear};
    layout_.width = width;
    layout_.height = height;
    layout_.n_planes = n_planes;
    for (std::size_t i = 0; i < n_planes; i++)
      layout_.planes[i] = {fd_.get(), static_cast<std::uint32_t>(i * stride * height), stride,
                           need(query_object(fd_.get()))};
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  ~Buffer() { munmap(data_, bytes_); }
  [[nodiscard]] std::uint8_t *data() const { return data_; }
  [[nodiscard]] const FrameLayout &layout() const { return layout_; }

private:
  std::size_t bytes_;
  UniqueFd fd_;
  std::uint8_t *data_ = nullptr;
  FrameLayout layout_;
};

constexpr const char *kVertex = R"(attribute vec2 position;
varying vec2 at;
void main()
{
  gl_Position = vec4(position, 0.0, 1.0);
  at = position * 0.5 + 0.5;
}
)";

// BT.709, limited range. The alpha channel is the tensor's padding, its zero point.
constexpr const char *kFragment = R"(precision highp float;
varying vec2 at;
uniform sampler2D luma;
uniform sampler2D chroma;
void main()
{
  float y = (texture2D(luma, at).r - 16.0 / 255.0) * 255.0 / 219.0;
  vec2 c = (texture2D(chroma, at + vec2(0.25 / 960.0, 0.0)).rg - 128.0 / 255.0) * 255.0 / 224.0;
  vec3 rgb = vec3(y + 1.5748 * c.y, y - 0.18732 * c.x - 0.46812 * c.y, y + 1.8556 * c.x);
  vec3 level = floor(clamp(rgb, 0.0, 1.0) * 255.0 + 0.5);
  gl_FragColor = vec4(mod(level + 128.0, 256.0) / 255.0, 128.0 / 255.0);
}
)";

class Shader {
public:
  Shader(std::shared_ptr<egl::Device> device, const Buffer &from, const Buffer &to)
      : device_(std::move(device)), gl_(device_->calls().gl),
        source_(need(egl::import_frame(device_, from.layout(), egl::Shape::PerPlane, {}))),
        target_(need(egl::import_frame(device_, to.layout(), egl::Shape::OneImage, {})))
  {
    program_ = gl_.create_program();
    attach(GL_VERTEX_SHADER, kVertex);
    attach(GL_FRAGMENT_SHADER, kFragment);
    gl_.bind_attrib_location(program_, 0, "position");
    gl_.link_program(program_);
    gl_.use_program(program_);
    for (int unit = 0; unit < 2; unit++) {
      gl_.uniform_1i(gl_.get_uniform_location(program_, unit == 0 ? "luma" : "chroma"), unit);
      gl_.active_texture(GL_TEXTURE0 + static_cast<GLenum>(unit));
      gl_.bind_texture(GL_TEXTURE_2D, source_->textures[static_cast<std::size_t>(unit)].id());
      for (const GLenum side : {GL_TEXTURE_MIN_FILTER, GL_TEXTURE_MAG_FILTER})
        gl_.tex_parameteri(GL_TEXTURE_2D, side, GL_LINEAR);
      for (const GLenum side : {GL_TEXTURE_WRAP_S, GL_TEXTURE_WRAP_T})
        gl_.tex_parameteri(GL_TEXTURE_2D, side, GL_CLAMP_TO_EDGE);
    }
    gl_.gen_framebuffers(1, &framebuffer_);
    gl_.bind_framebuffer(GL_FRAMEBUFFER, framebuffer_);
    gl_.framebuffer_texture_2d(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D,
                               target_->textures[0].id(), 0);
    if (gl_.check_framebuffer_status(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
      std::abort();
    gl_.viewport(0, 0, kSize, kSize);
    static const std::array<float, 8> corners{-1, -1, 1, -1, -1, 1, 1, 1};
    gl_.gen_buffers(1, &corners_);
    gl_.bind_buffer(GL_ARRAY_BUFFER, corners_);
    gl_.buffer_data(GL_ARRAY_BUFFER, sizeof corners, corners.data(), GL_STATIC_DRAW);
    gl_.vertex_attrib_pointer(0, 2, GL_FLOAT, GL_FALSE, 0, nullptr);
    gl_.enable_vertex_attrib_array(0);
  }
  // Until the tensor is there.
  void run() const
  {
    gl_.draw_arrays(GL_TRIANGLE_STRIP, 0, 4);
    gl_.finish();
    if (gl_.get_error() != GL_NO_ERROR)
      std::abort();
  }

private:
  void attach(GLenum kind, const char *text) const
  {
    const GLuint shader = gl_.create_shader(kind);
    gl_.shader_source(shader, 1, &text, nullptr);
    gl_.compile_shader(shader);
    GLint compiled = 0;
    gl_.get_shaderiv(shader, GL_COMPILE_STATUS, &compiled);
    if (!compiled)
      std::abort();
    gl_.attach_shader(program_, shader);
    gl_.delete_shader(shader); // lives as long as the program
  }

  // All GL objects go with the context, at the end of the process.
  std::shared_ptr<egl::Device> device_;
  const egl::GlCalls &gl_;
  std::shared_ptr<const egl::ImportedFrame> source_, target_;
  GLuint program_ = 0, framebuffer_ = 0, corners_ = 0;
};

double now_us(clockid_t clock)
{
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

struct Way {
  const char *name;
  std::function<void()> run;
  std::vector<double> cpu, wall; // microseconds per frame, of each round
};

double median(std::vector<double> values)
{
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(Way &way)
{
  const double cpu = now_us(CLOCK_PROCESS_CPUTIME_ID);
  const double wall = now_us(CLOCK_MONOTONIC);
  for (int i = 0; i < kFrames; i++)
    way.run();
  way.cpu.push_back((now_us(CLOCK_PROCESS_CPUTIME_ID) - cpu) / kFrames);
  way.wall.push_back((now_us(CLOCK_MONOTONIC) - wall) / kFrames);
}

// Both do the same work.
void compare(const Buffer &a, const Buffer &b)
{
  double sum = 0;
  int largest = 0;
  constexpr std::size_t kBytes = std::size_t{kSize} * kSize * 4;
  for (std::size_t i = 0; i < kBytes; i++) {
    const int difference =
        std::abs(static_cast<std::int8_t>(a.data()[i]) - static_cast<std::int8_t>(b.data()[i]));
    sum += difference;
    largest = std::max(largest, difference);
  }
  std::printf("difference: %.3f on average, %d at most\n", sum / kBytes, largest);
  if (sum / kBytes > 2)
    std::exit(EXIT_FAILURE);
}

} // namespace

int main()
{
  setenv("LP_NUM_THREADS", "0", 0); // one core, as the CPU's way
  std::string why_not;
  const auto context = test::EglContext::make({.gles_version = 3}, why_not);
  if (!context) {
    std::fprintf(stderr, "%s\n", why_not.c_str());
    return EXIT_FAILURE;
  }
  auto device = need(egl::Device::open(context->calls(), context->display()));
  std::printf("%s\n", device->driver().describe().c_str());
  if (!device->import_refusal().empty()) {
    std::fprintf(stderr, "%s\n", device->import_refusal().c_str());
    return EXIT_FAILURE;
  }
  const Buffer frame(DRM_FORMAT_NV12, kWidth, kHeight, kWidth, 2);
  const Buffer drawn(DRM_FORMAT_ABGR8888, kSize, kSize, kSize * 4, 1);
  const Buffer computed(DRM_FORMAT_ABGR8888, kSize, kSize, kSize * 4, 1);
  bench::draw_frame(frame.data());
  const Shader shader(device, frame, drawn);
  bench::FourChannels cpu(frame.data());
  std::array<Way, 2> ways{Way{"CPU", [&] { cpu.run(computed.data()); }, {}, {}},
                          Way{"shader", [&] { shader.run(); }, {}, {}}};
  for (Way &way : ways)
    way.run();
  compare(computed, drawn);
  for (int round = 0; round < kRounds; round++)
    for (Way &way : ways)
      measure(way);
  for (const Way &way : ways)
    std::printf("%s: %.0f us of CPU, %.0f us\n", way.name, median(way.cpu), median(way.wall));
  std::printf("shader / CPU: %.2f of CPU time, %.2f of time\n",
              median(ways[1].cpu) / median(ways[0].cpu),
              median(ways[1].wall) / median(ways[0].wall));
  return EXIT_SUCCESS;
}

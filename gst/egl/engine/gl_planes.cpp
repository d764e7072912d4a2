// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gl_planes.hpp"

#include <cstddef>
#include <string>
#include <utility>

#include "egl_error.hpp"
#include "gl_program.hpp"
#include "gl_state.hpp"

namespace gstdrm::egl {
namespace {

// Both filters of the textures are linear: at its own centre a sample of luma is itself, and chroma
// is weighed between its samples.
constexpr const char *kPlaneFragmentText = R"(
IN vec2 at; // pixels
uniform SAMPLER first;
uniform SAMPLER second;
uniform vec2 plane_size;
uniform vec4 chroma_scale; // the place in the planes of chroma, 0 to 1, is at * xy + zw
uniform vec4 luma;
uniform vec4 row0;
uniform vec4 row1;
uniform vec4 row2;
uniform vec4 offset;
#ifdef PLANAR
uniform SAMPLER third;
vec4 chroma_at(vec2 place)
{
  return vec4(TEXTURE(second, place).r, TEXTURE(third, place).r, 0.0, 0.0);
}
#else
vec4 chroma_at(vec2 place)
{
  return TEXTURE(second, place);
}
#endif
void main()
{
  vec2 centre = floor(at) + 0.5;
  vec4 chroma = chroma_at(centre * chroma_scale.xy + chroma_scale.zw);
  float y = dot(luma, TEXTURE(first, centre / plane_size));
  RESULT = vec4(dot(row0, chroma) + y, dot(row1, chroma) + y, dot(row2, chroma) + y, 0.0) + offset;
}
)";

constexpr unsigned kUnits = DrawState::kMaxUnits;

} // namespace

bool can_draw_planes(Format format, const FormatSet &textures) noexcept
{
  const std::optional<Format> chroma = packed_chroma_format(format);
  return yuv_samples(format.fourcc) && (!chroma || textures.contains(*chroma));
}

bool is_drawn_exacter(std::uint32_t fourcc) noexcept
{
  const YuvSamples *samples = yuv_samples(fourcc);
  return samples && samples->bits > 8;
}

PlanesPainter::PlanesPainter(std::shared_ptr<Device> device, std::uint32_t fourcc)
    : device_(std::move(device)), fourcc_(fourcc)
{
}

PlanesPainter::~PlanesPainter()
{
  const GlCalls &gl = device_->calls().gl;
  if (framebuffer_)
    gl.delete_framebuffers(1, &framebuffer_);
}

Result<std::unique_ptr<PlanesPainter>> PlanesPainter::make(const std::shared_ptr<Device> &device,
                                                           std::uint32_t fourcc)
{
  std::unique_ptr<PlanesPainter> painter(new PlanesPainter(device, fourcc));
  auto triangle = Triangle::make(device);
  if (!triangle)
    return triangle.error();
  painter->triangle_ = std::move(*triangle);
  const bool is_planar = fourcc_info(fourcc)->n_planes == 3;
  auto program = Program::make(device, Target::Texture2D,
                               {kPlaneFragmentText, is_planar ? "#define PLANAR\n" : ""});
  if (!program)
    return program.error();
  painter->program_ = std::move(*program);
  device->calls().gl.gen_framebuffers(1, &painter->framebuffer_);
  if (painter->framebuffer_ == 0)
    return Error{ErrorCode::Device, device->driver().describe() + " makes no framebuffer: " +
                                        gl_error_name(device->calls().gl.get_error()) +
                                        kUpdateDriver};
  return painter;
}

void PlanesPainter::set_uniforms(const ImportedFrame &planes, const YuvColours &colours) const
{
  program_->set("first", 0);
  program_->set("second", 1);
  program_->set("third", 2);
  const Texture &luma = planes.textures[0];
  const Texture &chroma = planes.textures[1];
  program_->set("plane_size",
                std::array{static_cast<float>(luma.width()), static_cast<float>(luma.height())});
  const FourccInfo &info = *fourcc_info(fourcc_);
  const bool is_packed = info.n_planes == 1;
  const unsigned hsub = is_packed ? info.planes[0].block_width : info.planes[1].hsub;
  const unsigned vsub = is_packed ? info.planes[0].block_height : info.planes[1].vsub;
  const auto width = static_cast<float>(chroma.width());
  const auto height = static_cast<float>(chroma.height());
  program_->set("chroma_scale", std::array{1 / (static_cast<float>(hsub) * width),
                                           1 / (static_cast<float>(vsub) * height),
                                           chroma_shift(colours.horizontal, hsub) / width,
                                           chroma_shift(colours.vertical, vsub) / height});
  const RgbRows rgb = rgb_rows(colours, *yuv_samples(fourcc_));
  program_->set("luma", rgb.luma);
  program_->set("row0", rgb.rows[0]);
  program_->set("row1", rgb.rows[1]);
  program_->set("row2", rgb.rows[2]);
  program_->set("offset", std::array{rgb.offset[0], rgb.offset[1], rgb.offset[2], 1.0F});
}

void PlanesPainter::bind_planes(const ImportedFrame &planes) const
{
  const GlCalls &gl = device_->calls().gl;
  for (unsigned unit = kUnits; unit-- > 0;) {
    gl.active_texture(GL_TEXTURE0 + unit);
    gl.bind_texture(GL_TEXTURE_2D, unit < planes.textures.size() ? planes.textures[unit].id() : 0);
  }
}

Result<void> PlanesPainter::draw(const ImportedFrame &planes, const YuvColours &colours,
                                 GLuint into) const
{
  const GlCalls &gl = device_->calls().gl;
  const Texture &luma = planes.textures[0];
  drain_errors(gl); // those of whoever used the context before
  {
    const DrawState state(*device_, *triangle_, kUnits);
    bind_planes(planes);
    gl.bind_framebuffer(GL_FRAMEBUFFER, framebuffer_);
    gl.framebuffer_texture_2d(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, into, 0);
    state.set_viewport(luma.width(), luma.height());
    program_->use();
    set_uniforms(planes, colours);
    gl.draw_arrays(GL_TRIANGLES, 0, 3);
    // a texture that is deleted would live on in the framebuffer
    gl.framebuffer_texture_2d(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, 0, 0);
    for (unsigned unit = kUnits; unit-- > 0;) {
      gl.active_texture(GL_TEXTURE0 + unit);
      gl.bind_texture(GL_TEXTURE_2D, 0);
    }
  }
  if (const GLenum error = gl.get_error(); error != GL_NO_ERROR) {
    device_->note_error(error);
    return Error{ErrorCode::Device, device_->driver().describe() + " did not draw the planes of " +
                                        fourcc_to_string(fourcc_) +
                                        " as RGBA: " + gl_error_name(error) + kUpdateDriver};
  }
  return {};
}

} // namespace gstdrm::egl

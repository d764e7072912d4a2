// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gl_draw.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include <drm_fourcc.h>

#include <gst/drm/core/log.hpp>

#include "egl_error.hpp"
#include "gl_program.hpp"
#include "gl_state.hpp"

namespace gstdrm::egl {
namespace {

constexpr std::array<std::uint32_t, 14> kYuvFourccs{
    DRM_FORMAT_NV12,   DRM_FORMAT_NV21,   DRM_FORMAT_NV16,   DRM_FORMAT_NV61,   DRM_FORMAT_NV24,
    DRM_FORMAT_NV42,   DRM_FORMAT_P010,   DRM_FORMAT_P012,   DRM_FORMAT_P016,   DRM_FORMAT_YUV420,
    DRM_FORMAT_YVU420, DRM_FORMAT_YUV422, DRM_FORMAT_YUV444, DRM_FORMAT_YVU444,
};

// Colours whose components GL renders as they are.
constexpr std::array<std::uint32_t, 13> kRgbFourccs{
    DRM_FORMAT_XRGB8888,    DRM_FORMAT_ARGB8888,    DRM_FORMAT_XBGR8888,    DRM_FORMAT_ABGR8888,
    DRM_FORMAT_RGBX8888,    DRM_FORMAT_RGBA8888,    DRM_FORMAT_BGRX8888,    DRM_FORMAT_BGRA8888,
    DRM_FORMAT_RGB565,      DRM_FORMAT_XRGB2101010, DRM_FORMAT_ARGB2101010, DRM_FORMAT_XBGR2101010,
    DRM_FORMAT_ABGR2101010,
};

// nullptr if it is not drawn as YUV.
const YuvSamples *yuv_format(std::uint32_t fourcc) noexcept
{
  return std::ranges::find(kYuvFourccs, fourcc) == kYuvFourccs.end() ? nullptr
                                                                     : yuv_samples(fourcc);
}

bool is_rgb(std::uint32_t fourcc) noexcept
{
  return std::find(kRgbFourccs.begin(), kRgbFourccs.end(), fourcc) != kRgbFourccs.end();
}

// A modifier with auxiliary planes (compression) describes the frame as a whole, and its planes
// alone mean nothing.
bool has_drawable_planes(const FormatSet &images, Format format)
{
  return memory_plane_count(format) == fourcc_info(format.fourcc)->n_planes &&
         has_all_planes(images, format);
}

std::string framebuffer_status(GLenum status)
{
  switch (status) {
  case GL_FRAMEBUFFER_INCOMPLETE_ATTACHMENT:
    return "GL_FRAMEBUFFER_INCOMPLETE_ATTACHMENT: it cannot be rendered into";
  case GL_FRAMEBUFFER_UNSUPPORTED:
    return "GL_FRAMEBUFFER_UNSUPPORTED: the driver renders into no such image";
  case 0:
    return "glCheckFramebufferStatus() failed";
  default:
    return "framebuffer status " + std::to_string(status);
  }
}

// --- the program ---------------------------------------------------------------------------------

// The position comes as a varying, not as gl_FragCoord, which has 10 bits only where the GLSL of ES
// 2 is taken at its word.
constexpr const char *kFragmentText = R"(
IN vec2 at;
uniform SAMPLER picture;
uniform vec2 picture_size;
uniform vec2 subsampling;
uniform vec2 lines; // y of the texture = lines.x * y of the picture + lines.y
uniform vec4 row0;
uniform vec4 row1;
uniform vec4 row2;
uniform vec4 row3;
uniform vec4 offset;
uniform vec2 steps; // the size of one, and how many there are; or (0, 0)
vec4 pixel(vec2 centre)
{
  vec2 inside = clamp(centre, vec2(0.5), picture_size - 0.5);
  inside.y = inside.y * lines.x + lines.y;
  return TEXTURE(picture, inside / picture_size);
}
#ifdef NINE_TAPS
uniform vec4 across;
uniform vec4 down;
vec4 line_of_pixels(vec2 centre)
{
  return across.x * pixel(centre - vec2(1.0, 0.0)) + across.y * pixel(centre) +
         across.z * pixel(centre + vec2(1.0, 0.0));
}
vec4 sampled(vec2 centre)
{
  return down.x * line_of_pixels(centre - vec2(0.0, 1.0)) + down.y * line_of_pixels(centre) +
         down.z * line_of_pixels(centre + vec2(0.0, 1.0));
}
#else
vec4 sampled(vec2 centre)
{
  return pixel(centre);
}
#endif
void main()
{
  vec4 texel = sampled(floor(at) * subsampling + 0.5);
  vec4 made = vec4(dot(row0, texel), dot(row1, texel), dot(row2, texel), dot(row3, texel)) + offset;
  if (steps.x > 0.0)
    made = floor(made * steps.y + 0.5) * steps.x;
  RESULT = made;
}
)";

// --- uniforms ------------------------------------------------------------------------------------

// Each component of a sample is rows[i] · texel + offset[i].
struct PlaneUniforms {
  std::array<float, 2> subsampling{1, 1}; // pixels of the picture for each sample
  std::array<std::array<float, 4>, 4> rows{};
  std::array<float, 4> offset{};
  float step = 0;                       // samples are rounded to multiples of it; 0: they are not
  std::array<float, 3> across{0, 1, 0}; // NINE_TAPS: the weights of the pixels -1, 0, +1
  std::array<float, 3> down{0, 1, 0};
};

void fill_rgb(PlaneUniforms &uniforms, const Picture &picture)
{
  for (std::size_t i = 0; i < 4; i++) {
    const std::uint8_t from = picture.order[i];
    if (from < 4)
      uniforms.rows[i][from] = 1;
    else
      uniforms.offset[i] = 1;
  }
}

void fill_component(PlaneUniforms &uniforms, std::size_t index, const YuvRow &row,
                    const Picture &picture)
{
  for (std::size_t i = 0; i < 3; i++)
    if (picture.order[i] < 4)
      uniforms.rows[index][picture.order[i]] = row[i];
  uniforms.offset[index] = row[3];
}

void fill_yuv(PlaneUniforms &uniforms, const YuvSamples &samples, std::size_t plane,
              const YuvConversion &conversion, const Picture &picture)
{
  const SampleDepth depth{samples.bits, samples.bits > 8 ? 16U : 8U};
  const YuvRows rows = yuv_rows(conversion.matrix, conversion.range, depth);
  const FourccInfo &fourcc = *fourcc_info(samples.fourcc);
  if (plane == 0) {
    fill_component(uniforms, 0, rows.y, picture);
  } else if (fourcc.n_planes == 3) {
    fill_component(uniforms, 0, plane == samples.cb + 1U ? rows.cb : rows.cr, picture);
  } else {
    fill_component(uniforms, samples.cb, rows.cb, picture);
    fill_component(uniforms, samples.cr, rows.cr, picture);
  }
  uniforms.step = rows.step;
  const PlaneInfo &info = fourcc.planes[plane];
  uniforms.subsampling = {static_cast<float>(info.hsub), static_cast<float>(info.vsub)};
  uniforms.across = chroma_weights(conversion.horizontal, info.hsub);
  uniforms.down = chroma_weights(conversion.vertical, info.vsub);
}

void set_uniforms(const Program &program, const PlaneUniforms &uniforms)
{
  const auto &[subsampling, rows, offset, step, across, down] = uniforms;
  program.set("subsampling", subsampling);
  program.set("row0", rows[0]);
  program.set("row1", rows[1]);
  program.set("row2", rows[2]);
  program.set("row3", rows[3]);
  program.set("offset", offset);
  program.set("steps", step > 0 ? std::array{step, 1.0F / step} : std::array{0.0F, 0.0F});
  program.set("across", std::array{across[0], across[1], across[2], 0.0F});
  program.set("down", std::array{down[0], down[1], down[2], 0.0F});
}

} // namespace

FormatSet drawable_formats(const DisplayFormats &formats)
{
  const FormatSet &images = formats.texture_2d;
  std::vector<Format> drawable;
  for (const Format format : images.pairs())
    if (is_rgb(format.fourcc))
      drawable.push_back(format);
  // A YUV pair need not be listed itself, as only its planes are imported.
  for (const std::uint32_t fourcc : kYuvFourccs)
    for (const Format plane : images.pairs())
      if (const Format format{fourcc, plane.modifier};
          plane.fourcc == DRM_FORMAT_R8 || plane.fourcc == DRM_FORMAT_R16)
        if (has_drawable_planes(images, format))
          drawable.push_back(format);
  return FormatSet::from_pairs(std::move(drawable));
}

// --- DrawTarget ----------------------------------------------------------------------------------

namespace {

// llvmpipe reads and writes its targets in blocks of 4x4 pixels, those at the edges too, and takes
// the rows of pixels of 4 bytes and more to begin at multiples of 16 bytes. It asks nobody: Mesa
// 26.1 ends the process with SIGSEGV where rows of 264 bytes are drawn.
Result<void> check_blocks(const Driver &driver, const FrameLayout &layout)
{
  constexpr std::uint64_t kBlock = 4;
  constexpr std::uint64_t kRowAlign = 16;
  if (!driver.is_software)
    return {};
  const PlaneLayout &plane = layout.planes[0];
  const std::uint64_t pixel = fourcc_info(layout.format.fourcc)->planes[0].block_bytes;
  const bool is_aligned =
      plane.stride_bytes % kRowAlign == 0 && plane.offset_bytes % kRowAlign == 0;
  if (pixel >= 4 && !is_aligned)
    return Error{ErrorCode::Unsupported,
                 driver.describe() + " cannot draw into " + describe_layout(layout) +
                     ": its rows do not begin at multiples of 16 bytes",
                 0};
  const std::uint64_t rows = (layout.height + kBlock - 1) / kBlock * kBlock;
  const std::uint64_t columns = (layout.width + kBlock - 1) / kBlock * kBlock;
  const std::uint64_t end = plane.offset_bytes + (rows - 1) * plane.stride_bytes + columns * pixel;
  if (end > plane.object.size_bytes)
    return Error{ErrorCode::Unsupported,
                 driver.describe() + " cannot draw into " + describe_layout(layout) +
                     ": it writes blocks of 4x4 pixels, and " + std::to_string(end) +
                     " bytes are more than there are",
                 0};
  return {};
}

} // namespace

Result<std::shared_ptr<DrawTarget>> DrawTarget::import(const std::shared_ptr<Device> &device,
                                                       const FrameLayout &layout)
{
  const YuvSamples *yuv = yuv_format(layout.format.fourcc);
  if (!yuv && !is_rgb(layout.format.fourcc))
    return Error{ErrorCode::Unsupported,
                 describe_format(layout.format) + " is no format that GL draws into here"};
  std::shared_ptr<DrawTarget> target(new DrawTarget(device, layout));
  target->planes_.reserve(kMaxPlanes);
  const StateKeeper state(device->calls().gl);
  using Planes = std::array<FrameLayout, kMaxPlanes>;
  const Result<Planes> planes = yuv ? split_planes(layout) : Result<Planes>(Planes{{layout}});
  if (!planes)
    return planes.error();
  for (std::size_t i = 0; i < (yuv ? layout.n_planes : 1); i++) {
    if (auto checked = device->check_frame((*planes)[i]); !checked)
      return checked.error();
    if (auto added = target->add_plane((*planes)[i]); !added)
      return added.error();
  }
  return target;
}

Result<void> DrawTarget::add_plane(const FrameLayout &layout)
{
  if (auto checked = check_blocks(device_->driver(), layout); !checked)
    return checked;
  auto texture = Texture::import(*device_, layout, Target::Texture2D, {});
  if (!texture)
    return texture.error();
  const GlCalls &gl = device_->calls().gl;
  GLuint &framebuffer = framebuffers_[planes_.size()];
  planes_.push_back(std::move(*texture));
  drain_errors(gl);
  gl.gen_framebuffers(1, &framebuffer);
  gl.bind_framebuffer(GL_FRAMEBUFFER, framebuffer);
  gl.framebuffer_texture_2d(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D,
                            planes_.back().id(), 0);
  const GLenum error = gl.get_error();
  device_->note_error(error);
  const GLenum status = gl.check_framebuffer_status(GL_FRAMEBUFFER);
  if (framebuffer != 0 && error == GL_NO_ERROR && status == GL_FRAMEBUFFER_COMPLETE)
    return {};
  return Error{ErrorCode::Unsupported,
               device_->driver().describe() + " cannot draw into " + describe_layout(layout) +
                   ": " +
                   (error != GL_NO_ERROR ? gl_error_name(error) : framebuffer_status(status)),
               0};
}

DrawTarget::~DrawTarget()
{
  const auto count = static_cast<GLsizei>(planes_.size());
  if (count > 0)
    device_->calls().gl.delete_framebuffers(count, framebuffers_.data());
}

// --- Painter -------------------------------------------------------------------------------------

namespace {

// glBlitFramebuffer(): drivers copy the bytes where both have one format, which costs less than a
// draw that samples each pixel. What the copy changes of GL's state is put back.
class Blitter {
public:
  explicit Blitter(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  Blitter(const Blitter &) = delete;
  Blitter &operator=(const Blitter &) = delete;
  ~Blitter();

  // A texture of GL_TEXTURE_2D into a framebuffer of the same size. false, and nothing done, where
  // the driver does not; it is not asked again then.
  [[nodiscard]] bool copy(GLuint texture, GLuint framebuffer, std::uint32_t width,
                          std::uint32_t height);

private:
  std::shared_ptr<Device> device_;
  GLuint source_ = 0; // the framebuffer that the texture becomes for a copy
  bool refused_ = false;
};

Blitter::~Blitter()
{
  if (source_ != 0)
    device_->calls().gl.delete_framebuffers(1, &source_);
}

bool Blitter::copy(GLuint texture, GLuint framebuffer, std::uint32_t width, std::uint32_t height)
{
  const GlCalls &gl = device_->calls().gl;
  if (refused_ || !gl.blit_framebuffer)
    return false;
  const StateKeeper state(gl);
  // A blit stays within the scissor box (OpenGL ES 3.0, 4.3.3). By the specification nothing else
  // changes its pixels, but NVIDIA's driver draws it, and drops it with GL_RASTERIZER_DISCARD (read
  // on 580.159.04).
  constexpr std::array<GLenum, 2> kSwitches{GL_SCISSOR_TEST, GL_RASTERIZER_DISCARD};
  const SwitchesOff whole(*device_, kSwitches);
  if (source_ == 0)
    gl.gen_framebuffers(1, &source_);
  if (source_ == 0) { // the framebuffer of the window would be copied
    refused_ = true;
    drain_errors(gl);
    return false;
  }
  gl.bind_framebuffer(GL_DRAW_FRAMEBUFFER, framebuffer);
  gl.bind_framebuffer(GL_READ_FRAMEBUFFER, source_);
  gl.framebuffer_texture_2d(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  const auto right = static_cast<GLint>(width);
  const auto top = static_cast<GLint>(height);
  gl.blit_framebuffer(0, 0, right, top, 0, 0, right, top, GL_COLOR_BUFFER_BIT, GL_NEAREST);
  const GLenum error = gl.get_error();
  device_->note_error(error);
  // the texture is somebody else's, and ends when its owner lets go of it
  gl.framebuffer_texture_2d(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, 0, 0);
  refused_ = error != GL_NO_ERROR;
  if (refused_)
    GSTDRM_DEBUG("%s, does not blit: %s", device_->driver().describe().c_str(),
                 gl_error_name(error).c_str());
  drain_errors(gl);
  return !refused_;
}

// Whether a frame of RGB has the texture's own bytes.
bool is_as_it_is(const Picture &picture)
{
  return !picture.flip && picture.target == Target::Texture2D && picture.order == Picture().order;
}

bool is_subsampled(const PlaneInfo &plane)
{
  return plane.hsub > 1 || plane.vsub > 1;
}

} // namespace

struct Painter::Programs {
  explicit Programs(const std::shared_ptr<Device> &device) : blitter(device) {}
  Blitter blitter;
  std::unique_ptr<Triangle> triangle;
  // On demand, by Target, and by whether one sample is made of nine pixels of the picture.
  std::array<std::array<std::unique_ptr<Program>, 2>, 2> made;
};

Painter::Painter(std::shared_ptr<Device> device)
    : device_(std::move(device)), programs_(std::make_unique<Programs>(device_))
{
}

Painter::~Painter() = default;

Result<std::unique_ptr<Painter>> Painter::make(const std::shared_ptr<Device> &device)
{
  auto triangle = Triangle::make(device);
  if (!triangle)
    return triangle.error();
  std::unique_ptr<Painter> painter(new Painter(device));
  painter->programs_->triangle = std::move(*triangle);
  return painter;
}

Result<const Program *> Painter::program_of(Target target, bool subsampled)
{
  auto &program = programs_->made[target == Target::External][subsampled];
  if (!program) {
    auto made =
        Program::make(device_, target, {kFragmentText, subsampled ? "#define NINE_TAPS\n" : ""});
    if (!made)
      return made.error();
    program = std::move(*made);
  }
  return program.get();
}

Result<void> Painter::prepare(const Picture &picture, std::uint32_t fourcc)
{
  const YuvSamples *yuv = yuv_format(fourcc);
  if (!yuv && is_as_it_is(picture))
    return {};
  const FourccInfo &info = *fourcc_info(fourcc);
  Result<void> prepared;
  for (std::size_t i = 0; i < (yuv ? info.n_planes : 1) && prepared; i++)
    if (auto program = program_of(picture.target, is_subsampled(info.planes[i])); !program)
      prepared = program.error();
  return prepared;
}

Result<void> Painter::draw(const Picture &picture, const DrawTarget &into,
                           const YuvConversion &conversion)
{
  const GlCalls &gl = device_->calls().gl;
  const YuvSamples *yuv = yuv_format(into.format_.fourcc);
  const GLenum target = gl_target(picture.target);
  drain_errors(gl); // those of whoever used the context before
  if (!yuv && is_as_it_is(picture) &&
      programs_->blitter.copy(picture.texture, into.framebuffers_[0], into.width_, into.height_))
    return {};
  const DrawState state(*device_, *programs_->triangle);
  gl.active_texture(GL_TEXTURE0);
  gl.bind_texture(target, picture.texture);
  const auto height = static_cast<float>(into.height_);
  Result<void> drawn;
  for (std::size_t i = 0; i < into.planes_.size() && drawn; i++) {
    const Texture &plane = into.planes_[i];
    PlaneUniforms uniforms;
    if (yuv)
      fill_yuv(uniforms, *yuv, i, conversion, picture);
    else
      fill_rgb(uniforms, picture);
    const bool subsampled = uniforms.subsampling[0] > 1 || uniforms.subsampling[1] > 1;
    const auto program = program_of(picture.target, subsampled);
    if (!program) {
      drawn = program.error();
      break;
    }
    gl.bind_framebuffer(GL_FRAMEBUFFER, into.framebuffers_[i]);
    state.set_viewport(plane.width(), plane.height());
    (*program)->use();
    (*program)->set("picture", 0);
    (*program)->set("plane_size", std::array{static_cast<float>(plane.width()),
                                             static_cast<float>(plane.height())});
    (*program)->set("picture_size", std::array{static_cast<float>(into.width_), height});
    (*program)->set("lines", picture.flip ? std::array{-1.0F, height} : std::array{1.0F, 0.0F});
    set_uniforms(**program, uniforms);
    gl.draw_arrays(GL_TRIANGLES, 0, 3);
  }
  gl.bind_texture(target, 0);
  if (!drawn)
    return drawn;
  if (const GLenum error = gl.get_error(); error != GL_NO_ERROR) {
    device_->note_error(error);
    return Error{ErrorCode::Device, device_->driver().describe() + " did not draw into " +
                                        describe_format(into.format_) + ": " +
                                        gl_error_name(error) + kUpdateDriver};
  }
  return {};
}

} // namespace gstdrm::egl

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "egl_image.hpp"

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include <drm_fourcc.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/log.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "egl_error.hpp"
#include "gl_state.hpp"

namespace gstdrm::egl {
namespace {

// EGL_DMA_BUF_PLANEi_*. The first three planes are of EGL_EXT_image_dma_buf_import, the fourth and
// the modifiers of EGL_EXT_image_dma_buf_import_modifiers.
struct PlaneNames {
  EGLint fd, offset, pitch, modifier_low, modifier_high;
};
constexpr std::array<PlaneNames, kMaxPlanes> kPlaneNames = {{
    {EGL_DMA_BUF_PLANE0_FD_EXT, EGL_DMA_BUF_PLANE0_OFFSET_EXT, EGL_DMA_BUF_PLANE0_PITCH_EXT,
     EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT, EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT},
    {EGL_DMA_BUF_PLANE1_FD_EXT, EGL_DMA_BUF_PLANE1_OFFSET_EXT, EGL_DMA_BUF_PLANE1_PITCH_EXT,
     EGL_DMA_BUF_PLANE1_MODIFIER_LO_EXT, EGL_DMA_BUF_PLANE1_MODIFIER_HI_EXT},
    {EGL_DMA_BUF_PLANE2_FD_EXT, EGL_DMA_BUF_PLANE2_OFFSET_EXT, EGL_DMA_BUF_PLANE2_PITCH_EXT,
     EGL_DMA_BUF_PLANE2_MODIFIER_LO_EXT, EGL_DMA_BUF_PLANE2_MODIFIER_HI_EXT},
    {EGL_DMA_BUF_PLANE3_FD_EXT, EGL_DMA_BUF_PLANE3_OFFSET_EXT, EGL_DMA_BUF_PLANE3_PITCH_EXT,
     EGL_DMA_BUF_PLANE3_MODIFIER_LO_EXT, EGL_DMA_BUF_PLANE3_MODIFIER_HI_EXT},
}};

// The attribute list of eglCreateImageKHR().
std::vector<EGLint> attributes_of(const FrameLayout &layout, std::uint64_t modifier,
                                  const ColorHints &hints)
{
  std::vector<EGLint> list;
  const auto add = [&list](EGLint name, std::uint64_t value) {
    list.push_back(name);
    list.push_back(static_cast<EGLint>(value));
  };
  add(EGL_WIDTH, layout.width);
  add(EGL_HEIGHT, layout.height);
  add(EGL_LINUX_DRM_FOURCC_EXT, layout.format.fourcc);
  for (std::size_t i = 0; i < layout.n_planes; ++i) {
    const PlaneNames &names = kPlaneNames[i];
    const PlaneLayout &plane = layout.planes[i];
    add(names.fd, static_cast<std::uint64_t>(plane.fd));
    add(names.offset, plane.offset_bytes);
    add(names.pitch, plane.stride_bytes);
    if (modifier == kModImplicit)
      continue;
    add(names.modifier_low, modifier & 0xffffffff);
    add(names.modifier_high, modifier >> 32);
  }
  if (fourcc_is_yuv(layout.format.fourcc))
    for (const auto &[name, hint] :
         {std::pair(EGL_YUV_COLOR_SPACE_HINT_EXT, hints.space),
          std::pair(EGL_SAMPLE_RANGE_HINT_EXT, hints.range),
          std::pair(EGL_YUV_CHROMA_HORIZONTAL_SITING_HINT_EXT, hints.siting_horizontal),
          std::pair(EGL_YUV_CHROMA_VERTICAL_SITING_HINT_EXT, hints.siting_vertical)})
      if (hint != 0) // else it is not given
        add(name, static_cast<std::uint64_t>(hint));
  list.push_back(EGL_NONE);
  return list;
}

Error failed(const Device &device, const FrameLayout &layout, const std::string &why)
{
  Error error{
      ErrorCode::Import,
      device.driver().describe() + ", does not import " + describe_layout(layout) + ": " + why, 0};
  GSTDRM_DEBUG("%s", error.message.c_str());
  return error;
}

// The errno of a process, or a system, that has no descriptor left; 0: there is one.
int lacks_descriptor(int fd) noexcept
{
  const UniqueFd one(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  return !one && (errno == EMFILE || errno == ENFILE) ? errno : 0;
}

// What a process lacks is over sooner or later: such a refusal says nothing of the frame.
Error lacking(const Device &device, const FrameLayout &layout, const std::string &what, int why)
{
  Error error{
      ErrorCode::Allocation,
      device.driver().describe() + ", cannot import " + describe_layout(layout) + ": " + what, why};
  GSTDRM_DEBUG("%s", error.message.c_str());
  return error;
}

// Mesa's software renderers map each plane's dma-buf, and crash where the process may not map that
// much (Mesa 26.1, in dri2_from_dma_bufs(); ulimit -v). So as many addresses are asked for first,
// with some room for their own tables.
Result<void> check_mappable(const Device &device, const FrameLayout &layout)
{
  if (!device.driver().is_software)
    return {};
  std::uint64_t bytes = 1 << 20; // of the tables
  for (std::size_t i = 0; i < layout.n_planes; ++i)
    bytes += layout.planes[i].object.size_bytes;
  void *const at = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED && errno == ENOMEM)
    return lacking(device, layout,
                   "the process may not map as much memory (" + errno_text(ENOMEM) + ")", ENOMEM);
  if (at != MAP_FAILED)
    ::munmap(at, bytes);
  return {};
}

std::string egl_words(const Device &device, const char *call, EGLint error)
{
  device.note_error(static_cast<unsigned>(error));
  const char *meaning = import_error_meaning(error);
  return std::string(call) + "() says " + egl_error_name(error) +
         (*meaning ? std::string(", ") + meaning : "");
}

std::string gl_words(const Device &device, const char *call, GLenum error)
{
  device.note_error(error);
  return std::string(call) + "() says " + gl_error_name(error);
}

GLenum binding_of(Target target) noexcept
{
  return target == Target::External ? GL_TEXTURE_BINDING_EXTERNAL_OES : GL_TEXTURE_BINDING_2D;
}

// Binds a texture to the unit that is active, and what was bound there again in the destructor.
class BoundTexture {
public:
  BoundTexture(const GlCalls &gl, Target target, GLuint id) : gl_(gl), target_(target)
  {
    gl_.get_integerv(binding_of(target_), &before_);
    gl_.bind_texture(gl_target(target_), id);
  }
  BoundTexture(const BoundTexture &) = delete;
  BoundTexture &operator=(const BoundTexture &) = delete;
  ~BoundTexture() { gl_.bind_texture(gl_target(target_), static_cast<GLuint>(before_)); }

private:
  const GlCalls &gl_;
  Target target_;
  GLint before_ = 0;
};

// The image becomes the texture's. Empty, or which call failed and how.
std::string give_image(const Device &device, Target target, GLuint id, EGLImageKHR image)
{
  const GlCalls &gl = device.calls().gl;
  const GLenum name = gl_target(target);
  drain_errors(gl); // those of whoever used the context before
  const BoundTexture bound(gl, target, id);
  gl.image_target_texture_2d(name, image);
  if (const GLenum error = gl.get_error(); error != GL_NO_ERROR)
    return gl_words(device, "glEGLImageTargetTexture2DOES", error);
  // An external texture has no others (GL_OES_EGL_image_external), a 2D one would want mipmaps.
  gl.tex_parameteri(name, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
  gl.tex_parameteri(name, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
  gl.tex_parameteri(name, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  gl.tex_parameteri(name, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  if (const GLenum error = gl.get_error(); error != GL_NO_ERROR)
    return gl_words(device, "glTexParameteri", error);
  return {};
}

Result<Texture> import_checked(const Device &device, const FrameLayout &layout,
                               const ColorHints &hints, Target wanted)
{
  if (Result<void> frame = device.check_frame(layout); !frame)
    return frame.error();
  const std::optional<Target> target = target_of(device, layout.format);
  if (!target)
    return Error{ErrorCode::Unsupported,
                 device.driver().describe() + ", takes " + describe_format(layout.format) +
                     " as an external texture alone, which its version of GL does not have",
                 0};
  return Texture::import(device, layout, wanted == Target::External ? wanted : *target, hints);
}

// A tile of packed pixels need not be one of those that the bytes would be.
bool is_linear(Format format) noexcept
{
  return format.modifier == kModLinear || format.modifier == kModImplicit;
}

// Two pixels with 8 bits for each sample.
bool is_packed_422(Format format) noexcept
{
  return is_linear(format) &&
         (format.fourcc == DRM_FORMAT_YUYV || format.fourcc == DRM_FORMAT_YVYU ||
          format.fourcc == DRM_FORMAT_UYVY || format.fourcc == DRM_FORMAT_VYUY);
}

// RGB whose bits are those of one pixel of packed YUV, in which GStreamer's shaders look for its
// samples; of 4:2:2 one luma sample and one of chroma. 0: none.
std::uint32_t pixel_of_packed(Format format) noexcept
{
  if (!is_linear(format))
    return 0;
  if (is_packed_422(format))
    return DRM_FORMAT_GR88;
  switch (format.fourcc) {
  case DRM_FORMAT_Y210:
  case DRM_FORMAT_Y212:
  case DRM_FORMAT_Y216:
    return DRM_FORMAT_GR1616;
  case DRM_FORMAT_AYUV:
    return DRM_FORMAT_ABGR8888;
  case DRM_FORMAT_Y410:
    return DRM_FORMAT_ABGR2101010;
  case DRM_FORMAT_Y412:
  case DRM_FORMAT_Y416:
    return DRM_FORMAT_ABGR16161616;
  default:
    return 0;
  }
}

} // namespace

GLenum gl_target(Target target) noexcept
{
  return target == Target::External ? GL_TEXTURE_EXTERNAL_OES : GL_TEXTURE_2D;
}

std::optional<Format> plane_format(Format format, std::size_t index) noexcept
{
  const FourccInfo *info = fourcc_info(format.fourcc);
  if (!info || (format.fourcc & kFourccBigEndian) != 0 || index >= info->n_planes)
    return {};
  const bool is_plain = format.fourcc == DRM_FORMAT_R8 || format.fourcc == DRM_FORMAT_GR88 ||
                        format.fourcc == DRM_FORMAT_R16 || format.fourcc == DRM_FORMAT_GR1616;
  if (is_plain)
    return format;
  if (const std::uint32_t pixel = pixel_of_packed(format))
    return Format{pixel, format.modifier};
  if (!info->is_yuv || info->n_planes < 2)
    return {};
  const PlaneInfo &plane = info->planes[index];
  if (plane.block_width != 1 || plane.block_height != 1)
    return {};
  // the only plane of chroma has both samples of a pixel side by side
  const unsigned samples = info->n_planes == 2 && index == 1 ? 2 : 1;
  const unsigned sample_bytes = plane.block_bytes / samples;
  if (sample_bytes * samples != plane.block_bytes || sample_bytes < 1 || sample_bytes > 2)
    return {};
  const bool is_wide = sample_bytes == 2;
  if (samples == 2)
    return Format{is_wide ? DRM_FORMAT_GR1616 : DRM_FORMAT_GR88, format.modifier};
  return Format{is_wide ? DRM_FORMAT_R16 : DRM_FORMAT_R8, format.modifier};
}

bool has_all_planes(const FormatSet &listed, Format format) noexcept
{
  const FourccInfo *info = fourcc_info(format.fourcc);
  for (std::size_t i = 0; info && i < info->n_planes; i++)
    if (const auto plane = plane_format(format, i); !plane || !listed.contains(*plane))
      return false;
  return info && info->n_planes > 0;
}

std::optional<Format> packed_chroma_format(Format format) noexcept
{
  return is_packed_422(format) ? std::optional(Format{DRM_FORMAT_ABGR8888, format.modifier})
                               : std::nullopt;
}

Result<std::array<FrameLayout, kMaxPlanes>> split_planes(const FrameLayout &layout)
{
  const FourccInfo *info = fourcc_info(layout.format.fourcc);
  // A modifier that adds planes compresses, and its planes are no images on their own.
  if (info && layout.n_planes != info->n_planes)
    return Error{ErrorCode::Unsupported,
                 describe_format(layout.format) + " has " + std::to_string(layout.n_planes) +
                     " planes instead of " + std::to_string(info->n_planes) +
                     ", and cannot be imported plane by plane",
                 0};
  std::array<FrameLayout, kMaxPlanes> planes{};
  for (std::size_t i = 0; i < layout.n_planes; ++i) {
    const std::optional<Format> format = plane_format(layout.format, i);
    if (!format)
      return Error{ErrorCode::Unsupported,
                   describe_format(layout.format) +
                       " cannot be imported plane by plane: the samples of plane " +
                       std::to_string(i) + " are those of no format of a texture",
                   0};
    const PlaneInfo &plane = info->planes[i];
    planes[i].format = *format;
    planes[i].width = (layout.width + plane.hsub - 1) / plane.hsub;
    planes[i].height = (layout.height + plane.vsub - 1) / plane.vsub;
    planes[i].n_planes = 1;
    planes[i].planes[0] = layout.planes[i];
  }
  return planes;
}

std::optional<Target> target_of(const Device &device, Format format)
{
  const std::optional<Format> pair = device.import_format(format);
  if (!pair)
    return {};
  // Without a modifier the driver may find any layout that it lists for the fourcc.
  const bool any_layout = pair->modifier == kModImplicit;
  if (any_layout ? !device.formats().external_only.contains_fourcc(pair->fourcc)
                 : device.formats().texture_2d.contains(*pair))
    return Target::Texture2D;
  return device.has_external_textures() ? std::optional(Target::External) : std::nullopt;
}

Result<Texture> Texture::import(const Device &device, const FrameLayout &layout, Target target,
                                const ColorHints &hints)
{
  const auto &[egl, gl] = device.calls();
  if (target == Target::External && !device.has_external_textures())
    return Error{ErrorCode::Unsupported,
                 device.driver().describe() + ", has no GL_OES_EGL_image_external", 0};
  if (Result<void> mappable = check_mappable(device, layout); !mappable)
    return mappable.error();
  const std::uint64_t modifier =
      device.import_format(layout.format).value_or(layout.format).modifier;
  EGLImageKHR image = egl.create_image(device.display(), EGL_NO_CONTEXT, EGL_LINUX_DMA_BUF_EXT,
                                       nullptr, attributes_of(layout, modifier, hints).data());
  if (image == EGL_NO_IMAGE_KHR) {
    const EGLint error = egl.get_error();
    const int lack = error == EGL_BAD_ALLOC ? lacks_descriptor(layout.planes[0].fd) : 0;
    // Drivers duplicate the descriptors that they import, and EGL has one error for all they lack.
    return lack != 0 ? lacking(device, layout,
                               "no file descriptor is left (" + errno_text(lack) +
                                   "). Let go of frames sooner downstream, or raise the limit of "
                                   "open files (ulimit -n)",
                               lack)
                     : failed(device, layout, egl_words(device, "eglCreateImageKHR", error));
  }
  Texture texture(device, image, target); // destroys the image on every way out
  texture.width_ = layout.width;
  texture.height_ = layout.height;
  gl.gen_textures(1, &texture.id_);
  if (texture.id_ == 0)
    return failed(device, layout,
                  gl_words(device, "glGenTextures", gl.get_error()) +
                      ", as without a current context");
  if (const std::string words = give_image(device, target, texture.id_, image); !words.empty())
    return failed(device, layout, words);
  GSTDRM_LOG("texture %u is %s", texture.id_, describe_layout(layout).c_str());
  return texture;
}

void Texture::bind_again() const
{
  const GlCalls &gl = device_.calls().gl;
  const BoundTexture bound(gl, target_, id_);
  gl.image_target_texture_2d(gl_target(target_), image_);
}

Texture::Texture(Texture &&other) noexcept
    : device_(other.device_), image_(std::exchange(other.image_, EGL_NO_IMAGE_KHR)),
      target_(other.target_), id_(std::exchange(other.id_, 0)), width_(other.width_),
      height_(other.height_)
{
}

Texture::~Texture()
{
  const Calls &calls = device_.calls();
  if (id_ != 0)
    calls.gl.delete_textures(1, &id_);
  if (image_ != EGL_NO_IMAGE_KHR)
    calls.egl.destroy_image(device_.display(), image_);
}

Result<std::shared_ptr<const ImportedFrame>> import_frame(const std::shared_ptr<Device> &device,
                                                          const FrameLayout &layout, Shape shape,
                                                          const ColorHints &hints, Target wanted)
{
  if (Result<void> checked = check_layout(layout); !checked)
    return checked.error();
  const bool is_whole = shape == Shape::OneImage;
  using Planes = std::array<FrameLayout, kMaxPlanes>;
  Result<Planes> planes = is_whole ? Result<Planes>(Planes{{layout}}) : split_planes(layout);
  if (!planes)
    return planes.error();
  std::size_t n_textures = is_whole ? 1 : layout.n_planes;
  if (const auto chroma = packed_chroma_format(layout.format); chroma && shape == Shape::Drawn) {
    FrameLayout &pairs = (*planes)[n_textures++];
    pairs = (*planes)[0];
    pairs.format = *chroma;
    pairs.width = (layout.width + 1) / 2;
  }
  auto frame = std::make_shared<ImportedFrame>();
  frame->device = device;
  frame->textures.reserve(n_textures);
  for (std::size_t i = 0; i < n_textures; ++i) {
    Result<Texture> texture = import_checked(*device, (*planes)[i], is_whole ? hints : ColorHints{},
                                             is_whole ? wanted : Target::Texture2D);
    if (!texture)
      return is_whole ? texture.error()
                      : Error{texture.error().code,
                              "Plane " + std::to_string(i) + " of " +
                                  describe_format(layout.format) + ": " + texture.error().message,
                              texture.error().sys_errno};
    frame->textures.push_back(std::move(*texture));
  }
  return std::shared_ptr<const ImportedFrame>(std::move(frame));
}

} // namespace gstdrm::egl

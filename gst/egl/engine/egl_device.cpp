// SPDX-License-Identifier: LGPL-2.1-or-later
#include "egl_device.hpp"

#include <limits>
#include <string_view>
#include <utility>

#include <sys/stat.h>

#include <gst/drm/core/log.hpp>

#include "egl_error.hpp"
#include "gl_version.hpp"

namespace gstdrm::egl {
namespace {

// EGL hands attributes over as EGLint.
constexpr std::uint64_t kMaxAttribute = std::numeric_limits<EGLint>::max();

std::string to_string(const char *text)
{
  return text ? text : "";
}

std::string gl_string(const GlCalls &gl, GLenum name)
{
  return to_string(reinterpret_cast<const char *>(gl.get_string(name)));
}

// Takes out the functions whose extension the driver has not: what a loader finds may be a stub.
void keep_what_is_there(EglCalls &egl, EGLDisplay display)
{
  const Names list = names_in(egl.query_string(display, EGL_EXTENSIONS));
  const Names client = names_in(egl.query_string(EGL_NO_DISPLAY, EGL_EXTENSIONS));
  if (!list.contains("EGL_KHR_image_base") && !list.contains("EGL_KHR_image")) {
    egl.create_image = nullptr;
    egl.destroy_image = nullptr;
  }
  if (!list.contains("EGL_EXT_image_dma_buf_import_modifiers")) {
    egl.query_formats = nullptr;
    egl.query_modifiers = nullptr;
  }
  if (!list.contains("EGL_KHR_fence_sync")) {
    egl.create_sync = nullptr;
    egl.destroy_sync = nullptr;
    egl.client_wait_sync = nullptr;
  }
  if (!list.contains("EGL_KHR_wait_sync"))
    egl.wait_sync = nullptr;
  if (!list.contains("EGL_ANDROID_native_fence_sync"))
    egl.dup_native_fence_fd = nullptr;
  if (!client.contains("EGL_EXT_device_query") && !client.contains("EGL_EXT_device_base")) {
    egl.query_display_attrib = nullptr;
    egl.query_device_string = nullptr;
  }
}

// The node of the display's device: the one that draws, else the card. Empty where the display has
// no device, or one without a node (EGL_MESA_device_software).
void read_node(const EglCalls &egl, EGLDisplay display, Driver &driver)
{
  if (!egl.query_display_attrib || !egl.query_device_string)
    return;
  EGLAttrib attribute = 0;
  if (!egl.query_display_attrib(display, EGL_DEVICE_EXT, &attribute) || attribute == 0)
    return;
  const auto device = reinterpret_cast<EGLDeviceEXT>(attribute);
  const Names list = names_in(egl.query_device_string(device, EGL_EXTENSIONS));
  const bool could_draw = list.contains("EGL_EXT_device_drm_render_node");
  const bool could_be_card = list.contains("EGL_EXT_device_drm");
  if (could_draw)
    driver.node = to_string(egl.query_device_string(device, EGL_DRM_RENDER_NODE_FILE_EXT));
  if (driver.node.empty() && could_be_card)
    driver.node = to_string(egl.query_device_string(device, EGL_DRM_DEVICE_FILE_EXT));
  driver.is_without_node = driver.node.empty() && (could_draw || could_be_card);
}

std::uint64_t node_number(const std::string &node)
{
  struct stat facts {};
  if (node.empty() || ::stat(node.c_str(), &facts) != 0 || !S_ISCHR(facts.st_mode))
    return 0;
  return facts.st_rdev;
}

Error refuse(const FrameLayout &layout, ErrorCode code, const std::string &why)
{
  return Error{code, describe_layout(layout) + ": " + why, 0};
}

// A live descriptor of a dma-buf or memfd that is large enough, and numbers that EGL can take.
Result<void> check_plane(const FrameLayout &layout, std::size_t i)
{
  const PlaneLayout &plane = layout.planes[i];
  const std::string name = "plane " + std::to_string(i);
  if (plane.offset_bytes > kMaxAttribute || plane.stride_bytes > kMaxAttribute)
    return refuse(layout, ErrorCode::Layout,
                  name + " has an offset or a stride of more than the 31 bits that EGL takes");
  // asked anew: the descriptor may have been closed since the layout was made
  const Result<ObjectInfo> object = query_object(plane.fd);
  if (!object)
    return Error{ErrorCode::Layout,
                 describe_layout(layout) + ": " + name + ": " + object.error().message,
                 object.error().sys_errno};
  if (plane.offset_bytes >= object->size_bytes)
    return refuse(layout, ErrorCode::Layout, name + " begins outside of its buffer");
  if (layout.format.modifier != kModLinear)
    return {};

  const FourccInfo *const info = fourcc_info(layout.format.fourcc);
  if (!info || i >= info->n_planes)
    return refuse(layout, ErrorCode::Layout, "the linear layout of this fourcc is not known");
  // 32 bits times 32 bits, and an offset of 31
  const std::uint64_t end = plane.offset_bytes + std::uint64_t{plane.stride_bytes} *
                                                     plane_rows(info->planes[i], layout.height);
  if (end > object->size_bytes)
    return refuse(
        layout, ErrorCode::Layout,
        name + " needs " + std::to_string(end) + " bytes with whole rows, its buffer has " +
            std::to_string(object->size_bytes) + "; allocate the last row with its padding");
  return {};
}

// Whether the context, which is current, was made so that it is lost with a reset, and says so.
// Others are told nothing by their drivers (GL_NO_RESET_NOTIFICATION), and there is nothing to ask.
bool is_told_of_resets(const GlCalls &gl)
{
  GLint strategy = GL_NO_RESET_NOTIFICATION_KHR; // stays where the driver does not know the name
  gl.get_integerv(GL_RESET_NOTIFICATION_STRATEGY_KHR, &strategy);
  return strategy == GL_LOSE_CONTEXT_ON_RESET_KHR;
}

// What a reset status, or an error that tells of a loss, says, in a sentence.
std::string describe_loss(unsigned number)
{
  switch (number) {
  case GL_GUILTY_CONTEXT_RESET_KHR:
    return "GL_GUILTY_CONTEXT_RESET (0x8253), the GPU was reset because of what this context drew";
  case GL_INNOCENT_CONTEXT_RESET_KHR:
    return "GL_INNOCENT_CONTEXT_RESET (0x8254), the GPU was reset because of another program or "
           "context";
  case GL_UNKNOWN_CONTEXT_RESET_KHR:
    return "GL_UNKNOWN_CONTEXT_RESET (0x8255), the GPU was reset";
  case EGL_CONTEXT_LOST:
    return egl_error_name(EGL_CONTEXT_LOST) + ", the GPU was reset or the machine slept";
  default:
    return gl_error_name(number) + ", the GPU was reset";
  }
}

} // namespace

Result<std::shared_ptr<Device>> Device::open(const Calls &calls, EGLDisplay display)
{
  auto device = std::make_shared<Device>(Key{}, calls, display);
  if (Result<void> read = device->read_driver(); !read)
    return read.error();
  device->read_formats();
  GSTDRM_INFO("%s, %s%s: %zu pairs, %zu of them as external textures alone%s%s",
              device->driver_.describe().c_str(), device->driver_.is_gles ? "GL ES" : "desktop GL",
              device->has_native_fences_ ? ", native fences" : "",
              device->formats_.texture_2d.size() + device->formats_.external_only.size(),
              device->formats_.external_only.size(), device->import_refusal_.empty() ? "" : "; ",
              device->import_refusal_.c_str());
  return device;
}

Result<std::shared_ptr<Device>> Device::open_without_egl(const GlCalls &gl,
                                                         const std::string &platform)
{
  auto device = std::make_shared<Device>(Key{}, Calls{{}, gl}, EGL_NO_DISPLAY);
  if (Result<void> read = device->read_driver(); !read)
    return read.error();
  device->import_refusal_ = "The pipeline's OpenGL context is one of " + platform +
                            ", and DMA buffers need EGL: set GST_GL_PLATFORM=egl in the "
                            "environment, or share a context of EGL";
  return device;
}

Result<void> Device::read_driver()
{
  const GlCalls &gl = calls_.gl;
  if (display_ != EGL_NO_DISPLAY) {
    driver_.egl_vendor = to_string(calls_.egl.query_string(display_, EGL_VENDOR));
    driver_.egl_version = to_string(calls_.egl.query_string(display_, EGL_VERSION));
  }
  driver_.gl_renderer = gl_string(gl, GL_RENDERER);
  driver_.gl_version = gl_string(gl, GL_VERSION);
  if (driver_.gl_version.empty())
    return Error{ErrorCode::Unsupported,
                 "GL cannot be used: glGetString(GL_VERSION) answers nothing, so no context is "
                 "current or it is lost. Set the pipeline to NULL and play it again",
                 0};
  read_driver_strings(driver_);
  if (display_ != EGL_NO_DISPLAY) {
    keep_what_is_there(calls_.egl, display_);
    read_node(calls_.egl, display_, driver_);
  }
  driver_.device = node_number(driver_.node);

  GLint size = 0;
  gl.get_integerv(GL_MAX_TEXTURE_SIZE, &size);
  if (size <= 0)
    return Error{ErrorCode::Unsupported,
                 "GL cannot be used: " + driver_.describe() +
                     " has no GL_MAX_TEXTURE_SIZE; update the GPU's driver",
                 0};
  max_texture_size_ = static_cast<std::uint32_t>(size);

  const Names extensions = gl_extensions(gl, driver_);
  has_external_textures_ = extensions.contains("GL_OES_EGL_image_external");
  driver_.has_fixed_functions = has_fixed_functions(gl, driver_, extensions);
  driver_.clip_distances = count_clip_distances(gl, driver_, extensions);
  keep_what_is_there(calls_.gl, driver_, extensions);
  if (const auto function = reset_status_function(gl, driver_, extensions);
      function && is_told_of_resets(gl))
    get_reset_status_ = function;
  const EglCalls &egl = calls_.egl;
  has_native_fences_ = egl.create_sync && egl.destroy_sync && egl.client_wait_sync &&
                       egl.wait_sync && egl.dup_native_fence_fd;
  return {};
}

void Device::read_formats()
{
  if (!calls_.egl.create_image || !calls_.egl.destroy_image) {
    import_refusal_ = driver_.describe() + ", imports no dma-buf: it has no EGL_KHR_image_base";
    return;
  }
  if (!calls_.gl.image_target_texture_2d) {
    import_refusal_ = driver_.describe() + ", imports no dma-buf: it has no GL_OES_EGL_image";
    return;
  }
  // before anything is asked of such a driver
  import_refusal_ = driver_.import_refusal();
  if (!import_refusal_.empty())
    return;
  Result<DisplayFormats> formats = query_formats(calls_.egl, display_);
  if (!formats) {
    import_refusal_ = formats.error().message;
    return;
  }
  formats_ = *std::move(formats);
  if (formats_.texture_2d.empty() && formats_.external_only.empty())
    import_refusal_ = driver_.describe() + ", imports no dma-buf: its EGL display lists no format";
}

// GL_NO_ERROR again after a loss says that the reset is over; the context stays lost.
void Device::look_for_reset() const
{
  if (!get_reset_status_ || is_lost())
    return;
  if (const GLenum status = get_reset_status_(); status != GL_NO_ERROR)
    loss_ = status;
}

void Device::note_error(unsigned error) const noexcept
{
  unsigned none = 0;
  constexpr unsigned kGlContextLost = 0x0507; // GL_CONTEXT_LOST
  if (error == kGlContextLost || error == EGL_CONTEXT_LOST)
    loss_.compare_exchange_strong(none, error); // the first says most
}

Error Device::loss() const
{
  return Error{ErrorCode::Device,
               "The OpenGL context of " + driver_.describe() + ", is lost: it says " +
                   describe_loss(loss_) +
                   ". Set the pipeline to NULL and play it again, so that it gets a new context; "
                   "an application that shares a context of its own has to give the pipeline "
                   "another one",
               0};
}

std::optional<Format> Device::import_format(Format format) const
{
  const auto lists = [this](Format pair) {
    return formats_.texture_2d.contains(pair) || formats_.external_only.contains(pair);
  };
  if (lists(format))
    return format;
  if (format.modifier == kModImplicit)
    return formats_.texture_2d.contains_fourcc(format.fourcc) ||
                   formats_.external_only.contains_fourcc(format.fourcc)
               ? std::optional(format)
               : std::nullopt;
  const Format implicit{format.fourcc, kModImplicit};
  return format.modifier == kModLinear && lists(implicit) ? std::optional(implicit) : std::nullopt;
}

Result<void> Device::check_frame(const FrameLayout &layout) const
{
  if (!import_refusal_.empty())
    return Error{ErrorCode::Unsupported, import_refusal_, 0};
  if (layout.n_planes < 1 || layout.n_planes > kMaxPlanes || layout.width == 0 ||
      layout.height == 0)
    return refuse(layout, ErrorCode::Layout, "an empty picture");
  if (layout.width > max_texture_size_ || layout.height > max_texture_size_)
    return refuse(layout, ErrorCode::Unsupported,
                  "larger than the " + std::to_string(max_texture_size_) +
                      " pixels that textures of " + driver_.describe() + ", have at most");
  if (!import_format(layout.format))
    return refuse(layout, ErrorCode::Unsupported,
                  "not among the pairs that the EGL display of " + driver_.describe() + ", lists");
  for (std::size_t i = 0; i < layout.n_planes; ++i)
    if (Result<void> plane = check_plane(layout, i); !plane)
      return plane;
  return {};
}

} // namespace gstdrm::egl

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "egl_refusing.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl3.h>
#include <GLES2/gl2ext.h>
#include <dlfcn.h>
#include <drm_fourcc.h>

#include <gst/gl/gl.h>

namespace gstdrm::test {
namespace {

struct Rule {
  std::mutex lock; // set by the test's thread, read by the GL thread
  std::function<bool(const ImageRequest &)> refuses;
  int error = 0;                        // of a refusal; 0: the driver's own
  std::vector<std::uint64_t> modifiers; // listed beside the driver's
  bool lists_none = false;
  bool lists_no_formats = false;
  bool samples_copies = false;
  std::uint32_t in_2d = 0; // listed as 2D textures, too
  std::map<EGLImageKHR, ImageRequest> made;
  unsigned requests = 0;
  int images = 0;
};
Rule rule;
// What eglGetError() says next on this thread; 0: what the driver says.
thread_local int next_error = 0;

using GetProcAddress = __eglMustCastToProperFunctionPointerType (*)(const char *);

GetProcAddress library_function()
{
  // GStreamer has loaded it, and a driver is never unloaded
  static const auto found = reinterpret_cast<GetProcAddress>(
      dlsym(dlopen("libEGL.so.1", RTLD_LAZY | RTLD_LOCAL), "eglGetProcAddress"));
  return found;
}

void read_attribute(ImageRequest &request, EGLint name, EGLint value)
{
  switch (name) {
  case EGL_LINUX_DRM_FOURCC_EXT:
    request.fourcc = static_cast<std::uint32_t>(value);
    break;
  case EGL_WIDTH:
    request.width = value;
    break;
  case EGL_HEIGHT:
    request.height = value;
    break;
  case EGL_DMA_BUF_PLANE0_PITCH_EXT:
    request.pitches[0] = value;
    break;
  case EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT:
    request.modifier |= static_cast<std::uint32_t>(value);
    break;
  case EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT:
    request.modifier |= std::uint64_t{static_cast<std::uint32_t>(value)} << 32;
    break;
  case EGL_YUV_CHROMA_HORIZONTAL_SITING_HINT_EXT:
    request.siting[0] = value;
    break;
  case EGL_YUV_CHROMA_VERTICAL_SITING_HINT_EXT:
    request.siting[1] = value;
    break;
  case EGL_DMA_BUF_PLANE1_PITCH_EXT:
    request.pitches[1] = value;
    break;
  case EGL_DMA_BUF_PLANE2_PITCH_EXT:
    request.pitches[2] = value;
    break;
  default:
    break;
  }
}

EGLImageKHR counted(EGLImageKHR image)
{
  const std::lock_guard guard(rule.lock);
  rule.images += image != EGL_NO_IMAGE_KHR ? 1 : 0;
  return image;
}

EGLImageKHR create_image(EGLDisplay display, EGLContext context, EGLenum target,
                         EGLClientBuffer buffer, const EGLint *attributes) noexcept
{
  static const auto driver_function =
      reinterpret_cast<PFNEGLCREATEIMAGEKHRPROC>(library_function()("eglCreateImageKHR"));
  if (target != EGL_LINUX_DMA_BUF_EXT)
    return counted(driver_function(display, context, target, buffer, attributes));
  ImageRequest request;
  std::vector<EGLint> passed;
  for (const EGLint *at = attributes; at && *at != EGL_NONE; at += 2) {
    read_attribute(request, at[0], at[1]);
    passed.insert(passed.end(), {at[0], at[1]});
  }
  passed.push_back(EGL_NONE);
  bool refused = false;
  {
    const std::lock_guard guard(rule.lock);
    request.number = ++rule.requests;
    refused = rule.refuses && rule.refuses(request);
    next_error = refused ? rule.error : 0;
  }
  for (std::size_t i = 0; refused && i + 1 < passed.size(); i += 2)
    if (passed[i] == EGL_LINUX_DRM_FOURCC_EXT)
      passed[i + 1] = 0x3f3f3f3f; // "????"
  EGLImageKHR image = counted(driver_function(display, context, target, buffer, passed.data()));
  const std::lock_guard guard(rule.lock);
  rule.made[image] = request;
  return image;
}

template <typename Function> Function gl_function(const char *name)
{
  return reinterpret_cast<Function>(library_function()(name));
}

void image_to_texture(GLenum target, GLeglImageOES image) noexcept
{
  static const auto driver_function =
      gl_function<PFNGLEGLIMAGETARGETTEXTURE2DOESPROC>("glEGLImageTargetTexture2DOES");
  ImageRequest of;
  bool samples_copies = false;
  bool is_blank = false;
  {
    const std::lock_guard guard(rule.lock);
    of = rule.made[image];
    samples_copies = rule.samples_copies && of.width > 0 && target == GL_TEXTURE_2D;
    is_blank = rule.in_2d != 0 && of.fourcc == rule.in_2d && target == GL_TEXTURE_2D;
  }
  if (is_blank) {
    static const auto fill = gl_function<PFNGLTEXIMAGE2DPROC>("glTexImage2D");
    fill(target, 0, GL_RGBA, of.width, of.height, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
    return;
  }
  if (!samples_copies) {
    driver_function(target, image);
    return;
  }
  static const auto get = gl_function<PFNGLGETINTEGERVPROC>("glGetIntegerv");
  static const auto generate = gl_function<PFNGLGENTEXTURESPROC>("glGenTextures");
  static const auto remove = gl_function<PFNGLDELETETEXTURESPROC>("glDeleteTextures");
  static const auto bind = gl_function<PFNGLBINDTEXTUREPROC>("glBindTexture");
  static const auto generate_fbo = gl_function<PFNGLGENFRAMEBUFFERSPROC>("glGenFramebuffers");
  static const auto remove_fbo = gl_function<PFNGLDELETEFRAMEBUFFERSPROC>("glDeleteFramebuffers");
  static const auto bind_fbo = gl_function<PFNGLBINDFRAMEBUFFERPROC>("glBindFramebuffer");
  static const auto attach = gl_function<PFNGLFRAMEBUFFERTEXTURE2DPROC>("glFramebufferTexture2D");
  static const auto copy = gl_function<PFNGLCOPYTEXIMAGE2DPROC>("glCopyTexImage2D");
  GLint texture = 0;
  GLint fbo = 0;
  get(GL_TEXTURE_BINDING_2D, &texture);
  get(GL_FRAMEBUFFER_BINDING, &fbo);
  GLuint own[2];
  generate(1, &own[0]);
  generate_fbo(1, &own[1]);
  bind(target, own[0]);
  driver_function(target, image);
  bind_fbo(GL_FRAMEBUFFER, own[1]);
  attach(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, target, own[0], 0);
  bind(target, static_cast<GLuint>(texture));
  const GLenum channels = of.fourcc == DRM_FORMAT_R8       ? GL_R8
                          : of.fourcc == DRM_FORMAT_GR88   ? GL_RG8
                          : of.fourcc == DRM_FORMAT_R16    ? GL_R16_EXT
                          : of.fourcc == DRM_FORMAT_GR1616 ? GL_RG16_EXT
                                                           : GL_RGB; // XR24 has no alpha to be copied
  copy(target, 0, channels, 0, 0, of.width, of.height, 0);
  bind_fbo(GL_FRAMEBUFFER, static_cast<GLuint>(fbo));
  remove_fbo(1, &own[1]);
  remove(1, &own[0]);
}

EGLint error_of_thread() noexcept
{
  static const auto driver_function =
      reinterpret_cast<PFNEGLGETERRORPROC>(library_function()("eglGetError"));
  const EGLint said = driver_function();
  const int told = std::exchange(next_error, 0);
  return told ? told : said;
}

// The driver's own and the test's, of a format that has any.
EGLBoolean query_modifiers(EGLDisplay display, EGLint format, EGLint most, EGLuint64KHR *modifiers,
                           EGLBoolean *external_only, EGLint *count) noexcept
{
  static const auto driver_function = reinterpret_cast<PFNEGLQUERYDMABUFMODIFIERSEXTPROC>(
      library_function()("eglQueryDmaBufModifiersEXT"));
  if (!driver_function(display, format, most, modifiers, external_only, count))
    return EGL_FALSE;
  const std::lock_guard guard(rule.lock);
  if (rule.lists_none)
    *count = 0;
  if (rule.in_2d != 0 && static_cast<std::uint32_t>(format) == rule.in_2d && external_only)
    std::fill_n(external_only, std::min(*count, most), EGL_FALSE);
  for (const std::uint64_t modifier : rule.modifiers) {
    if (*count == 0 || (most > 0 && *count >= most))
      break;
    if (most > 0) {
      modifiers[*count] = modifier;
      if (external_only)
        external_only[*count] = external_only[0];
    }
    ++*count;
  }
  return EGL_TRUE;
}

EGLBoolean query_formats(EGLDisplay display, EGLint most, EGLint *formats, EGLint *count) noexcept
{
  static const auto driver_function = reinterpret_cast<PFNEGLQUERYDMABUFFORMATSEXTPROC>(
      library_function()("eglQueryDmaBufFormatsEXT"));
  if (!driver_function(display, most, formats, count))
    return EGL_FALSE;
  const std::lock_guard guard(rule.lock);
  if (rule.lists_no_formats)
    *count = 0;
  return EGL_TRUE;
}

EGLBoolean destroy_image(EGLDisplay display, EGLImageKHR image) noexcept
{
  static const auto driver_function =
      reinterpret_cast<PFNEGLDESTROYIMAGEKHRPROC>(library_function()("eglDestroyImageKHR"));
  const EGLBoolean ended = driver_function(display, image);
  const std::lock_guard guard(rule.lock);
  rule.images -= ended ? 1 : 0;
  return ended;
}

} // namespace

void refuse_images(std::function<bool(const ImageRequest &)> refuses, int error)
{
  const std::lock_guard guard(rule.lock);
  rule.refuses = std::move(refuses);
  rule.error = error;
  rule.requests = 0;
}

void list_modifiers(std::vector<std::uint64_t> more)
{
  const std::lock_guard guard(rule.lock);
  rule.modifiers = std::move(more);
}

void list_no_modifiers(bool none)
{
  const std::lock_guard guard(rule.lock);
  rule.lists_none = none;
}

void list_no_formats(bool none)
{
  const std::lock_guard guard(rule.lock);
  rule.lists_no_formats = none;
}

namespace {

decltype(GstGLContextClass::get_proc_address) get_proc_address;

gpointer find_function(GstGLAPI api, const gchar *name)
{
  return std::strcmp(name, "glEGLImageTargetTexture2DOES") == 0
             ? reinterpret_cast<gpointer>(image_to_texture)
             : get_proc_address(api, name);
}

// GStreamer asks the libraries of GL before eglGetProcAddress().
void replace_image_to_texture()
{
  if (get_proc_address)
    return;
  auto *contexts =
      static_cast<GstGLContextClass *>(g_type_class_ref(g_type_from_name("GstGLContextEGL")));
  get_proc_address = std::exchange(contexts->get_proc_address, find_function);
}

} // namespace

void sample_copies(bool copies)
{
  if (copies)
    replace_image_to_texture();
  const std::lock_guard guard(rule.lock);
  rule.samples_copies = copies;
}

void list_in_2d(std::uint32_t fourcc)
{
  if (fourcc != 0)
    replace_image_to_texture();
  const std::lock_guard guard(rule.lock);
  rule.in_2d = fourcc;
}

unsigned image_requests()
{
  const std::lock_guard guard(rule.lock);
  return rule.requests;
}

int live_images()
{
  const std::lock_guard guard(rule.lock);
  return rule.images;
}

} // namespace gstdrm::test

extern "C" __attribute__((visibility("default"))) __eglMustCastToProperFunctionPointerType
eglGetProcAddress(const char *name)
{
  using namespace gstdrm::test;
  using Function = __eglMustCastToProperFunctionPointerType;
  const std::pair<const char *, Function> own[] = {
      {"eglCreateImageKHR", reinterpret_cast<Function>(create_image)},
      {"eglDestroyImageKHR", reinterpret_cast<Function>(destroy_image)},
      {"eglQueryDmaBufFormatsEXT", reinterpret_cast<Function>(query_formats)},
      {"eglGetError", reinterpret_cast<Function>(error_of_thread)},
      {"eglQueryDmaBufModifiersEXT", reinterpret_cast<Function>(query_modifiers)},
  };
  for (const auto &[known, function] : own)
    if (name && std::strcmp(name, known) == 0)
      return function;
  return library_function()(name);
}

// GStreamer finds what libEGL exports by the names of the whole program.
extern "C" __attribute__((visibility("default"))) EGLint eglGetError()
{
  return gstdrm::test::error_of_thread();
}

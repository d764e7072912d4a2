// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <limits>

#include <drm_fourcc.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_egl.hpp"

namespace gstdrm::test {
namespace {

EGLint EGLAPIENTRY get_error()
{
  return static_cast<EGLint>(FakeEgl::now().take_egl_error());
}

const char *EGLAPIENTRY query_string(EGLDisplay display, EGLint name)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_egl("eglQueryString"))
    return nullptr;
  if (display == EGL_NO_DISPLAY)
    return name == EGL_EXTENSIONS ? driver.client_extensions.c_str() : nullptr;
  switch (name) {
  case EGL_VENDOR:
    return driver.egl_vendor.c_str();
  case EGL_VERSION:
    return driver.egl_version.c_str();
  case EGL_EXTENSIONS:
    return driver.egl_extensions.c_str();
  default:
    driver.set_egl_error(EGL_BAD_PARAMETER);
    return nullptr;
  }
}

EGLDisplay EGLAPIENTRY get_current_display()
{
  FakeEgl &driver = FakeEgl::now();
  return driver.has_context ? driver.display() : EGL_NO_DISPLAY;
}

EGLBoolean EGLAPIENTRY query_formats(EGLDisplay, EGLint max_formats, EGLint *formats, EGLint *count)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_egl("eglQueryDmaBufFormatsEXT"))
    return EGL_FALSE;
  if (max_formats < 0 || (max_formats > 0 && !formats))
    return driver.set_egl_error(EGL_BAD_PARAMETER);
  const auto listed = static_cast<EGLint>(driver.formats.size());
  for (EGLint i = 0; i < std::min(max_formats, listed); ++i)
    formats[i] = static_cast<EGLint>(driver.formats[static_cast<std::size_t>(i)].fourcc);
  *count = (max_formats > 0 ? std::min(max_formats, listed) : listed) +
           driver.next_count_error(driver.format_count_errors);
  return EGL_TRUE;
}

const FakeFormat *find_format(const FakeEgl &driver, std::uint32_t fourcc)
{
  for (const FakeFormat &format : driver.formats)
    if (format.fourcc == fourcc)
      return &format;
  return nullptr;
}

EGLBoolean EGLAPIENTRY query_modifiers(EGLDisplay, EGLint fourcc, EGLint max_modifiers,
                                       EGLuint64KHR *modifiers, EGLBoolean *external_only,
                                       EGLint *count)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_egl("eglQueryDmaBufModifiersEXT"))
    return EGL_FALSE;
  const FakeFormat *const format = find_format(driver, static_cast<std::uint32_t>(fourcc));
  if (!format || max_modifiers < 0 || (max_modifiers > 0 && !modifiers))
    return driver.set_egl_error(EGL_BAD_PARAMETER);
  const auto listed = static_cast<EGLint>(format->modifiers.size());
  for (EGLint i = 0; i < std::min(max_modifiers, listed); ++i) {
    const FakeModifier &modifier = format->modifiers[static_cast<std::size_t>(i)];
    modifiers[i] = modifier.modifier;
    if (external_only)
      external_only[i] = modifier.external_only;
  }
  *count = (max_modifiers > 0 ? std::min(max_modifiers, listed) : listed) +
           driver.next_count_error(driver.modifier_count_errors);
  return EGL_TRUE;
}

struct PlaneAttribute {
  EGLint name;
  std::size_t plane;
  char what; // fd, offset, pitch, low and high half of the modifier
};

constexpr PlaneAttribute kPlaneAttributes[] = {
    {EGL_DMA_BUF_PLANE0_FD_EXT, 0, 'f'},          {EGL_DMA_BUF_PLANE1_FD_EXT, 1, 'f'},
    {EGL_DMA_BUF_PLANE2_FD_EXT, 2, 'f'},          {EGL_DMA_BUF_PLANE3_FD_EXT, 3, 'f'},
    {EGL_DMA_BUF_PLANE0_OFFSET_EXT, 0, 'o'},      {EGL_DMA_BUF_PLANE1_OFFSET_EXT, 1, 'o'},
    {EGL_DMA_BUF_PLANE2_OFFSET_EXT, 2, 'o'},      {EGL_DMA_BUF_PLANE3_OFFSET_EXT, 3, 'o'},
    {EGL_DMA_BUF_PLANE0_PITCH_EXT, 0, 'p'},       {EGL_DMA_BUF_PLANE1_PITCH_EXT, 1, 'p'},
    {EGL_DMA_BUF_PLANE2_PITCH_EXT, 2, 'p'},       {EGL_DMA_BUF_PLANE3_PITCH_EXT, 3, 'p'},
    {EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT, 0, 'l'}, {EGL_DMA_BUF_PLANE1_MODIFIER_LO_EXT, 1, 'l'},
    {EGL_DMA_BUF_PLANE2_MODIFIER_LO_EXT, 2, 'l'}, {EGL_DMA_BUF_PLANE3_MODIFIER_LO_EXT, 3, 'l'},
    {EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT, 0, 'h'}, {EGL_DMA_BUF_PLANE1_MODIFIER_HI_EXT, 1, 'h'},
    {EGL_DMA_BUF_PLANE2_MODIFIER_HI_EXT, 2, 'h'}, {EGL_DMA_BUF_PLANE3_MODIFIER_HI_EXT, 3, 'h'},
};

void take_plane_attribute(FakeImage &image, const PlaneAttribute &attribute, EGLint value)
{
  auto &plane = image.planes[attribute.plane];
  if (!plane)
    plane.emplace();
  const auto bits = static_cast<std::uint64_t>(static_cast<std::uint32_t>(value));
  const std::uint64_t so_far = plane->modifier.value_or(0);
  switch (attribute.what) {
  case 'f':
    plane->fd = value;
    break;
  case 'o':
    plane->offset = value;
    break;
  case 'p':
    plane->pitch = value;
    break;
  case 'l':
    plane->modifier = (so_far & 0xffffffff00000000ULL) | bits;
    break;
  default:
    plane->modifier = (so_far & 0xffffffffULL) | bits << 32;
  }
}

// false: an attribute that there is not.
bool take_attribute(FakeImage &image, EGLint name, EGLint value)
{
  for (const PlaneAttribute &attribute : kPlaneAttributes)
    if (attribute.name == name) {
      take_plane_attribute(image, attribute, value);
      return true;
    }
  switch (name) {
  case EGL_WIDTH:
    image.width = value;
    return true;
  case EGL_HEIGHT:
    image.height = value;
    return true;
  case EGL_LINUX_DRM_FOURCC_EXT:
    image.fourcc = static_cast<std::uint32_t>(value);
    return true;
  case EGL_IMAGE_PRESERVED_KHR:
    return true;
  case EGL_YUV_COLOR_SPACE_HINT_EXT:
  case EGL_SAMPLE_RANGE_HINT_EXT:
  case EGL_YUV_CHROMA_HORIZONTAL_SITING_HINT_EXT:
  case EGL_YUV_CHROMA_VERTICAL_SITING_HINT_EXT:
    image.hints[name] = value;
    return true;
  default:
    return false;
  }
}

// The pair of the image in the lists of the display; the fourcc alone where no modifier is given.
bool find_pair(const FakeEgl &driver, FakeImage &image)
{
  const FakeFormat *const format = find_format(driver, image.fourcc);
  if (!format)
    return false;
  const std::optional<std::uint64_t> wanted = image.planes[0]->modifier;
  if (!wanted) {
    image.external_only = fourcc_is_yuv(image.fourcc);
    return true;
  }
  for (const FakeModifier &modifier : format->modifiers)
    // A height of SAND columns is in no list (Mesa, v3d).
    if (modifier.modifier == (*wanted >> 56 == DRM_FORMAT_MOD_VENDOR_BROADCOM
                                  ? fourcc_mod_broadcom_mod(*wanted)
                                  : *wanted)) {
      image.external_only = modifier.external_only;
      return true;
    }
  return false;
}

EGLint check_planes(const FakeEgl &driver, const FakeImage &image)
{
  const std::optional<std::uint64_t> modifier = image.planes[0]->modifier;
  const unsigned wanted = memory_plane_count({image.fourcc, modifier.value_or(kModImplicit)});
  if (wanted != 0 && image.plane_count() < wanted)
    return EGL_BAD_PARAMETER;
  if (wanted != 0 && image.plane_count() > wanted)
    return EGL_BAD_ATTRIBUTE;
  for (std::size_t i = 0; i < image.plane_count(); ++i) {
    const auto &plane = image.planes[i];
    if (!plane || plane->fd < 0 || plane->offset < 0 || plane->pitch <= 0)
      return EGL_BAD_PARAMETER;
    if (plane->modifier != modifier)
      return EGL_BAD_PARAMETER;
    if (!driver.takes_dead_fds && ::fcntl(plane->fd, F_GETFD) < 0)
      return EGL_BAD_ALLOC;
    if (plane->pitch % driver.pitch_alignment != 0)
      return EGL_BAD_ALLOC;
  }
  return EGL_SUCCESS;
}

EGLImageKHR EGLAPIENTRY create_image(EGLDisplay display, EGLContext context, EGLenum target,
                                     EGLClientBuffer buffer, const EGLint *attributes)
{
  FakeEgl &driver = FakeEgl::now();
  const bool works = driver.enter_egl("eglCreateImageKHR");
  const auto refuse = [&driver](EGLint error) {
    driver.set_egl_error(static_cast<unsigned>(error));
    return EGL_NO_IMAGE_KHR;
  };
  FakeImage image;
  bool known = true;
  for (const EGLint *at = attributes; at && *at != EGL_NONE; at += 2)
    known = take_attribute(image, at[0], at[1]) && known;
  driver.last_image = image;
  if (!works)
    return EGL_NO_IMAGE_KHR;
  if (display != driver.display())
    return refuse(EGL_BAD_DISPLAY);
  if (target != EGL_LINUX_DMA_BUF_EXT || buffer)
    return refuse(EGL_BAD_PARAMETER);
  if (context != EGL_NO_CONTEXT)
    return refuse(EGL_BAD_CONTEXT);
  if (!known)
    return refuse(EGL_BAD_ATTRIBUTE);
  if (image.width <= 0 || image.height <= 0 || image.fourcc == 0 || !image.planes[0])
    return refuse(EGL_BAD_PARAMETER);
  if (!find_pair(driver, image))
    return refuse(EGL_BAD_MATCH);
  if (const EGLint error = check_planes(driver, image); error != EGL_SUCCESS)
    return refuse(error);
  if (const EGLint error = driver.refuse_image ? driver.refuse_image(image) : EGL_SUCCESS;
      error != EGL_SUCCESS)
    return refuse(error);
  const std::uintptr_t number = driver.next_number();
  driver.images[number] = image;
  return reinterpret_cast<EGLImageKHR>(number);
}

EGLBoolean EGLAPIENTRY destroy_image(EGLDisplay, EGLImageKHR image)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_egl("eglDestroyImageKHR"))
    return EGL_FALSE;
  if (driver.images.erase(reinterpret_cast<std::uintptr_t>(image)) == 1)
    return EGL_TRUE;
  driver.double_frees++;
  return driver.set_egl_error(EGL_BAD_PARAMETER);
}

// Takes the descriptor when it succeeds (EGL_ANDROID_native_fence_sync).
EGLSyncKHR EGLAPIENTRY create_sync(EGLDisplay, EGLenum type, const EGLint *attributes)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_egl("eglCreateSyncKHR"))
    return EGL_NO_SYNC_KHR;
  if (type != EGL_SYNC_NATIVE_FENCE_ANDROID && type != EGL_SYNC_FENCE_KHR) {
    driver.set_egl_error(EGL_BAD_ATTRIBUTE);
    return EGL_NO_SYNC_KHR;
  }
  FakeEgl::Sync sync;
  for (const EGLint *at = attributes; at && *at != EGL_NONE; at += 2)
    if (at[0] == EGL_SYNC_NATIVE_FENCE_FD_ANDROID && at[1] != EGL_NO_NATIVE_FENCE_FD_ANDROID) {
      sync.fd = at[1];
      sync.is_import = true;
    }
  if (sync.is_import && ::fcntl(sync.fd, F_GETFD) < 0) {
    driver.set_egl_error(EGL_BAD_ATTRIBUTE);
    return EGL_NO_SYNC_KHR;
  }
  sync.flushes = driver.flushes;
  const std::uintptr_t number = driver.next_number();
  driver.syncs[number] = sync;
  return reinterpret_cast<EGLSyncKHR>(number);
}

FakeEgl::Sync *find_sync(FakeEgl &driver, EGLSyncKHR sync)
{
  const auto found = driver.syncs.find(reinterpret_cast<std::uintptr_t>(sync));
  if (found != driver.syncs.end())
    return &found->second;
  driver.set_egl_error(EGL_BAD_PARAMETER);
  return nullptr;
}

EGLBoolean EGLAPIENTRY destroy_sync(EGLDisplay, EGLSyncKHR sync)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_egl("eglDestroySyncKHR"))
    return EGL_FALSE;
  const FakeEgl::Sync *const found = find_sync(driver, sync);
  if (!found) {
    driver.double_frees++;
    return EGL_FALSE;
  }
  if (found->fd >= 0)
    ::close(found->fd);
  driver.syncs.erase(reinterpret_cast<std::uintptr_t>(sync));
  return EGL_TRUE;
}

EGLint EGLAPIENTRY client_wait_sync(EGLDisplay, EGLSyncKHR sync, EGLint flags, EGLTimeKHR)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_egl("eglClientWaitSyncKHR") || !find_sync(driver, sync))
    return EGL_FALSE;
  if (flags & EGL_SYNC_FLUSH_COMMANDS_BIT_KHR)
    driver.flushes++;
  return EGL_CONDITION_SATISFIED_KHR;
}

EGLint EGLAPIENTRY wait_sync(EGLDisplay, EGLSyncKHR sync, EGLint flags)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_egl("eglWaitSyncKHR") || !find_sync(driver, sync))
    return EGL_FALSE;
  return flags == 0 ? EGL_TRUE : static_cast<EGLint>(driver.set_egl_error(EGL_BAD_PARAMETER));
}

// The fence has a descriptor once its commands were flushed.
EGLint EGLAPIENTRY dup_native_fence_fd(EGLDisplay, EGLSyncKHR sync)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_egl("eglDupNativeFenceFDANDROID"))
    return EGL_NO_NATIVE_FENCE_FD_ANDROID;
  FakeEgl::Sync *const found = find_sync(driver, sync);
  if (!found)
    return EGL_NO_NATIVE_FENCE_FD_ANDROID;
  if (!found->is_import && found->flushes == driver.flushes)
    return EGL_NO_NATIVE_FENCE_FD_ANDROID;
  if (found->fd < 0)
    found->fd =
        driver.make_fence_fd ? driver.make_fence_fd() : ::memfd_create("fence", MFD_CLOEXEC);
  return ::fcntl(found->fd, F_DUPFD_CLOEXEC, 0);
}

EGLBoolean EGLAPIENTRY query_display_attrib(EGLDisplay, EGLint name, EGLAttrib *value)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_egl("eglQueryDisplayAttribEXT") || name != EGL_DEVICE_EXT)
    return driver.set_egl_error(EGL_BAD_ATTRIBUTE);
  *value = driver.has_device ? reinterpret_cast<EGLAttrib>(&driver) : 0;
  return EGL_TRUE;
}

const char *EGLAPIENTRY query_device_string(EGLDeviceEXT, EGLint name)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_egl("eglQueryDeviceStringEXT"))
    return nullptr;
  switch (name) {
  case EGL_EXTENSIONS:
    return driver.device_extensions.c_str();
  case EGL_DRM_DEVICE_FILE_EXT:
    return driver.card_node.empty() ? nullptr : driver.card_node.c_str();
  case EGL_DRM_RENDER_NODE_FILE_EXT:
    return driver.render_node.empty() ? nullptr : driver.render_node.c_str();
  default:
    driver.set_egl_error(EGL_BAD_PARAMETER);
    return nullptr;
  }
}

template <typename Function> void *address(Function function)
{
  return reinterpret_cast<void *>(function);
}

} // namespace

void *fake_egl_function(const std::string &name)
{
  static const std::map<std::string, void *> functions = {
      {"eglGetError", address(get_error)},
      {"eglQueryString", address(query_string)},
      {"eglGetCurrentDisplay", address(get_current_display)},
      {"eglCreateImageKHR", address(create_image)},
      {"eglDestroyImageKHR", address(destroy_image)},
      {"eglQueryDmaBufFormatsEXT", address(query_formats)},
      {"eglQueryDmaBufModifiersEXT", address(query_modifiers)},
      {"eglCreateSyncKHR", address(create_sync)},
      {"eglDestroySyncKHR", address(destroy_sync)},
      {"eglClientWaitSyncKHR", address(client_wait_sync)},
      {"eglWaitSyncKHR", address(wait_sync)},
      {"eglDupNativeFenceFDANDROID", address(dup_native_fence_fd)},
      {"eglQueryDisplayAttribEXT", address(query_display_attrib)},
      {"eglQueryDeviceStringEXT", address(query_device_string)},
  };
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

} // namespace gstdrm::test

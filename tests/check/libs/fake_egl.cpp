// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake_egl.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include <unistd.h>

#include <drm_fourcc.h>

#define EGL_NO_X11
#define MESA_EGL_NO_X11_HEADERS
#include <EGL/egl.h>
#include <EGL/eglext.h>

namespace {

constexpr EGLint kFourccs[] = {DRM_FORMAT_XRGB8888, DRM_FORMAT_ARGB8888, DRM_FORMAT_NV12, DRM_FORMAT_P010};
constexpr EGLuint64KHR kModifiers[] = {DRM_FORMAT_MOD_LINEAR, 0x0100000000000002};

std::atomic<unsigned> left{~0U};
std::atomic<unsigned> answered{0};
std::atomic<unsigned> forgotten{0};
std::atomic<bool> is_gpu{false};

// GST_DRM_FAKE_EGL=DEVICES:NUMBER:FAULT: so many devices, and what the driver of the one of that number does when its display
// is initialized: crash, exit, hang.
struct Machine {
  int devices = 1;
  int faulty = -1;
  std::string fault;

  Machine()
  {
    const char *text = std::getenv("GST_DRM_FAKE_EGL");
    std::array<char, 16> word{};
    if (text && std::sscanf(text, "%d:%d:%15s", &devices, &faulty, word.data()) == 3)
      fault = word.data();
  }
};
const Machine machine;
std::array<int, 8> devices{}; // each its own display

bool answers()
{
  if (left == 0)
    return false;
  if (left != ~0U)
    left--;
  answered++;
  return true;
}

template <typename T> void give(T *list, EGLint room, EGLint *count, const T *from, EGLint size)
{
  if (list)
    std::copy_n(from, std::min(room, size), list);
  *count = size;
}

EGLBoolean query_devices(EGLint room, EGLDeviceEXT *list, EGLint *count)
{
  std::array<EGLDeviceEXT, devices.size()> all{};
  std::transform(devices.begin(), devices.end(), all.begin(), [](int &device) { return &device; });
  give<EGLDeviceEXT>(list, room, count, all.data(), machine.devices);
  return EGL_TRUE;
}

const char *query_device_string(EGLDeviceEXT, EGLint name)
{
  if (name != EGL_EXTENSIONS)
    return nullptr;
  return is_gpu ? "EGL_EXT_device_drm EGL_EXT_device_drm_render_node" : "EGL_MESA_device_software";
}

EGLDisplay platform_display(EGLenum, void *device, const EGLint *)
{
  return device;
}

EGLBoolean query_formats(EGLDisplay, EGLint room, EGLint *list, EGLint *count)
{
  if (!answers())
    return EGL_FALSE;
  give(list, room, count, kFourccs, static_cast<EGLint>(std::size(kFourccs)));
  return EGL_TRUE;
}

EGLBoolean query_modifiers(EGLDisplay, EGLint fourcc, EGLint room, EGLuint64KHR *list, EGLBoolean *external, EGLint *count)
{
  if (!answers() || static_cast<unsigned>(fourcc) == forgotten)
    return EGL_FALSE;
  give(list, room, count, kModifiers, static_cast<EGLint>(std::size(kModifiers)));
  if (external)
    std::fill_n(external, std::min(room, *count), EGLBoolean{EGL_FALSE});
  return EGL_TRUE;
}

template <typename T> __eglMustCastToProperFunctionPointerType function(T *address)
{
  return reinterpret_cast<__eglMustCastToProperFunctionPointerType>(address);
}

} // namespace

namespace gstdrm::test {

void answer_questions(unsigned n) noexcept
{
  left = n;
  answered = 0;
}

unsigned questions_answered() noexcept
{
  return answered;
}

void forget_format(unsigned fourcc) noexcept
{
  forgotten = fourcc;
}

void be_gpu_without_node(bool is) noexcept
{
  is_gpu = is;
}

} // namespace gstdrm::test

extern "C" {

__attribute__((visibility("default"))) const char *eglQueryString(EGLDisplay asked, EGLint name)
{
  if (name != EGL_EXTENSIONS)
    return "test";
  return asked == EGL_NO_DISPLAY ? "EGL_EXT_device_base EGL_EXT_platform_device" : "EGL_EXT_image_dma_buf_import EGL_EXT_image_dma_buf_import_modifiers";
}

__attribute__((visibility("default"))) EGLBoolean eglInitialize(EGLDisplay display, EGLint *, EGLint *)
{
  if (machine.faulty >= 0 && display == &devices.at(static_cast<std::size_t>(machine.faulty))) {
    if (machine.fault == "crash")
      (void)std::raise(SIGSEGV);
    if (machine.fault == "exit")
      std::exit(3);
    while (machine.fault == "hang")
      (void)::pause();
  }
  return EGL_TRUE;
}

__attribute__((visibility("default"))) EGLBoolean eglTerminate(EGLDisplay)
{
  return EGL_TRUE;
}

__attribute__((visibility("default"))) __eglMustCastToProperFunctionPointerType eglGetProcAddress(const char *name)
{
  const std::string_view wanted = name;
  if (wanted == "eglQueryDevicesEXT")
    return function(query_devices);
  if (wanted == "eglQueryDeviceStringEXT")
    return function(query_device_string);
  if (wanted == "eglGetPlatformDisplayEXT")
    return function(platform_display);
  if (wanted == "eglQueryDmaBufFormatsEXT")
    return function(query_formats);
  return wanted == "eglQueryDmaBufModifiersEXT" ? function(query_modifiers) : nullptr;
}

} // extern "C"

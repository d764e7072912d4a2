// SPDX-License-Identifier: LGPL-2.1-or-later
// The machine's own software driver under the name of a GPU's. It draws, and its eglWaitSync() is
// real.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <utility>

#include <GLES2/gl2.h>

#include "gl_frames.hpp"

namespace gstdrm::test {

inline constexpr const char *kOtherVersion = "OpenGL ES 3.2 another driver 1.0"; // not Mesa's

inline std::atomic<bool> is_gpu{false};
inline std::atomic<const char *> version{nullptr}; // nullptr: the driver's own
inline std::atomic<bool> makes_no_sync{false};
inline std::atomic<PFNGLGETSTRINGPROC> driver_get_string{nullptr};
inline decltype(GstGLContextClass::get_proc_address) look_up = nullptr;

inline const GLubyte *get_string(GLenum name) noexcept
{
  if (name == GL_RENDERER && is_gpu)
    return reinterpret_cast<const GLubyte *>("GPU of the test");
  if (const char *own = version; name == GL_VERSION && own)
    return reinterpret_cast<const GLubyte *>(own);
  return driver_get_string.load()(name);
}

inline EGLSyncKHR make_no_sync(EGLDisplay, EGLenum, const EGLint *) noexcept
{
  return EGL_NO_SYNC_KHR;
}

inline gpointer find_function(GstGLAPI api, const gchar *name) noexcept
{
  const gpointer found = look_up(api, name);
  const std::string_view asked(name);
  if (found && asked == "glGetString") {
    driver_get_string = reinterpret_cast<PFNGLGETSTRINGPROC>(found);
    return reinterpret_cast<gpointer>(get_string);
  }
  return asked == "eglCreateSyncKHR" && makes_no_sync ? reinterpret_cast<gpointer>(make_no_sync)
                                                      : found;
}

// A context whose driver goes by these names, for as long as this lives.
class Gpu {
public:
  explicit Gpu(const char *gl_version = nullptr, bool no_sync = false)
  {
    auto *klass =
        static_cast<GstGLContextClass *>(g_type_class_peek(g_type_from_name("GstGLContextEGL")));
    fail_unless(klass != nullptr, "no context of EGL has been made yet");
    look_up = std::exchange(klass->get_proc_address, find_function);
    is_gpu = true;
    version = gl_version;
    makes_no_sync = no_sync;
    gl = std::make_unique<Gl>();
    klass->get_proc_address = look_up;
    is_gpu = false;
    fail_unless(gl->thread != nullptr, "no GL: %s", gl->problem.c_str());
    fail_if(device().driver().is_software);
    fail_unless(device().has_native_fences());
  }
  [[nodiscard]] const egl::Device &device() const { return *gl->thread->device(); }

  std::unique_ptr<Gl> gl;
};

} // namespace gstdrm::test

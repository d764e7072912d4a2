// SPDX-License-Identifier: LGPL-2.1-or-later
// The machine's own software driver under the name of a GPU's. It draws, and its eglWaitSync() is
// real.
#pragma once

#include <atomic>
#include <string_view>
#include <utility>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <gst/gl/gl.h>

#include "support/check_main.hpp"

namespace gstdrm::test {

inline constexpr const char *kOtherVersion = "OpenGL ES 3.2 another driver 1.0"; // not Mesa's

// What the driver does where it is asked for a sync object of EGL.
enum class Syncs {
  Made,
  Refused,
  Missing, // it has no such function
};

inline std::atomic<bool> is_gpu{false};
inline std::atomic<const char *> version{nullptr}; // nullptr: the driver's own
inline std::atomic<Syncs> syncs{Syncs::Made};
inline std::atomic<const char *> node{nullptr}; // of its device; nullptr: the driver's own
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

inline EGLBoolean query_display_attrib(EGLDisplay, EGLint, EGLAttrib *value) noexcept
{
  *value = 1; // a device
  return EGL_TRUE;
}

inline const char *query_device_string(EGLDeviceEXT, EGLint name) noexcept
{
  return name == EGL_EXTENSIONS             ? "EGL_EXT_device_drm"
         : name == EGL_DRM_DEVICE_FILE_EXT ? node.load()
                                            : nullptr;
}

inline gpointer find_function(GstGLAPI api, const gchar *name) noexcept
{
  const gpointer found = look_up(api, name);
  const std::string_view asked(name);
  if (found && asked == "glGetString") {
    driver_get_string = reinterpret_cast<PFNGLGETSTRINGPROC>(found);
    return reinterpret_cast<gpointer>(get_string);
  }
  if (asked == "eglCreateSyncKHR" && syncs != Syncs::Made)
    return syncs == Syncs::Refused ? reinterpret_cast<gpointer>(make_no_sync) : nullptr;
  if (found && node && asked == "eglQueryDisplayAttribEXT")
    return reinterpret_cast<gpointer>(query_display_attrib);
  if (found && node && asked == "eglQueryDeviceStringEXT")
    return reinterpret_cast<gpointer>(query_device_string);
  return found;
}

// The driver goes by these names in contexts that are opened as long as this lives.
class DriverName {
public:
  explicit DriverName(const char *gl_version = nullptr, Syncs made = Syncs::Made,
                      const char *device_node = nullptr)
      : contexts_(static_cast<GstGLContextClass *>(
            g_type_class_peek(g_type_from_name("GstGLContextEGL"))))
  {
    fail_unless(contexts_ != nullptr, "no context of EGL has been made yet");
    if (contexts_->get_proc_address != find_function) // a case that failed leaves it behind
      look_up = std::exchange(contexts_->get_proc_address, find_function);
    is_gpu = true;
    version = gl_version;
    syncs = made;
    node = device_node;
  }
  DriverName(const DriverName &) = delete;
  DriverName &operator=(const DriverName &) = delete;
  ~DriverName()
  {
    contexts_->get_proc_address = look_up;
    is_gpu = false;
    version = nullptr;
    node = nullptr;
  }

private:
  GstGLContextClass *const contexts_;
};

} // namespace gstdrm::test

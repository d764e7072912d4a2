// SPDX-License-Identifier: LGPL-2.1-or-later
#include "egl_resetting.hpp"

#include <atomic>
#include <string_view>

#include <GLES2/gl2.h>
#include <GLES2/gl2ext.h>

#include "support/check_main.hpp"

namespace gstdrm::test {
namespace {

std::atomic<bool> robust{false};
std::atomic<guintptr> lost{0}; // the driver's handle of the context
std::atomic<PFNGLGETINTEGERVPROC> driver_get_integerv{nullptr};
decltype(GstGLContextClass::get_proc_address) get_proc_address;

GLenum get_reset_status() noexcept
{
  const guintptr current = gst_gl_context_get_current_gl_context(GST_GL_PLATFORM_EGL);
  return current != 0 && current == lost ? GL_INNOCENT_CONTEXT_RESET_KHR : GL_NO_ERROR;
}

void get_integerv(GLenum name, GLint *value) noexcept
{
  if (name == GL_RESET_NOTIFICATION_STRATEGY_KHR && robust)
    *value = GL_LOSE_CONTEXT_ON_RESET_KHR;
  else
    driver_get_integerv.load()(name, value);
}

gpointer find_function(GstGLAPI api, const gchar *name) noexcept
{
  const gpointer found = get_proc_address(api, name);
  if (!found || !robust)
    return found;
  const std::string_view asked(name);
  if (asked == "glGetIntegerv") {
    driver_get_integerv = reinterpret_cast<PFNGLGETINTEGERVPROC>(found);
    return reinterpret_cast<gpointer>(get_integerv);
  }
  if (asked.starts_with("glGetGraphicsResetStatus"))
    return reinterpret_cast<gpointer>(get_reset_status);
  return found;
}

} // namespace

void make_contexts_robust(bool make)
{
  static gpointer contexts = nullptr; // its class lives as long as the process
  if (!contexts) {
    const GType type = g_type_from_name("GstGLContextEGL");
    fail_unless(type != G_TYPE_INVALID, "no context of EGL has been made yet");
    contexts = g_type_class_ref(type);
    auto *klass = static_cast<GstGLContextClass *>(contexts);
    get_proc_address = klass->get_proc_address;
    klass->get_proc_address = find_function;
  }
  robust = make;
}

void lose_context(GstGLContext *context)
{
  lost = context ? gst_gl_context_get_gl_context(context) : 0;
}

} // namespace gstdrm::test

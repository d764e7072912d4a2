// SPDX-License-Identifier: LGPL-2.1-or-later
// Each GstGLDisplayEGL ends with eglTerminate(), and all of a process have one EGLDisplay without a
// window system. So the end of one, as late as the last message that holds it, takes EGL away from
// the others: contexts are not made, and Mesa 26.1 has crashed. For programs that make many.
#define EGL_NO_X11
#define MESA_EGL_NO_X11_HEADERS
#include <EGL/egl.h>

extern "C" __attribute__((visibility("default"))) EGLBoolean eglTerminate(EGLDisplay)
{
  return EGL_TRUE;
}

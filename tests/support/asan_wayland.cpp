// SPDX-License-Identifier: LGPL-2.1-or-later
// What a program under ASan forgives whose GstGLDisplay may be one of Wayland, and no other program: GStreamer 1.22 never ends the
// queue, the registry and the globals of a window (gst_gl_window_wayland_egl_close() in gstglwindow_wayland_egl.c). What the project
// itself asks of Wayland is in libgstdrm and in kmsdmabufsink, which such a program does not use.
extern "C" __attribute__((visibility("default"))) const char *__lsan_default_suppressions() // NOLINT(bugprone-reserved-identifier): ASan's
{
  return "leak:wl_proxy_create_wrapper\nleak:wl_proxy_marshal_flags\nleak:wl_display_create_queue\n";
}

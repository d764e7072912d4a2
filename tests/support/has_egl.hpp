// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cerrno>

#include <sys/wait.h>
#include <unistd.h>

#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/gl/gl.h>

namespace gstdrm::test {

// Whether this machine's GStreamer has OpenGL by EGL at all. A child of its own looks: Mesa joins
// its drivers' threads when a process exits, and the cases, which are forks, would have threads to
// join that are their parent's.
inline bool has_egl()
{
  const pid_t child = ::fork();
  if (child < 0)
    g_error("no process to look for EGL in: %s", g_strerror(errno));
  if (child == 0) {
    GstElement *element = gst_element_factory_make("egldmabufupload", nullptr);
    GstHarness *h = gst_harness_new_with_element(element, "sink", "src");
    gst_harness_play(h);
    ::_exit(gst_gl_base_filter_find_gl_context(GST_GL_BASE_FILTER(h->element)) ? 0 : 1);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status))
    g_error("the process that looks for EGL ended with status 0x%x", static_cast<unsigned>(status));
  return WEXITSTATUS(status) == 0;
}

} // namespace gstdrm::test

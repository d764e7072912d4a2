// SPDX-License-Identifier: LGPL-2.1-or-later
// What every target that uses GStreamer needs: it is initialised once, and a CRITICAL is a finding, whoever says it.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <gst/gst.h>

namespace gstdrm::test {

inline void handle_message(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer) noexcept
{
  if ((level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR)) == 0)
    return;
  std::fprintf(stderr, "%s: %s\n", domain, message);
  std::abort();
}

inline int init_gstreamer(int *argc, char ***argv)
{
  g_setenv("GST_REGISTRY_DISABLE", "yes", TRUE);
  gst_init(argc, argv);
  g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_FATAL_MASK)); // not G_DEBUG's: handle_message() decides
  g_log_set_default_handler(handle_message, nullptr);
  return 0;
}

// A condition that every input has to fulfil.
inline void expect(bool holds, const char *what)
{
  if (holds)
    return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

} // namespace gstdrm::test

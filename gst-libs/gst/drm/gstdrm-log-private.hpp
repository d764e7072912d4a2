// SPDX-License-Identifier: LGPL-2.1-or-later
// Connects the log lines of one module, the core's and those of a plugin's engine, to GST_DEBUG. The
// library does so for itself, each plugin for its own. Never installed.
#pragma once

#include <gst/gst.h>

#include <gst/drm/core/log.hpp>

namespace gstdrm {

using DebugCategoryGetter = GstDebugCategory *(*)() noexcept;

#ifndef GST_DISABLE_GST_DEBUG

// The sink of the category that `Get` returns.
template <DebugCategoryGetter Get> struct GstLogSink {
  static GstDebugLevel to_gst(LogLevel level) noexcept { return static_cast<GstDebugLevel>(level); }
  static bool reads(LogLevel level) noexcept
  {
    return to_gst(level) <= gst_debug_category_get_threshold(Get());
  }
  static void write(LogLevel level, const char *file, const char *function, int line,
                    const char *text) noexcept
  {
    gst_debug_log_literal(Get(), to_gst(level), file, function, line, nullptr, text);
  }
  // _gst_debug_min is what GStreamer's own macros look at first: no category has a higher
  // threshold.
  static inline const LogSink sink = {reinterpret_cast<const int *>(&_gst_debug_min), reads, write};
};

static_assert(static_cast<int>(LogLevel::Error) == GST_LEVEL_ERROR &&
              static_cast<int>(LogLevel::Warning) == GST_LEVEL_WARNING &&
              static_cast<int>(LogLevel::Info) == GST_LEVEL_INFO &&
              static_cast<int>(LogLevel::Debug) == GST_LEVEL_DEBUG &&
              static_cast<int>(LogLevel::Log) == GST_LEVEL_LOG &&
              static_cast<int>(LogLevel::Trace) == GST_LEVEL_TRACE);
static_assert(sizeof(_gst_debug_min) == sizeof(int));

// Before anything of the module logs from a second thread.
template <DebugCategoryGetter Get> void connect_log() noexcept
{
  (void)Get(); // GST_DEBUG counts for categories that exist
  set_log_sink(&GstLogSink<Get>::sink);
}

#else

template <DebugCategoryGetter Get> void connect_log() noexcept {}

#endif

} // namespace gstdrm

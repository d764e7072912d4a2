// SPDX-License-Identifier: LGPL-2.1-or-later
// Log lines of code that knows no GLib. Each module that links the core (the library, every plugin)
// has a sink of its own, which it connects to GST_DEBUG. Any thread.
#pragma once

#include <atomic>

namespace gstdrm {

// The values are those of GstDebugLevel, and the digits of GST_DEBUG.
enum class LogLevel : int { Error = 1, Warning = 2, Info = 4, Debug = 5, Log = 6, Trace = 7 };

// Where the log goes.
struct LogSink {
  // The highest level that anybody might read, asked before the two functions. Whoever owns it may
  // change it at any time.
  const int *most_detailed;
  // Whether somebody reads lines of that level.
  bool (*reads)(LogLevel level) noexcept;
  // Takes one line without a line feed at its end. `file` and `function` are literals.
  void (*write)(LogLevel level, const char *file, const char *function, int line,
                const char *text) noexcept;
};

namespace detail {
inline constinit std::atomic<const LogSink *> log_sink{nullptr};
} // namespace detail

// `sink` is constant-initialised and lives as long as the module; null if nobody reads. Before the
// first thread that logs.
inline void set_log_sink(const LogSink *sink) noexcept
{
  detail::log_sink.store(sink, std::memory_order_relaxed);
}

// Where nobody reads, this is one relaxed load, and with a sink one comparison with a number in
// memory.
inline bool log_reads(LogLevel level) noexcept
{
  const LogSink *sink = detail::log_sink.load(std::memory_order_relaxed);
  if (!sink || static_cast<int>(level) > __atomic_load_n(sink->most_detailed, __ATOMIC_RELAXED))
    return false;
  return sink->reads(level);
}

// Formats as printf() does. A line that is longer than 1023 bytes is cut.
[[gnu::format(printf, 5, 6)]] void log_line(LogLevel level, const char *file, const char *function,
                                            int line, const char *format, ...) noexcept;

} // namespace gstdrm

// The arguments are evaluated only when somebody reads the level.
#define GSTDRM_LOG_AT(level, ...)                                                                  \
  do {                                                                                             \
    if (gstdrm::log_reads(level))                                                                  \
      gstdrm::log_line(level, __FILE__, __func__, __LINE__, __VA_ARGS__);                          \
  } while (false)
#define GSTDRM_WARNING(...) GSTDRM_LOG_AT(gstdrm::LogLevel::Warning, __VA_ARGS__)
#define GSTDRM_INFO(...) GSTDRM_LOG_AT(gstdrm::LogLevel::Info, __VA_ARGS__)
#define GSTDRM_DEBUG(...) GSTDRM_LOG_AT(gstdrm::LogLevel::Debug, __VA_ARGS__)
#define GSTDRM_LOG(...) GSTDRM_LOG_AT(gstdrm::LogLevel::Log, __VA_ARGS__)
#define GSTDRM_TRACE(...) GSTDRM_LOG_AT(gstdrm::LogLevel::Trace, __VA_ARGS__)

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "log.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>

namespace gstdrm {

void log_line(LogLevel level, const char *file, const char *function, int line, const char *format, ...) noexcept
{
  const LogSink *sink = detail::log_sink.load(std::memory_order_relaxed);
  if (!sink)
    return;
  std::array<char, 1024> text;
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  if (length >= 0)
    sink->write(level, file, function, line, text.data());
}

} // namespace gstdrm

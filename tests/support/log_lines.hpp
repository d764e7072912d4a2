// SPDX-License-Identifier: LGPL-2.1-or-later
// What the core and an engine log while one of these lives, as "LEVEL TEXT". One at a time.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gst/drm/core/log.hpp>

namespace gstdrm::test {

class LogLines {
public:
  explicit LogLines(LogLevel most_detailed)
  {
    (void)take();
    most_detailed_ = static_cast<int>(most_detailed);
    set_log_sink(&kSink);
  }
  LogLines(const LogLines &) = delete;
  LogLines &operator=(const LogLines &) = delete;
  ~LogLines() { set_log_sink(nullptr); }

  // The lines since the last call.
  static std::vector<std::string> take()
  {
    const std::lock_guard guard(lock_);
    return std::exchange(lines_, {});
  }
  // Whether a line contains `part`; all that is there stays.
  static bool has(const std::string &part)
  {
    const std::lock_guard guard(lock_);
    return std::any_of(lines_.begin(), lines_.end(),
                       [&](const std::string &line) { return line.find(part) != line.npos; });
  }
  // For the message of a failed check.
  static std::string all()
  {
    const std::lock_guard guard(lock_);
    std::string text;
    for (const std::string &line : lines_)
      text += line + "\n";
    return text;
  }

private:
  static bool reads(LogLevel) noexcept { return true; }
  static void write(LogLevel level, const char *, const char *, int, const char *text) noexcept
  {
    const std::lock_guard guard(lock_);
    lines_.push_back(std::to_string(static_cast<int>(level)) + " " + text);
  }
  static inline int most_detailed_ = 0;
  static inline constexpr LogSink kSink = {&most_detailed_, reads, write};
  static inline std::mutex lock_; // guards lines_, which any thread adds to
  static inline std::vector<std::string> lines_;
};

} // namespace gstdrm::test

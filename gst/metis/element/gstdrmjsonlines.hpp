// SPDX-License-Identifier: LGPL-2.1-or-later
// Lines of JSON into a file, a FIFO, a pipe, a socket or a terminal, without waiting for a reader.
#pragma once

#include <string>

#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>

namespace gstdrm {

// Streaming thread.
class JsonLines {
public:
  JsonLines() = default; // is not open
  // Creates the file, or appends to it. ErrorCode::Device if nothing can be written to it, which is
  // also the case for a FIFO that nobody reads (ENXIO).
  static Result<JsonLines> open(const std::string &path);
  // `fd` is borrowed. Its open file keeps its flags: others may write to it and expect to sleep.
  static Result<JsonLines> open(int fd);

  [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(fd_); }

  // Writes the whole line, or drops it and returns false if the reader has not read the lines
  // before it. After an Error is_open() returns false.
  Result<bool> write(std::string line);

private:
  static Result<JsonLines> take(UniqueFd fd, const std::string &name);
  Result<void> write_rest();

  UniqueFd fd_;
  std::string name_;
  std::string rest_; // of a line of which the reader took a part
  bool is_socket_ = false;
};

} // namespace gstdrm

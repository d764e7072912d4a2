// SPDX-License-Identifier: LGPL-2.1-or-later
// The kernel's own record of what happens to dma-bufs and fences: tracefs, as the zero-copy
// document's scripts read it.
#pragma once

#include <string>
#include <vector>

namespace gstdrm::test {

// Events between the constructor and stop().
class Trace {
public:
  // Names below events/, such as "axl" or "dma_buf/dma_buf_mmap".
  explicit Trace(std::vector<std::string> events);
  Trace(const Trace &) = delete;
  Trace &operator=(const Trace &) = delete;
  ~Trace();

  // Lines in the order of time. Fails the test where the kernel has lost any.
  [[nodiscard]] std::vector<std::string> stop();

private:
  const std::vector<std::string> events_;
};

[[nodiscard]] bool is_event(const std::string &line, const std::string &event);
// "iova" of "... iova=0x80100000 size=3110400"; fails the test where the line has no such field.
[[nodiscard]] std::string field_of(const std::string &line, const std::string &name);
// CLOCK of the trace, in seconds.
[[nodiscard]] double seconds_of(const std::string &line);

} // namespace gstdrm::test

// SPDX-License-Identifier: LGPL-2.1-or-later
// The counters behind the `drm-stats` property that every element here has, and the rule that a
// copy is never silent (docs/buffers.md).
#pragma once

#include <atomic>
#include <cstdint>

#include <gst/gst.h>

namespace gstdrm {

// Counters of one element. Written by the streaming thread, read by any.
class Stats {
public:
  std::atomic<std::uint64_t> frames{0};
  std::atomic<std::uint64_t> imports{0};
  std::atomic<std::uint64_t> import_hits{0};
  std::atomic<std::uint64_t> releases{0}; // imports that are no longer kept
  std::atomic<std::uint64_t> copies{0};
  std::atomic<std::uint64_t> bytes_copied{0};
  std::atomic<std::uint64_t> waits{0};

  // Sets all to 0 for a new stream. Once in a process, posts an info message about what its kernel
  // lacks.
  void begin(GstElement *element);
  // `reason` is a string literal. Posts an info message on the bus for the first copy since start.
  void count_copy(GstElement *element, std::uint64_t bytes, const char *reason);
  // (transfer full) The value of `drm-stats`, with the name that it has for every element. Elements
  // add fields of their own.
  [[nodiscard]] GstStructure *to_structure() const;

private:
  std::atomic<const char *> last_copy_reason_{nullptr};
  std::atomic<bool> announced_{false};
};

} // namespace gstdrm

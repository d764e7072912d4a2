// SPDX-License-Identifier: LGPL-2.1-or-later
// Waits for render nodes that come and go, by inotify(7): containers have no events of udev.
#pragma once

#include <utility>

#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>

namespace gstdrm::va {

// Belongs to one thread.
class NodeWatch {
public:
  NodeWatch() noexcept = default; // watches nothing
  // ErrorCode::Device where the process may have no more watches or descriptors. What changes from
  // then on ends a wait.
  static Result<NodeWatch> create();

  // Sleeps until something in /dev/dri has changed, or its rights: true. False: `wake_fd` is
  // readable, or nothing can be watched any more.
  bool wait(int wake_fd);

private:
  explicit NodeWatch(UniqueFd fd) noexcept : fd_(std::move(fd)) {}
  void watch_nodes() const noexcept;

  UniqueFd fd_;
};

} // namespace gstdrm::va

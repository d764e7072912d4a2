// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_node_watch.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <sys/inotify.h>
#include <unistd.h>

#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/poll_wait.hpp>

namespace gstdrm::va {
namespace {

constexpr char kDevices[] = "/dev";
constexpr char kNodes[] = "/dev/dri";

} // namespace

Result<NodeWatch> NodeWatch::create()
{
  NodeWatch watch(UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)));
  // The folder of nodes comes with the first one, and goes with the last.
  if (!watch.fd_ ||
      ::inotify_add_watch(watch.fd_.get(), kDevices,
                          IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR) < 0) {
    const int error = errno;
    return Error{ErrorCode::Device,
                 "Render nodes that come and go are not noticed: inotify on " +
                     std::string(kDevices) + ": " + errno_text(error),
                 error};
  }
  watch.watch_nodes();
  return watch;
}

// Once more for a folder that is watched already changes nothing.
void NodeWatch::watch_nodes() const noexcept
{
  (void)::inotify_add_watch(fd_.get(), kNodes,
                            IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB |
                                IN_ONLYDIR);
}

bool NodeWatch::wait(int wake_fd)
{
  if (poll_readable(wake_fd, deadline_after(std::chrono::nanoseconds(0))).end == PollEnd::Ready ||
      poll_readable(fd_.get(), std::nullopt, wake_fd).end != PollEnd::Ready)
    return false;
  alignas(inotify_event) std::array<char, 4096> events;
  while (::read(fd_.get(), events.data(), events.size()) > 0) {
    // Which file it was does not matter: all are looked at.
  }
  watch_nodes();
  return true;
}

} // namespace gstdrm::va

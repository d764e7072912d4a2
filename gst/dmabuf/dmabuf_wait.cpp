// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dmabuf_wait.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include <poll.h>

namespace gstdrm {

namespace {

using Clock = std::chrono::steady_clock;

// poll(2) for reading; 0 when the time is over, a negative errno on failure
int poll_in(int fd, Clock::time_point deadline)
{
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd request{fd, POLLIN, 0};
    const int ready = ::poll(&request, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0);
    if (ready > 0)
      return request.revents & POLLNVAL ? -EBADF : 1;
    if (ready == 0)
      return 0;
    if (errno != EINTR && errno != EAGAIN)
      return -errno;
  }
}

Error sync_error(int fd, int error, const char *why)
{
  return Error{ErrorCode::Sync,
               "Waiting for the device that writes to dma-buf " + std::to_string(fd) +
                   " failed: " + why,
               error};
}

} // namespace

Result<Waited> wait_for_writers(int dmabuf_fd, std::chrono::milliseconds limit)
{
  int ready = poll_in(dmabuf_fd, Clock::now());
  if (ready > 0)
    return Waited::No;
  if (ready == 0)
    ready = poll_in(dmabuf_fd, Clock::now() + limit);
  if (ready > 0)
    return Waited::Yes;
  if (ready == 0)
    return sync_error(dmabuf_fd, ETIMEDOUT,
                      ("it is not done after " + std::to_string(limit.count()) + " ms").c_str());
  return sync_error(dmabuf_fd, -ready, std::strerror(-ready));
}

} // namespace gstdrm

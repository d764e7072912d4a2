// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dmabuf_wait.hpp"

#include <array>
#include <cerrno>
#include <mutex>
#include <string>
#include <utility>

#include <poll.h>

#include <gst/drm/core/errno_text.hpp>

namespace gstdrm {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTimeIsOver = 0;
constexpr int kReady = 1;
constexpr int kInterrupted = 2;

// poll(2) for reading, of the descriptor and the interrupt; a negative errno on failure
int poll_in(int fd, Clock::time_point deadline, const Interrupt &interrupt)
{
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    std::array<pollfd, 2> requests = {pollfd{fd, POLLIN, 0}, pollfd{interrupt.fd(), POLLIN, 0}};
    const int ready = ::poll(requests.data(), requests.size(),
                             left.count() > 0 ? static_cast<int>(left.count()) : 0);
    if (ready > 0 && requests[0].revents != 0)
      return requests[0].revents & POLLNVAL ? -EBADF : kReady;
    if (ready > 0)
      return kInterrupted;
    if (ready == 0)
      return kTimeIsOver;
    if (errno != EINTR && errno != EAGAIN)
      return -errno;
  }
}

Error sync_error(const std::string &what, int error, const std::string &why)
{
  return Error{ErrorCode::Sync, "Waiting for " + what + " failed: " + why, error};
}

Result<Waited> wait_readable(int fd, std::chrono::milliseconds limit, const Interrupt &interrupt,
                             const std::string &what)
{
  int ready = poll_in(fd, Clock::now(), interrupt);
  if (ready == kReady)
    return Waited::No;
  if (ready == kTimeIsOver)
    ready = poll_in(fd, Clock::now() + limit, interrupt);
  switch (ready) {
  case kReady:
    return Waited::Yes;
  case kInterrupted:
    return Waited::Interrupted;
  case kTimeIsOver:
    return sync_error(what, ETIMEDOUT,
                      "it is not done after " + std::to_string(limit.count()) + " ms");
  default:
    return sync_error(what, -ready, errno_text(-ready));
  }
}

} // namespace

// Without a descriptor (EMFILE) a wait lasts to its limit, as the frame's own would fail anyway.
Interrupt::Interrupt()
{
  if (Result<WakeFd> event = WakeFd::create())
    event_ = std::move(*event);
}

void Interrupt::raise()
{
  const std::lock_guard lock(lock_);
  raised_ = true;
  event_.wake();
}

void Interrupt::clear()
{
  const std::lock_guard lock(lock_);
  raised_ = false;
  event_.drain();
}

Result<Waited> wait_for_writers(int dmabuf_fd, std::chrono::milliseconds limit,
                                const Interrupt &interrupt)
{
  return wait_readable(dmabuf_fd, limit, interrupt,
                       "the device that writes to dma-buf " + std::to_string(dmabuf_fd));
}

Result<Waited> wait_for_fence(int fence_fd, std::chrono::milliseconds limit,
                              const Interrupt &interrupt)
{
  return wait_readable(fence_fd, limit, interrupt,
                       "the producer's device, by the frame's acquire fence,");
}

} // namespace gstdrm

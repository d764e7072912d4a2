// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device_wait.hpp"

#include <cerrno>
#include <mutex>
#include <string>
#include <utility>

#include "errno_text.hpp"
#include "poll_wait.hpp"

namespace gstdrm {

namespace {

Error sync_error(const std::string &what, int error, const std::string &why)
{
  return Error{ErrorCode::Sync, "Waiting for " + what + " failed: " + why, error};
}

// `name` is asked for an error alone: most waits are over before they begin, and cost no text.
Result<Waited> wait_readable(int fd, std::chrono::milliseconds limit, const Interrupt &interrupt,
                             std::string (*name)(int fd))
{
  const int wake_fd = interrupt.fd();
  PollResult polled = poll_readable(fd, std::chrono::steady_clock::time_point{}, wake_fd);
  if (polled.end == PollEnd::Ready)
    return Waited::No;
  if (polled.end == PollEnd::TimeIsOver)
    polled = poll_readable(fd, deadline_after(limit), wake_fd);
  switch (polled.end) {
  case PollEnd::Ready:
    return Waited::Yes;
  case PollEnd::Woken:
    return Waited::Interrupted;
  case PollEnd::TimeIsOver:
    return sync_error(name(fd), ETIMEDOUT,
                      "it is not done after " + std::to_string(limit.count()) + " ms");
  case PollEnd::Failed:
    break;
  }
  return sync_error(name(fd), polled.sys_errno, errno_text(polled.sys_errno));
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
  return wait_readable(dmabuf_fd, limit, interrupt, [](int fd) {
    return "the device that writes to dma-buf " + std::to_string(fd);
  });
}

Result<Waited> wait_for_fence(int fence_fd, std::chrono::milliseconds limit,
                              const Interrupt &interrupt)
{
  return wait_readable(fence_fd, limit, interrupt, [](int) {
    return std::string("the producer's device, by the frame's acquire fence,");
  });
}

} // namespace gstdrm

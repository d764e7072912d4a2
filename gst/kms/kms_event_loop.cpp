// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_event_loop.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include <cerrno>
#include <ctime>
#include <poll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

#include "kms_objects.hpp"

namespace gstdrm::kms {

namespace {

constexpr std::uint64_t kWake = 1;
constexpr std::uint64_t kQuit = std::uint64_t{1} << 32;
constexpr std::int64_t kNanosecond = 1'000'000'000;

// drmHandleEvent() hands no context of ours to its callbacks: one loop per thread, so this is one per loop
thread_local EventHandler *current_handler = nullptr;

void page_flip(int, unsigned sequence, unsigned sec, unsigned usec, unsigned crtc_id, void *user_data)
{
  const std::int64_t time_ns = std::int64_t{sec} * kNanosecond + std::int64_t{usec} * 1000;
  current_handler->on_flip(crtc_id, reinterpret_cast<std::uintptr_t>(user_data), sequence, time_ns);
}

} // namespace

std::int64_t monotonic_now_ns() noexcept
{
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * kNanosecond + now.tv_nsec;
}

Result<std::unique_ptr<EventLoop>> EventLoop::start(int drm_fd, EventHandler &handler)
{
  UniqueFd wake_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const int error = errno;
  if (!wake_fd)
    return device_error("No event descriptor (" + errno_text(error) + ").", error);
  std::unique_ptr<EventLoop> loop(new EventLoop(drm_fd, handler, std::move(wake_fd)));
  try {
    loop->thread_ = std::thread([raw = loop.get()] { raw->run(); });
  } catch (const std::system_error &failure) {
    return device_error(std::string("No event thread (") + failure.what() + ").",
                        failure.code().value());
  }
  return loop;
}

EventLoop::~EventLoop()
{
  if (!thread_.joinable())
    return;
  // an eventfd takes 8 bytes at once or, when its counter is full, none: kQuit fits beside any wakes
  while (write(wake_fd_.get(), &kQuit, sizeof(kQuit)) < 0 && errno == EINTR)
    ;
  thread_.join();
}

void EventLoop::wake() noexcept
{
  while (write(wake_fd_.get(), &kWake, sizeof(kWake)) < 0 && errno == EINTR)
    ;
}

void EventLoop::run() noexcept
{
  pthread_setname_np(pthread_self(), "kms-events");
  current_handler = &handler_;
  drmEventContext context{};
  context.version = 3; // the first with page_flip_handler2
  context.page_flip_handler2 = page_flip;

  while (true) {
    const std::int64_t deadline = handler_.next_deadline();
    const std::shared_ptr<const UniqueFd> fence =
        handler_.watched_fence(); // stays open while asleep
    timespec timeout{};
    if (deadline != INT64_MAX) {
      const std::int64_t left = std::max<std::int64_t>(deadline - monotonic_now_ns(), 0);
      timeout = {static_cast<time_t>(left / kNanosecond), static_cast<long>(left % kNanosecond)};
    }
    pollfd fds[] = {{drm_fd_, POLLIN, 0},
                    {wake_fd_.get(), POLLIN, 0},
                    {fence ? fence->get() : -1, POLLIN, 0}}; // poll() leaves out what is negative
    const int ready =
        ppoll(fds, std::size(fds), deadline == INT64_MAX ? nullptr : &timeout, nullptr);
    if (ready < 0 && errno != EINTR) {
      handler_.on_device_lost(errno);
      return;
    }
    if (ready < 0)
      continue;
    if (fds[1].revents & POLLIN) {
      std::uint64_t count = 0;
      if (read(wake_fd_.get(), &count, sizeof(count)) == sizeof(count) && count >= kQuit)
        return;
    }
    if (fds[0].revents & POLLIN) {
      drmHandleEvent(drm_fd_, &context);
    } else if (fds[0].revents & (POLLERR | POLLHUP | POLLNVAL)) {
      handler_.on_device_lost(ENODEV);
      return;
    }
    if (fds[2].revents != 0 || (deadline != INT64_MAX && monotonic_now_ns() >= deadline))
      handler_.on_timer();
  }
}

} // namespace gstdrm::kms

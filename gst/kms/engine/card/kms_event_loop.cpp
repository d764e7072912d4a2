// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_event_loop.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <string>
#include <system_error>

#include "kms_objects.hpp"

namespace gstdrm::kms {

namespace {

constexpr std::int64_t kNanosecond = 1'000'000'000;

// drmHandleEvent() passes no pointer to the loop to its callbacks. Each thread runs one loop, so a
// variable per thread is a variable per loop.
thread_local EventLoop *current_loop = nullptr;

} // namespace

std::int64_t monotonic_now_ns() noexcept
{
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * kNanosecond + now.tv_nsec;
}

Result<std::unique_ptr<EventLoop>> EventLoop::start(int drm_fd)
{
  Result<WakeFd> wake = WakeFd::create();
  if (!wake)
    return wake.error();
  std::unique_ptr<EventLoop> loop(new EventLoop(drm_fd, std::move(*wake)));
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
  quit_ = true;
  wake_.wake();
  thread_.join();
}

void EventLoop::wake() noexcept
{
  wake_.wake();
}

void EventLoop::add(std::uint32_t crtc_id, EventHandler &handler)
{
  {
    const std::lock_guard guard(lock_);
    entries_.push_back({crtc_id, &handler, INT64_MAX, 0});
  }
  wake();
}

void EventLoop::remove(EventHandler &handler)
{
  const std::lock_guard guard(lock_);
  std::erase_if(entries_, [&](const Entry &entry) { return entry.handler == &handler; });
}

bool EventLoop::empty() const
{
  const std::lock_guard guard(lock_);
  return entries_.empty();
}

bool EventLoop::dead() const
{
  const std::lock_guard guard(lock_);
  return dead_;
}

void EventLoop::page_flip(int, unsigned sequence, unsigned sec, unsigned usec, unsigned crtc_id,
                          void *user_data) noexcept
{
  const std::int64_t time_ns = std::int64_t{sec} * kNanosecond + std::int64_t{usec} * 1000;
  const std::lock_guard guard(current_loop->lock_);
  for (const Entry &entry : current_loop->entries_)
    if (entry.crtc_id == crtc_id)
      entry.handler->on_flip(crtc_id, reinterpret_cast<std::uintptr_t>(user_data), sequence,
                             time_ns);
}

// Asks every handler for the fence and the deadline to wait for. Returns the nearest deadline.
std::int64_t EventLoop::prepare_sleep()
{
  fds_.assign({{drm_fd_, POLLIN, 0}, {wake_.get(), POLLIN, 0}});
  fences_.clear();
  const std::lock_guard guard(lock_);
  std::int64_t nearest = INT64_MAX;
  for (Entry &entry : entries_) {
    entry.deadline = entry.handler->next_deadline();
    nearest = std::min(nearest, entry.deadline);
    entry.fence = 0;
    if (std::shared_ptr<const UniqueFd> fence = entry.handler->watched_fence()) {
      entry.fence = fds_.size();
      fds_.push_back({fence->get(), POLLIN, 0});
      fences_.push_back(std::move(fence));
    }
  }
  return nearest;
}

// Calls on_timer() of every handler whose deadline has passed or whose fence has signalled.
void EventLoop::call_timers()
{
  const std::lock_guard guard(lock_);
  for (const Entry &entry : entries_)
    if ((entry.fence != 0 && fds_[entry.fence].revents != 0) ||
        (entry.deadline != INT64_MAX && monotonic_now_ns() >= entry.deadline))
      entry.handler->on_timer();
}

void EventLoop::lose(int error) noexcept
{
  const std::lock_guard guard(lock_);
  dead_ = true;
  for (const Entry &entry : entries_)
    entry.handler->on_device_lost(error);
}

// No exception may leave the thread. After an exception, handlers are called as for a lost device.
void EventLoop::run() noexcept
{
  pthread_setname_np(pthread_self(), "kms-events");
  current_loop = this;
  try {
    read_events();
  } catch (...) {
    lose(ENOMEM);
  }
}

void EventLoop::read_events()
{
  drmEventContext context{};
  context.version = 3; // the first with page_flip_handler2
  context.page_flip_handler2 = page_flip;

  while (true) {
    const std::int64_t deadline = prepare_sleep();
    timespec timeout{};
    if (deadline != INT64_MAX) {
      const std::int64_t left = std::max<std::int64_t>(deadline - monotonic_now_ns(), 0);
      timeout = {static_cast<time_t>(left / kNanosecond), static_cast<long>(left % kNanosecond)};
    }
    const int ready =
        ppoll(fds_.data(), fds_.size(), deadline == INT64_MAX ? nullptr : &timeout, nullptr);
    const int error = errno;
    if (ready < 0 && error == EINTR)
      continue;
    if (ready < 0)
      return lose(error);
    if (fds_[1].revents & POLLIN) {
      wake_.drain(); // before quit_ is read: a wake() that comes later is seen by the next poll
      if (quit_)
        return;
    }
    if (fds_[0].revents & POLLIN)
      drmHandleEvent(drm_fd_, &context);
    else if (fds_[0].revents & (POLLERR | POLLHUP | POLLNVAL))
      return lose(ENODEV);
    if (deadline != INT64_MAX || !fences_.empty())
      call_timers();
  }
}

Result<std::unique_ptr<EventHub::Subscription>> EventHub::subscribe(std::uint32_t crtc_id,
                                                                    EventHandler &handler)
{
  const std::lock_guard guard(lock_);
  if (loop_ && loop_->dead())
    return device_error("The device was lost: no more events come from it.", ENODEV);
  if (!loop_) {
    Result<std::unique_ptr<EventLoop>> loop = EventLoop::start(drm_fd_);
    if (!loop)
      return loop.error();
    loop_ = std::move(*loop);
  }
  loop_->add(crtc_id, handler);
  return std::make_unique<Subscription>(*this, *loop_, handler);
}

void EventHub::unsubscribe(EventHandler &handler)
{
  const std::lock_guard guard(lock_);
  loop_->remove(handler);
  if (loop_->empty())
    loop_.reset();
}

} // namespace gstdrm::kms

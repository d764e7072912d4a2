// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_event_loop.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "kms_objects.hpp"

namespace gstdrm::kms {

namespace {

constexpr std::int64_t kNanosecond = 1'000'000'000;

} // namespace

Result<std::shared_ptr<EventLoop>> EventLoop::start(int drm_fd)
{
  const std::shared_ptr<EventLoop> loop(new EventLoop(drm_fd)); // may outlive the hub
  if (Result<void> started = OwnThread::start(loop, "event"); !started)
    return started.error();
  return loop;
}

void EventLoop::add(std::uint32_t crtc_id, EventHandler &handler)
{
  {
    const std::lock_guard guard(lock_);
    entries_.push_back(std::make_shared<Entry>(++last_id_, crtc_id, handler));
  }
  wake();
}

void EventLoop::remove(EventHandler &handler)
{
  std::unique_lock guard(lock_);
  std::erase_if(entries_, [&](const auto &entry) { return &entry->handler == &handler; });
  // Whoever removes the last entry stops the loop, which may still be in the call of a handler that
  // removed itself.
  if (!is_current())
    changed_.wait(guard, [&] {
      return outside_ > 0 || (called_ != &handler && (!entries_.empty() || !called_));
    });
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

// The entry with the least id above `after`, which is called now, in place of the one before; null
// if none is left.
std::shared_ptr<EventLoop::Entry> EventLoop::next_call(std::uint64_t after) noexcept
{
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard guard(lock_);
    const auto next = std::find_if(entries_.begin(), entries_.end(),
                                   [after](const auto &other) { return other->id > after; });
    if (next != entries_.end())
      entry = *next;
    called_ = entry ? &entry->handler : nullptr;
  }
  changed_.notify_all();
  return entry;
}

// Hands `call` one entry after another, without the lock. Handlers may come and go meanwhile.
template <typename Call> void EventLoop::call_each(const Call &call)
try {
  for (std::shared_ptr<Entry> entry = next_call(0); entry; entry = next_call(entry->id))
    call(*entry);
} catch (...) {
  next_call(UINT64_MAX);
  throw;
}

void EventLoop::page_flip(int, unsigned sequence, unsigned sec, unsigned usec, unsigned crtc_id,
                          void *user_data) noexcept
{
  const std::int64_t time_ns = std::int64_t{sec} * kNanosecond + std::int64_t{usec} * 1000;
  // drmHandleEvent() passes no pointer to the loop to its callbacks
  static_cast<EventLoop *>(current_own_thread)->call_each([&](const Entry &entry) {
    if (entry.crtc_id == crtc_id)
      entry.handler.on_flip(crtc_id, reinterpret_cast<std::uintptr_t>(user_data), sequence,
                            time_ns);
  });
}

// Asks every handler for the fence and the deadline to wait for. Returns the nearest deadline.
std::int64_t EventLoop::prepare_sleep()
{
  fds_.assign({{drm_fd_, POLLIN, 0}, {wake_.get(), POLLIN, 0}});
  fences_.clear();
  std::int64_t nearest = INT64_MAX;
  bool reads_events = false;
  call_each([&](Entry &entry) {
    reads_events |= entry.handler.reads_events();
    entry.deadline = entry.handler.next_deadline();
    nearest = std::min(nearest, entry.deadline);
    entry.fence = 0;
    if (std::shared_ptr<const UniqueFd> fence = entry.handler.watched_fence()) {
      entry.fence = fds_.size();
      fds_.push_back({fence->get(), POLLIN, 0});
      fences_.push_back(std::move(fence));
    }
  });
  if (!reads_events) // errors are reported all the same (poll(2))
    fds_.front().events = 0;
  return nearest;
}

// Calls on_timer() of every handler whose deadline has passed or whose fence has signalled.
void EventLoop::call_timers()
{
  call_each([this](const Entry &entry) {
    if ((entry.fence != 0 && fds_[entry.fence].revents != 0) ||
        (entry.deadline != INT64_MAX && monotonic_now_ns() >= entry.deadline))
      entry.handler.on_timer();
  });
}

void EventLoop::lose(int error) noexcept
{
  {
    const std::lock_guard guard(lock_);
    dead_ = true;
  }
  call_each([error](const Entry &entry) { entry.handler.on_device_lost(error); });
}

// No exception may leave the thread. After an exception, handlers are called as for a lost device.
void EventLoop::run() noexcept
{
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

  while (!quit_) { // the descriptor is not used after stop()
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
    Result<std::shared_ptr<EventLoop>> loop = EventLoop::start(drm_fd_);
    if (!loop)
      return loop.error();
    loop_ = std::move(*loop);
  }
  loop_->add(crtc_id, handler);
  return std::make_unique<Subscription>(*this, loop_, handler);
}

// Waits for the handler without the hub's lock, which the handler may want for another sink. Where
// the loop is empty afterwards, its thread is in no handler, or InApplicationCallback, or the
// present thread is it.
void EventHub::unsubscribe(EventLoop &loop, EventHandler &handler)
{
  loop.remove(handler);
  const std::lock_guard guard(lock_);
  if (loop_.get() != &loop || !loop.empty())
    return;
  loop.stop();
  loop_.reset();
}

} // namespace gstdrm::kms

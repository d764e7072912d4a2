// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_sync_worker.hpp"

#include <cerrno>
#include <utility>

#include "va_surface.hpp"

namespace gstdrm::va {

namespace {

// No exception leaves the thread; one of an error's text is an error too.
Result<void> sync_here(const Surface &surface) noexcept
try {
  return sync_surface(surface);
} catch (...) {
  return Error{ErrorCode::Device, "out of memory", ENOMEM}; // short enough to need none
}

} // namespace

SyncWorker::SyncWorker() : thread_(&SyncWorker::work, this) {}

SyncWorker::~SyncWorker()
{
  {
    const std::lock_guard guard(lock_);
    quit_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::uint64_t SyncWorker::submit(std::shared_ptr<Surface> surface)
{
  std::unique_lock guard(lock_);
  changed_.wait(guard, [this] { return submitted_ - done_ < kDepth; });
  ring_[submitted_ % kDepth] = std::move(surface);
  const auto ticket = ++submitted_;
  guard.unlock();
  changed_.notify_all();
  return ticket;
}

void SyncWorker::work() noexcept
{
  std::unique_lock guard(lock_);
  while (true) {
    changed_.wait(guard, [this] { return quit_ || done_ < submitted_; });
    if (quit_)
      return;
    const std::shared_ptr<Surface> surface = std::move(ring_[done_ % kDepth]);
    guard.unlock();
    auto synced = sync_here(*surface);
    guard.lock();
    if (!synced)
      failed_ = std::move(synced);
    ++done_;
    changed_.notify_all();
  }
}

Result<SyncWorker::Outcome> SyncWorker::wait(std::uint64_t ticket)
{
  std::unique_lock guard(lock_);
  changed_.wait(guard, [this, ticket] { return cancelled_ || done_ >= ticket; });
  if (!failed_)
    return failed_.error();
  return done_ >= ticket ? Outcome::Done : Outcome::Cancelled;
}

void SyncWorker::set_cancelled(bool cancelled)
{
  {
    const std::lock_guard guard(lock_);
    cancelled_ = cancelled;
  }
  changed_.notify_all();
}

} // namespace gstdrm::va

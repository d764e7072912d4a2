// SPDX-License-Identifier: LGPL-2.1-or-later
// The thread that reads one device's events, keeps one handler's timer and watches a fence for it.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>

namespace gstdrm::kms {

class EventHandler {
public:
  virtual ~EventHandler() = default;
  virtual void on_flip(std::uint32_t crtc_id, std::uint64_t serial, std::uint32_t sequence,
                       std::int64_t time_ns) noexcept = 0;
  // The deadline has passed, or the watched fence has signalled.
  virtual void on_timer() noexcept = 0;
  // CLOCK_MONOTONIC in ns; INT64_MAX for none. Asked before each sleep.
  virtual std::int64_t next_deadline() noexcept = 0;
  // A sync_file to watch, or null. Asked before each sleep.
  virtual std::shared_ptr<const UniqueFd> watched_fence() noexcept { return nullptr; }
  // The device is gone or its descriptor is dead; the thread ends.
  virtual void on_device_lost(int error) noexcept = 0;
};

// CLOCK_MONOTONIC, which flip events are stamped with (DRM_CAP_TIMESTAMP_MONOTONIC)
std::int64_t monotonic_now_ns() noexcept;

class EventLoop {
public:
  // `drm_fd` is borrowed, `handler` too: both outlive the loop.
  static Result<std::unique_ptr<EventLoop>> start(int drm_fd, EventHandler &handler);
  EventLoop(const EventLoop &) = delete;
  EventLoop &operator=(const EventLoop &) = delete;
  ~EventLoop(); // joins; never from the thread itself

  // Makes the thread ask next_deadline() and watched_fence() again. Any thread.
  void wake() noexcept;

private:
  EventLoop(int drm_fd, EventHandler &handler, UniqueFd wake_fd)
      : drm_fd_(drm_fd), handler_(handler), wake_fd_(std::move(wake_fd))
  {
  }
  void run() noexcept;

  int drm_fd_;
  EventHandler &handler_;
  UniqueFd wake_fd_; // eventfd: 1 wakes, kQuit ends
  std::thread thread_;
};

} // namespace gstdrm::kms

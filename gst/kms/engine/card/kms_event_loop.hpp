// SPDX-License-Identifier: LGPL-2.1-or-later
// The thread that reads one device's events for every sink that shares the device. For each sink it
// also keeps a timer and waits for a fence.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <poll.h>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/core/wake_fd.hpp>

#include "kms_lock_ranks.hpp"

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

// A flip event names its CRTC (DRM_CAP_CRTC_IN_VBLANK_EVENT), so one thread reads the events of any
// number of CRTCs. Two readers of one descriptor would take each other's events.
class EventLoop {
public:
  // `drm_fd` is borrowed and outlives the loop.
  static Result<std::unique_ptr<EventLoop>> start(int drm_fd);
  EventLoop(const EventLoop &) = delete;
  EventLoop &operator=(const EventLoop &) = delete;
  ~EventLoop(); // joins; never from the thread itself

  // `handler` is borrowed until it is removed. One per CRTC.
  void add(std::uint32_t crtc_id, EventHandler &handler);
  // When this returns the handler is called no more; never from the thread itself.
  void remove(EventHandler &handler);
  [[nodiscard]] bool empty() const;
  // The thread has ended since the device is gone.
  [[nodiscard]] bool dead() const;
  // Makes the thread ask next_deadline() and watched_fence() again. Any thread.
  void wake() noexcept;

private:
  struct Entry {
    std::uint32_t crtc_id = 0;
    EventHandler *handler = nullptr;
    std::int64_t deadline = INT64_MAX; // of the sleep that comes or has ended
    std::size_t fence = 0;             // its place in fds_; 0: none
  };
  EventLoop(int drm_fd, WakeFd wake) : drm_fd_(drm_fd), wake_(std::move(wake)) {}
  void run() noexcept;
  void read_events();
  std::int64_t prepare_sleep();
  void call_timers();
  void lose(int error) noexcept;
  static void page_flip(int fd, unsigned sequence, unsigned sec, unsigned usec, unsigned crtc_id,
                        void *user_data) noexcept;

  int drm_fd_;
  WakeFd wake_;
  std::atomic<bool> quit_{false}; // set before the last wake()
  // Guards the two below. Held while handlers are called, which take locks of their own; wake()
  // takes none. A handler may post a message, and the application's synchronous bus handler may then
  // ask for properties, whose locks have lower ranks: the order of this lock is not checked.
  mutable std::mutex lock_;
  std::vector<Entry> entries_;
  bool dead_ = false;
  // Used by the event thread alone: the descriptors that it polls, and references to the fences,
  // which keep the fences' descriptors open.
  std::vector<pollfd> fds_;
  std::vector<std::shared_ptr<const UniqueFd>> fences_;
  std::thread thread_;
};

// Starts a device's event loop with the first handler, and ends it with the last. One per device.
class EventHub {
public:
  // A handler's place in the loop, given up when destroyed; never on the loop's own thread.
  class Subscription {
  public:
    Subscription(EventHub &hub, EventLoop &loop, EventHandler &handler) noexcept
        : hub_(hub), loop_(loop), handler_(handler)
    {
    }
    Subscription(const Subscription &) = delete;
    Subscription &operator=(const Subscription &) = delete;
    ~Subscription() { hub_.unsubscribe(handler_); }
    void wake() noexcept { loop_.wake(); }

  private:
    EventHub &hub_;
    EventLoop &loop_; // lives as long as somebody is subscribed
    EventHandler &handler_;
  };

  explicit EventHub(int drm_fd) noexcept : drm_fd_(drm_fd) {}
  EventHub(const EventHub &) = delete;
  EventHub &operator=(const EventHub &) = delete;
  // `handler` and the hub outlive the subscription.
  Result<std::unique_ptr<Subscription>> subscribe(std::uint32_t crtc_id, EventHandler &handler);

private:
  void unsubscribe(EventHandler &handler);

  int drm_fd_; // borrowed from the Device that owns this
  OrderedMutex lock_{kEventHubLockRank, "EventHub::lock_"}; // guards loop_
  std::unique_ptr<EventLoop> loop_;
};

} // namespace gstdrm::kms

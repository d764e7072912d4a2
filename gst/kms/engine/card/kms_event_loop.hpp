// SPDX-License-Identifier: LGPL-2.1-or-later
// The thread that reads one device's events for every sink that shares the device. For each sink it
// also keeps a timer and waits for a fence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <poll.h>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "kms_own_thread.hpp"

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
  // Whether its flips are told by events of the descriptor, which nobody reads else. Constant.
  [[nodiscard]] virtual bool reads_events() const noexcept { return true; }
  // A sync_file to watch, or null. Asked before each sleep.
  virtual std::shared_ptr<const UniqueFd> watched_fence() noexcept { return nullptr; }
  // The device is gone or its descriptor is dead; the thread ends.
  virtual void on_device_lost(int error) noexcept = 0;
};

// CLOCK_MONOTONIC, which flip events are stamped with (DRM_CAP_TIMESTAMP_MONOTONIC)
std::int64_t monotonic_now_ns() noexcept;

// A flip event names its CRTC (DRM_CAP_CRTC_IN_VBLANK_EVENT), so one thread reads the events of any
// number of CRTCs. Two readers of one descriptor would take each other's events.
class EventLoop final : public OwnThread {
public:
  // `drm_fd` is borrowed until stop().
  static Result<std::shared_ptr<EventLoop>> start(int drm_fd);

  // `handler` is borrowed until it is removed. One per CRTC that reads events.
  void add(std::uint32_t crtc_id, EventHandler &handler);
  // When this returns the handler is called no more, and no call of it is running on another
  // thread, unless that is InApplicationCallback: its call goes on, as one on the present thread
  // does.
  void remove(EventHandler &handler);
  [[nodiscard]] bool empty() const;
  // The thread has ended since the device is gone.
  [[nodiscard]] bool dead() const;

private:
  struct Entry {
    Entry(std::uint64_t own_id, std::uint32_t crtc, EventHandler &to_call)
        : id(own_id), crtc_id(crtc), handler(to_call)
    {
    }
    const std::uint64_t id; // rising, from 1
    const std::uint32_t crtc_id;
    EventHandler &handler;
    // Used by the event thread alone:
    std::int64_t deadline = INT64_MAX; // of the sleep that comes or has ended
    std::size_t fence = 0;             // its place in fds_; 0 if there is none
  };
  explicit EventLoop(int drm_fd) : OwnThread(50, "EventLoop::lock_"), drm_fd_(drm_fd) {}
  void run() noexcept override;
  void read_events();
  std::int64_t prepare_sleep();
  void call_timers();
  void lose(int error) noexcept;
  std::shared_ptr<Entry> next_call(std::uint64_t after) noexcept;
  template <typename Call> void call_each(const Call &call);
  static void page_flip(int fd, unsigned sequence, unsigned sec, unsigned usec, unsigned crtc_id,
                        void *user_data) noexcept;

  int drm_fd_;
  // Under lock_, which is not held while a handler is called: a handler may post a message, and the
  // application's synchronous bus handler calls back into the sink. changed_ tells of called_ too.
  std::vector<std::shared_ptr<Entry>> entries_; // by rising id
  std::uint64_t last_id_ = 0;
  const EventHandler *called_ = nullptr; // runs at the moment; only compared
  bool dead_ = false;
  // Used by the event thread alone: the descriptors that it polls, and references to the fences,
  // which keep the fences' descriptors open.
  std::vector<pollfd> fds_;
  std::vector<std::shared_ptr<const UniqueFd>> fences_;
};

// Starts a device's event loop with the first handler, and ends it with the last. One per device.
class EventHub {
public:
  // A handler's place in the loop, given up when destroyed (EventLoop::remove()). Any thread.
  class Subscription {
  public:
    Subscription(EventHub &hub, std::shared_ptr<EventLoop> loop, EventHandler &handler) noexcept
        : hub_(hub), loop_(std::move(loop)), handler_(handler)
    {
    }
    Subscription(const Subscription &) = delete;
    Subscription &operator=(const Subscription &) = delete;
    ~Subscription() { hub_.unsubscribe(*loop_, handler_); }
    // The thread asks next_deadline() and watched_fence() again. Any thread.
    void wake() noexcept { loop_->wake(); }
    // The present thread is the loop's: it reads no event before its handler returns.
    [[nodiscard]] bool is_current() const noexcept { return loop_->is_current(); }

  private:
    EventHub &hub_;
    // Another thread may end the loop while this one waits in remove(), and the hub lets go of it
    // then.
    std::shared_ptr<EventLoop> loop_;
    EventHandler &handler_;
  };

  explicit EventHub(int drm_fd) noexcept : drm_fd_(drm_fd) {}
  EventHub(const EventHub &) = delete;
  EventHub &operator=(const EventHub &) = delete;
  // `handler` and the hub outlive the subscription.
  Result<std::unique_ptr<Subscription>> subscribe(std::uint32_t crtc_id, EventHandler &handler);

private:
  void unsubscribe(EventLoop &loop, EventHandler &handler);

  int drm_fd_;                               // borrowed from the Device that owns this
  OrderedMutex lock_{40, "EventHub::lock_"}; // guards loop_
  std::shared_ptr<EventLoop> loop_;
};

} // namespace gstdrm::kms

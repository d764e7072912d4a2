// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_hotplug.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include <poll.h>
#include <ratio>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <gst/drm/core/ordered_mutex.hpp>

#include "kms_application_callback.hpp"
#include "kms_lock_ranks.hpp"
#include "kms_objects.hpp"

namespace gstdrm::kms {

namespace {

bool node_exists(dev_t node)
{
  // sysfs knows a device as long as it is registered, whatever its node is called
  const std::string path =
      "/sys/dev/char/" + std::to_string(major(node)) + ":" + std::to_string(minor(node));
  return access(path.c_str(), F_OK) == 0 || access("/sys/dev/char", F_OK) != 0;
}

} // namespace

class HotplugMonitor::Watch final : private OwnThread {
public:
  Watch(dev_t node, HotplugHandler &handler, WakeFd wake)
      : node_(node), handler_(handler), wake_(std::move(wake)), uevents_(node)
  {
  }
  void run() noexcept;
  void end() noexcept
  {
    ended_ = true;
    wake_.wake();
  }
  void wake() noexcept { wake_.wake(); }
  // After end(). false: the thread is InApplicationCallback, and ends later.
  bool await_end();

private:
  void watch();
  void enter_application() noexcept override;
  void leave_application() noexcept override;
  bool look() noexcept;
  bool read_events();
  bool poll_device();

  dev_t node_;
  HotplugHandler &handler_; // until end()
  WakeFd wake_;             // readable: end, or call on_woken()
  std::atomic<bool> ended_{false};
  UeventSocket uevents_;
  OrderedMutex lock_{kLeafLockRank, "HotplugMonitor::Watch::lock_"}; // guards the two below
  OrderedCondition changed_;
  int outside_ = 0;      // calls of enter_application() without leave_application()
  bool is_over_ = false; // the thread calls nobody any more
};

HotplugMonitor::HotplugMonitor(std::shared_ptr<Watch> watch)
    : watch_(std::move(watch)), thread_([watch = watch_] { watch->run(); })
{
}

Result<std::unique_ptr<HotplugMonitor>> HotplugMonitor::start(dev_t node, HotplugHandler &handler)
{
  Result<WakeFd> wake = WakeFd::create();
  if (!wake)
    return wake.error();
  auto watch = std::make_shared<Watch>(node, handler, std::move(*wake));
  handler.on_begin();
  try {
    return std::unique_ptr<HotplugMonitor>(new HotplugMonitor(std::move(watch)));
  } catch (const std::system_error &failure) {
    return device_error(std::string("No hotplug thread (") + failure.what() +
                            "). Raise the limits on threads (ulimit -u) and on memory (ulimit -v).",
                        failure.code().value());
  }
}

HotplugMonitor::~HotplugMonitor()
{
  watch_->end();
  if (thread_.get_id() != std::this_thread::get_id() && watch_->await_end())
    thread_.join();
  else
    thread_.detach();
}

bool HotplugMonitor::Watch::await_end()
{
  std::unique_lock guard(lock_);
  changed_.wait(guard, [this] { return is_over_ || outside_ > 0; });
  return is_over_;
}

void HotplugMonitor::Watch::enter_application() noexcept
{
  {
    const std::lock_guard guard(lock_);
    outside_++;
  }
  changed_.notify_all();
}

void HotplugMonitor::Watch::leave_application() noexcept
{
  const std::lock_guard guard(lock_);
  outside_--;
}

void HotplugMonitor::wake() noexcept
{
  watch_->wake();
}

// Calls the handler once for all events that have arrived. false: the device is gone.
bool HotplugMonitor::Watch::read_events()
{
  const Uevent event = uevents_.read();
  if (event == Uevent::Removed) {
    handler_.on_device_removed();
    return false;
  }
  if (event == Uevent::Changed)
    handler_.on_hotplug();
  return true;
}

bool HotplugMonitor::Watch::poll_device()
{
  if (node_ != 0 && !node_exists(node_)) { // 0: not a device node
    handler_.on_device_removed();
    return false;
  }
  handler_.on_hotplug();
  return true;
}

// Where memory is too short to parse an event, the handler is called as if the event concerned it,
// as it is when events were lost.
bool HotplugMonitor::Watch::look() noexcept
try {
  return uevents_.fd() >= 0 ? read_events() : poll_device();
} catch (...) {
  handler_.on_hotplug();
  return true;
}

void HotplugMonitor::Watch::run() noexcept
{
  pthread_setname_np(pthread_self(), "kms-hotplug");
  current_own_thread = this;
  watch();
  {
    const std::lock_guard guard(lock_);
    is_over_ = true;
  }
  changed_.notify_all();
}

// Sleeps until an event comes or somebody wakes it; where no events come here, until it is time to
// look at the device.
void HotplugMonitor::Watch::watch()
{
  using Clock = std::chrono::steady_clock;
  const bool polls = uevents_.fd() < 0;
  Clock::time_point poll_at = Clock::now() + kPollInterval;
  while (!ended_) {
    pollfd fds[] = {{wake_.get(), POLLIN, 0}, {uevents_.fd(), POLLIN, 0}};
    timespec timeout{};
    if (polls) {
      const auto left = std::max<std::chrono::nanoseconds>(poll_at - Clock::now(), {});
      timeout = {left.count() / std::nano::den, left.count() % std::nano::den};
    }
    const int ready = ppoll(fds, 2, polls ? &timeout : nullptr, nullptr);
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready < 0)
      return;
    if (fds[0].revents != 0) {
      wake_.drain(); // before ended_ is read: a wake() that comes later is seen by the next poll
      if (ended_)
        return;
      handler_.on_woken();
    }
    const bool poll_now = polls && Clock::now() >= poll_at;
    if (poll_now)
      poll_at = Clock::now() + kPollInterval;
    if (!ended_ && (poll_now || fds[1].revents != 0) && !look())
      return;
  }
}

} // namespace gstdrm::kms

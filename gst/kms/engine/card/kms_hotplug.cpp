// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_hotplug.hpp"

#include <algorithm>
#include <cerrno>
#include <string>

#include <poll.h>
#include <ratio>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "kms_own_thread.hpp"

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

class HotplugMonitor::Watch final : public OwnThread {
public:
  Watch(dev_t node, HotplugHandler &handler)
      : OwnThread(kLeafLockRank, "HotplugMonitor::Watch::lock_"), node_(node), handler_(handler),
        uevents_(node)
  {
  }

private:
  void run() noexcept override;
  bool look() noexcept;

  dev_t node_;
  HotplugHandler &handler_; // until stop()
  UeventSocket uevents_;
};

HotplugMonitor::HotplugMonitor(std::shared_ptr<Watch> watch) : watch_(std::move(watch)) {}

Result<std::unique_ptr<HotplugMonitor>> HotplugMonitor::start(dev_t node, HotplugHandler &handler)
{
  auto watch = std::make_shared<Watch>(node, handler);
  handler.on_begin();
  if (Result<void> started = OwnThread::start(watch, "hotplug"); !started)
    return started.error();
  return std::unique_ptr<HotplugMonitor>(new HotplugMonitor(std::move(watch)));
}

HotplugMonitor::~HotplugMonitor()
{
  watch_->stop();
}

void HotplugMonitor::wake() noexcept
{
  watch_->wake();
}

// Calls the handler once for all events that have arrived. Where memory is too short to parse one,
// the handler is called as if it concerned the device, as it is when events were lost, and when
// none come here. false: the device is gone.
bool HotplugMonitor::Watch::look() noexcept
{
  Uevent event = Uevent::Changed;
  try {
    if (uevents_.fd() >= 0)
      event = uevents_.read();
    else if (node_ != 0 && !node_exists(node_)) // 0: not a device node
      event = Uevent::Removed;
  } catch (...) {
  }
  if (event == Uevent::Removed)
    handler_.on_device_removed();
  else if (event == Uevent::Changed)
    handler_.on_hotplug();
  return event != Uevent::Removed;
}

// Sleeps until an event comes or somebody wakes it; where no events come here, until it is time to
// look at the device.
void HotplugMonitor::Watch::run() noexcept
{
  using Clock = std::chrono::steady_clock;
  const bool polls = uevents_.fd() < 0;
  Clock::time_point poll_at = Clock::now() + kPollInterval;
  while (!quit_) {
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
      wake_.drain(); // before quit_ is read: a wake() that comes later is seen by the next poll
      if (quit_)
        return;
      handler_.on_woken();
    }
    const bool poll_now = polls && Clock::now() >= poll_at;
    if (poll_now)
      poll_at = Clock::now() + kPollInterval;
    if (!quit_ && (poll_now || fds[1].revents != 0) && !look())
      return;
  }
}

} // namespace gstdrm::kms

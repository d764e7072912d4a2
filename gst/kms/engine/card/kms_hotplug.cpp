// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_hotplug.hpp"

#include <cerrno>
#include <string>
#include <system_error>

#include <poll.h>
#include <sys/sysmacros.h>
#include <unistd.h>

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

class HotplugMonitor::Watch {
public:
  Watch(dev_t node, HotplugHandler &handler, WakeFd quit)
      : node_(node), handler_(handler), quit_(std::move(quit)), uevents_(node)
  {
  }
  void run() noexcept;
  void end() noexcept
  {
    ended_ = true;
    quit_.wake();
  }

private:
  bool look() noexcept;
  bool tick() noexcept;
  bool read_events();
  bool poll_device();

  dev_t node_;
  HotplugHandler &handler_; // until end()
  WakeFd quit_;             // readable: end
  std::atomic<bool> ended_{false};
  UeventSocket uevents_;
  unsigned ticks_ = 0; // since the device was polled
};

HotplugMonitor::HotplugMonitor(std::shared_ptr<Watch> watch)
    : watch_(std::move(watch)), thread_([watch = watch_] { watch->run(); })
{
}

Result<std::unique_ptr<HotplugMonitor>> HotplugMonitor::start(dev_t node, HotplugHandler &handler)
{
  Result<WakeFd> quit = WakeFd::create();
  if (!quit)
    return quit.error();
  auto watch = std::make_shared<Watch>(node, handler, std::move(*quit));
  try {
    return std::unique_ptr<HotplugMonitor>(new HotplugMonitor(std::move(watch)));
  } catch (const std::system_error &failure) {
    return device_error(std::string("No hotplug thread (") + failure.what() + ").",
                        failure.code().value());
  }
}

HotplugMonitor::~HotplugMonitor()
{
  watch_->end();
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
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

// false: the device is gone.
bool HotplugMonitor::Watch::tick() noexcept
{
  handler_.on_tick();
  if (ended_ || uevents_.fd() >= 0 || ++ticks_ * kTick < kPollInterval)
    return true;
  ticks_ = 0;
  return look();
}

void HotplugMonitor::Watch::run() noexcept
{
  pthread_setname_np(pthread_self(), "kms-hotplug");
  const timespec interval{kTick.count(), 0};
  while (!ended_) {
    pollfd fds[] = {{quit_.get(), POLLIN, 0}, {uevents_.fd(), POLLIN, 0}};
    const int ready = ppoll(fds, 2, &interval, nullptr);
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready < 0 || fds[0].revents != 0)
      return;
    if (ready == 0 ? !tick() : !look())
      return;
  }
}

} // namespace gstdrm::kms

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_hotplug.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "kms_objects.hpp"

namespace gstdrm::kms {

namespace {

constexpr unsigned kKernelGroup = 1;          // udevd repeats events in group 2
constexpr std::size_t kUeventBytes = 8192;    // UEVENT_BUFFER_SIZE of kobject.h is 2048
constexpr unsigned long kAllIds = 4294967295; // of a user namespace that maps everything

// Only network namespaces that belong to the first user namespace get uevents; its map is the
// identity. A kernel without user namespaces (CONFIG_USER_NS) has no map.
bool gets_uevents()
{
  std::ifstream map("/proc/self/uid_map");
  if (!map)
    return access("/proc/self/stat", F_OK) == 0; // where /proc is missing nobody knows
  unsigned long inside = 1, outside = 1, count = 0;
  map >> inside >> outside >> count;
  return map && inside == 0 && outside == 0 && count == kAllIds;
}

UniqueFd open_uevents()
{
  if (!gets_uevents())
    return {};
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelGroup;
  if (!fd || bind(fd.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) != 0)
    return {};
  return fd;
}

bool node_exists(dev_t node)
{
  // sysfs knows a device as long as it is registered, whatever its node is called
  const std::string path =
      "/sys/dev/char/" + std::to_string(major(node)) + ":" + std::to_string(minor(node));
  return access(path.c_str(), F_OK) == 0 || access("/sys/dev/char", F_OK) != 0;
}

} // namespace

Uevent read_uevent(const char *text, std::size_t size, dev_t node)
{
  std::string_view action;
  unsigned long major_number = 0, minor_number = 0;
  bool drm = false, numbered = false;
  for (std::size_t at = 0; at < size;) {
    const std::string_view line(text + at, strnlen(text + at, size - at));
    const auto value_of = [&](std::string_view key) {
      return line.substr(0, key.size()) == key ? line.data() + key.size() : nullptr;
    };
    if (const char *value = value_of("ACTION="))
      action = {value, line.size() - strlen("ACTION=")};
    else if (line == "SUBSYSTEM=drm")
      drm = true;
    else if (const char *major_text = value_of("MAJOR="))
      numbered = std::sscanf(std::string(major_text, line.data() + line.size()).c_str(), "%lu",
                             &major_number) == 1;
    else if (const char *minor_text = value_of("MINOR="))
      numbered &= std::sscanf(std::string(minor_text, line.data() + line.size()).c_str(), "%lu",
                              &minor_number) == 1;
    at += line.size() + 1;
  }
  if (!drm || !numbered || major_number != major(node) || minor_number != minor(node))
    return Uevent::Other;
  return action == "remove" ? Uevent::Removed : Uevent::Changed;
}

Result<std::unique_ptr<HotplugMonitor>> HotplugMonitor::start(dev_t node, HotplugHandler &handler)
{
  Result<WakeFd> quit = WakeFd::create();
  if (!quit)
    return quit.error();
  std::unique_ptr<HotplugMonitor> monitor(
      new HotplugMonitor(node, handler, std::move(*quit), open_uevents()));
  try {
    monitor->thread_ = std::thread([raw = monitor.get()] { raw->run(); });
  } catch (const std::system_error &failure) {
    return device_error(std::string("No hotplug thread (") + failure.what() + ").",
                        failure.code().value());
  }
  return monitor;
}

HotplugMonitor::~HotplugMonitor()
{
  if (!thread_.joinable())
    return;
  quit_.wake();
  thread_.join();
}

// Reads every event that has arrived, then calls the handler once for all of them. false: the
// device is gone.
bool HotplugMonitor::read_events()
{
  bool changed = false;
  while (true) {
    std::array<char, kUeventBytes> text;
    sockaddr_nl sender{};
    socklen_t sender_bytes = sizeof(sender);
    const ssize_t size = recvfrom(uevent_fd_.get(), text.data(), text.size(), 0,
                                  reinterpret_cast<sockaddr *>(&sender), &sender_bytes);
    if (size < 0 && errno == EINTR)
      continue;
    if (size < 0) {
      changed |= errno == ENOBUFS; // some were lost
      break;
    }
    if (sender.nl_pid != 0) // not the kernel
      continue;
    const Uevent event = read_uevent(text.data(), static_cast<std::size_t>(size), node_);
    if (event == Uevent::Removed) {
      handler_.on_device_removed();
      return false;
    }
    changed |= event == Uevent::Changed;
  }
  if (changed)
    handler_.on_hotplug();
  return true;
}

bool HotplugMonitor::poll_device()
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
bool HotplugMonitor::look() noexcept
try {
  return uevent_fd_ ? read_events() : poll_device();
} catch (...) {
  handler_.on_hotplug();
  return true;
}

void HotplugMonitor::run() noexcept
{
  pthread_setname_np(pthread_self(), "kms-hotplug");
  const timespec interval{kPollInterval.count(), 0};
  while (true) {
    pollfd fds[] = {{quit_.get(), POLLIN, 0}, {uevent_fd_ ? uevent_fd_.get() : -1, POLLIN, 0}};
    const int ready = ppoll(fds, 2, uevent_fd_ ? nullptr : &interval, nullptr);
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready < 0 || fds[0].revents != 0)
      return;
    if ((uevent_fd_ || ready == 0) && !look())
      return;
  }
}

} // namespace gstdrm::kms

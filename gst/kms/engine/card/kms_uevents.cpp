// SPDX-License-Identifier: LGPL-2.1-or-later
// The kernel's uevents of one device.
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "kms_hotplug.hpp"

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

} // namespace

Uevent read_uevent(const char *text, std::size_t size, dev_t node)
{
  std::map<std::string_view, std::string_view> values;
  for (std::size_t at = 0; at < size;) {
    const std::string_view line(text + at, strnlen(text + at, size - at));
    const std::size_t equals = line.find('=');
    if (equals != line.npos)
      values[line.substr(0, equals)] = line.substr(equals + 1);
    at += line.size() + 1;
  }
  const bool is_ours = values["SUBSYSTEM"] == "drm" &&
                       values["MAJOR"] == std::to_string(major(node)) &&
                       values["MINOR"] == std::to_string(minor(node));
  if (!is_ours)
    return Uevent::Other;
  return values["ACTION"] == "remove" ? Uevent::Removed : Uevent::Changed;
}

UeventSocket::UeventSocket(dev_t node) : node_(node), fd_(open_uevents()) {}

Uevent UeventSocket::read()
{
  if (!fd_)
    return Uevent::Changed;
  Uevent all = Uevent::Other;
  while (true) {
    std::array<char, kUeventBytes> text;
    sockaddr_nl sender{};
    socklen_t sender_bytes = sizeof(sender);
    const ssize_t size = recvfrom(fd_.get(), text.data(), text.size(), 0,
                                  reinterpret_cast<sockaddr *>(&sender), &sender_bytes);
    if (size < 0 && errno == EINTR)
      continue;
    if (size < 0)
      return errno == ENOBUFS && all == Uevent::Other ? Uevent::Changed : all; // some were lost
    if (sender.nl_pid != 0)                                                    // not the kernel
      continue;
    const Uevent event = read_uevent(text.data(), static_cast<std::size_t>(size), node_);
    if (event == Uevent::Removed)
      return event;
    if (event == Uevent::Changed)
      all = event;
  }
}

} // namespace gstdrm::kms

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_compositor.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>

#include <gst/drm/core/unique_fd.hpp>

namespace gstdrm::kms {

namespace {

std::string environment(const char *name)
{
  const char *value = std::getenv(name);
  return value ? value : "";
}

// A socket that nobody listens on is left behind where a compositor was killed.
bool answers(const std::string &path)
{
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path))
    return false;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return fd &&
         (connect(fd.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0 ||
          errno == EAGAIN); // its queue is full
}

// As wl_display_connect() does it.
std::string wayland_socket()
{
  const std::string display = environment("WAYLAND_DISPLAY");
  const std::string folder = environment("XDG_RUNTIME_DIR");
  const std::string name = display.empty() ? "wayland-0" : display;
  if (name.front() == '/')
    return name;
  return folder.empty() ? "" : folder + "/" + name;
}

// ":0", ":0.1" and "unix:0" (X(7), DISPLAY NAMES)
std::string x_socket()
{
  const std::string display = environment("DISPLAY");
  const std::size_t colon = display.find(':');
  if (colon == std::string::npos || (colon != 0 && display.substr(0, colon) != "unix"))
    return "";
  const std::string number = display.substr(colon + 1, display.find('.', colon) - colon - 1);
  const bool digits =
      std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  return number.empty() || !digits ? "" : "/tmp/.X11-unix/X" + number;
}

} // namespace

std::string find_compositor()
{
  if (const std::string path = wayland_socket(); answers(path))
    return "the Wayland compositor at " + path;
  if (const std::string path = x_socket(); answers(path))
    return "the X server at " + path;
  return "";
}

} // namespace gstdrm::kms

// SPDX-License-Identifier: LGPL-2.1-or-later
// The queues of every /dev/videoN, by the kernel's own ioctls: no library is needed.
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "../core/errno_text.hpp"
#include "../core/log.hpp"
#include "../core/unique_fd.hpp"
#include "source.hpp"
#include "v4l2_formats.hpp"

namespace gstdrm {

namespace {

constexpr char kDirectory[] = "/dev";
constexpr unsigned kVideoMajor = 81; // Documentation/admin-guide/devices.txt
// Far above what drivers list; a driver that never ends its list is a fault of the driver's.
constexpr std::uint32_t kMaxListed = 4096;

struct Queue {
  v4l2_buf_type type;
  std::uint32_t capability; // any of these bits
  const char *name;
  const char *description;
};
constexpr std::array kQueues = {
    Queue{V4L2_BUF_TYPE_VIDEO_CAPTURE, V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_VIDEO_M2M, "capture",
          "capture queue"},
    Queue{V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE,
          V4L2_CAP_VIDEO_CAPTURE_MPLANE | V4L2_CAP_VIDEO_M2M_MPLANE, "capture",
          "capture queue, several memory planes"},
    Queue{V4L2_BUF_TYPE_VIDEO_OUTPUT, V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_VIDEO_M2M, "output",
          "output queue"},
    Queue{V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE,
          V4L2_CAP_VIDEO_OUTPUT_MPLANE | V4L2_CAP_VIDEO_M2M_MPLANE, "output",
          "output queue, several memory planes"},
};

int call(int fd, unsigned long request, void *argument)
{
  int result = 0;
  do {
    result = ::ioctl(fd, request, argument);
  } while (result != 0 && errno == EINTR);
  return result;
}

struct CloseDirectory {
  void operator()(DIR *directory) const noexcept { ::closedir(directory); }
};

// Paths of /dev/videoN in the order of their numbers.
std::vector<std::string> list_video_nodes()
{
  constexpr std::string_view kPrefix = "video";
  std::vector<std::pair<unsigned, std::string>> found;
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(kDirectory));
  while (const dirent *entry = directory ? ::readdir(directory.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    unsigned number = 0;
    if (!name.starts_with(kPrefix))
      continue;
    const char *last = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + kPrefix.size(), last, number);
    if (parsed.ec == std::errc{} && parsed.ptr == last)
      found.emplace_back(number, std::string(kDirectory) + "/" + std::string(name));
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (auto &[number, path] : found)
    paths.push_back(std::move(path));
  return paths;
}

// What is wrong, as the end of a sentence; empty: the list has an end.
std::string list_formats(int fd, v4l2_buf_type type, FormatSet &formats)
{
  for (std::uint32_t index = 0; index < kMaxListed; index++) {
    v4l2_fmtdesc entry{};
    entry.index = index;
    entry.type = type;
    if (call(fd, VIDIOC_ENUM_FMT, &entry) != 0) {
      const int error = errno;
      // EINVAL is the end; ENOTTY: the driver has no such queue after all
      return error == EINVAL || error == ENOTTY ? std::string() : errno_text(error);
    }
    if (const auto format = format_of_v4l2(entry.pixelformat))
      formats.add(*format);
    else
      GSTDRM_LOG("left out: %s (V4L2) has no DRM name here",
                 fourcc_to_string(entry.pixelformat).c_str());
  }
  return {};
}

void add_node(Sources &sources, const std::string &path)
{
  struct stat status {};
  // open(2) of a FIFO of that name would block
  if (::stat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode) ||
      major(status.st_rdev) != kVideoMajor)
    return;
  Source node{.kind = SourceKind::V4l2, .name = "v4l2:" + node_name(path), .device = path};
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  v4l2_capability capability{};
  if (!fd || call(fd.get(), VIDIOC_QUERYCAP, &capability) != 0) {
    const int error = errno;
    node.problem = "Cannot ask " + path + ": " + errno_text(error) +
                   (error == EACCES ? "; add this user to the group video." : ".");
    sources.push_back(std::move(node));
    return;
  }
  const auto *driver = reinterpret_cast<const char *>(capability.driver);
  node.driver.assign(driver, ::strnlen(driver, sizeof(capability.driver)));
  const std::uint32_t can = capability.capabilities & V4L2_CAP_DEVICE_CAPS
                                ? capability.device_caps
                                : capability.capabilities;
  for (const Queue &queue : kQueues) {
    if (!(can & queue.capability))
      continue;
    Source source = node;
    source.name += std::string(":") + queue.name;
    source.description = queue.description;
    if (const std::string problem = list_formats(fd.get(), queue.type, source.formats);
        !problem.empty()) {
      source.formats = {}; // half a list would be taken for the whole
      source.problem =
          "Cannot list the formats of " + path + ": " + problem + ". Was the device removed?";
    }
    add_named(sources, std::move(source));
  }
}

} // namespace

Sources enumerate_v4l2()
{
  Sources sources;
  for (const std::string &path : list_video_nodes())
    add_node(sources, path);
  return sources;
}

} // namespace gstdrm

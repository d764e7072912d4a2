// SPDX-License-Identifier: LGPL-2.1-or-later
#include "drm_node.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <utility>

#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "errno_text.hpp"

namespace gstdrm {

namespace {

constexpr char kDirectory[] = "/dev/dri";

struct CloseDirectory {
  void operator()(DIR *directory) const noexcept { ::closedir(directory); }
};

// By opendir(), as libdrm lists it: mesa-drm-shim, which stands in for a GPU, answers that call and
// none of std::filesystem's.
std::vector<std::string> names_in_directory()
{
  std::vector<std::string> names;
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(kDirectory));
  while (const dirent *entry = directory ? ::readdir(directory.get()) : nullptr)
    names.emplace_back(entry->d_name);
  return names;
}

std::string number_text(std::uint64_t number)
{
  return std::to_string(major(number)) + ":" + std::to_string(minor(number));
}

// The directory of the device behind a node: the same for its card and its render node, on any bus.
Result<std::filesystem::path> sysfs_device(std::uint64_t number)
{
  const auto link = "/sys/dev/char/" + number_text(number) + "/device";
  std::error_code failed;
  auto device = std::filesystem::canonical(link, failed);
  if (failed)
    return Error{ErrorCode::Device,
                 "The device behind the node " + number_text(number) + " is not known: " + link +
                     " cannot be followed (" + errno_text(failed.value()) +
                     "). Is there such a node on this machine, and is /sys mounted?",
                 failed.value()};
  return device;
}

} // namespace

std::vector<std::string> pick_drm_nodes(const std::vector<std::string> &names, DrmNodeType type)
{
  const std::string prefix = type == DrmNodeType::Card ? "card" : "renderD";
  std::vector<std::pair<unsigned, std::string>> found;
  for (const std::string &name : names) {
    if (!name.starts_with(prefix))
      continue;
    unsigned number = 0;
    const char *last = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + prefix.size(), last, number);
    if (parsed.ec == std::errc{} && parsed.ptr == last)
      found.emplace_back(number, name);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> picked;
  for (auto &[number, name] : found)
    picked.push_back(std::move(name));
  return picked;
}

std::vector<std::string> list_drm_nodes(DrmNodeType type)
{
  auto paths = pick_drm_nodes(names_in_directory(), type);
  for (std::string &path : paths)
    path.insert(0, std::string(kDirectory) + "/");
  return paths;
}

std::string drm_node_path(std::uint64_t number)
{
  for (const DrmNodeType type : {DrmNodeType::Card, DrmNodeType::Render}) {
    for (std::string &path : list_drm_nodes(type)) {
      struct stat status {};
      if (::stat(path.c_str(), &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == number)
        return std::move(path);
    }
  }
  return number_text(number);
}

// Not by libdrm's drmGetDeviceFromDevId() and drmDevicesEqual(), which read the same sysfs: they
// need both nodes in /dev/dri, where a container often has the render node alone, and refuse a
// device on a bus that the installed libdrm has no name for.
Result<bool> is_same_drm_device(std::uint64_t a, std::uint64_t b)
{
  if (a == b)
    return true;
  const auto first = sysfs_device(a);
  if (!first)
    return first.error();
  const auto second = sysfs_device(b);
  if (!second)
    return second.error();
  return *first == *second;
}

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
// The program's own functions for files, which stand before the C library's for the libraries too: each asks for the path
// in FakeNodes' folder in place of one in /dev, and says of a file with the sticky bit, which nothing else here has, that
// it is a device file whose minor number is the file's length.
#undef _FILE_OFFSET_BITS // else open() is another name of open64()
#undef _FORTIFY_SOURCE
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fake_nodes.hpp"

#include <cstdarg>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace {

constexpr unsigned kDrmMajor = 226; // Documentation/admin-guide/devices.txt
constexpr std::string_view kNodes = "/dev/dri";
constexpr std::string_view kSysfs = "/sys/dev/char/226:"; // where libdrm looks whether a device is one of DRM

// Written before there is a second thread.
std::string &root()
{
  static auto *const path = new std::string; // files are asked for until the process ends
  return *path;
}

// A path that is made without an allocation: a test may have all of them fail.
struct Path {
  char text[PATH_MAX];
  Path(std::string_view folder, std::string_view path)
  {
    std::snprintf(text, sizeof text, "%.*s%.*s", static_cast<int>(folder.size()), folder.data(), static_cast<int>(path.size()),
                  path.data());
  }
  [[nodiscard]] const char *c_str() const { return text; }
};

Path in_folder(const char *asked)
{
  const std::string_view path(asked ? asked : "");
  if (!root().empty() && path.starts_with(kSysfs))
    return {root(), ""};
  const bool of_nodes = path.starts_with(kNodes) && (path.size() == kNodes.size() || path[kNodes.size()] == '/');
  return {of_nodes ? std::string_view(root()) : std::string_view(), path};
}

template <typename Status> int as_device(int result, Status *status)
{
  if (result == 0 && S_ISREG(status->st_mode) && (status->st_mode & S_ISVTX) != 0) {
    status->st_mode = S_IFCHR | (status->st_mode & 0777U);
    status->st_rdev = makedev(kDrmMajor, static_cast<unsigned>(status->st_size));
    status->st_size = 0;
  }
  return result;
}

template <typename Function> Function *behind(Function *, const char *name)
{
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

using OpenFile = int(const char *, int, ...);

int open_file(OpenFile *open, const char *path, int flags, va_list list)
{
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const auto mode = makes ? va_arg(list, mode_t) : mode_t{0};
  return open(in_folder(path).c_str(), flags, mode);
}

} // namespace

#define NEXT(name) static const auto next = behind(&::name, #name)

#pragma GCC visibility push(default)
extern "C" {

int open(const char *path, int flags, ...)
{
  NEXT(open);
  va_list list;
  va_start(list, flags);
  const int fd = open_file(next, path, flags, list);
  va_end(list);
  return fd;
}

int open64(const char *path, int flags, ...)
{
  NEXT(open64);
  va_list list;
  va_start(list, flags);
  const int fd = open_file(next, path, flags, list);
  va_end(list);
  return fd;
}

int stat(const char *path, struct stat *status) noexcept
{
  NEXT(stat);
  return as_device(next(in_folder(path).c_str(), status), status);
}

int stat64(const char *path, struct stat64 *status) noexcept
{
  NEXT(stat64);
  return as_device(next(in_folder(path).c_str(), status), status);
}

int fstat(int fd, struct stat *status) noexcept
{
  NEXT(fstat);
  return as_device(next(fd, status), status);
}

int fstat64(int fd, struct stat64 *status) noexcept
{
  NEXT(fstat64);
  return as_device(next(fd, status), status);
}

int access(const char *path, int mode) noexcept
{
  NEXT(access);
  return next(in_folder(path).c_str(), mode);
}

DIR *opendir(const char *path)
{
  NEXT(opendir);
  return next(in_folder(path).c_str());
}

} // extern "C"
#pragma GCC visibility pop

namespace gstdrm::test {

namespace {

std::string path_of(unsigned number)
{
  return root() + std::string(kNodes) + "/renderD" + std::to_string(number);
}

} // namespace

FakeNodes::FakeNodes()
{
  char name[] = "/tmp/fake-nodes-XXXXXX";
  if (!::mkdtemp(name))
    std::abort();
  folder_ = name;
  std::filesystem::create_directories(folder_ + std::string(kNodes));
  root() = folder_;
}

FakeNodes::~FakeNodes()
{
  root().clear();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

// It has its length and rights when it comes under its name: a node is made whole.
bool plug(unsigned number) noexcept
{
  const std::string path = path_of(number);
  const std::string made = path + ".new";
  const int fd = ::open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return false;
  const bool whole = ::ftruncate(fd, static_cast<off_t>(number)) == 0 && ::fchmod(fd, S_ISVTX | 0666) == 0;
  ::close(fd);
  const bool plugged = whole && ::link(made.c_str(), path.c_str()) == 0;
  ::unlink(made.c_str());
  return plugged;
}

bool unplug(unsigned number) noexcept
{
  return ::unlink(path_of(number).c_str()) == 0;
}

} // namespace gstdrm::test

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrmjsonlines.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gst/drm/core/errno_text.hpp>

namespace gstdrm {

namespace {

// write(2) to a pipe without a reader raises SIGPIPE, which ends a process that does not handle it.
// The signal is directed at the calling thread, where it is blocked and taken back.
ssize_t write_without_signal(int fd, const std::string &bytes) noexcept
{
  sigset_t pipe, before, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  if (sigismember(&pending, SIGPIPE) == 1) // the application's own
    return ::write(fd, bytes.data(), bytes.size());
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());
  const int error = errno;
  const timespec now{};
  if (written < 0 && error == EPIPE)
    while (sigtimedwait(&pipe, nullptr, &now) < 0 && errno == EINTR)
      ;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

Error cannot_write(const std::string &name, int sys_errno)
{
  return {ErrorCode::Device,
          "Detections cannot be written to " + name + ": " +
              (sys_errno == ENXIO   ? "nobody reads it"
               : sys_errno == EPIPE ? "its reader has gone"
                                    : errno_text(sys_errno)) +
              ".",
          sys_errno};
}

} // namespace

Result<JsonLines> JsonLines::open(const std::string &path)
{
  constexpr mode_t kMode = 0666; // less the umask
  // O_NONBLOCK: opening a FIFO would wait for a reader, writing to it for the reader to read
  UniqueFd fd(::open(path.c_str(),
                     O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, kMode));
  return fd ? take(std::move(fd), path) : cannot_write(path, errno);
}

Result<JsonLines> JsonLines::open(int fd)
{
  const std::string name = "descriptor " + std::to_string(fd);
  const int flags = ::fcntl(fd, F_GETFL);
  struct stat status {};
  if (flags < 0 || ::fstat(fd, &status) != 0)
    return cannot_write(name, errno);
  if ((flags & O_ACCMODE) == O_RDONLY)
    return cannot_write(name, EBADF);
  // A pipe or a terminal is opened a second time, because O_NONBLOCK belongs to the open file.
  const std::string again = "/proc/self/fd/" + std::to_string(fd);
  const bool may_sleep = S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode);
  UniqueFd own = may_sleep
                     ? UniqueFd(::open(again.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC))
                     : UniqueFd::dup(fd);
  return own ? take(std::move(own), name) : cannot_write(name, errno);
}

Result<JsonLines> JsonLines::take(UniqueFd fd, const std::string &name)
{
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0)
    return cannot_write(name, errno);
  const mode_t mode = status.st_mode;
  if (!S_ISREG(mode) && !S_ISFIFO(mode) && !S_ISCHR(mode) && !S_ISSOCK(mode))
    return Error{ErrorCode::Device,
                 "Detections cannot be written to " + name +
                     ", which is no file, FIFO, pipe, socket or terminal.",
                 EINVAL};
  JsonLines lines;
  lines.fd_ = std::move(fd);
  lines.name_ = name;
  lines.is_socket_ = S_ISSOCK(mode);
  return lines;
}

// Returns with a rest if the reader takes no more now.
Result<void> JsonLines::write_rest()
{
  while (!rest_.empty()) {
    const ssize_t written =
        is_socket_ ? ::send(fd_.get(), rest_.data(), rest_.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                   : write_without_signal(fd_.get(), rest_);
    if (written >= 0)
      rest_.erase(0, static_cast<std::size_t>(written));
    else if (errno == EAGAIN)
      return {};
    else if (errno != EINTR)
      return cannot_write(name_, errno);
  }
  return {};
}

Result<bool> JsonLines::write(std::string line)
{
  Result<void> written = write_rest();
  const bool is_next = written && rest_.empty();
  if (is_next) {
    rest_ = std::move(line) + '\n';
    const std::size_t whole = rest_.size();
    written = write_rest();
    if (written && rest_.size() == whole) { // no byte of it is gone: the line is dropped whole
      rest_.clear();
      return false;
    }
  }
  if (!written) {
    *this = {};
    return written.error();
  }
  return is_next;
}

} // namespace gstdrm

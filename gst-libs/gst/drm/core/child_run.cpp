// SPDX-License-Identifier: LGPL-2.1-or-later
#include "child_run.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <span>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "errno_text.hpp"
#include "poll_wait.hpp"
#include "unique_fd.hpp"

namespace gstdrm {
namespace {

using std::chrono::milliseconds;

// How long a process that got SIGKILL may take: one that sleeps in a driver of the kernel ends when
// the kernel wakes it up, which may be never.
constexpr milliseconds kKillLimit{2000};
constexpr idtype_t kPidFd = static_cast<idtype_t>(3); // P_PIDFD, which older C libraries lack

UniqueFd open_pidfd(pid_t pid)
{
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

Error cannot(const std::string &what, int error)
{
  return Error{ErrorCode::Unsupported, what + ": " + errno_text(error), error};
}

struct Pipe {
  UniqueFd read;
  UniqueFd write; // above the standard descriptors, which the child's replace
};

Result<Pipe> make_pipe()
{
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return cannot("pipe2", errno);
  Pipe pipe{UniqueFd(ends[0]), {}};
  const UniqueFd low(ends[1]);
  pipe.write.reset(::fcntl(low.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!pipe.write)
    return cannot("F_DUPFD_CLOEXEC", errno);
  if (::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK) != 0)
    return cannot("F_SETFL", errno);
  return pipe;
}

// What posix_spawn() does in the child.
class SpawnPlan {
public:
  explicit SpawnPlan(int output) noexcept
  {
    sigset_t all;
    sigset_t none;
    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    (void)::posix_spawnattr_init(&attributes_);
    (void)::posix_spawnattr_setsigdefault(&attributes_, &all);
    (void)::posix_spawnattr_setsigmask(&attributes_, &none);
    (void)::posix_spawnattr_setpgroup(&attributes_, 0);
    (void)::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                       POSIX_SPAWN_SETPGROUP);
    (void)::posix_spawn_file_actions_init(&actions_);
    failed_ = ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (failed_ == 0)
      failed_ = ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
  }
  SpawnPlan(const SpawnPlan &) = delete;
  SpawnPlan &operator=(const SpawnPlan &) = delete;
  ~SpawnPlan()
  {
    (void)::posix_spawn_file_actions_destroy(&actions_);
    (void)::posix_spawnattr_destroy(&attributes_);
  }

  // An error number.
  int spawn(pid_t &pid, const std::vector<std::string> &argv) const
  {
    if (failed_ != 0)
      return failed_;
    std::vector<char *> arguments;
    arguments.reserve(argv.size() + 1);
    for (const std::string &argument : argv)
      arguments.push_back(const_cast<char *>(argument.c_str()));
    arguments.push_back(nullptr);
    return ::posix_spawn(&pid, argv[0].c_str(), &actions_, &attributes_, arguments.data(), environ);
  }

private:
  posix_spawnattr_t attributes_{};
  posix_spawn_file_actions_t actions_{};
  int failed_ = 0;
};

// A process that was started here. It is ended and its status is taken in any case.
class Child {
public:
  explicit Child(pid_t pid) noexcept : pid_(pid), pidfd_(open_pidfd(pid)) {}
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;
  ~Child()
  {
    if (!reaped_)
      (void)end();
  }

  [[nodiscard]] int pidfd() const { return pidfd_.get(); }

  // Kills what is left of it and takes its status; empty where the kernel does not let it end, or
  // somebody else took the status.
  std::optional<siginfo_t> end()
  {
    reaped_ = true;
    // The number of the group is the child's, which nobody gets as long as nobody reaps the child.
    if (::kill(-pid_, SIGKILL) != 0 && pidfd_)
      (void)::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
    if (pidfd_ && poll_readable(pidfd_.get(), deadline_after(kKillLimit)).end != PollEnd::Ready)
      return std::nullopt;
    siginfo_t status{};
    int waited = 0;
    do
      waited = pidfd_ ? ::waitid(kPidFd, static_cast<id_t>(pidfd_.get()), &status, WEXITED)
                      : ::waitid(P_PID, static_cast<id_t>(pid_), &status, WEXITED);
    while (waited != 0 && errno == EINTR);
    return waited == 0 ? std::optional(status) : std::nullopt;
  }

private:
  pid_t pid_;
  UniqueFd pidfd_;
  bool reaped_ = false;
};

// Sleeps until one of them is readable; false: the deadline passed, or they cannot be waited for.
bool poll_all(std::span<pollfd> polled, const Deadline &deadline)
{
  for (;;) {
    std::optional<timespec> limit;
    if (deadline) {
      const auto left =
          std::max(milliseconds(0),
                   std::chrono::ceil<milliseconds>(*deadline - Deadline::value_type::clock::now()));
      limit = timespec{static_cast<time_t>(left.count() / 1000),
                       static_cast<long>(left.count() % 1000 * 1'000'000)};
    }
    const int ready = ::ppoll(polled.data(), polled.size(), limit ? &*limit : nullptr, nullptr);
    if (ready >= 0 || (errno != EINTR && errno != EAGAIN))
      return ready > 0;
  }
}

// Reads what is there. False: the child has closed its end.
bool read_some(int pipe, std::string &output)
{
  std::array<char, 4096> bytes;
  ssize_t got = 0;
  do
    got = ::read(pipe, bytes.data(), bytes.size());
  while (got < 0 && errno == EINTR);
  if (got > 0)
    output.append(bytes.data(), static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && errno == EAGAIN);
}

// Reads until the child is at its end (Exited), or must not go on.
ChildRun::End read_output(int pipe, int pidfd, const Deadline &deadline, const ChildLimits &limits,
                          std::string &output)
{
  std::array<pollfd, 2> polled{{{pipe, POLLIN, 0}, {pidfd, POLLIN, 0}}};
  while (true) {
    if (!poll_all(polled, deadline))
      return ChildRun::End::TimeLimit;
    // poll() looks at one descriptor after another: a child that writes and ends in between is seen
    // to have ended, and not to have written.
    const bool ended = polled[1].revents != 0;
    const auto before = output.size();
    if (polled[0].fd >= 0 && (ended || polled[0].revents != 0) && !read_some(pipe, output))
      polled[0].fd = -1; // the child has closed it, and goes on
    if (output.size() > limits.most_output)
      return ChildRun::End::TooMuch;
    if (ended && output.size() == before)
      return ChildRun::End::Exited; // and there is nothing left to read
  }
}

} // namespace

Result<ChildRun> run_child(const std::vector<std::string> &argv, const ChildLimits &limits)
{
  // Linux 5.3 has it; a sandbox may not
  if (const UniqueFd self = open_pidfd(::getpid()); !self)
    return cannot("pidfd_open", errno);
  auto pipe = make_pipe();
  if (!pipe)
    return pipe.error();
  const auto deadline = deadline_after(limits.time);
  pid_t pid = -1;
  if (const int error = SpawnPlan(pipe->write.get()).spawn(pid, argv); error != 0)
    return cannot(argv[0], error);
  Child child(pid);
  pipe->write.reset();
  if (child.pidfd() < 0)
    return cannot("pidfd_open", errno);
  ChildRun run;
  run.end = read_output(pipe->read.get(), child.pidfd(), deadline, limits, run.output);
  const auto status = child.end();
  if (run.end != ChildRun::End::Exited)
    return run;
  if (!status) {
    run.end = ChildRun::End::Unknown;
    return run;
  }
  run.end = status->si_code == CLD_EXITED ? ChildRun::End::Exited : ChildRun::End::Killed;
  run.number = status->si_status;
  return run;
}

std::string signal_text(int number)
{
  constexpr std::array<std::pair<int, const char *>, 11> kNames{{{SIGABRT, "SIGABRT"},
                                                                 {SIGALRM, "SIGALRM"},
                                                                 {SIGBUS, "SIGBUS"},
                                                                 {SIGFPE, "SIGFPE"},
                                                                 {SIGHUP, "SIGHUP"},
                                                                 {SIGILL, "SIGILL"},
                                                                 {SIGINT, "SIGINT"},
                                                                 {SIGKILL, "SIGKILL"},
                                                                 {SIGSEGV, "SIGSEGV"},
                                                                 {SIGSYS, "SIGSYS"},
                                                                 {SIGTERM, "SIGTERM"}}};
  for (const auto &[signal, name] : kNames)
    if (signal == number)
      return name;
  return "signal " + std::to_string(number);
}

} // namespace gstdrm

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "syscall_count.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/sync_file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xf86drm.h>

#include "gst/metis/engine/axl/axl_uapi.h"

namespace gstdrm::bench {

namespace {

std::string path(const char *name)
{
  return std::string("/sys/kernel/tracing/") + name;
}

void set(const char *name, const std::string &value)
{
  const int fd = open(path(name).c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  const bool written = fd >= 0 && (value.empty() || write(fd, value.data(), value.size()) ==
                                                        static_cast<ssize_t>(value.size()));
  if (!written) {
    std::fprintf(stderr, "%s: %s. This runs in the box (./run bench kms).\n", path(name).c_str(),
                 std::strerror(errno));
    std::exit(77);
  }
  close(fd);
}

struct Name {
  std::uint64_t number;
  const char *name;
};

// x86-64; what is not here is printed as a number
constexpr Name kCalls[] = {
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_close, "close"},
    {SYS_poll, "poll"},
    {SYS_ppoll, "ppoll"},
    {SYS_futex, "futex"},
    {SYS_dup, "dup"},
    {SYS_fcntl, "fcntl"},
    {SYS_lseek, "lseek"},
    {SYS_fstat, "fstat"},
    {SYS_newfstatat, "fstatat"},
    {SYS_clock_gettime, "clock_gettime"},
    {SYS_mmap, "mmap"},
    {SYS_munmap, "munmap"},
    {SYS_mprotect, "mprotect"},
    {SYS_brk, "brk"},
    {SYS_madvise, "madvise"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_openat, "openat"},
    {SYS_sched_yield, "sched_yield"},
    {SYS_getpid, "getpid"},
    {SYS_gettid, "gettid"},
    {SYS_gettimeofday, "gettimeofday"},
    {SYS_restart_syscall, "restart_syscall"},
};

constexpr Name kIoctls[] = {
    {DRM_IOCTL_MODE_ATOMIC, "DRM_ATOMIC"},
    {DRM_IOCTL_MODE_PAGE_FLIP, "DRM_PAGE_FLIP"},
    {DRM_IOCTL_MODE_SETPLANE, "DRM_SETPLANE"},
    {DRM_IOCTL_WAIT_VBLANK, "DRM_WAIT_VBLANK"},
    {DRM_IOCTL_PRIME_FD_TO_HANDLE, "DRM_PRIME_FD_TO_HANDLE"},
    {DRM_IOCTL_MODE_ADDFB2, "DRM_ADDFB2"},
    {DRM_IOCTL_MODE_ADDFB, "DRM_ADDFB"},
    {DRM_IOCTL_MODE_RMFB, "DRM_RMFB"},
    {DRM_IOCTL_GEM_CLOSE, "DRM_GEM_CLOSE"},
    {DMA_BUF_IOCTL_SYNC, "DMA_BUF_SYNC"},
    {DMA_BUF_IOCTL_EXPORT_SYNC_FILE, "DMA_BUF_EXPORT_SYNC_FILE"},
    {DMA_BUF_IOCTL_IMPORT_SYNC_FILE, "DMA_BUF_IMPORT_SYNC_FILE"},
    {SYNC_IOC_FILE_INFO, "SYNC_FILE_INFO"},
    {SYNC_IOC_MERGE, "SYNC_MERGE"},
    {AXL_IOCTL_IMPORT_FD, "AXL_IMPORT_FD"},
    {AXL_IOCTL_SUBMIT, "AXL_SUBMIT"},
    {AXL_IOCTL_RELEASE_IMPORT, "AXL_RELEASE_IMPORT"},
    {AXL_IOCTL_SET_LAYOUT, "AXL_SET_LAYOUT"},
};

template <std::size_t N> std::string name_of(const Name (&table)[N], std::uint64_t number)
{
  for (const Name &entry : table)
    if (entry.number == number)
      return entry.name;
  char text[32];
  std::snprintf(text, sizeof(text), "%#" PRIx64, number);
  return text;
}

// "... sys_enter: NR 16 (5, c03864bc, 7f..., ...)"
void count_line(const char *line, Calls &calls)
{
  const char *event = std::strstr(line, "sys_enter: NR ");
  std::uint64_t number = 0, first = 0, second = 0;
  if (!event || std::sscanf(event, "sys_enter: NR %" SCNu64 " (%" SCNx64 ", %" SCNx64, &number,
                            &first, &second) != 3)
    return;
  calls[number == SYS_ioctl ? "ioctl " + name_of(kIoctls, second & 0xffffffff)
                            : name_of(kCalls, number)]++;
}

} // namespace

SyscallCount::SyscallCount(pid_t process)
{
  set("tracing_on", "0");
  set("buffer_size_kb", "65536"); // a million calls
  set("trace", "");
  set("options/event-fork", "1");
  set("set_event_pid", std::to_string(process));
  set("events/raw_syscalls/sys_enter/enable", "1");
  set("tracing_on", "1");
}

SyscallCount::~SyscallCount()
{
  set("events/raw_syscalls/sys_enter/enable", "0");
  set("set_event_pid", "");
}

Calls SyscallCount::read() const
{
  set("tracing_on", "0");
  Calls calls;
  std::FILE *file = std::fopen(path("trace").c_str(), "re");
  char line[512];
  while (file && std::fgets(line, sizeof(line), file)) {
    if (std::strstr(line, "LOST")) {
      std::fprintf(stderr, "the kernel's trace buffer was too small\n");
      std::exit(1);
    }
    count_line(line, calls);
  }
  if (file)
    std::fclose(file);
  return calls;
}

namespace {

std::string read_all(int fd)
{
  std::string text;
  char part[256];
  ssize_t got = 0;
  while ((got = ::read(fd, part, sizeof(part))) > 0)
    text.append(part, static_cast<std::size_t>(got));
  return text;
}

[[noreturn]] void run_job(int go, int out, unsigned patience_s, const std::function<int()> &job)
{
  dup2(out, STDOUT_FILENO);
  char byte = 0;
  if (::read(go, &byte, 1) != 1)
    std::_Exit(1);
  alarm(patience_s);
  const int status = job();
  std::fflush(stdout);
  std::_Exit(status);
}

} // namespace

CountedRun run_counted(const char *name, unsigned patience_s, const std::function<int()> &job)
{
  int go[2] = {-1, -1}, out[2] = {-1, -1};
  if (pipe(go) != 0 || pipe(out) != 0)
    std::exit(1);
  std::fflush(stdout); // the child's copy
  const pid_t child = fork();
  if (child == 0)
    run_job(go[0], out[1], patience_s, job);
  CountedRun result;
  close(out[1]);
  const SyscallCount count(child);
  if (write(go[1], "g", 1) != 1)
    std::exit(1);
  result.output = read_all(out[0]);
  int status = 0;
  waitpid(child, &status, 0);
  for (const int fd : {go[0], go[1], out[0]})
    close(fd);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::fprintf(stderr, "%s: the process ended with status %#x\n", name,
                 static_cast<unsigned>(status));
    std::exit(1);
  }
  result.calls = count.read();
  return result;
}

PerFrame per_frame(const Calls &shorter, const Calls &longer, double frames)
{
  PerFrame result;
  for (const auto &[name, value] : longer) {
    const auto before = shorter.find(name);
    const double extra = static_cast<double>(value) -
                         (before == shorter.end() ? 0.0 : static_cast<double>(before->second));
    if (const double each = extra / frames; each >= 0.01)
      result[name] = each;
  }
  return result;
}

bool is_call_elsewhere(const std::string &name)
{
  return name != "clock_gettime" && name != "gettimeofday";
}

} // namespace gstdrm::bench

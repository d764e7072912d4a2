// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Process 1 of the box: mounts what programs expect, runs one command, stores its output and exit
// status in files of the machine outside, powers off. Static, because a root file system made for
// tests may lack mount(8) and everything else.
//
// The kernel hands over "box_job=DIR" as an environment variable. DIR, which scripts/box makes, holds:
//   dirs    the root directory, the working directory, then every directory to show at the same path
//   argv    the command
//   env     its environment
//   seed    random bytes for the kernel's generator
//   stdout, stderr, status   written here
// Entries of dirs, argv and env end in a NUL byte each, so that any path or text gets through.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/random.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum
{
  kNoSuchCommand = 127,
  kCannotRun = 126,
  kSignalBase = 128, // the shell's convention: killed by signal n is 128 + n
  kFullPipe = 16, // reads of 64 KiB that empty the largest pipe
};

static void power_off(void)
{
  sync();
  reboot(RB_POWER_OFF);
  _exit(1);
}

// Without a status file the caller knows that the box failed, and shows the kernel's log, where this
// message goes.
__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
  int error = errno;
  va_list args;
  int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

  va_start(args, format);
  dprintf(fd >= 0 ? fd : 2, "BOX: init: ");
  vdprintf(fd >= 0 ? fd : 2, format, args);
  dprintf(fd >= 0 ? fd : 2, ": %s\n", strerror(error));
  va_end(args);
  power_off();
  _exit(1);
}

static char *read_whole(const char *path, size_t *size)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  size_t used = 0, room = 4096;
  char *data = malloc(room + 1);

  if (fd < 0 || !data)
    die("cannot read %s", path);
  for (;;) {
    ssize_t got = read(fd, data + used, room - used);
    if (got < 0)
      die("cannot read %s", path);
    if (got == 0)
      break;
    used += got;
    if (used == room && !(data = realloc(data, (room *= 2) + 1)))
      die("no memory for %s", path);
  }
  close(fd);
  data[used] = '\0';
  *size = used;
  return data;
}

// The NUL-terminated entries of a file, as a NULL-terminated array.
static char **read_list(const char *path)
{
  size_t size, count = 0;
  char *data = read_whole(path, &size);
  char **list;

  for (size_t i = 0; i < size; i++)
    count += data[i] == '\0';
  if (!(list = calloc(count + 1, sizeof *list)))
    die("no memory for %s", path);
  for (size_t i = 0; i < count; i++) {
    list[i] = data;
    data += strlen(data) + 1;
  }
  return list;
}

static void make_dirs(const char *path)
{
  char part[PATH_MAX];

  snprintf(part, sizeof part, "%s", path);
  for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(part, 0755);
    *slash = '/';
  }
  mkdir(part, 0755);
}

static void mount_at(const char *type, const char *target, const char *data)
{
  make_dirs(target);
  if (mount(type, target, type, 0, data))
    die("cannot mount %s on %s", type, target);
}

// /tmp serves as the place to build another root on: it is our own tmpfs by then.
static void enter_root(const char *root)
{
  if (strcmp(root, "/") == 0)
    return;
  mount_at("hostfs", "/tmp/root", root);
  if (chdir("/tmp/root") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
    die("cannot make %s the root", root);
  mount_at("tmpfs", "/tmp", "mode=1777");
  mount_at("devtmpfs", "/dev", "mode=755");
}

static void mount_kernel_file_systems(void)
{
  mount_at("proc", "/proc", NULL);
  mount_at("sysfs", "/sys", NULL);
  mount_at("debugfs", "/sys/kernel/debug", NULL);
  mount_at("tracefs", "/sys/kernel/tracing", NULL);
  mount_at("configfs", "/sys/kernel/config", NULL);
  mount_at("devpts", "/dev/pts", "mode=620,ptmxmode=666");
  mount_at("tmpfs", "/dev/shm", "mode=1777");
  mount_at("tmpfs", "/run", "mode=755");
  if (symlink("/proc/self/fd", "/dev/fd") || symlink("/proc/self/fd/0", "/dev/stdin") ||
      symlink("/proc/self/fd/1", "/dev/stdout") || symlink("/proc/self/fd/2", "/dev/stderr"))
    die("cannot make the links in /dev");
}

// A kernel that has just booted may make its first caller of getrandom() wait; on virtual time that
// wait would never end.
static void seed_random(const char *seed, size_t size)
{
  struct
  {
    struct rand_pool_info info;
    char bytes[512];
  } pool;
  int fd = open("/dev/random", O_WRONLY | O_CLOEXEC);

  if (size > sizeof pool.bytes)
    size = sizeof pool.bytes;
  pool.info.entropy_count = (int) size * 8;
  pool.info.buf_size = (int) size;
  memcpy(pool.info.buf, seed, size);
  if (fd < 0 || ioctl(fd, RNDADDENTROPY, &pool))
    die("cannot seed the random number generator");
  close(fd);
}

static bool write_whole(int fd, const char *data, size_t size)
{
  while (size > 0) {
    ssize_t done = write(fd, data, size);
    if (done < 0 && errno != EINTR)
      return false;
    if (done > 0) {
      data += done;
      size -= done;
    }
  }
  return true;
}

// The command writes to a pipe, not to the file itself: a program that opens /dev/stdout anew would
// truncate a file.
struct stream
{
  int from, to;
};

// False at the end of the stream, or when it has nothing more right now.
static bool pump(struct stream *stream)
{
  static char data[65536];
  ssize_t got = read(stream->from, data, sizeof data);

  if (got > 0) {
    if (!write_whole(stream->to, data, got))
      die("cannot write the command's output");
    return true;
  }
  if (got == 0) {
    close(stream->from);
    stream->from = -1; // poll() passes over it
  }
  return false;
}

static int open_output(const char *job, const char *name)
{
  char path[PATH_MAX];
  int fd;

  snprintf(path, sizeof path, "%s/%s", job, name);
  if ((fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)) < 0)
    die("cannot open %s", path);
  return fd;
}

static pid_t start(char **argv, char **env, const char *directory, int out, int err)
{
  pid_t pid = fork();

  if (pid < 0)
    die("cannot fork");
  if (pid == 0) {
    sigset_t none;
    int in = open("/dev/null", O_RDONLY);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    dup2(in, 0);
    dup2(out, 1);
    dup2(err, 2);
    if (in > 2)
      close(in);
    if (chdir(directory)) {
      fprintf(stderr, "box: cannot enter %s: %s\n", directory, strerror(errno));
      _exit(kCannotRun);
    }
    environ = env;
    execvp(argv[0], argv);
    fprintf(stderr, "box: cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(errno == ENOENT ? kNoSuchCommand : kCannotRun);
  }
  close(out);
  close(err);
  return pid;
}

// Reaps every orphan; true once the command itself is among the dead.
static bool reap(pid_t command, int *status)
{
  bool found = false;
  int how;
  pid_t pid;

  while ((pid = waitpid(-1, &how, WNOHANG)) > 0) {
    if (pid != command)
      continue;
    *status = WIFSIGNALED(how) ? kSignalBase + WTERMSIG(how) : WEXITSTATUS(how);
    found = true;
  }
  return found;
}

static int run(char **argv, char **env, const char *directory, int out_file, int err_file)
{
  int out[2], err[2], status = 1;
  sigset_t child;
  pid_t command;

  if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
    die("cannot make pipes");
  fcntl(out[0], F_SETFL, O_NONBLOCK);
  fcntl(err[0], F_SETFL, O_NONBLOCK);
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, NULL);
  struct stream streams[] = { { out[0], out_file }, { err[0], err_file } };
  int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);

  // Ahead of the command, so that what it wrote is outside already should it crash the kernel next.
  sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &(struct sched_param){ .sched_priority = 1 });
  command = start(argv, env, directory, out[1], err[1]);
  for (bool ended = false; !ended;) {
    struct pollfd polls[] = { { streams[0].from, POLLIN, 0 },
                              { streams[1].from, POLLIN, 0 },
                              { signals, POLLIN, 0 } };
    struct signalfd_siginfo info;
    poll(polls, 3, -1);
    for (int i = 0; i < 2; i++)
      if (polls[i].revents)
        pump(&streams[i]);
    while (read(signals, &info, sizeof info) > 0)
      ;
    ended = reap(command, &status);
  }
  // What the command wrote is all in the pipes now; a daemon that it left behind is not waited for,
  // even one that never stops writing.
  for (int i = 0; i < 2; i++)
    for (int n = 0; n < kFullPipe && streams[i].from >= 0 && pump(&streams[i]); n++)
      ;
  return status;
}

int main(void)
{
  const char *job = getenv("box_job");
  char path[PATH_MAX];
  size_t seed_size;

  umask(0);
  if (!job || chdir(job))
    die("no job directory %s", job ? job : "(box_job= is missing)");
  int out = open_output(job, "stdout"), err = open_output(job, "stderr");
  int status_file = open_output(job, "status");
  char **dirs = read_list("dirs"), **argv = read_list("argv"), **env = read_list("env");
  char *seed = read_whole("seed", &seed_size);

  // What these cover is of the machine outside; the job's files are open already.
  mount_at("tmpfs", "/tmp", "mode=1777");
  enter_root(dirs[0]);
  mount_kernel_file_systems();
  for (char **dir = dirs + 2; *dir; dir++)
    mount_at("hostfs", *dir, *dir);
  make_dirs("/run/user");
  mkdir("/run/user/0", 0700);
  mkdir("/run/lock", 01777);
  seed_random(seed, seed_size);
  sethostname("box", 3);
  umask(022);

  int status = run(argv, env, dirs[1], out, err);
  int length = snprintf(path, sizeof path, "%d\n", status);
  if (!write_whole(status_file, path, length))
    die("cannot write the exit status");
  power_off();
}

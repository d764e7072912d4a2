// SPDX-License-Identifier: LGPL-2.1-or-later
// Stands before the C library's close() in a test program, and ends it where a descriptor is closed
// that is not open: whoever does that closes somebody else's file as soon as another thread is
// given the number. Where the number was given again in between, it is the owner of that file who
// finds it closed. So the program ends with both stacks: of the call that closed the number last,
// and of the one that found it closed.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include <dlfcn.h>
#include <execinfo.h>
#include <unistd.h>

namespace {

struct Stack {
  std::array<void *, 24> calls{};
  int depth = 0;
  pid_t thread = 0;
};

constexpr std::size_t kMostDescriptors = 4096; // of larger numbers, only the second call is told

struct LastClosed {
  std::mutex lock;
  std::array<Stack, kMostDescriptors> stacks; // by descriptor
};

// Never destroyed: descriptors are closed until the process ends.
LastClosed &last_closed()
{
  static auto *const last = new LastClosed;
  return *last;
}

Stack this_stack()
{
  Stack stack;
  // the first backtrace() loads a library, and closes its file here
  thread_local bool inside = false;
  if (inside)
    return stack;
  inside = true;
  stack.depth = backtrace(stack.calls.data(), static_cast<int>(stack.calls.size()));
  inside = false;
  thread_local const pid_t thread = gettid(); // once: tests count system calls
  stack.thread = thread;
  return stack;
}

void print(const char *what, const Stack &stack)
{
  std::fprintf(stderr, "%s by thread %d:\n", what, static_cast<int>(stack.thread));
  backtrace_symbols_fd(stack.calls.data(), stack.depth, STDERR_FILENO);
}

[[noreturn]] void tell(int fd, const Stack &again)
{
  const auto number = static_cast<std::size_t>(fd);
  Stack first;
  if (number < kMostDescriptors) {
    const std::lock_guard guard(last_closed().lock);
    first = last_closed().stacks[number];
  }
  std::fprintf(stderr, "descriptor %d was closed twice\n", fd);
  if (first.depth != 0)
    print("it was closed before", first);
  else
    std::fprintf(stderr, "close() did not close it before\n");
  print("it was closed again", again);
  std::abort();
}

} // namespace

extern "C" __attribute__((visibility("default"))) int close(int fd)
{
  // of TSan where that is, so that it knows that the number may be given again
  static const auto next = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "close"));
  const Stack stack = this_stack();
  const auto number = static_cast<std::size_t>(fd);
  if (fd < 0 || number >= kMostDescriptors || stack.depth == 0) {
    const int ret = next(fd);
    if (ret != 0 && errno == EBADF && fd >= 0)
      tell(fd, stack);
    return ret;
  }
  Stack before;
  {
    // before the number is free, since another thread may close it as soon as it is given again
    const std::lock_guard guard(last_closed().lock);
    before = last_closed().stacks[number];
    last_closed().stacks[number] = stack;
  }
  const int ret = next(fd);
  const int error = errno;
  if (ret != 0 && error == EBADF) {
    {
      const std::lock_guard guard(last_closed().lock);
      last_closed().stacks[number] = before;
    }
    tell(fd, stack);
  }
  errno = error;
  return ret;
}

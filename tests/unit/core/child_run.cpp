// SPDX-License-Identifier: LGPL-2.1-or-later
// A program with a time limit: how it ends, what it inherits, and what is left of it. The limits
// that a row needs to pass are an hour; those that end a program are short, and only make it end.
#include "gst/drm/core/child_run.hpp"

#include <csignal>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gst/drm/core/unique_fd.hpp"
#include "support/open_fds.hpp"

namespace {

bool ends_within_poll = false;

} // namespace

// Stands before the C library's. On request it answers as the kernel does where a child writes and
// ends while its pipe has been looked at, and its end has not.
extern "C" int ppoll(pollfd *fds, nfds_t n, const timespec *limit, const sigset_t *mask)
{
  if (ends_within_poll && n > 1) {
    ends_within_poll = false;
    for (nfds_t i = 0; i < n; i++)
      fds[i].revents = 0;
    return ::poll(&fds[1], 1, -1);
  }
  timespec left = limit ? *limit : timespec{}; // the kernel writes into it
  return static_cast<int>(::syscall(SYS_ppoll, fds, n, limit ? &left : nullptr, mask, _NSIG / 8));
}

namespace {

using namespace gstdrm;
using std::chrono::milliseconds;
using End = ChildRun::End;

constexpr milliseconds kAmple = std::chrono::hours(1);
constexpr milliseconds kShort{50};
constexpr std::size_t kMost = 100000;

Result<ChildRun> shell(const std::string &script, milliseconds limit = kAmple)
{
  return run_child({"/bin/sh", "-c", script}, {limit, kMost});
}

class RunChild : public testing::Test {
protected:
  RunChild() : fds_(test::count_fds()) {}
  ~RunChild() override
  {
    EXPECT_EQ(test::count_fds(), fds_) << "descriptors are left";
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  }

private:
  unsigned fds_;
};

struct Row {
  const char *script;
  milliseconds limit;
  End end;
  int number;
  const char *output;
};
const Row kRows[] = {
    {"printf 'a\\nb'", kAmple, End::Exited, 0, "a\nb"},
    {"exit 3", kAmple, End::Exited, 3, ""},
    {"printf a; kill -SEGV $$", kAmple, End::Killed, SIGSEGV, "a"},
    {"printf a; exec sleep 10000", kShort, End::TimeLimit, 0, nullptr},
    {"while :; do :; done", kShort, End::TimeLimit, 0, nullptr},
    {"trap '' TERM INT HUP; while :; do sleep 1; done", kShort, End::TimeLimit, 0, nullptr},
    {"exec >&-; exec sleep 10000", kShort, End::TimeLimit, 0, nullptr},
    {"while :; do echo 0123456789; done", kAmple, End::TooMuch, 0, nullptr},
    {"sleep 10000 & printf a", kAmple, End::Exited, 0, "a"}, // which keeps the pipe open
    {"cat; printf a", kAmple, End::Exited, 0, "a"},          // nothing to read
};

TEST_F(RunChild, ends)
{
  for (const Row &row : kRows) {
    const auto run = shell(row.script, row.limit);
    ASSERT_TRUE(run) << row.script << ": " << run.error().message;
    EXPECT_EQ(run->end, row.end) << row.script;
    EXPECT_EQ(run->number, row.number) << row.script;
    if (row.output) {
      EXPECT_EQ(run->output, row.output) << row.script;
    }
  }
}

// The descriptors that watch the process are none of the program's.
// poll(2) looks at one descriptor after another.
TEST_F(RunChild, that_writes_and_ends_within_a_poll_has_said_all)
{
  ends_within_poll = true;
  const auto run = shell("printf begun; printf ended");
  ASSERT_TRUE(run);
  EXPECT_FALSE(ends_within_poll);
  EXPECT_EQ(run->end, End::Exited);
  EXPECT_EQ(run->output, "begunended");
}

TEST_F(RunChild, has_nothing_to_read_and_a_pipe_to_write_to)
{
  const auto run = shell(
      "readlink /proc/$$/fd/0; readlink /proc/$$/fd/1; readlink /proc/$$/fd/* | grep -c pidfd");
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->output.starts_with("/dev/null\npipe:[")) << run->output;
  EXPECT_TRUE(run->output.ends_with("]\n0\n")) << run->output;
}

TEST_F(RunChild, has_default_signals)
{
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
  const auto ignored = std::signal(SIGPIPE, SIG_IGN);
  const auto run = shell("exec grep -E 'Sig(Blk|Ign)' /proc/self/status");
  std::signal(SIGPIPE, ignored);
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  ASSERT_TRUE(run);
  const auto mask = [&run](const char *name) {
    return std::stoull(run->output.substr(run->output.find(name) + 7), nullptr, 16);
  };
  EXPECT_EQ(mask("SigBlk:"), 0U);
  EXPECT_EQ(mask("SigIgn:") & 0x7fffffff, 0U) << run->output; // not the C library's own
}

// What the program started ends with it.
TEST_F(RunChild, takes_its_group_along)
{
  const auto run = shell("sleep 10000 & echo $!");
  ASSERT_TRUE(run);
  const std::filesystem::path other =
      "/proc/" + run->output.substr(0, run->output.find('\n')) + "/status";
  const auto lives = [&other] {
    std::error_code gone;
    return std::filesystem::exists(other, gone) &&
           std::system(("grep -q '^State:.[SR]' " + other.string() + " 2>/dev/null").c_str()) == 0;
  };
  while (lives()) // SIGKILL was sent; a process that it did not reach would sleep for hours
    ::usleep(1000);
}

TEST_F(RunChild, has_no_status_where_the_application_ignores_its_children)
{
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const auto run = shell("sleep 1; echo a; exit 3");
  std::signal(SIGCHLD, before);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->end, End::Unknown);
  EXPECT_EQ(run->output, "a\n");
}

TEST_F(RunChild, that_cannot_be_started_is_an_error)
{
  for (const char *program : {"/there-is/no-such-program", "/tmp", ""}) {
    const auto run = run_child({program}, {kAmple, kMost});
    ASSERT_FALSE(run) << program;
    EXPECT_NE(run.error().sys_errno, 0) << program;
  }
}

TEST_F(RunChild, works_without_standard_descriptors)
{
  const UniqueFd in = UniqueFd::dup(STDIN_FILENO);
  const UniqueFd out = UniqueFd::dup(STDOUT_FILENO);
  ::close(STDIN_FILENO);
  ::close(STDOUT_FILENO);
  const auto run = shell("echo a");
  ::dup2(in.get(), STDIN_FILENO);
  ::dup2(out.get(), STDOUT_FILENO);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->output, "a\n");
}

TEST(VaSignalText, names_signals)
{
  EXPECT_EQ(signal_text(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(signal_text(SIGRTMAX), "signal " + std::to_string(SIGRTMAX));
}

} // namespace

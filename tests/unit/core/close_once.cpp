// SPDX-License-Identifier: LGPL-2.1-or-later
// support/close_once.cpp: a program that closes a descriptor twice ends, and names both calls.
#include <cerrno>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

// Exported, so that stacks name them.
extern "C" {
__attribute__((visibility("default"), noinline)) int the_first_to_close(int fd)
{
  const int ret = close(fd);
  return ret + 1; // no tail call, which would not be on the stack
}
__attribute__((visibility("default"), noinline)) int the_second_to_close(int fd)
{
  const int ret = close(fd);
  return ret + 1;
}
}

namespace {

int open_something()
{
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

TEST(CloseOnce, what_is_open_is_closed)
{
  for (int i = 0; i < 3; i++) { // the same number, each time
    const int fd = open_something();
    ASSERT_GE(fd, 0);
    EXPECT_EQ(the_first_to_close(fd), 1);
    EXPECT_EQ(fcntl(fd, F_GETFD), -1);
  }
}

TEST(CloseOnce, no_descriptor_at_all_is_an_error_as_ever)
{
  EXPECT_EQ(close(-1), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST(CloseOnceDeathTest, both_calls_are_named)
{
  EXPECT_DEATH(
      {
        const int fd = open_something();
        std::thread([fd] { the_first_to_close(fd); }).join();
        the_second_to_close(fd);
      },
      "was closed twice(.|\n)*before by thread(.|\n)*the_first_to_close(.|\n)*"
      "again by thread(.|\n)*the_second_to_close");
}

// The number was given to another file, whose owner is not to blame.
TEST(CloseOnceDeathTest, the_owner_of_another_file_finds_who_closed_it)
{
  EXPECT_DEATH(
      {
        const int stale = open_something();
        close(stale);
        const int reused = open_something();
        if (reused != stale)
          _exit(0);
        the_first_to_close(stale);
        the_second_to_close(reused);
      },
      "closed before by thread(.|\n)*the_first_to_close(.|\n)*again by thread(.|\n)*"
      "the_second_to_close");
}

TEST(CloseOnceDeathTest, what_nobody_has_closed_is_told_too)
{
  EXPECT_DEATH(the_second_to_close(3000),
               "descriptor 3000 was closed twice\nclose.. did not close it before\n(.|\n)*"
               "the_second_to_close");
}

} // namespace

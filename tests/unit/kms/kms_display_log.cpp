// SPDX-License-Identifier: LGPL-2.1-or-later
// What the engine logs: every property of every commit at LOG, refusals and changes of state at DEBUG.
#include <algorithm>
#include <cerrno>
#include <mutex>
#include <string>
#include <vector>

#include <gst/drm/core/log.hpp>

#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

std::mutex lock; // the event thread logs, too
std::vector<std::string> lines;
int most_detailed;

const LogSink kSink = {&most_detailed, [](LogLevel) noexcept { return true; },
                       [](LogLevel level, const char *, const char *, int, const char *text) noexcept {
                         const std::lock_guard guard(lock);
                         lines.push_back(std::to_string(static_cast<int>(level)) + " " + text);
                       }};

std::vector<std::string> taken()
{
  const std::lock_guard guard(lock);
  return std::exchange(lines, {});
}

bool has(const std::vector<std::string> &in, const std::string &part)
{
  return std::any_of(in.begin(), in.end(), [&](const std::string &line) { return line.find(part) != line.npos; });
}

class DisplayLog : public DisplayTest {
protected:
  DisplayLog()
  {
    (void)taken();
    read(LogLevel::Log);
    set_log_sink(&kSink);
  }
  ~DisplayLog() override { set_log_sink(nullptr); }
  static void read(LogLevel level) { __atomic_store_n(&most_detailed, static_cast<int>(level), __ATOMIC_RELAXED); }
};

TEST_F(DisplayLog, tells_every_property_of_a_commit)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  (void)taken();
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  ASSERT_TRUE((*display)->drain(kLong_ns));
  const std::vector<std::string> first = taken();
  EXPECT_TRUE(has(first, "6 test commit 0 (TEST_ONLY ALLOW_MODESET) on fd "));
  EXPECT_TRUE(has(first, "6 mode set 1 (ALLOW_MODESET PAGE_FLIP_EVENT) on fd "));
  EXPECT_TRUE(has(first, "5 mode set 1 was made"));
  EXPECT_TRUE(has(first, "6 flip 1 completed at "));
  // each property of the real commit has its line, behind the line of the commit
  auto line = std::find_if(first.begin(), first.end(),
                           [](const std::string &text) { return text.starts_with("6 mode set 1 "); });
  const std::size_t count = commit(0).values.size();
  ASSERT_GE(count, 15U);
  EXPECT_NE(line->find("sets " + std::to_string(count) + " properties:"), line->npos) << *line;
  const std::vector<std::string> properties(line + 1, line + 1 + static_cast<std::ptrdiff_t>(count));
  for (const auto &[key, value] : commit(0).values) {
    const std::string start = "6   object " + std::to_string(key.first) + ": " + key.second + " (property ";
    const std::string end = ") = " + std::to_string(value);
    EXPECT_TRUE(std::any_of(properties.begin(), properties.end(), [&](const std::string &text) {
      return text.starts_with(start) && text.ends_with(end);
    })) << start << end;
  }

  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  ASSERT_TRUE((*display)->drain(kLong_ns));
  const std::vector<std::string> second = taken();
  EXPECT_TRUE(has(second, "6 commit 2 (NONBLOCK PAGE_FLIP_EVENT) on fd "));
  EXPECT_TRUE(has(second, "6   object 30: FB_ID (property "));
  EXPECT_TRUE(has(second, "6 commit 2: accepted"));
}

TEST_F(DisplayLog, is_silent_about_frames_at_debug)
{
  read(LogLevel::Debug);
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  const std::vector<std::string> before = taken();
  EXPECT_TRUE(has(before, "5 opened "));
  EXPECT_TRUE(has(before, "5 chose connector Virtual-1 (20) of "));
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  EXPECT_TRUE(has(taken(), "5 mode set 1 was made"));
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  ASSERT_TRUE((*display)->drain(kLong_ns));
  EXPECT_TRUE(taken().empty());
}

TEST_F(DisplayLog, tells_the_errno_of_a_refused_test_commit)
{
  read(LogLevel::Debug);
  fakedrm::device().refused_fourcc = DRM_FORMAT_XRGB8888;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  ASSERT_FALSE(show(**display, xrgb(memory, 640, 480)));
  EXPECT_TRUE(has(taken(), "5 test commit 0 (TEST_ONLY ALLOW_MODESET) was refused: EINVAL (Invalid argument)"));
}

TEST_F(DisplayLog, tells_that_master_is_lost_and_regained)
{
  read(LogLevel::Debug);
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  fakedrm::device().error = EACCES;
  fakedrm::device().fail_call = "drmModeAtomicCommit";
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  EXPECT_TRUE(has(taken(), "has another master: EACCES (Permission denied)"));
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  EXPECT_FALSE(has(taken(), "has another master")); // once
  fakedrm::device().fail_call.clear();
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  EXPECT_TRUE(has(taken(), "this process is master of "));
}

TEST_F(DisplayLog, tells_what_is_unplugged_and_plugged_in)
{
  read(LogLevel::Debug);
  fakedrm::device().connected = true;
  auto display = open();
  fakedrm::device().connected = false;
  ASSERT_TRUE(display && (*display)->start());
  EXPECT_TRUE(has(taken(), "5 hotplug: nothing is connected to Virtual-1 of "));
  ASSERT_TRUE((*display)->stop());
  fakedrm::device().connected = true;
  ASSERT_TRUE((*display)->start());
  EXPECT_TRUE(has(taken(), "5 hotplug: a display with 2 modes is connected to Virtual-1 of "));
}

} // namespace

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gst/drm/core/log.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using gstdrm::LogLevel;
using gstdrm::LogSink;

struct Line {
  LogLevel level;
  std::string file, function, text;
  int line;
};
std::vector<Line> lines;
int most_detailed;
int asked;
LogLevel category; // what is read of the levels up to most_detailed

const LogSink kSink = {&most_detailed,
                       [](LogLevel level) noexcept {
                         asked++;
                         return level <= category;
                       },
                       [](LogLevel level, const char *file, const char *function, int line, const char *text) noexcept {
                         lines.push_back({level, file, function, text, line});
                       }};

class Log : public testing::Test {
protected:
  Log()
  {
    lines.clear();
    asked = 0;
    most_detailed = static_cast<int>(LogLevel::Trace);
    category = LogLevel::Trace;
    gstdrm::set_log_sink(&kSink);
  }
  ~Log() override { gstdrm::set_log_sink(nullptr); }

  int evaluated = 0;
  int next() { return ++evaluated; }
};

TEST_F(Log, tells_level_place_and_text)
{
  const int line = __LINE__ + 1;
  GSTDRM_DEBUG("plane %u of %s", 31U, "card0");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].level, LogLevel::Debug);
  EXPECT_EQ(lines[0].text, "plane 31 of card0");
  EXPECT_EQ(lines[0].line, line);
  EXPECT_EQ(lines[0].function, "TestBody");
  EXPECT_NE(lines[0].file.find("log.cpp"), std::string::npos);
}

TEST_F(Log, asks_nobody_above_the_most_detailed_level)
{
  most_detailed = static_cast<int>(LogLevel::Debug);
  GSTDRM_LOG("%d", next());
  EXPECT_EQ(evaluated, 0);
  EXPECT_EQ(asked, 0);
  GSTDRM_DEBUG("%d", next());
  EXPECT_EQ(evaluated, 1);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(lines.size(), 1U);
}

TEST_F(Log, formats_nothing_that_the_sink_does_not_read)
{
  category = LogLevel::Warning;
  GSTDRM_INFO("%d", next());
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(evaluated, 0);
  EXPECT_TRUE(lines.empty());
  GSTDRM_WARNING("%d", next());
  EXPECT_EQ(lines.size(), 1U);
}

TEST_F(Log, is_silent_without_a_sink)
{
  gstdrm::set_log_sink(nullptr);
  GSTDRM_WARNING("%d", next());
  EXPECT_EQ(evaluated, 0);
  gstdrm::log_line(LogLevel::Warning, "", "", 0, "%d", 1);
  EXPECT_TRUE(lines.empty());
}

TEST_F(Log, cuts_long_lines)
{
  GSTDRM_TRACE("%s", std::string(5000, 'x').c_str());
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].text, std::string(1023, 'x'));
}

TEST_F(Log, is_one_statement)
{
  if (most_detailed < 0)
    GSTDRM_WARNING("never");
  else
    GSTDRM_INFO("always");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].text, "always");
}

} // namespace

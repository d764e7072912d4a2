// SPDX-License-Identifier: LGPL-2.1-or-later
// The report of a probe, as its writer makes it and as it must not be.
#include <gtest/gtest.h>

#include <drm_fourcc.h>

#include "gst/va/engine/va_machine.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::va;

constexpr char kPath[] = "/dev/dri/renderD128";

MachineNode node()
{
  MachineNode found{kPath, "A driver", {}};
  found.capabilities.formats.add({DRM_FORMAT_NV12, DRM_FORMAT_MOD_LINEAR});
  return found;
}

std::string head()
{
  return report::greeting() + report::log(LogLevel::Debug, "opened\nit") + report::driver("A driver, /usr/lib/a.so");
}

TEST(VaProbeReport, has_a_node)
{
  const auto read = read_report(head() + report::node(node()) + report::log(LogLevel::Trace, "") + report::end(), kPath);
  EXPECT_EQ(read.fault, "");
  EXPECT_TRUE(read.greeted);
  ASSERT_TRUE(read.node);
  EXPECT_EQ(read.node->vendor, "A driver");
  EXPECT_EQ(read.node->capabilities.formats, node().capabilities.formats);
  EXPECT_EQ(read.driver, "A driver, /usr/lib/a.so");
  ASSERT_EQ(read.log.size(), 2U);
  EXPECT_EQ(read.log[0].text, "opened?it");
  EXPECT_EQ(read.log[0].level, LogLevel::Debug);
  EXPECT_EQ(read.log[1].level, LogLevel::Trace);
}

TEST(VaProbeReport, says_why_there_is_no_node)
{
  const auto read = read_report(head() + report::none("vaInitialize failed") + report::end(), kPath);
  EXPECT_EQ(read.fault, "");
  EXPECT_FALSE(read.node);
  EXPECT_EQ(read.reason, "vaInitialize failed");
}

// Every beginning of a report is what a driver that crashed leaves.
TEST(VaProbeReport, is_refused_wherever_it_is_cut)
{
  const std::string whole = head() + report::node(node()) + report::end();
  ASSERT_EQ(read_report(whole, kPath).fault, "");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto read = read_report(whole.substr(0, length), kPath);
    EXPECT_NE(read.fault, "") << length;
    EXPECT_FALSE(read.node) << length;
    EXPECT_EQ(read.greeted, length >= report::greeting().size()) << length;
  }
}

TEST(VaProbeReport, keeps_the_log_up_to_the_fault)
{
  const auto read = read_report(head() + "log 5 the last that it did\nlog 5 cut", kPath);
  EXPECT_EQ(read.fault, "its last line is cut");
  ASSERT_EQ(read.log.size(), 2U);
  EXPECT_EQ(read.log.back().text, "the last that it did");
  EXPECT_EQ(read.driver, "A driver, /usr/lib/a.so");
}

struct Row {
  const char *name;
  std::string text;
  const char *fault;
};
class RefusedReport : public testing::TestWithParam<Row> {};

TEST_P(RefusedReport, has_nothing_that_is_used)
{
  const auto read = read_report(GetParam().text, kPath);
  EXPECT_EQ(read.fault, GetParam().fault) << GetParam().name;
  EXPECT_FALSE(read.node) << GetParam().name;
  EXPECT_EQ(read.reason, "") << GetParam().name;
}

MachineNode other_node()
{
  MachineNode other = node();
  other.path = "/dev/dri/renderD12";
  return other;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, RefusedReport,
    testing::Values(
        Row{"nothing", "", "its end is missing"}, Row{"no greeting", report::node(node()) + report::end(), "it is not of this version of the plugin"},
        Row{"an empty line", head() + "\n" + report::end(), "of an unknown kind"},
        Row{"an unknown line", head() + "nodes\n" + report::end(), "of an unknown kind"},
        Row{"no answer", head() + report::end(), "it ends without an answer"},
        Row{"two answers", head() + report::node(node()) + report::none("x") + report::end(), "it has two answers"},
        Row{"a driver behind the answer", head() + report::none("x") + report::driver("y") + report::end(), "it has two answers"},
        Row{"two ends", head() + report::node(node()) + report::end() + report::end(), "something follows its end"},
        Row{"a log behind the end", head() + report::none("x") + report::end() + report::log(LogLevel::Info, "y"), "something follows its end"},
        Row{"no reason", head() + report::none("") + report::end(), "it gives no reason"},
        Row{"another node", head() + report::node(other_node()) + report::end(), "it is of another node"},
        Row{"a node of letters", head() + "node x\n" + report::end(), "what it says of the node cannot be read"},
        Row{"a log without a level", head() + "log x\n" + report::none("x") + report::end(), "a line of its log has no level"},
        Row{"a log of an unknown level", head() + "log 9 x\n" + report::none("x") + report::end(), "a line of its log has no level"},
        Row{"a NUL", head() + std::string("none a\0b\n", 9) + report::end(), "it is no text"},
        Row{"no UTF-8", head() + "none \xff\n" + report::end(), "it is no text"},
        Row{"a carriage return", head() + "none a\r\n" + report::end(), "it is no text"},
        Row{"too long", head() + "none " + std::string(kMaxReport, 'x') + "\n" + report::end(), "it is too long"}),
    [](const auto &row) { return "row" + std::to_string(row.index); });

TEST(VaProbeReport, that_is_too_long_is_still_of_this_version)
{
  EXPECT_TRUE(read_report(head() + std::string(kMaxReport, 'x'), kPath).greeted);
  EXPECT_FALSE(read_report(std::string(kMaxReport + 1, 'x'), kPath).greeted);
}

} // namespace

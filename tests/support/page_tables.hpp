// SPDX-License-Identifier: LGPL-2.1-or-later
// For tests of what the pages in docs/ say: a page has a text that is made of the tests' own rows, and the tests that it
// names are those of this build.
#pragma once

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "listed_tests.hpp"

namespace gstdrm::test {

// `path` begins at the root of the repository. Empty where there is no such file.
inline std::string text_of(const std::string &path)
{
  const char *data = std::getenv("GST_DRM_TEST_DATA");
  std::ifstream file(std::string(data ? data : "tests/data") + "/../../" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The body of a test: the page has the text that `make` returns, in paragraphs of its own.
template <typename Make> void expect_table(const std::string &page, Make make)
{
  if (!std::getenv("GST_DRM_TEST_DATA"))
    GTEST_SKIP() << "GST_DRM_TEST_DATA is not set";
  const std::string table = make();
  ASSERT_FALSE(table.empty());
  const std::string text = text_of(page) + "\n"; // which the last paragraph of a page does not end with
  EXPECT_NE(text.find("\n\n" + table + "\n"), std::string::npos) << page << " has to have this text:\n" << table;
}

// The body of a test: `check` gets the names of the device tests. In Debian 12 and in Debian 13: the program runs in both.
// A build with TSan has none, and no such test.
template <typename Check> void check_device_tests(Check check)
{
  const auto tests = device_tests_of_this_build();
  if (!tests || tests->empty())
    GTEST_SKIP() << "a build without device tests";
  check(*tests);
}

} // namespace gstdrm::test

// SPDX-License-Identifier: LGPL-2.1-or-later
// For tests of what the pages in docs/ say: a page has a text that is made of the tests' own rows.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

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

} // namespace gstdrm::test

// SPDX-License-Identifier: LGPL-2.1-or-later
// A GoogleTest program that does what GST_DRM_RUNNER says, for run_tests.py.
#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>

namespace {

std::string_view mode()
{
  const char *said = std::getenv("GST_DRM_RUNNER");
  return said ? said : "";
}

TEST(Program, begins)
{
  EXPECT_NE(mode().substr(0, 5), "fails");
}

TEST(Program, ends)
{
  EXPECT_NE(mode(), "fails-twice");
  if (mode() == "half-way")
    std::_Exit(EXIT_SUCCESS);
}

} // namespace

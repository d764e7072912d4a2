// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gst/drm/core/errno_text.hpp"

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

namespace {

struct Row {
  const char *name;
  int sys_errno;
  const char *expected;
};

const Row kRows[] = {
    {"invalid", EINVAL, "EINVAL (Invalid argument)"},
    {"denied", EACCES, "EACCES (Permission denied)"},
    {"one_number_with_two_names", EAGAIN, "EAGAIN (Resource temporarily unavailable)"},
    {"no_name", 4711, "errno 4711"},
    {"negative", -EINVAL, "errno -22"},
};

class ErrnoText : public testing::TestWithParam<Row> {};

TEST_P(ErrnoText, names_and_explains)
{
  EXPECT_EQ(gstdrm::errno_text(GetParam().sys_errno), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Rows, ErrnoText, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace

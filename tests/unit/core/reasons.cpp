// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gst/drm/core/reasons.hpp"

#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using gstdrm::Error;
using gstdrm::ErrorCode;

struct Row {
  const char *name;
  std::vector<Error> added;
  const char *message;
  int sys_errno;
};

const Row kRows[] = {
    {"none", {}, "", 0},
    {"one", {{ErrorCode::Layout, "no memory", ENOMEM}}, "no memory", ENOMEM},
    {"in_order", {{ErrorCode::Layout, "b is full"}, {ErrorCode::Layout, "a is full"}}, "b is full. a is full", 0},
    {"first_errno", {{ErrorCode::Layout, "a", EMFILE}, {ErrorCode::Layout, "b", ENOMEM}}, "a. b", EMFILE},
    {"errno_of_a_later_one", {{ErrorCode::Layout, "a"}, {ErrorCode::Layout, "b", ENOMEM}}, "a. b", ENOMEM},
    {"said_twice", {{ErrorCode::Layout, "a"}, {ErrorCode::Layout, "b"}, {ErrorCode::Layout, "a"}}, "a. b", 0},
    {"errno_of_what_is_said_twice", {{ErrorCode::Layout, "a"}, {ErrorCode::Layout, "a", EMFILE}}, "a", EMFILE},
    {"several_said_twice", {{ErrorCode::Layout, "a. b"}, {ErrorCode::Layout, "c"}, {ErrorCode::Layout, "a. b"}}, "a. b. c", 0},
    {"no_words", {{ErrorCode::Layout, "", EMFILE}, {ErrorCode::Layout, "a", ENOMEM}}, "a", EMFILE},
    {"no_words_behind", {{ErrorCode::Layout, "a"}, {ErrorCode::Layout, "", EMFILE}}, "a", EMFILE},
};

class Reasons : public testing::TestWithParam<Row> {};

TEST_P(Reasons, are_one_error)
{
  Error all{ErrorCode::Allocation, {}};
  for (const Error &one : GetParam().added)
    add_reason(all, one);
  EXPECT_EQ(all.message, GetParam().message);
  EXPECT_EQ(all.sys_errno, GetParam().sys_errno);
  EXPECT_EQ(all.code, ErrorCode::Allocation);
}

INSTANTIATE_TEST_SUITE_P(Rows, Reasons, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace

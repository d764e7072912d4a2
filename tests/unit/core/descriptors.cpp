// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gst/drm/core/descriptors.hpp"

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "support/descriptors.hpp"

namespace {

struct Row {
  const char *name;
  unsigned left;
  unsigned wanted;
  int lack;
};

const Row kRows[] = {
    {"none", 0, 1, EMFILE},
    {"none_wanted", 0, 0, 0},
    {"one_of_two", 1, 2, EMFILE},
    {"as_many_as_there_are", 2, 2, 0},
    {"a_frame", 8, gstdrm::kDescriptorsOfFrame, 0},
    {"no_frame", 7, gstdrm::kDescriptorsOfFrame, EMFILE},
};

class Descriptors : public testing::TestWithParam<Row> {};

TEST_P(Descriptors, lack_is_told)
{
  const Row &row = GetParam();
  int lack = 0;
  int again = 0;
  {
    const gstdrm::test::FewDescriptors few(row.left);
    errno = E2BIG;
    lack = gstdrm::out_of_descriptors(row.wanted);
    again = gstdrm::out_of_descriptors(row.wanted); // they were given back
  }
  EXPECT_EQ(lack, row.lack);
  EXPECT_EQ(again, row.lack);
  EXPECT_EQ(errno, E2BIG);
}

INSTANTIATE_TEST_SUITE_P(Rows, Descriptors, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(DescriptorsText, ends_a_sentence)
{
  EXPECT_EQ(gstdrm::text_of_lack(0), "");
  EXPECT_EQ(gstdrm::text_of_lack(ENFILE),
            ", with hardly a descriptor left (ENFILE (Too many open files in system))");
}

} // namespace

// SPDX-License-Identifier: LGPL-2.1-or-later
// The nodes themselves are looked at in the box (tests/device/core/drm_nodes.cpp).
#include "gst/drm/core/drm_node.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

namespace {

using gstdrm::DrmNodeType;
using Names = std::vector<std::string>;

struct Row {
  const char *name;
  Names names;
  Names cards;
  Names render_nodes;
};

const Row kRows[] = {
    {"nothing", {}, {}, {}},
    {"both", {"renderD128", "card0"}, {"card0"}, {"renderD128"}},
    {"by_number_not_by_text", {"card10", "card9", "renderD1000", "renderD200"}, {"card9", "card10"}, {"renderD200", "renderD1000"}},
    {"other_entries", {".", "..", "by-path", "controlD64", "card", "renderD", "card1a", "card-1", "xcard1", "Card1", "card 1"}, {}, {}},
    {"connector_of_sysfs", {"card0-HDMI-A-1", "card0"}, {"card0"}, {}},
    {"number_beyond_32_bits", {"card4294967296", "card0"}, {"card0"}, {}},
};

class PickDrmNodes : public testing::TestWithParam<Row> {};

TEST_P(PickDrmNodes, by_type_in_the_order_of_numbers)
{
  const Row &row = GetParam();
  EXPECT_EQ(gstdrm::pick_drm_nodes(row.names, DrmNodeType::Card), row.cards);
  EXPECT_EQ(gstdrm::pick_drm_nodes(row.names, DrmNodeType::Render), row.render_nodes);
}

INSTANTIATE_TEST_SUITE_P(Rows, PickDrmNodes, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(DrmNode, path_of_an_unknown_number_is_the_number)
{
  EXPECT_EQ(gstdrm::drm_node_path(makedev(1, 3)), "1:3");
}

TEST(DrmNode, number_is_the_same_device_as_itself)
{
  const auto same = gstdrm::is_same_drm_device(makedev(4095, 77), makedev(4095, 77));
  ASSERT_TRUE(same);
  EXPECT_TRUE(*same);
}

TEST(DrmNode, unknown_device_is_an_error)
{
  const auto unknown = makedev(4095, 77);
  for (const auto &[a, b] : {std::pair{unknown, makedev(4095, 78)}, std::pair{makedev(1, 3), unknown}}) {
    const auto same = gstdrm::is_same_drm_device(a, b);
    ASSERT_FALSE(same);
    EXPECT_EQ(same.error().code, gstdrm::ErrorCode::Device);
    EXPECT_EQ(same.error().sys_errno, ENOENT);
    EXPECT_NE(same.error().message.find(a == unknown ? "4095:77" : "1:3"), std::string::npos) << same.error().message;
  }
}

} // namespace

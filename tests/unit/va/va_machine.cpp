// SPDX-License-Identifier: LGPL-2.1-or-later
// What the registry's cache and a probe's report hold of a machine: read as it was written, and nothing else.
#include <gtest/gtest.h>

#include <drm_fourcc.h>

#include "gst/va/engine/va_machine.hpp"
#include "gst/va/engine/va_text.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::va;

MachineNode some_node()
{
  MachineNode node{"/dev/dri/renderD128", "Vendor (R) with blanks, 24.1", {}};
  Capabilities &c = node.capabilities;
  c.has_vpp = true;
  c.lists_modifiers = true;
  c.imports = ImportBy::Prime;
  c.deinterlacing = {{Deinterlacing::Weave, 0}, {Deinterlacing::Compensated, 2}};
  c.min_width = 16;
  c.max_height = 4096;
  c.formats.add({DRM_FORMAT_NV12, DRM_FORMAT_MOD_LINEAR});
  c.formats.add({DRM_FORMAT_NV12, DRM_FORMAT_MOD_INVALID});
  c.formats.add({DRM_FORMAT_XRGB8888, I915_FORMAT_MOD_X_TILED});
  c.sources.add({DRM_FORMAT_YUYV, DRM_FORMAT_MOD_LINEAR});
  c.sources.add({DRM_FORMAT_YUYV, I915_FORMAT_MOD_X_TILED});
  return node;
}

void expect_same(const MachineNode &a, const MachineNode &b)
{
  EXPECT_EQ(a.path, b.path);
  EXPECT_EQ(a.vendor, b.vendor);
  EXPECT_EQ(a.capabilities.formats, b.capabilities.formats);
  EXPECT_EQ(a.capabilities.sources, b.capabilities.sources);
  EXPECT_EQ(a.capabilities.has_vpp, b.capabilities.has_vpp);
  EXPECT_EQ(a.capabilities.takes_modifiers, b.capabilities.takes_modifiers);
  EXPECT_EQ(a.capabilities.lists_modifiers, b.capabilities.lists_modifiers);
  EXPECT_EQ(a.capabilities.imports, b.capabilities.imports);
  EXPECT_EQ(a.capabilities.deinterlacing, b.capabilities.deinterlacing);
  EXPECT_EQ(a.capabilities.min_width, b.capabilities.min_width);
  EXPECT_EQ(a.capabilities.min_height, b.capabilities.min_height);
  EXPECT_EQ(a.capabilities.max_width, b.capabilities.max_width);
  EXPECT_EQ(a.capabilities.max_height, b.capabilities.max_height);
}

TEST(VaMachine, is_read_as_it_was_written)
{
  Machine machine{{some_node(), some_node()}, {{"/dev/dri/renderD130", "/dev/dri/renderD130: its driver crashed"}, {"/dev/dri/renderD131", "late", true}}};
  machine.nodes[1].path = "/dev/dri/renderD129";
  machine.nodes[1].vendor = "";
  machine.nodes[1].capabilities.deinterlacing.clear();
  machine.nodes[1].capabilities.sources = {};
  const auto read = read_machine(write_machine(machine));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->nodes.size(), 2U);
  expect_same(read->nodes[0], machine.nodes[0]);
  expect_same(read->nodes[1], machine.nodes[1]);
  ASSERT_EQ(read->failed.size(), 2U);
  EXPECT_FALSE(read->failed[0].may_pass);
  EXPECT_EQ(read->failed[1].path, "/dev/dri/renderD131");
  EXPECT_EQ(read->failed[1].reason, "late");
  EXPECT_TRUE(read->failed[1].may_pass);
  EXPECT_EQ(read->failed[0].path, "/dev/dri/renderD130");
  EXPECT_EQ(read->failed[0].reason, "/dev/dri/renderD130: its driver crashed");
}

TEST(VaMachine, of_no_node_is_an_empty_text)
{
  EXPECT_EQ(write_machine({}), "");
  const auto read = read_machine("");
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->nodes.empty() && read->failed.empty());
}

struct LineRow {
  const char *name;
  const char *line;
};
class RefusedNode : public testing::TestWithParam<LineRow> {};

TEST_P(RefusedNode, cannot_be_read)
{
  EXPECT_FALSE(read_node(GetParam().line)) << GetParam().line;
  EXPECT_FALSE(read_machine("node " + std::string(GetParam().line) + "\n"));
}

TEST(VaMachine, is_read_where_nothing_is_wrong)
{
  EXPECT_TRUE(read_node("/d 1 1 1 0 1 1 64 64 0 1 842094158 0 0 x"));
  EXPECT_TRUE(read_node("/d 1 1 1 0 1 1 64 64 0 1 842094158 0 1 1448695129 0 x"));
}

// path, video processing, takes and lists modifiers, imports, sizes, deinterlacing, formats, those that are read alone, vendor
INSTANTIATE_TEST_SUITE_P(Rows, RefusedNode,
                         testing::Values(
                             LineRow{"nothing", ""}, LineRow{"a path alone", "/d"},
                             LineRow{"an empty path", " 1 1 1 0 1 1 64 64 0 1 842094158 0 0 x"},
                             LineRow{"no format", "/d 1 1 1 0 1 1 64 64 0 0 0 x"},
                             LineRow{"fewer formats than it says", "/d 1 1 1 0 1 1 64 64 0 2 842094158 0 0 x"},
                             LineRow{"more formats than there can be", "/d 1 1 1 0 1 1 64 64 0 65537 842094158 0 0 x"},
                             LineRow{"a count that is too large", "/d 1 1 1 0 1 1 64 64 0 99999999999999999999999 842094158 0 0 x"},
                             LineRow{"no count of those that are read alone", "/d 1 1 1 0 1 1 64 64 0 1 842094158 0 x"},
                             LineRow{"fewer that are read alone than it says", "/d 1 1 1 0 1 1 64 64 0 1 842094158 0 1 x"},
                             LineRow{"one that is read alone twice", "/d 1 1 1 0 1 1 64 64 0 1 842094158 0 2 1448695129 0 1448695129 0 x"},
                             LineRow{"one that is read alone without a name", "/d 1 1 1 0 1 1 64 64 0 1 842094158 0 1 1 0 x"},
                             LineRow{"one that is drawn, and read alone", "/d 1 1 1 0 1 1 64 64 0 1 842094158 0 1 842094158 1 x"},
                             LineRow{"a format twice", "/d 1 1 1 0 1 1 64 64 0 2 842094158 0 842094158 0 0 x"},
                             LineRow{"a format without a name", "/d 1 1 1 0 1 1 64 64 0 1 1 0 0 x"},
                             LineRow{"a negative modifier", "/d 1 1 1 0 1 1 64 64 0 1 842094158 -1 0 x"},
                             LineRow{"a modifier of 65 bits", "/d 1 1 1 0 1 1 64 64 0 1 842094158 18446744073709551616 0 x"},
                             LineRow{"a number with a letter", "/d 1 1 1 0 1 1 64 64 0 1 842094158 0x1 0 x"},
                             LineRow{"a flag of 2", "/d 2 1 1 0 1 1 64 64 0 1 842094158 0 0 x"},
                             LineRow{"an unknown way to import", "/d 1 1 1 2 1 1 64 64 0 1 842094158 0 0 x"},
                             LineRow{"an unknown deinterlacing", "/d 1 1 1 0 1 1 64 64 1 4 0 1 842094158 0 0 x"},
                             LineRow{"a deinterlacing that looks too far back", "/d 1 1 1 0 1 1 64 64 1 1 3 1 842094158 0 0 x"},
                             LineRow{"five deinterlacings", "/d 1 1 1 0 1 1 64 64 5 0 0 0 0 0 0 0 0 0 0 1 842094158 0 0 x"},
                             LineRow{"a size of 0", "/d 1 1 1 0 0 1 64 64 0 1 842094158 0 0 x"},
                             LineRow{"a least size above the largest", "/d 1 1 1 0 65 1 64 64 0 1 842094158 0 0 x"},
                             LineRow{"a size that no frame has", "/d 1 1 1 0 1 1 64 16385 0 1 842094158 0 0 x"},
                             LineRow{"two blanks", "/d 1  1 1 0 1 1 64 64 0 1 842094158 0 0 x"},
                             LineRow{"a vendor with a control character", "/d 1 1 1 0 1 1 64 64 0 1 842094158 0 0 x\ty"},
                             LineRow{"a vendor that is no UTF-8", "/d 1 1 1 0 1 1 64 64 0 1 842094158 0 0 \xae"}),
                         [](const auto &row) { return "row" + std::to_string(row.index); });

TEST(VaMachine, refuses_other_texts)
{
  const std::string node = "node " + write_node(some_node()) + "\n";
  ASSERT_TRUE(read_machine(node));
  EXPECT_FALSE(read_machine(node.substr(0, node.size() - 1))) << "cut";
  EXPECT_FALSE(read_machine(node + "\n")) << "an empty line";
  EXPECT_FALSE(read_machine(node + "other /d x\n")) << "an unknown line";
  EXPECT_FALSE(read_machine("failed /d\n")) << "no reason";
  EXPECT_FALSE(read_machine("failed /d a\x01\n")) << "a control character";
  EXPECT_FALSE(read_machine(node + std::string("failed /d a\0b\n", 14))) << "a NUL";
}

struct TextRow {
  std::string text;
  std::string line; // what one_line() makes of it
};
class VaText : public testing::TestWithParam<TextRow> {};

TEST_P(VaText, becomes_one_line)
{
  EXPECT_EQ(is_one_line(GetParam().text), GetParam().text == GetParam().line);
  EXPECT_EQ(one_line(GetParam().text), GetParam().line);
  EXPECT_TRUE(is_one_line(GetParam().line));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, VaText,
    testing::Values(TextRow{"", ""}, TextRow{"Intel(R) iHD ~", "Intel(R) iHD ~"}, TextRow{"a\nb\r\t\x7f", "a?b???"},
                    TextRow{std::string("a\0b", 3), "a?b"}, TextRow{"\xc2\xae \xe2\x82\xac \xf0\x9f\x8e\xac", "\xc2\xae \xe2\x82\xac \xf0\x9f\x8e\xac"},
                    TextRow{"\xae", "?"}, TextRow{"\xc2", "?"}, TextRow{"\xc2"
                                                                        "a",
                                                                        "?a"},
                    TextRow{"\xc0\x80", "??"}, TextRow{"\xc1\xbf", "??"}, TextRow{"\xe0\x80\x80", "???"}, TextRow{"\xed\xa0\x80", "???"},
                    TextRow{"\xf4\x90\x80\x80", "????"}, TextRow{"\xf8\x88\x80\x80\x80", "?????"}, TextRow{"\xf0\x9f\x8e", "???"},
                    TextRow{"\xc2\x85", "??"}, TextRow{"\xe2\x80\xa8", "???"}));

TEST(VaTextLength, is_cut)
{
  EXPECT_EQ(one_line(std::string(5000, 'x')).size(), 1000U);
}

} // namespace

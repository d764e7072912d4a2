// SPDX-License-Identifier: LGPL-2.1-or-later
// Names of Metis devices, and which node a name means.
#include "engine/axl/axl_device.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace {

using gstdrm::metis::DeviceAddress;
using gstdrm::metis::find_device;
using gstdrm::metis::parse_device_name;

struct NameRow {
  const char *label;
  const char *name;
  std::optional<DeviceAddress> address;
};
void PrintTo(const NameRow &row, std::ostream *out)
{
  *out << row.label;
}

class Names : public testing::TestWithParam<NameRow> {};

TEST_P(Names, parse)
{
  EXPECT_EQ(parse_device_name(GetParam().name), GetParam().address);
}

INSTANTIATE_TEST_SUITE_P(
    axl, Names,
    testing::Values(NameRow{"plain", "metis-0:1:0", DeviceAddress{0, 1, 0}},
                    NameRow{"zeros", "metis-0004:01:00", DeviceAddress{4, 1, 0}},
                    NameRow{"hexadecimal", "metis-1a:Ff:1f", DeviceAddress{0x1a, 0xff, 0x1f}},
                    NameRow{"empty", "", {}}, NameRow{"prefix_alone", "metis-", {}},
                    NameRow{"two_numbers", "metis-0:1", {}}, NameRow{"no_number", "metis-0::0", {}},
                    NameRow{"more_behind", "metis-0:1:0.0", {}},
                    NameRow{"sign", "metis-0:-1:0", {}}, NameRow{"blank", "metis-0: 1:0", {}},
                    NameRow{"base", "metis-0x0:1:0", {}},
                    NameRow{"overflow", "metis-0:100000000:0", {}}, NameRow{"other", "card0", {}}),
    [](const auto &info) { return info.param.label; });

// A directory in place of /dev.
class Nodes : public testing::Test {
protected:
  Nodes()
  {
    std::string pattern = testing::TempDir() + "axl-names-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~Nodes() override { std::filesystem::remove_all(directory_); }
  void make(const std::vector<const char *> &names)
  {
    for (const char *name : names)
      std::ofstream(directory_ + "/" + name).close();
  }
  std::string directory_;
};

TEST_F(Nodes, the_first_is_that_with_the_lowest_address)
{
  make({"metis-10:1:0", "metis-2:1:0", "metis-2:0:1", "metis-x", "card0"});
  const auto found = find_device("", directory_);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, directory_ + "/metis-2:0:1");
}

TEST_F(Nodes, zeros_do_not_matter)
{
  make({"metis-0:01:0", "metis-0:2:0"});
  for (const auto &[name, node] :
       {std::pair("metis-0:1:0", "metis-0:01:0"), {"metis-00:02:00", "metis-0:2:0"}}) {
    const auto found = find_device(name, directory_);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(*found, directory_ + "/" + node);
  }
}

TEST_F(Nodes, a_path_is_taken_as_it_is)
{
  const auto found = find_device("/dev/elsewhere", directory_);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, "/dev/elsewhere");
}

TEST_F(Nodes, the_error_names_what_is_there)
{
  make({"metis-0:1:0", "metis-0:3:0"});
  const auto found = find_device("metis-0:2:0", directory_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().sys_errno, ENODEV);
  EXPECT_NE(
      found.error().message.find("metis-0:2:0: " + directory_ + " has metis-0:1:0, metis-0:3:0"),
      std::string::npos)
      << found.error().message;
}

TEST_F(Nodes, nothing_there)
{
  for (const std::string &directory : {directory_, directory_ + "/missing"}) {
    const auto found = find_device("", directory);
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find("has none"), std::string::npos) << found.error().message;
  }
}

TEST_F(Nodes, no_name_of_a_device)
{
  const auto found = find_device("axl0", directory_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().sys_errno, EINVAL);
}

} // namespace

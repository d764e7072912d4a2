// SPDX-License-Identifier: LGPL-2.1-or-later
// What uevents mean to a display; and a display that comes back another.
#include "gst/kms/engine/card/kms_hotplug.hpp"

#include <string>

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

namespace {

using namespace gstdrm::kms;

struct Row {
  const char *name;
  std::string text;
  Uevent expected;
};

std::string uevent(std::initializer_list<const char *> lines)
{
  std::string text;
  for (const char *line : lines)
    text += std::string(line) + '\0';
  return text;
}

const Row kRows[] = {
    {"hotplug",
     uevent({"change@/devices/faux/vkms/drm/card1", "ACTION=change",
             "DEVPATH=/devices/faux/vkms/drm/card1", "SUBSYSTEM=drm", "HOTPLUG=1", "MAJOR=226",
             "MINOR=1", "DEVNAME=dri/card1", "DEVTYPE=drm_minor", "SEQNUM=812"}),
     Uevent::Changed},
    {"lease",
     uevent({"change@/d", "ACTION=change", "SUBSYSTEM=drm", "LEASE=1", "MAJOR=226", "MINOR=1"}),
     Uevent::Changed},
    {"removed", uevent({"remove@/d", "ACTION=remove", "SUBSYSTEM=drm", "MAJOR=226", "MINOR=1"}),
     Uevent::Removed},
    {"another card",
     uevent({"change@/d", "ACTION=change", "SUBSYSTEM=drm", "HOTPLUG=1", "MAJOR=226", "MINOR=2"}),
     Uevent::Other},
    {"another card removed",
     uevent({"remove@/d", "ACTION=remove", "SUBSYSTEM=drm", "MAJOR=226", "MINOR=128"}),
     Uevent::Other},
    {"another subsystem with the same numbers",
     uevent({"remove@/d", "ACTION=remove", "SUBSYSTEM=block", "MAJOR=226", "MINOR=1"}),
     Uevent::Other},
    {"a connector's own, without a node", uevent({"remove@/d", "ACTION=remove", "SUBSYSTEM=drm"}),
     Uevent::Other},
    {"no minor", uevent({"remove@/d", "ACTION=remove", "SUBSYSTEM=drm", "MAJOR=226"}),
     Uevent::Other},
    {"no number", uevent({"remove@/d", "ACTION=remove", "SUBSYSTEM=drm", "MAJOR=226", "MINOR=x"}),
     Uevent::Other},
    {"cut off", std::string("change@/d\0ACTION=change\0SUBSYSTEM=drm\0MAJOR=226\0MINOR=1", 55),
     Uevent::Changed},
    {"empty", "", Uevent::Other},
    {"zeros", std::string(9, '\0'), Uevent::Other},
};

class Uevents : public testing::TestWithParam<Row> {};

TEST_P(Uevents, read)
{
  const Row &row = GetParam();
  EXPECT_EQ(read_uevent(row.text.data(), row.text.size(), makedev(226, 1)), row.expected)
      << row.name;
}

INSTANTIATE_TEST_SUITE_P(Rows, Uevents, testing::ValuesIn(kRows));

} // namespace

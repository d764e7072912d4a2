// SPDX-License-Identifier: LGPL-2.1-or-later
// What the VA engine logs where no driver answers; tests/device/va/va_log.cpp has the rest.
#include <gtest/gtest.h>

#include "gst/va/engine/va_display.hpp"
#include "gst/va/engine/va_probe.hpp"
#include "gst/va/engine/va_surface.hpp"
#include "support/log_lines.hpp"

namespace {

using namespace gstdrm;
using gstdrm::test::LogLines;

TEST(VaLog, tells_why_a_node_cannot_be_opened)
{
  const LogLines log(LogLevel::Debug);
  ASSERT_FALSE(va::Display::open("/dev/there-is-no-such-node"));
  EXPECT_TRUE(LogLines::has("5 /dev/there-is-no-such-node cannot be opened: ENOENT")) << LogLines::all();
}

TEST(VaLog, tells_what_is_wrong_with_a_description)
{
  const LogLines log(LogLevel::Debug);
  const VADRMPRIMESurfaceDescriptor nothing{};
  ASSERT_FALSE(va::read_descriptor(nothing, *va::format_by_va(VA_FOURCC_NV12), 64, 48, {}));
  EXPECT_TRUE(LogLines::has("5 refused: The driver's description of a NV12 surface of 64x48 cannot be used: 0 objects"))
      << LogLines::all();
}

} // namespace

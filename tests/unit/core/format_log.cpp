// SPDX-License-Identifier: LGPL-2.1-or-later
// What the core logs of the pairs that are offered and chosen.
#include <drm_fourcc.h>
#include <gst/drm/core/format_choice.hpp>
#include <gst/drm/core/format_offer.hpp>
#include <gtest/gtest.h>

#include "support/log_lines.hpp"

namespace {

using namespace gstdrm;
using gstdrm::test::LogLines;

const FormatSet kDevice = FormatSet::from_pairs({{DRM_FORMAT_XRGB8888, kModLinear},
                                                 {DRM_FORMAT_NV12, kModLinear},
                                                 {DRM_FORMAT_NV12, I915_FORMAT_MOD_X_TILED}});

TEST(FormatLog, tells_the_order_of_the_choice)
{
  const LogLines log(LogLevel::Debug);
  (void)rank_candidates(kDevice, FormatList(kDevice));
  EXPECT_EQ(LogLines::take(),
            (std::vector<std::string>{"5 3 pairs of 3 and 3 are common, of 2 fourccs; tried in this order:",
                                      "5   NV12 with 2 modifiers", "5   XR24 with 1 modifiers"}));
}

TEST(FormatLog, tells_what_is_refused_and_offered_again)
{
  FormatOffer offer(kDevice);
  const LogLines log(LogLevel::Debug);
  (void)offer.refuse({{DRM_FORMAT_NV12, I915_FORMAT_MOD_X_TILED}, 640, 480, "Too wide."});
  EXPECT_TRUE(LogLines::has(" is refused at 640x480: Too wide.")) << LogLines::all();
  EXPECT_TRUE(LogLines::has("5 NV12")) << LogLines::all();
  (void)LogLines::take();
  (void)offer.resize(640, 480);
  EXPECT_EQ(LogLines::all(), "");
  (void)offer.resize(320, 240);
  EXPECT_TRUE(LogLines::has("5 1 pairs that were refused at another size are offered again at 320x240"))
      << LogLines::all();
  (void)offer.refuse({{DRM_FORMAT_NV12, kModLinear}, 320, 240, "Too high."});
  (void)offer.forget_refusals();
  EXPECT_TRUE(LogLines::has("5 1 pairs that were refused are offered again")) << LogLines::all();
  (void)LogLines::take();
  (void)offer.forget_refusals();
  EXPECT_EQ(LogLines::all(), "");
}

} // namespace

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/format_offer.hpp"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <drm_fourcc.h>
#include <gtest/gtest.h>

#include "support/threads.hpp"

namespace {

using namespace gstdrm;

TEST(FormatOffer, answers_whether_it_changed)
{
  constexpr Format kX{DRM_FORMAT_XRGB8888, kModLinear}, kN{DRM_FORMAT_NV12, kModLinear},
      kTiled{DRM_FORMAT_NV12, I915_FORMAT_MOD_X_TILED};
  FormatOffer offer(FormatSet::from_pairs({kX, kN, kTiled}));
  EXPECT_FALSE(offer.list(FormatSet::from_pairs({kX, kN, kTiled})));
  EXPECT_TRUE(offer.refuse({kTiled, 1920, 1080, "EINVAL"}));
  EXPECT_FALSE(offer.refuse({kTiled, 1920, 1080, "EINVAL"}));
  EXPECT_EQ(offer.formats(), FormatSet::from_pairs({kX, kN}));
  const std::optional<Refusal> refusal = offer.refusal(kTiled, 1920, 1080);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->format, kTiled);
  EXPECT_EQ(refusal->reason, "EINVAL");
  EXPECT_FALSE(offer.refusal(kTiled, 1920, 1081));
  EXPECT_FALSE(offer.refusal(kTiled, 1921, 1080));
  EXPECT_FALSE(offer.refusal(kN, 1920, 1080));
  EXPECT_FALSE(offer.list(FormatSet::from_pairs({kX, kN}))); // what went was not offered
  EXPECT_TRUE(offer.list(FormatSet::from_pairs({kX, kTiled})));
  EXPECT_FALSE(offer.resize(1920, 1080));
  EXPECT_TRUE(offer.resize(640, 480)); // smaller ones may do
  EXPECT_TRUE(offer.formats().contains(kTiled));
  EXPECT_FALSE(offer.forget_refusals());
}

// A driver lists SAND without the height of the frame that it refuses.
TEST(FormatOffer, withdraws_the_tiling_of_a_refused_height)
{
  constexpr Format kLinear{DRM_FORMAT_NV12, kModLinear}, kSand{DRM_FORMAT_NV12, DRM_FORMAT_MOD_BROADCOM_SAND128},
      kFrame{DRM_FORMAT_NV12, DRM_FORMAT_MOD_BROADCOM_SAND128_COL_HEIGHT(1632)};
  FormatOffer offer(FormatSet::from_pairs({kLinear, kSand}));
  EXPECT_TRUE(offer.refuse({kFrame, 1920, 1088, "EINVAL"}));
  EXPECT_FALSE(offer.formats().contains(kFrame));
  EXPECT_EQ(offer.formats(), FormatSet::from_pairs({kLinear}));
  EXPECT_TRUE(offer.resize(1280, 720));
  EXPECT_TRUE(offer.formats().contains(kFrame));
}

TEST(FormatOffer, refuses_at_one_size)
{
  constexpr Format kNv12{DRM_FORMAT_NV12, kModLinear};
  for (const auto &[width, height] : {std::pair{1920U, 1088U}, std::pair{1936U, 1080U}}) {
    FormatOffer offer(FormatSet::from_pairs({kNv12}));
    EXPECT_TRUE(offer.refuse({kNv12, 1920, 1080, "EINVAL"}));
    EXPECT_FALSE(offer.resize(1920, 1080));
    EXPECT_TRUE(offer.resize(width, height));
    EXPECT_TRUE(offer.formats().contains(kNv12));
  }
}

TEST(FormatOffer, keeps_the_last_reason)
{
  constexpr Format kNv12{DRM_FORMAT_NV12, kModLinear}, kXrgb{DRM_FORMAT_XRGB8888, kModLinear};
  FormatOffer offer(FormatSet::from_pairs({kNv12, kXrgb}));
  EXPECT_TRUE(offer.refuse({kNv12, 1920, 1080, "first"}));
  EXPECT_TRUE(offer.refuse({kXrgb, 1920, 1080, "other"}));
  EXPECT_FALSE(offer.refuse({kNv12, 640, 480, "second"}));
  const std::optional<Refusal> last = offer.refusal(kNv12, 640, 480);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->reason, "second");
  EXPECT_EQ(last->width, 640U);
  EXPECT_FALSE(offer.refusal(kNv12, 1920, 1080)); // replaced
  EXPECT_TRUE(offer.refusal(kXrgb, 1920, 1080));
  EXPECT_TRUE(offer.forget_refusals());
  EXPECT_FALSE(offer.refusal(kNv12, 640, 480));
  EXPECT_FALSE(offer.refusal(kXrgb, 1920, 1080));
  EXPECT_FALSE(offer.forget_refusals());
}

// A stream may go through the pairs of one device after the other, for as long as it runs.
TEST(FormatOffer, forgets_the_oldest_refusal_when_there_are_too_many)
{
  constexpr Format kFirst{DRM_FORMAT_XRGB8888, kModLinear};
  FormatOffer offer(FormatSet::from_pairs({kFirst}));
  EXPECT_TRUE(offer.refuse({kFirst, 640, 480, "first"}));
  for (std::uint64_t modifier = 1; modifier < FormatOffer::kMaxRefusals; modifier++)
    EXPECT_FALSE(offer.refuse({{DRM_FORMAT_NV12, modifier}, 640, 480, "next"}));
  EXPECT_TRUE(offer.refusal(kFirst, 640, 480)); // as many as are kept
  EXPECT_TRUE(offer.formats().empty());
  EXPECT_TRUE(offer.refuse({{DRM_FORMAT_NV12, FormatOffer::kMaxRefusals}, 640, 480, "one more"}));
  EXPECT_FALSE(offer.refusal(kFirst, 640, 480));
  EXPECT_TRUE(offer.refusal({DRM_FORMAT_NV12, 1}, 640, 480)); // no other one has gone
  EXPECT_TRUE(offer.formats().contains(kFirst));
}

// The streaming thread refuses, a hotplug lists anew, and queries ask.
TEST(FormatOffer, is_for_any_thread)
{
  constexpr Format kNv12{DRM_FORMAT_NV12, kModLinear}, kXrgb{DRM_FORMAT_XRGB8888, kModLinear};
  FormatOffer offer(FormatSet::from_pairs({kNv12, kXrgb}));
  std::vector<std::function<void()>> jobs;
  jobs.emplace_back([&] {
    for (unsigned i = 0; i < 500; i++) {
      offer.refuse({kNv12, i % 3 + 1, 1, "no"});
      offer.resize(1, 1);
    }
  });
  jobs.emplace_back([&] {
    for (int i = 0; i < 500; i++) {
      offer.list(FormatSet::from_pairs({kXrgb}));
      offer.forget_refusals();
    }
  });
  jobs.emplace_back([&] {
    for (int i = 0; i < 500; i++)
      (void)(offer.formats().size() + (offer.refusal(kNv12, 1, 1) ? 1 : 0));
  });
  test::at_once(jobs);
  EXPECT_TRUE(offer.formats().contains(kXrgb));
}

} // namespace

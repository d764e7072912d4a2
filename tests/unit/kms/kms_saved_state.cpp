// SPDX-License-Identifier: LGPL-2.1-or-later
// What an output showed before, and the commit that brings it back.
#include <cerrno>

#include <drm_fourcc.h>
#include <gtest/gtest.h>

#include "fake_drm.hpp"
#include "gst/kms/engine/commit/kms_saved_state.hpp"
#include "gst/kms/engine/output/kms_choice.hpp"
#include "gst/kms/engine/output/kms_registry.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

constexpr std::uint32_t kOtherCrtc = 11;

class SavedStateTest : public testing::Test {
protected:
  SavedStateTest() : fd(fakedrm::plug())
  {
    DeviceRequest request;
    request.fd = fd.get();
    auto opened = Registry::get().open(request);
    EXPECT_TRUE(opened);
    device = *opened;
  }
  ~SavedStateTest() override
  {
    device.reset();
    EXPECT_EQ(fakedrm::alive(), 0); // the blobs that restore() made as well
  }
  Output output()
  {
    auto choice = reserve_output(*device, {});
    EXPECT_TRUE(choice);
    return std::move(choice->output);
  }
  static const fakedrm::Commit &last() { return fakedrm::device().commits.back(); }
  static std::uint64_t value(std::uint32_t object, const char *name)
  {
    const auto it = last().values.find({object, name});
    return it == last().values.end() ? ~std::uint64_t{0} : it->second;
  }

  UniqueFd fd;
  std::shared_ptr<Device> device;
};

TEST_F(SavedStateTest, puts_back_what_every_object_had)
{
  fakedrm::device().plane_users[fakedrm::kOverlay] = fakedrm::kCrtc;
  const Output own = output();
  const auto saved = SavedState::capture(*device, own);
  ASSERT_TRUE(saved);
  EXPECT_TRUE(fakedrm::device().commits.empty()); // reading changes nothing
  ASSERT_TRUE(saved->restore(*device, own));
  ASSERT_EQ(fakedrm::device().commits.size(), 1U);
  EXPECT_EQ(last().flags, unsigned{DRM_MODE_ATOMIC_ALLOW_MODESET});
  EXPECT_EQ(value(fakedrm::kCrtc, "ACTIVE"), 0U);
  EXPECT_EQ(value(fakedrm::kCrtc, "MODE_ID"), 0U);
  EXPECT_EQ(value(fakedrm::kConnector, "CRTC_ID"), 0U);
  EXPECT_EQ(value(fakedrm::kConnector, "HDR_OUTPUT_METADATA"), 0U);
  EXPECT_EQ(value(fakedrm::kWriteback, "CRTC_ID"), 0U);
  EXPECT_EQ(value(fakedrm::kPrimary, "CRTC_ID"), 0U);
  EXPECT_EQ(value(fakedrm::kOverlay, "CRTC_ID"), fakedrm::kCrtc);
  EXPECT_EQ(value(fakedrm::kOverlay, "rotation"), DRM_MODE_ROTATE_0);
}

// The normal case on Intel: a commit that names the property is refused as a whole.
TEST_F(SavedStateTest, leaves_out_what_cannot_be_set)
{
  fakedrm::device().has_zpos = fakedrm::device().fixed_zpos = true;
  fakedrm::device().plane_users[fakedrm::kOverlay] = fakedrm::kCrtc;
  const Output own = output();
  const auto saved = SavedState::capture(*device, own);
  ASSERT_TRUE(saved && saved->restore(*device, own));
  ASSERT_EQ(fakedrm::device().commits.size(), 1U);
  EXPECT_EQ(value(fakedrm::kOverlay, "CRTC_ID"), fakedrm::kCrtc); // put back, not turned off
  EXPECT_EQ(value(fakedrm::kOverlay, "zpos"), ~std::uint64_t{0});
}

// A blob ends with the last state that uses it, so that its contents are what is put back.
TEST_F(SavedStateTest, puts_back_colour_and_rate)
{
  const std::vector<std::uint8_t> lut = {1, 2, 3, 4}, matrix = {5, 6};
  fakedrm::device().foreign_blobs = {{900, lut}, {901, matrix}};
  fakedrm::device().found = {{{fakedrm::kCrtc, "GAMMA_LUT"}, 900},
                             {{fakedrm::kCrtc, "CTM"}, 901},
                             {{fakedrm::kCrtc, "VRR_ENABLED"}, 1},
                             {{fakedrm::kConnector, "Broadcast RGB"}, 2}};
  const Output own = output();
  const auto saved = SavedState::capture(*device, own);
  ASSERT_TRUE(saved && saved->restore(*device, own));
  EXPECT_EQ(value(fakedrm::kCrtc, "VRR_ENABLED"), 1U);
  EXPECT_EQ(value(fakedrm::kConnector, "Broadcast RGB"), 2U);
  EXPECT_EQ(value(fakedrm::kCrtc, "DEGAMMA_LUT"), 0U);
  const auto contents = [](const char *name) {
    return fakedrm::device().old_blobs.at(static_cast<std::uint32_t>(value(fakedrm::kCrtc, name)));
  };
  EXPECT_EQ(contents("GAMMA_LUT"), lut);
  EXPECT_EQ(contents("CTM"), matrix);
}

TEST_F(SavedStateTest, leaves_the_planes_of_other_outputs_alone)
{
  const Output own = output();
  fakedrm::device().plane_users[fakedrm::kOverlay] = kOtherCrtc;
  const auto saved = SavedState::capture(*device, own);
  ASSERT_TRUE(saved && saved->restore(*device, own));
  EXPECT_EQ(value(fakedrm::kOverlay, "CRTC_ID"), ~std::uint64_t{0});
  EXPECT_EQ(value(fakedrm::kPrimary, "CRTC_ID"), 0U);
}

// The old framebuffer is gone, and its id is another one's by now, in this process or in another.
TEST_F(SavedStateTest, shows_no_other_picture_under_an_old_number)
{
  enum class Now { TheSame, Another, OurOwn, Nothing };
  for (const Now now : {Now::TheSame, Now::Another, Now::OurOwn, Now::Nothing}) {
    fakedrm::Device &d = fakedrm::device();
    d.commits.clear();
    d.plane_users[fakedrm::kPrimary] = fakedrm::kCrtc;
    d.found[{fakedrm::kPrimary, "FB_ID"}] = 60;
    d.foreign_framebuffers = {60};
    d.sizes[60] = {640, 480};
    d.fourccs[60] = DRM_FORMAT_XRGB8888;
    const Output own = output();
    const auto saved = SavedState::capture(*device, own);
    ASSERT_TRUE(saved);
    EXPECT_TRUE(d.handles.empty()); // those that came with the question
    if (now == Now::Another)
      d.sizes[60] = {800, 600};
    if (now == Now::OurOwn)
      device->framebuffers().made(60); // as like the old one as can be
    if (now == Now::Nothing)
      d.foreign_framebuffers.clear();
    ASSERT_TRUE(saved->restore(*device, own));
    EXPECT_EQ(value(fakedrm::kPrimary, "FB_ID"), now == Now::TheSame ? 60U : 0U) << static_cast<int>(now);
    EXPECT_TRUE(d.handles.empty());
  }
}

// The old framebuffer is gone: the commit that names it fails, and the output is turned off.
TEST_F(SavedStateTest, turns_the_output_off_where_the_old_state_is_refused)
{
  const Output own = output();
  const auto saved = SavedState::capture(*device, own);
  ASSERT_TRUE(saved);
  bool turned_off = false;
  for (int call = 1; call < 100 && !turned_off; call++) {
    fakedrm::device().commits.clear();
    fakedrm::device().calls = 0;
    fakedrm::device().failed_call.clear();
    fakedrm::device().fail_at = call;
    const Result<void> restored = saved->restore(*device, own);
    if (fakedrm::device().failed_call != "drmModeAtomicCommit")
      continue;
    turned_off = true;
    EXPECT_TRUE(restored);
    ASSERT_EQ(fakedrm::device().commits.size(), 1U);
    EXPECT_EQ(value(fakedrm::kCrtc, "ACTIVE"), 0U);
    EXPECT_EQ(value(fakedrm::kPrimary, "FB_ID"), 0U);
    EXPECT_EQ(value(fakedrm::kPrimary, "SRC_W"), ~std::uint64_t{0}); // turned off, not put back
  }
  EXPECT_TRUE(turned_off);
  fakedrm::device().fail_at = 0;
}

TEST_F(SavedStateTest, says_that_not_even_turning_off_works)
{
  const Output own = output();
  const auto saved = SavedState::capture(*device, own);
  ASSERT_TRUE(saved);
  fakedrm::device().error = EACCES;
  fakedrm::device().fail_call = "drmModeAtomicCommit";
  const Result<void> restored = saved->restore(*device, own);
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().sys_errno, EACCES);
  EXPECT_NE(restored.error().message.find("could not be put back: EACCES (Permission denied)"), std::string::npos)
      << restored.error().message;
}

TEST_F(SavedStateTest, needs_every_property)
{
  const Output own = output();
  fakedrm::device().error = ENODEV;
  fakedrm::device().fail_call = "drmModeObjectGetProperties";
  const auto saved = SavedState::capture(*device, own);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().sys_errno, ENODEV);
}

} // namespace

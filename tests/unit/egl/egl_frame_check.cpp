// SPDX-License-Identifier: LGPL-2.1-or-later
// Which frames a driver never sees.
#include "engine/egl_device.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/drm_facts.hpp"
#include "core/unique_fd.hpp"
#include "open_device.hpp"

namespace gstdrm::egl {
namespace {

using test::FakeEgl;
using test::open_device;

// A frame of 64x48 in memfds, as check_layout() would pass it.
class Frame : public testing::Test {
protected:
  void SetUp() override
  {
    driver_.load_table("amd-navi31");
    device_ = open_device(driver_);
    ASSERT_TRUE(device_);
    std::uint64_t size = 0;
    nv12_ = *make_linear_layout(DRM_FORMAT_NV12, 64, 48, 1, 1, size);
    ASSERT_EQ(size, kSize);
    put_into(nv12_, kSize);
  }

  void put_into(FrameLayout &layout, std::uint64_t size)
  {
    memory_ = UniqueFd(::memfd_create("frame", MFD_CLOEXEC));
    ASSERT_TRUE(memory_);
    ASSERT_EQ(::ftruncate(memory_.get(), static_cast<off_t>(size)), 0);
    const Result<ObjectInfo> object = query_object(memory_.get());
    for (std::size_t i = 0; i < layout.n_planes; ++i) {
      layout.planes[i].fd = memory_.get();
      layout.planes[i].object = object ? *object : ObjectInfo{};
    }
  }

  void expect_refused(const FrameLayout &layout, ErrorCode code, const std::string &why)
  {
    const unsigned calls = driver_.all_calls();
    const Result<void> checked = device_->check_frame(layout);
    ASSERT_FALSE(checked) << why;
    EXPECT_EQ(checked.error().code, code) << checked.error().message;
    EXPECT_NE(checked.error().message.find(why), std::string::npos) << checked.error().message;
    EXPECT_NE(checked.error().message.find(describe_format(layout.format)), std::string::npos)
        << checked.error().message;
    EXPECT_EQ(driver_.all_calls(), calls) << "the driver noticed";
  }

  static constexpr std::uint64_t kSize = 64 * 48 * 3 / 2;
  FakeEgl driver_;
  std::shared_ptr<Device> device_;
  UniqueFd memory_;
  FrameLayout nv12_;
};

TEST_F(Frame, Taken)
{
  const Result<void> checked = device_->check_frame(nv12_);
  EXPECT_TRUE(checked) << checked.error().message;
}

TEST_F(Frame, LargerThanTextures)
{
  for (const auto &[width, height] :
       {std::pair{16385U, 16U}, std::pair{16U, 16385U}, std::pair{0xffffffffU, 0xffffffffU}}) {
    nv12_.width = width;
    nv12_.height = height;
    expect_refused(nv12_, ErrorCode::Unsupported, "16384 pixels");
  }
}

TEST_F(Frame, PairThatIsNotListed)
{
  nv12_.format.modifier = I915_FORMAT_MOD_Y_TILED;
  expect_refused(nv12_, ErrorCode::Unsupported, "not among the pairs");
  for (const std::uint64_t modifier : {kModLinear, kModImplicit}) {
    nv12_.format = {make_fourcc('Z', 'Z', 'Z', 'Z'), modifier};
    expect_refused(nv12_, ErrorCode::Unsupported, "not among the pairs");
  }
}

TEST_F(Frame, WithoutAModifierWhereTheDriverListsTheFourcc)
{
  nv12_.format.modifier = kModImplicit;
  const Result<void> checked = device_->check_frame(nv12_);
  EXPECT_TRUE(checked) << checked.error().message;
}

TEST_F(Frame, NoPictureAtAll)
{
  FrameLayout layout = nv12_;
  layout.n_planes = 0;
  expect_refused(layout, ErrorCode::Layout, "empty picture");
  layout.n_planes = kMaxPlanes + 1;
  expect_refused(layout, ErrorCode::Layout, "empty picture");
  layout = nv12_;
  layout.width = 0;
  expect_refused(layout, ErrorCode::Layout, "empty picture");
  layout = nv12_;
  layout.n_planes = 3; // NV12 has two: the third has no layout
  layout.planes[2] = layout.planes[1];
  expect_refused(layout, ErrorCode::Layout, "not known");
}

TEST_F(Frame, DeadDescriptor)
{
  memory_.reset();
  expect_refused(nv12_, ErrorCode::Layout, "cannot be used");
  nv12_.planes[0].fd = -1;
  expect_refused(nv12_, ErrorCode::Layout, "cannot be used");
}

TEST_F(Frame, DescriptorOfSomethingElse)
{
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  nv12_.planes[1].fd = reader.get();
  expect_refused(nv12_, ErrorCode::Layout, "neither a dma-buf nor a memfd");
}

// The size is asked again: what the layout carries may be of a buffer that is gone.
TEST_F(Frame, TooSmall)
{
  for (const std::uint64_t size : {kSize - 1, std::uint64_t{64 * 48}, std::uint64_t{1}}) {
    ASSERT_EQ(::ftruncate(memory_.get(), static_cast<off_t>(size)), 0);
    expect_refused(nv12_, ErrorCode::Layout,
                   size < 64 * 48    ? "3072 bytes with whole rows"
                   : size == 64 * 48 ? "begins outside"
                                     : "4608 bytes with whole rows");
  }
}

// The last row counts with its padding: a driver maps stride x rows, whatever the width.
TEST_F(Frame, LastRowWithoutItsPadding)
{
  std::uint64_t size = 0;
  FrameLayout layout = *make_linear_layout(DRM_FORMAT_XRGB8888, 60, 48, 256, 1, size);
  put_into(layout, 256 * 47 + 240);
  ASSERT_TRUE(check_layout(layout)) << "else this shows nothing";
  expect_refused(layout, ErrorCode::Layout, "padding");
  put_into(layout, 256 * 48);
  EXPECT_TRUE(device_->check_frame(layout));
}

TEST_F(Frame, NumbersThatEglCannotTake)
{
  nv12_.planes[1].offset_bytes = 0x80000000ULL;
  expect_refused(nv12_, ErrorCode::Layout, "31 bits");
  nv12_.planes[1].offset_bytes = 64 * 48;
  nv12_.planes[0].stride_bytes = 0x80000000U;
  expect_refused(nv12_, ErrorCode::Layout, "31 bits");
  nv12_.planes[0].stride_bytes = 0x7fffffffU;
  expect_refused(nv12_, ErrorCode::Layout, "with whole rows");
}

// Rows of other modifiers are the driver's: only the offset is looked at.
TEST_F(Frame, OpaqueRows)
{
  FrameLayout layout = nv12_;
  layout.format = {DRM_FORMAT_XRGB8888, 0};
  layout.n_planes = 1;
  for (const Format format : device_->formats().texture_2d.of_fourcc(DRM_FORMAT_XRGB8888))
    if (format.modifier != kModLinear)
      layout.format = format;
  ASSERT_NE(layout.format.modifier, kModLinear);
  layout.planes[0].stride_bytes = 1 << 20;
  EXPECT_TRUE(device_->check_frame(layout));
  layout.planes[0].offset_bytes = kSize;
  expect_refused(layout, ErrorCode::Layout, "begins outside");
}

} // namespace
} // namespace gstdrm::egl

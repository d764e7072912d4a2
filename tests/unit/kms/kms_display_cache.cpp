// SPDX-License-Identifier: LGPL-2.1-or-later
// The engine against a fake libdrm: which imports it keeps, to the frame and to the byte.
#include <cerrno>

#include "gst/kms/engine/card/kms_objects.hpp"
#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

class Cache : public DisplayTest {
protected:
  Cache()
  {
    auto opened = open();
    EXPECT_TRUE(opened);
    display = std::move(*opened);
  }
  ~Cache() override { display.reset(); }

  // Whether it was known. What is returned of it dies at once.
  bool hit(const FrameLayout &layout)
  {
    const auto import = display->import(layout);
    EXPECT_TRUE(import);
    return import && import->hit;
  }
  // Frames of other memory until only that one is left.
  std::uint64_t frames_until_gone()
  {
    std::uint64_t frames = 0;
    for (; frames < 1000 && (frames == 0 || fakedrm::device().framebuffers.size() > 1); frames++)
      hit(xrgb(memory, 640, 480));
    return frames;
  }

  std::shared_ptr<Display> display;
};

TEST_F(Cache, keeps_what_is_dead_for_so_many_frames_after_its_last)
{
  const Memory other{640 * 480 * 4};
  EXPECT_FALSE(hit(xrgb(other, 640, 480)));
  EXPECT_EQ(frames_until_gone(), gstdrm::ImportBounds{}.keep_frames + 1);
  EXPECT_FALSE(hit(xrgb(other, 640, 480)));
  for (int i = 0; i < 10; i++)
    hit(xrgb(memory, 640, 480));
  EXPECT_TRUE(hit(xrgb(other, 640, 480))); // and from here on anew
  EXPECT_EQ(frames_until_gone(), gstdrm::ImportBounds{}.keep_frames + 1);
}

TEST_F(Cache, what_is_alive_takes_no_room_from_the_dead)
{
  const Memory large{gstdrm::ImportBounds{}.keep_bytes * 2};
  const auto alive = display->import(xrgb(large, 640, 480));
  ASSERT_TRUE(alive);
  EXPECT_FALSE(hit(xrgb(memory, 640, 480)));
  const Memory third{4096};
  EXPECT_FALSE(hit(xrgb(third, 32, 32)));
  EXPECT_TRUE(hit(xrgb(memory, 640, 480)));
  EXPECT_TRUE(hit(xrgb(large, 640, 480))); // nor is it thrown away itself
}

TEST_F(Cache, planes_in_one_dmabuf_count_once)
{
  const Memory large{gstdrm::ImportBounds{}.keep_bytes / 3 * 2};
  EXPECT_FALSE(hit(nv12(large, large, 640, 480)));
  EXPECT_FALSE(hit(xrgb(memory, 640, 480)));
  EXPECT_TRUE(hit(nv12(large, large, 640, 480)));
}

TEST_F(Cache, planes_in_two_dmabufs_count_both)
{
  const Memory y{gstdrm::ImportBounds{}.keep_bytes / 3 * 2}, uv{gstdrm::ImportBounds{}.keep_bytes / 3 * 2};
  EXPECT_FALSE(hit(nv12(y, uv, 640, 480)));
  EXPECT_FALSE(hit(xrgb(memory, 640, 480)));
  EXPECT_FALSE(hit(nv12(y, uv, 640, 480)));
}

TEST_F(Cache, the_oldest_goes_first)
{
  const Memory a{gstdrm::ImportBounds{}.keep_bytes / 5 * 2}, b{gstdrm::ImportBounds{}.keep_bytes / 5 * 2},
      c{gstdrm::ImportBounds{}.keep_bytes / 5 * 2};
  for (const Memory *each : {&a, &b, &c})
    EXPECT_FALSE(hit(xrgb(*each, 640, 480)));
  EXPECT_FALSE(hit(xrgb(memory, 640, 480)));
  EXPECT_TRUE(hit(xrgb(c, 640, 480)));
  EXPECT_TRUE(hit(xrgb(b, 640, 480)));
  EXPECT_FALSE(hit(xrgb(a, 640, 480)));
}

// Each of these makes another framebuffer of the same memory.
TEST_F(Cache, every_part_of_a_layout_counts)
{
  const FrameLayout first = nv12(memory, memory, 640, 480);
  EXPECT_FALSE(hit(first));
  FrameLayout other = first;
  other.planes[0].offset_bytes = 4096;
  EXPECT_FALSE(hit(other));
  other = first;
  other.planes[1].offset_bytes += 640;
  EXPECT_FALSE(hit(other));
  other = first;
  other.planes[1].stride_bytes += 64;
  EXPECT_FALSE(hit(other));
  other = first;
  other.width = 638;
  EXPECT_FALSE(hit(other));
  other = first;
  other.height = 478;
  EXPECT_FALSE(hit(other));
  other = first;
  other.format.modifier = I915_FORMAT_MOD_X_TILED;
  EXPECT_FALSE(hit(other));
  other = first;
  other.format.fourcc = DRM_FORMAT_NV21;
  EXPECT_FALSE(hit(other));
  EXPECT_TRUE(hit(first));
}

// --- what was refused

TEST(Refusals, are_errors_of_the_request_alone)
{
  for (const int error : {EINVAL, ERANGE, ENOSPC, E2BIG, EOVERFLOW, EOPNOTSUPP})
    EXPECT_TRUE(is_refusal(error)) << error;
  for (const int error : {0, EACCES, EPERM, ENODEV, ENOMEM, EBUSY, EINTR, EIO, ENOENT})
    EXPECT_FALSE(is_refusal(error)) << error;
}

TEST(MasterLoss, is_what_the_kernel_says_to_others)
{
  for (const int error : {EACCES, EPERM})
    EXPECT_TRUE(is_master_loss(error)) << error;
  for (const int error : {0, EINVAL, ENODEV, EBUSY, ENOMEM})
    EXPECT_FALSE(is_master_loss(error)) << error;
}

} // namespace

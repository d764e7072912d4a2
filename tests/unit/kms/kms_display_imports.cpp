// SPDX-License-Identifier: LGPL-2.1-or-later
// The engine against a fake libdrm: what it imports, and for how long.
#include <vector>

#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

#include "gst/kms/engine/output/kms_registry.hpp"
#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

TEST_F(DisplayTest, both_planes_in_one_dmabuf_share_one_handle)
{
  auto display = open();
  ASSERT_TRUE(display);
  auto one = (*display)->import(nv12(memory, memory, 640, 480));
  ASSERT_TRUE(one);
  EXPECT_EQ(fakedrm::device().handles.size(), 1U);
  EXPECT_EQ(fakedrm::device().handles.begin()->second, 1); // imported once, for both planes
  const Memory other{640 * 240};
  auto two = (*display)->import(nv12(memory, other, 640, 480));
  ASSERT_TRUE(two);
  EXPECT_FALSE(two->hit);
  EXPECT_EQ(fakedrm::device().handles.size(), 2U);
}

// On the application's open file the kernel could answer with a handle of the application's.
TEST_F(DisplayTest, memory_is_on_an_open_file_of_its_own)
{
  auto display = open();
  ASSERT_TRUE(display);
  auto import = (*display)->import(xrgb(memory, 640, 480));
  ASSERT_TRUE(import);
  ASSERT_EQ(fakedrm::device().memory_fds.size(), 1U);
  const int file = *fakedrm::device().memory_fds.begin();
  EXPECT_NE(file, (*display)->device().fd());
  EXPECT_EQ(file, (*display)->device().memory_fd());
}

// Linux before 5.3, where the user is not root.
TEST_F(DisplayTest, the_master_vouches_for_the_file_of_memory)
{
  fakedrm::device().imports_need_magic = true;
  auto display = open();
  ASSERT_TRUE(display);
  const auto import = (*display)->import(xrgb(memory, 640, 480));
  EXPECT_TRUE(import) << import.error().message;
}

// With kcmp(2), and without it as in a container.
TEST(SameFile, is_what_dup_makes)
{
  char name[] = "/tmp/kms-same-file-XXXXXX";
  const UniqueFd file(mkostemp(name, O_CLOEXEC)), again(::open(name, O_RDWR | O_CLOEXEC)), copy = file.dup();
  unlink(name);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC)), other(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const auto &same : {same_file, same_file_by_lock})
    for (int round = 0; round < 2; round++) { // no lock is left behind
      EXPECT_TRUE(same(file.get(), copy.get()));
      EXPECT_TRUE(same(copy.get(), file.get()));
      EXPECT_TRUE(same(file.get(), file.get()));
      EXPECT_FALSE(same(file.get(), again.get()));
      EXPECT_FALSE(same(null.get(), other.get()));
      EXPECT_FALSE(same(file.get(), null.get()));
      EXPECT_FALSE(same(file.get(), -1));
    }
}

TEST_F(DisplayTest, handles_on_a_borrowed_file_are_left_open)
{
  fakedrm::device().opens_again = false;
  {
    auto display = open();
    ASSERT_TRUE(display);
    EXPECT_EQ((*display)->device().memory_fd(), (*display)->device().fd());
    auto import = (*display)->import(xrgb(memory, 640, 480));
    ASSERT_TRUE(import);
  }
  EXPECT_EQ(fakedrm::device().framebuffers.size(), 0U);
  EXPECT_EQ(fakedrm::device().handles.size(), 1U);
  fakedrm::device().handles.clear(); // the end of every test asks for none
}

// A compressed layout has more planes than its format: they go to the kernel as they came.
TEST_F(DisplayTest, auxiliary_planes_pass_through)
{
  auto display = open();
  ASSERT_TRUE(display);
  const Memory aux{4096};
  for (const Memory *second : std::initializer_list<const Memory *>{&memory, &aux}) {
    FrameLayout layout = xrgb(memory, 640, 480);
    layout.format.modifier = I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS;
    layout.n_planes = 2;
    layout.planes[1] = {second->fd.get(), second == &memory ? std::uint64_t{640} * 4 * 480 : 0, 64,
                        *query_object(second->fd.get())};
    auto import = (*display)->import(layout);
    ASSERT_TRUE(import) << import.error().message;
    EXPECT_EQ(fakedrm::device().plane_modifiers,
              std::vector<std::uint64_t>(2, I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS));
  }
  EXPECT_EQ(fakedrm::device().handles.size(), 2U);
}

TEST_F(DisplayTest, the_same_dmabuf_is_imported_once)
{
  auto display = open();
  ASSERT_TRUE(display);
  const UniqueFd duplicate = memory.fd.dup();
  FrameLayout layout = xrgb(memory, 640, 480);
  auto first = (*display)->import(layout);
  layout.planes[0].fd = duplicate.get();
  auto second = (*display)->import(layout);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->hit);
  EXPECT_TRUE(second->hit);
  EXPECT_EQ(first->imported, second->imported);
  layout.planes[0].stride_bytes += 256; // another layout of it is another framebuffer
  auto third = (*display)->import(layout);
  ASSERT_TRUE(third);
  EXPECT_FALSE(third->hit);
  EXPECT_EQ(fakedrm::device().handles.size(), 1U);
}

TEST_F(DisplayTest, dead_imports_are_kept_for_some_frames)
{
  auto display = open();
  ASSERT_TRUE(display);
  const Memory other{640 * 480 * 4};
  auto living = (*display)->import(xrgb(memory, 640, 480));
  ASSERT_TRUE(living);
  {
    auto dead = (*display)->import(xrgb(other, 640, 480));
    ASSERT_TRUE(dead);
  }
  for (std::uint64_t i = 0; i < gstdrm::ImportBounds{}.keep_frames - 1; i++)
    ASSERT_TRUE((*display)->import(xrgb(memory, 640, 480)));
  EXPECT_EQ(fakedrm::device().framebuffers.size(), 2U);
  for (int i = 0; i < 2; i++)
    ASSERT_TRUE((*display)->import(xrgb(memory, 640, 480)));
  EXPECT_EQ(fakedrm::device().framebuffers.size(), 1U);
  // memory that is alive is kept for ever, seen or not
  const Memory third{640 * 480 * 4};
  for (int i = 0; i < 200; i++)
    ASSERT_TRUE((*display)->import(xrgb(third, 640, 480)));
  auto again = (*display)->import(xrgb(memory, 640, 480));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->hit);
}

TEST_F(DisplayTest, dead_imports_are_bounded_in_bytes)
{
  auto display = open();
  ASSERT_TRUE(display);
  for (int i = 0; i < 10; i++) {
    const Memory big{gstdrm::ImportBounds{}.keep_bytes / 4};
    ASSERT_TRUE((*display)->import(xrgb(big, 640, 480)));
  }
  EXPECT_LE(fakedrm::device().framebuffers.size(), 6U);
}

TEST_F(DisplayTest, a_change_of_picture_drops_the_imports)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  const Memory other{1024 * 768 * 4};
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  ASSERT_TRUE(show(**display, xrgb(other, 640, 480)));
  ASSERT_TRUE((*display)->drain(kLong_ns));
  ASSERT_TRUE((*display)->configure(picture(1024, 768)));
  EXPECT_EQ(fakedrm::device().framebuffers.size(), 1U); // on screen
  ASSERT_TRUE(show(**display, xrgb(memory, 1024, 768)));
  ASSERT_TRUE((*display)->drain(kLong_ns));
  EXPECT_EQ(fakedrm::device().framebuffers.size(), 1U);
  EXPECT_EQ(listener.failures, 0);
}

} // namespace

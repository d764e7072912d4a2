// SPDX-License-Identifier: LGPL-2.1-or-later
// Who owns a fence's descriptor at each step. Whether a fence is one, and what state it has, is
// what a test says: fence_state() of the core asks the kernel, and the one here goes before it.
#include "engine/egl_fences.hpp"

#include <drm_fourcc.h>
#include <fcntl.h>

#include "core/sync_file.hpp"
#include "egl_frames.hpp"
#include "engine/gl_planes.hpp"
#include "support/open_fds.hpp"

namespace gstdrm {
namespace {

std::optional<FenceState> next_state; // none: no fence
int asked_fd = -1;

} // namespace

Result<FenceState> fence_state(int fence_fd)
{
  asked_fd = fence_fd;
  if (!next_state)
    return Error{ErrorCode::Sync, "that is no fence", ENOTTY};
  return *next_state;
}

namespace egl {
namespace {

using test::count_fds;

class Fences : public test::WithDevice {
protected:
  void SetUp() override
  {
    test::WithDevice::SetUp();
    next_state = FenceState::Pending;
    before_ = count_fds();
  }

  void TearDown() override
  {
    EXPECT_EQ(count_fds(), before_);
    test::WithDevice::TearDown();
  }

  static UniqueFd fence() { return UniqueFd(::memfd_create("fence", MFD_CLOEXEC)); }

  unsigned before_ = 0;
};

TEST_F(Fences, GlWaitsAndEglTakesTheDescriptor)
{
  EXPECT_TRUE(wait_on_gpu(*device_, fence()));
  EXPECT_EQ(driver_.calls_of("eglCreateSyncKHR"), 1U);
  EXPECT_EQ(driver_.calls_of("eglWaitSyncKHR"), 1U);
  EXPECT_EQ(driver_.calls_of("eglClientWaitSyncKHR"), 0U);
  EXPECT_EQ(driver_.live_syncs(), 0U);
}

TEST_F(Fences, SignalledNeedsNoCall)
{
  for (const FenceState state : {FenceState::Signalled, FenceState::Failed}) {
    next_state = state;
    EXPECT_TRUE(wait_on_gpu(*device_, fence()));
  }
  EXPECT_EQ(driver_.all_calls(), 0U);
}

TEST_F(Fences, WhatIsNoFenceIsNeverGivenToEgl)
{
  next_state.reset();
  const auto other = wait_on_gpu(*device_, fence());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::Sync);
  EXPECT_NE(other.error().message.find("that is no fence"), std::string::npos);
  // -1 would make EGL create a fence of its own
  next_state = FenceState::Pending;
  const auto none = wait_on_gpu(*device_, UniqueFd());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::Sync);
  EXPECT_EQ(driver_.all_calls(), 0U);
}

TEST_F(Fences, EachCallThatFails)
{
  for (const char *name : {"eglCreateSyncKHR", "eglWaitSyncKHR"}) {
    driver_.fail(name, 1, EGL_BAD_ALLOC);
    const auto failed = wait_on_gpu(*device_, fence());
    ASSERT_FALSE(failed) << name;
    EXPECT_EQ(failed.error().code, ErrorCode::Sync);
    EXPECT_NE(failed.error().message.find(std::string(name) + "()"), std::string::npos);
    EXPECT_NE(failed.error().message.find("EGL_BAD_ALLOC (0x3003)"), std::string::npos)
        << failed.error().message;
    EXPECT_EQ(count_fds(), before_) << name;
    EXPECT_EQ(driver_.live_syncs(), 0U) << name;
  }
  for (const char *name : {"eglCreateSyncKHR", "eglDupNativeFenceFDANDROID"}) {
    driver_.fail(name, 1, EGL_BAD_PARAMETER);
    const auto failed = fence_of_commands(*device_);
    ASSERT_FALSE(failed) << name;
    EXPECT_EQ(failed.error().code, ErrorCode::Sync);
    EXPECT_NE(failed.error().message.find("EGL_BAD_PARAMETER (0x300c)"), std::string::npos)
        << failed.error().message;
    EXPECT_EQ(count_fds(), before_) << name;
    EXPECT_EQ(driver_.live_syncs(), 0U) << name;
  }
}

// The driver has no descriptor for a fence whose commands are not flushed.
TEST_F(Fences, CommandsAreFlushedBeforeTheDescriptorIsAskedFor)
{
  {
    const auto made = fence_of_commands(*device_);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(count_fds(), before_ + 1);
    EXPECT_NE(::fcntl(made->get(), F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(driver_.flushes, 1U);
  EXPECT_EQ(driver_.calls_of("glFinish"), 0U);
}

// A fence that is made first signals before the draw has read its frame, and one that is not
// flushed may never signal for another process.
TEST_F(Fences, OfADrawIsMadeBehindItAndFlushed)
{
  for (const std::uint32_t fourcc : {DRM_FORMAT_R16, DRM_FORMAT_GR1616})
    driver_.formats.push_back({fourcc, {{kModLinear, false}}});
  open();
  GLuint into = 0;
  device_->calls().gl.gen_textures(1, &into);
  device_->calls().gl.bind_texture(GL_TEXTURE_2D, into);
  device_->calls().gl.bind_texture(GL_TEXTURE_2D, 0);
  {
    const test::MemfdFrame frame(DRM_FORMAT_P010, 64, 64);
    const auto planes = import_frame(device_, frame.layout, Shape::PerPlane, {});
    const auto painter = PlanesPainter::make(device_, DRM_FORMAT_P010);
    ASSERT_TRUE(planes && painter);
    driver_.forget_calls();
    ASSERT_TRUE((*painter)->draw(**planes, {}, into));
    EXPECT_TRUE(fence_of_commands(*device_));
    const std::vector<std::string> expected = {"glDrawArrays", "eglCreateSyncKHR", "glFlush",
                                               "eglDupNativeFenceFDANDROID", "eglDestroySyncKHR"};
    EXPECT_EQ(driver_.order_of({expected.begin(), expected.end()}), expected);
  }
  device_->calls().gl.delete_textures(1, &into);
}

TEST_F(Fences, WithoutTheExtension)
{
  driver_.egl_extensions = "EGL_KHR_image_base EGL_EXT_image_dma_buf_import EGL_KHR_fence_sync";
  open();
  const auto waits = wait_on_gpu(*device_, fence());
  ASSERT_FALSE(waits);
  EXPECT_EQ(waits.error().code, ErrorCode::Unsupported);
  EXPECT_NE(waits.error().message.find("EGL_ANDROID_native_fence_sync"), std::string::npos);
  const auto made = fence_of_commands(*device_);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(driver_.all_calls(), 0U);
}

// Where GL has no native fences, the kernel has those of Mesa's hardware. It is asked about a memfd
// here, which has none.
TEST_F(Fences, ImplicitOnesOfMesasHardwareAlone)
{
  struct {
    const char *renderer, *version;
    bool is_asked;
  } const rows[] = {{"NVC1", "OpenGL ES 3.2 Mesa 22.3.6", true},
                    {"llvmpipe (LLVM 15.0.6, 256 bits)", "OpenGL ES 3.2 Mesa 22.3.6", false},
                    {"Mali-G610", "OpenGL ES 3.2 v1.g6p0-01eac0", false}};
  for (const auto &row : rows) {
    driver_.gl_renderer = row.renderer;
    driver_.gl_version = row.version;
    open();
    const unsigned flushes = driver_.calls_of("glFlush");
    const UniqueFd memfd = fence();
    const auto made = implicit_fence(*device_, memfd.get(), DmaBufAccess::Read);
    ASSERT_FALSE(made) << row.renderer;
    EXPECT_EQ(made.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(driver_.calls_of("glFlush") - flushes, row.is_asked ? 1U : 0U) << row.renderer;
  }
}

} // namespace
} // namespace egl
} // namespace gstdrm

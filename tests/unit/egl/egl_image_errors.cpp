// SPDX-License-Identifier: LGPL-2.1-or-later
// What is said when a driver refuses, and that nothing stays behind.
#include <cerrno>
#include <string>

#include <drm_fourcc.h>
#include <sys/resource.h>
#include <unistd.h>

#include "egl_frames.hpp"
#include "engine/egl_error.hpp"

namespace gstdrm::egl {
namespace {

using test::MemfdFrame;

class ImageErrors : public test::WithDevice {
protected:
  const MemfdFrame nv12_{DRM_FORMAT_NV12, 65, 47, 256};
};

void expect_part(const std::string &message, const std::string &part)
{
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

struct ErrorRow {
  EGLint error;
  const char *name;
};

TEST_F(ImageErrors, EglInWordsWithThePlaneTable)
{
  const ErrorRow rows[] = {
      {EGL_BAD_ALLOC, "EGL_BAD_ALLOC (0x3003)"},
      {EGL_BAD_MATCH, "EGL_BAD_MATCH (0x3009)"},
      {EGL_BAD_ACCESS, "EGL_BAD_ACCESS (0x3002)"},
      {EGL_BAD_ATTRIBUTE, "EGL_BAD_ATTRIBUTE (0x3004)"},
      {EGL_BAD_PARAMETER, "EGL_BAD_PARAMETER (0x300c)"},
      {EGL_CONTEXT_LOST, "EGL_CONTEXT_LOST (0x300e)"},
      {0x4321, "0x4321"},
  };
  for (const ErrorRow &row : rows) {
    driver_.refuse_image = [&row](const test::FakeImage &) { return row.error; };
    driver_.forget_calls();
    const auto refused = import_frame(device_, nv12_.layout, Shape::OneImage, {});
    ASSERT_FALSE(refused) << row.name;
    EXPECT_EQ(refused.error().code, ErrorCode::Import);
    const std::string &message = refused.error().message;
    expect_part(message, "eglCreateImageKHR() says ");
    expect_part(message, row.name);
    if (row.error != 0x4321) {
      expect_part(message, import_error_meaning(row.error));
    }
    expect_part(message, device_->driver().describe());
    expect_part(message, describe_layout(nv12_.layout));
    expect_part(message, "plane 1: fd " + std::to_string(nv12_.layout.planes[1].fd));
    // neither without the modifier nor in any other way
    EXPECT_EQ(driver_.calls_of("eglCreateImageKHR"), 1U);
    EXPECT_EQ(driver_.alive(), 0U);
  }
}

// EGL has the same error for all that it lacks: want of a descriptor is over soon, and says nothing
// of the frame.
TEST_F(ImageErrors, WithoutADescriptor)
{
  driver_.refuse_image = [](const test::FakeImage &) { return EGL_BAD_ALLOC; };
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest = ::dup(STDIN_FILENO);
  ASSERT_GE(lowest, 0);
  ::close(lowest);
  const rlimit none{static_cast<rlim_t>(lowest), before.rlim_max};
  for (const Shape shape : {Shape::OneImage, Shape::PerPlane}) {
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const auto refused = import_frame(device_, nv12_.layout, shape, {});
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Allocation);
    EXPECT_EQ(refused.error().sys_errno, EMFILE);
    expect_part(refused.error().message, "ulimit -n");
    expect_part(refused.error().message, describe_format(nv12_.layout.format));
  }
  EXPECT_EQ(import_frame(device_, nv12_.layout, Shape::OneImage, {}).error().code,
            ErrorCode::Import);
}

// Mesa's software renderers crash on a dma-buf that the process may not map (ulimit -v), so they
// are not asked. A GPU's driver maps nothing.
TEST_F(ImageErrors, MoreThanTheProcessMayMap)
{
  for (const bool is_software : {true, false}) {
    driver_.gl_renderer = is_software ? "llvmpipe (LLVM 19.1.7, 256 bits)" : "Fake GPU";
    open();
    ASSERT_EQ(device_->driver().is_software, is_software);
    FrameLayout larger = nv12_.layout;
    larger.planes[1].object.size_bytes = std::uint64_t{1} << 47; // more than there are addresses
    for (const Shape shape : {Shape::OneImage, Shape::PerPlane}) {
      EXPECT_TRUE(import_frame(device_, nv12_.layout, shape, {}));
      driver_.forget_calls();
      const auto refused = import_frame(device_, larger, shape, {});
      EXPECT_EQ(static_cast<bool>(refused), !is_software);
      if (refused)
        continue;
      EXPECT_EQ(refused.error().code, ErrorCode::Allocation);
      EXPECT_EQ(refused.error().sys_errno, ENOMEM);
      expect_part(refused.error().message, "may not map as much memory");
      // the first plane alone has an image of its own
      EXPECT_EQ(driver_.calls_of("eglCreateImageKHR"), shape == Shape::OneImage ? 0U : 1U);
    }
  }
}

TEST_F(ImageErrors, GlInWords)
{
  driver_.fail("glEGLImageTargetTexture2DOES", 1, GL_INVALID_OPERATION);
  const auto refused = import_frame(device_, nv12_.layout, Shape::OneImage, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Import);
  expect_part(refused.error().message,
              "glEGLImageTargetTexture2DOES() says GL_INVALID_OPERATION (0x0502)");
  expect_part(refused.error().message, describe_layout(nv12_.layout));
}

TEST_F(ImageErrors, WithoutAContext)
{
  driver_.fail("glGenTextures", 1, GL_NO_ERROR);
  const auto refused = import_frame(device_, nv12_.layout, Shape::OneImage, {});
  ASSERT_FALSE(refused);
  expect_part(refused.error().message, "without a current context");
}

// An error that somebody else left behind is not this import's.
TEST_F(ImageErrors, OldErrorsDoNotCount)
{
  driver_.set_gl_error(GL_INVALID_ENUM);
  const auto imported = import_frame(device_, nv12_.layout, Shape::PerPlane, {});
  EXPECT_TRUE(imported) << imported.error().message;
  // a context that is lost may say so for ever
  Calls calls = driver_.calls();
  calls.gl.get_error = []() -> GLenum { return 0x0507; }; // GL_CONTEXT_LOST
  const auto device = Device::open(calls, driver_.display());
  ASSERT_TRUE(device);
  const auto lost = import_frame(*device, nv12_.layout, Shape::OneImage, {});
  ASSERT_FALSE(lost);
  expect_part(lost.error().message, "0x0507");
}

// Each call fails once, the first time, the second time and so on, until the import gets through.
TEST_F(ImageErrors, NothingStaysBehind)
{
  GLuint other = 0;
  const GlCalls &gl = device_->calls().gl;
  gl.gen_textures(1, &other);
  gl.bind_texture(GL_TEXTURE_2D, other);
  const MemfdFrame yu12(DRM_FORMAT_YUV420, 64, 48, 256);
  unsigned refusals = 0;
  for (const char *name :
       {"eglCreateImageKHR", "glGenTextures", "glEGLImageTargetTexture2DOES", "glTexParameteri"}) {
    unsigned nth = 1;
    for (bool failed = true; failed; nth++) {
      ASSERT_LT(nth, 20U) << name;
      driver_.forget_calls();
      driver_.fail(name, nth,
                   std::string(name).starts_with("egl") ? EGL_BAD_ALLOC : GL_OUT_OF_MEMORY);
      {
        const auto imported = import_frame(device_, yu12.layout, Shape::PerPlane, {});
        failed = driver_.calls_of(name) >= nth;
        EXPECT_EQ(!imported, failed) << name << ", call " << nth;
        refusals += failed ? 1 : 0;
      }
      EXPECT_EQ(driver_.live_images(), 0U) << name << ", call " << nth;
      EXPECT_EQ(driver_.live_textures(), 1U) << name << ", call " << nth;
      EXPECT_EQ(driver_.bound[GL_TEXTURE_2D], other) << name << ", call " << nth;
    }
    driver_.fail(name, 0x7fffffff);
  }
  EXPECT_EQ(refusals, 3U + 3 + 3 + 12);
  gl.delete_textures(1, &other);
}

// What the engine knows without asking the driver.
TEST_F(ImageErrors, TheDriverIsNotTheFirstToNotice)
{
  const auto expect_no_call = [this](const FrameLayout &layout, Shape shape, ErrorCode code) {
    driver_.forget_calls();
    const auto refused = import_frame(device_, layout, shape, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, code) << refused.error().message;
    EXPECT_EQ(driver_.all_calls(), 0U) << refused.error().message;
  };
  FrameLayout layout = nv12_.layout;
  layout.n_planes = 1;
  expect_no_call(layout, Shape::OneImage, ErrorCode::Layout);
  expect_no_call(layout, Shape::PerPlane, ErrorCode::Layout);
  layout = nv12_.layout;
  layout.planes[1].offset_bytes = 17 << 20;
  expect_no_call(layout, Shape::PerPlane, ErrorCode::Layout);
  layout = nv12_.layout;
  layout.planes[0].fd = -1;
  expect_no_call(layout, Shape::OneImage, ErrorCode::Layout);
  layout = nv12_.layout;
  layout.format.modifier = I915_FORMAT_MOD_X_TILED;
  expect_no_call(layout, Shape::OneImage, ErrorCode::Unsupported);
  expect_no_call(layout, Shape::PerPlane, ErrorCode::Unsupported);
  const MemfdFrame rgb(DRM_FORMAT_XRGB8888, 64, 48);
  expect_no_call(rgb.layout, Shape::PerPlane, ErrorCode::Unsupported);
  driver_.max_texture_size = 64;
  open();
  expect_no_call(nv12_.layout, Shape::PerPlane, ErrorCode::Unsupported);
}

TEST_F(ImageErrors, DeviceThatImportsNothing)
{
  driver_.gl_renderer = "llvmpipe (LLVM 15.0.6, 256 bits)";
  driver_.gl_version = "OpenGL ES 3.2 Mesa 22.3.6";
  open();
  ASSERT_FALSE(device_->import_refusal().empty());
  for (const Shape shape : {Shape::OneImage, Shape::PerPlane}) {
    const auto refused = import_frame(device_, nv12_.layout, shape, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    expect_part(refused.error().message, device_->import_refusal());
  }
  EXPECT_EQ(driver_.calls_of("eglCreateImageKHR"), 0U);
}

} // namespace
} // namespace gstdrm::egl

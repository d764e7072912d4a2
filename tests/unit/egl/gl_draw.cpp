// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws call by call: that nothing is made for each, and that no failure of GL leaks. Pixels are
// tests/device/egl/egl_download.cpp's.
#include "gl_draw.hpp"

#include <string>
#include <vector>

namespace gstdrm::egl {
namespace {

using test::Draw;
using Frame = test::DrawFrame;

struct PlanesRow {
  std::uint32_t fourcc;
  std::vector<std::uint32_t> images;
};

const PlanesRow kPlanes[] = {
    {DRM_FORMAT_XRGB8888, {DRM_FORMAT_XRGB8888}},
    {DRM_FORMAT_NV12, {DRM_FORMAT_R8, DRM_FORMAT_GR88}},
    {DRM_FORMAT_P010, {DRM_FORMAT_R16, DRM_FORMAT_GR1616}},
    {DRM_FORMAT_YUV420, {DRM_FORMAT_R8, DRM_FORMAT_R8, DRM_FORMAT_R8}},
};

TEST_F(Draw, OnceForEachPlane)
{
  const auto device = open();
  const Picture source = picture();
  for (const PlanesRow &row : kPlanes) {
    const std::string name = fourcc_to_string(row.fourcc);
    auto painter = Painter::make(device);
    ASSERT_TRUE(painter) << painter.error().message;
    const Frame frame(row.fourcc, 641, 481);
    auto target = DrawTarget::import(device, frame.layout);
    ASSERT_TRUE(target) << name << ": " << target.error().message;
    std::vector<std::uint32_t> images;
    for (const auto &[number, image] : driver_.images)
      images.push_back(image.fourcc);
    EXPECT_EQ(images, row.images) << name;
    const auto planes = static_cast<unsigned>(row.images.size());
    EXPECT_EQ(driver_.framebuffers.size(), planes) << name;
    driver_.forget_calls();
    for (int i = 0; i < 3; i++)
      if (const auto drawn = (*painter)->draw(source, **target, {}); !drawn)
        FAIL() << name << ": " << drawn.error().message;
    EXPECT_EQ(driver_.calls_of("glDrawArrays"), 3 * planes) << name;
    for (const char *made : {"eglCreateImageKHR", "glGenTextures", "glGenFramebuffers",
                             "glGenBuffers", "glTexParameteri", "glFinish"})
      EXPECT_EQ(driver_.calls_of(made), 0U) << name << ": " << made;
    EXPECT_LE(driver_.calls_of("glCreateProgram"), 2U) << name;
    target->reset();
    EXPECT_EQ(driver_.live_images(), 0U) << name;
    EXPECT_EQ(driver_.live_textures(), 1U) << name;
    EXPECT_EQ(driver_.framebuffers.size(), 0U) << name;
    painter->reset();
    EXPECT_EQ(alive(), 0U) << name;
  }
  EXPECT_EQ(driver_.double_frees, 0U);
}

struct CopiedRow {
  const char *name;
  std::uint32_t fourcc;
  Picture picture;
  bool copied;
};

const CopiedRow kCopied[] = {
    {"as it is", DRM_FORMAT_XRGB8888, {}, true},
    {"upside down", DRM_FORMAT_XRGB8888, {.flip = true}, false},
    {"other order", DRM_FORMAT_XRGB8888, {.order = {2, 1, 0, 3}}, false},
    {"no alpha", DRM_FORMAT_XRGB8888, {.order = {0, 1, 2, Picture::kOpaque}}, false},
    {"converted", DRM_FORMAT_NV12, {}, false},
};

TEST_F(Draw, CopiesWhatStaysAsItIs)
{
  const auto device = open();
  Picture source = picture();
  for (const CopiedRow &row : kCopied) {
    auto painter = Painter::make(device);
    ASSERT_TRUE(painter) << painter.error().message;
    const Frame frame(row.fourcc, 64, 48);
    auto target = DrawTarget::import(device, frame.layout);
    ASSERT_TRUE(target) << row.name << ": " << target.error().message;
    Picture given = row.picture;
    given.texture = source.texture;
    driver_.bound[GL_FRAMEBUFFER] = 77;
    driver_.enabled[GL_SCISSOR_TEST] = true;
    driver_.forget_calls();
    for (int i = 0; i < 3; i++)
      EXPECT_TRUE((*painter)->draw(given, **target, {})) << row.name;
    EXPECT_EQ(driver_.calls_of("glBlitFramebuffer"), row.copied ? 3U : 0U) << row.name;
    EXPECT_EQ(driver_.calls_of("glDrawArrays") == 0, row.copied) << row.name;
    EXPECT_LE(driver_.calls_of("glGenFramebuffers"), 1U) << row.name;
    EXPECT_EQ(driver_.bound[GL_FRAMEBUFFER], 77U) << row.name;
    EXPECT_TRUE(driver_.enabled[GL_SCISSOR_TEST]) << row.name;
    for (const auto &[name, texture] : driver_.framebuffers)
      EXPECT_NE(texture, source.texture) << row.name << ": the texture is held";
    target->reset();
    painter->reset();
    EXPECT_EQ(alive(), 0U) << row.name;
  }
}

// A driver that refuses the copy draws, and is not asked again. GL of version 2 has no copy.
TEST_F(Draw, DrawsWhatIsNotCopied)
{
  for (const char *call : {"glBlitFramebuffer", "glFramebufferTexture2D", "glGenFramebuffers"}) {
    const auto device = open();
    Picture source = picture();
    source.flip = false;
    auto painter = Painter::make(device);
    const Frame frame(DRM_FORMAT_XRGB8888, 64, 64);
    auto target = DrawTarget::import(device, frame.layout);
    ASSERT_TRUE(painter && target);
    driver_.forget_calls();
    driver_.fail(call, 1, GL_INVALID_OPERATION);
    for (int i = 0; i < 2; i++)
      EXPECT_TRUE((*painter)->draw(source, **target, {})) << call;
    EXPECT_EQ(driver_.calls_of("glDrawArrays"), 2U) << call;
    EXPECT_LE(driver_.calls_of("glBlitFramebuffer"), 1U) << call;
    driver_.fail(call, 0);
    driver_.calls().gl.delete_textures(1, &source.texture);
  }
  driver_.gl_version = "OpenGL ES 2.0 Mesa 26.1.6";
  EXPECT_EQ(open()->calls().gl.blit_framebuffer, nullptr);
}

TEST_F(Draw, RefusesWhatCannotBeRendered)
{
  const auto device = open();
  driver_.framebuffers_complete = false;
  const Frame frame(DRM_FORMAT_P010, 64, 64);
  const auto target = DrawTarget::import(device, frame.layout);
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code, ErrorCode::Unsupported);
  EXPECT_NE(target.error().message.find("GL_FRAMEBUFFER_UNSUPPORTED"), std::string::npos)
      << target.error().message;
  EXPECT_EQ(driver_.alive(), 0U);
  const Frame packed(DRM_FORMAT_YUYV, 64, 64);
  ASSERT_FALSE(DrawTarget::import(device, packed.layout));
  EXPECT_EQ(driver_.alive(), 0U);
}

TEST_F(Draw, SaysWhatTheCompilerSays)
{
  const auto device = open();
  auto painter = Painter::make(device);
  ASSERT_TRUE(painter);
  const Frame frame(DRM_FORMAT_XRGB8888, 64, 64);
  auto target = DrawTarget::import(device, frame.layout);
  ASSERT_TRUE(target);
  const Picture source = picture();
  for (const char *call : {"glGetShaderiv", "glGetProgramiv"}) {
    driver_.fail(call, 1, GL_INVALID_OPERATION);
    const auto drawn = (*painter)->draw(source, **target, {});
    ASSERT_FALSE(drawn) << call;
    EXPECT_EQ(drawn.error().code, ErrorCode::Device);
    EXPECT_NE(drawn.error().message.find("refused by the fake driver"), std::string::npos)
        << drawn.error().message;
    EXPECT_EQ(driver_.programs.size() + driver_.shaders.size(), 0U) << call;
  }
  EXPECT_TRUE((*painter)->draw(source, **target, {})) << "the next frame";
}

// Nothing is added to the sentence of such an error on its way to the bus.
template <typename T> void expect_advice(const Result<T> &result, const char *call)
{
  if (result || result.error().code != ErrorCode::Device)
    return;
  EXPECT_NE(result.error().message.find("update the GPU's driver"), std::string::npos)
      << call << ": " << result.error().message;
}

// Each call on the way fails once. Whatever the outcome, nothing is left.
TEST_F(Draw, LeaksNothingWhereACallFails)
{
  for (const char *call :
       {"eglCreateImageKHR", "glGenTextures", "glGenFramebuffers", "glBindFramebuffer",
        "glFramebufferTexture2D", "glCheckFramebufferStatus", "glEGLImageTargetTexture2DOES",
        "glCreateShader", "glCreateProgram", "glGetShaderiv", "glGetProgramiv", "glGenBuffers",
        "glBufferData", "glDrawArrays", "glUseProgram"})
    for (unsigned nth = 1; nth <= 4; nth++) {
      const auto device = open();
      const Picture source = picture();
      driver_.fail(call, nth, call[0] == 'e' ? EGL_BAD_ALLOC : GL_OUT_OF_MEMORY);
      {
        auto painter = Painter::make(device);
        const Frame frame(DRM_FORMAT_NV12, 64, 64);
        auto target = DrawTarget::import(device, frame.layout);
        expect_advice(painter, call);
        bool is_drawn = false;
        if (painter && target) {
          const auto drawn = (*painter)->draw(source, **target, {});
          expect_advice(drawn, call);
          is_drawn = static_cast<bool>(drawn);
        }
        EXPECT_TRUE(!is_drawn || nth > 1) << call << " failed, and nobody noticed";
      }
      driver_.fail(call, 0);
      EXPECT_EQ(alive(), 0U) << call << " " << nth;
      driver_.calls().gl.delete_textures(1, &source.texture);
    }
  EXPECT_EQ(driver_.double_frees, 0U);
}

} // namespace
} // namespace gstdrm::egl

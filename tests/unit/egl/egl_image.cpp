// SPDX-License-Identifier: LGPL-2.1-or-later
// Which images and textures become of a frame, and what they leave behind.
#include "engine/egl_image.hpp"

#include <drm_fourcc.h>

#include "core/drm_facts.hpp"
#include "egl_frames.hpp"

namespace gstdrm::egl {
namespace {

using test::MemfdFrame;

struct PlaneFormatRow {
  std::uint32_t fourcc;
  std::array<std::uint32_t, kMaxPlanes> planes; // 0: none
};

const PlaneFormatRow kPlaneFormats[] = {
    {DRM_FORMAT_NV12, {DRM_FORMAT_R8, DRM_FORMAT_GR88}},
    {DRM_FORMAT_NV21, {DRM_FORMAT_R8, DRM_FORMAT_GR88}},
    {DRM_FORMAT_NV16, {DRM_FORMAT_R8, DRM_FORMAT_GR88}},
    {DRM_FORMAT_NV61, {DRM_FORMAT_R8, DRM_FORMAT_GR88}},
    {DRM_FORMAT_NV24, {DRM_FORMAT_R8, DRM_FORMAT_GR88}},
    {DRM_FORMAT_NV42, {DRM_FORMAT_R8, DRM_FORMAT_GR88}},
    {DRM_FORMAT_P010, {DRM_FORMAT_R16, DRM_FORMAT_GR1616}},
    {DRM_FORMAT_P012, {DRM_FORMAT_R16, DRM_FORMAT_GR1616}},
    {DRM_FORMAT_P016, {DRM_FORMAT_R16, DRM_FORMAT_GR1616}},
    {DRM_FORMAT_P210, {DRM_FORMAT_R16, DRM_FORMAT_GR1616}},
    {DRM_FORMAT_YUV420, {DRM_FORMAT_R8, DRM_FORMAT_R8, DRM_FORMAT_R8}},
    {DRM_FORMAT_YVU420, {DRM_FORMAT_R8, DRM_FORMAT_R8, DRM_FORMAT_R8}},
    {DRM_FORMAT_YUV422, {DRM_FORMAT_R8, DRM_FORMAT_R8, DRM_FORMAT_R8}},
    {DRM_FORMAT_YUV444, {DRM_FORMAT_R8, DRM_FORMAT_R8, DRM_FORMAT_R8}},
    {kFourccS010, {DRM_FORMAT_R16, DRM_FORMAT_R16, DRM_FORMAT_R16}},
    {DRM_FORMAT_Q410, {DRM_FORMAT_R16, DRM_FORMAT_R16, DRM_FORMAT_R16}},
    {DRM_FORMAT_R8, {DRM_FORMAT_R8}},
    {DRM_FORMAT_R16, {DRM_FORMAT_R16}},
    {DRM_FORMAT_GR88, {DRM_FORMAT_GR88}},
    // samples that are packed, or several in a word
    {DRM_FORMAT_NV15, {}},
    {kFourccNv20, {}},
    {kFourccNv30, {}},
    {DRM_FORMAT_P030, {}},
    {kFourccT430, {}},
    {DRM_FORMAT_XYUV8888, {}},
    {DRM_FORMAT_VUY888, {}},
    {DRM_FORMAT_XRGB8888, {}},
    {DRM_FORMAT_RGB565, {}},
    {DRM_FORMAT_XRGB8888_A8, {}},
    {DRM_FORMAT_NV12 | kFourccBigEndian, {}},
    {make_fourcc('Z', 'Z', 'Z', 'Z'), {}},
    {0, {}},
};

TEST(PlaneFormat, Table)
{
  for (const PlaneFormatRow &row : kPlaneFormats) {
    for (const std::uint64_t modifier :
         {kModLinear, kModImplicit, std::uint64_t{I915_FORMAT_MOD_Y_TILED}}) {
      for (std::size_t i = 0; i < kMaxPlanes; i++) {
        const auto format = plane_format({row.fourcc, modifier}, i);
        EXPECT_EQ(format ? format->fourcc : 0, row.planes[i])
            << fourcc_to_string(row.fourcc) << ", plane " << i;
        if (format) {
          EXPECT_EQ(format->modifier, modifier);
        }
      }
      EXPECT_FALSE(plane_format({row.fourcc, modifier}, kMaxPlanes));
      EXPECT_FALSE(plane_format({row.fourcc, modifier}, SIZE_MAX));
    }
  }
}

// The bytes of two pixels in every modifier that is no tiling.
TEST(PlaneFormat, OfPacked422)
{
  for (const std::uint32_t fourcc :
       {DRM_FORMAT_YUYV, DRM_FORMAT_YVYU, DRM_FORMAT_UYVY, DRM_FORMAT_VYUY}) {
    for (const std::uint64_t modifier : {kModLinear, kModImplicit}) {
      EXPECT_EQ(plane_format({fourcc, modifier}, 0), (Format{DRM_FORMAT_GR88, modifier}));
      EXPECT_EQ(packed_chroma_format({fourcc, modifier}), (Format{DRM_FORMAT_ABGR8888, modifier}));
      EXPECT_FALSE(plane_format({fourcc, modifier}, 1));
    }
    EXPECT_FALSE(plane_format({fourcc, I915_FORMAT_MOD_Y_TILED}, 0));
    EXPECT_FALSE(packed_chroma_format({fourcc, I915_FORMAT_MOD_Y_TILED}));
  }
  EXPECT_FALSE(packed_chroma_format({DRM_FORMAT_NV12, kModLinear}));
}

// One pixel, or of 4:2:2 the half of two.
TEST(PlaneFormat, OfOtherPackedYuv)
{
  const std::pair<std::uint32_t, std::uint32_t> rows[] = {
      {DRM_FORMAT_AYUV, DRM_FORMAT_ABGR8888},     {DRM_FORMAT_Y410, DRM_FORMAT_ABGR2101010},
      {DRM_FORMAT_Y412, DRM_FORMAT_ABGR16161616}, {DRM_FORMAT_Y416, DRM_FORMAT_ABGR16161616},
      {DRM_FORMAT_Y210, DRM_FORMAT_GR1616},       {DRM_FORMAT_Y212, DRM_FORMAT_GR1616},
      {DRM_FORMAT_Y216, DRM_FORMAT_GR1616},
  };
  for (const auto &[fourcc, pixel] : rows) {
    for (const std::uint64_t modifier : {kModLinear, kModImplicit})
      EXPECT_EQ(plane_format({fourcc, modifier}, 0), (Format{pixel, modifier}));
    EXPECT_FALSE(plane_format({fourcc, I915_FORMAT_MOD_Y_TILED}, 0));
    EXPECT_FALSE(packed_chroma_format({fourcc, kModLinear}));
  }
}

struct SplitRow {
  std::uint32_t fourcc;
  std::uint32_t width, height;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sizes;
};

TEST(SplitPlanes, SizesAreRoundedUp)
{
  const SplitRow rows[] = {
      {DRM_FORMAT_NV12, 64, 48, {{64, 48}, {32, 24}}},
      {DRM_FORMAT_NV12, 65, 47, {{65, 47}, {33, 24}}},
      {DRM_FORMAT_NV12, 1, 1, {{1, 1}, {1, 1}}},
      {DRM_FORMAT_NV16, 65, 47, {{65, 47}, {33, 47}}},
      {DRM_FORMAT_NV24, 65, 47, {{65, 47}, {65, 47}}},
      {DRM_FORMAT_P010, 65, 47, {{65, 47}, {33, 24}}},
      {DRM_FORMAT_YUV420, 65, 47, {{65, 47}, {33, 24}, {33, 24}}},
      {DRM_FORMAT_YUV422, 65, 47, {{65, 47}, {33, 47}, {33, 47}}},
      {DRM_FORMAT_YUV410, 65, 47, {{65, 47}, {17, 12}, {17, 12}}},
      {DRM_FORMAT_R8, 65, 47, {{65, 47}}},
      {DRM_FORMAT_YUYV, 65, 47, {{65, 47}}},
      {DRM_FORMAT_Y210, 65, 47, {{65, 47}}},
      {DRM_FORMAT_AYUV, 65, 47, {{65, 47}}},
  };
  for (const SplitRow &row : rows) {
    const MemfdFrame frame(row.fourcc, row.width, row.height, 64);
    const auto planes = split_planes(frame.layout);
    ASSERT_TRUE(planes) << planes.error().message;
    ASSERT_EQ(frame.layout.n_planes, row.sizes.size());
    for (std::size_t i = 0; i < row.sizes.size(); i++) {
      const FrameLayout &plane = (*planes)[i];
      EXPECT_EQ(plane.format, *plane_format(frame.layout.format, i));
      EXPECT_EQ(std::pair(plane.width, plane.height), row.sizes[i]) << fourcc_to_string(row.fourcc);
      EXPECT_EQ(plane.n_planes, 1U);
      EXPECT_EQ(plane.planes[0].offset_bytes, frame.layout.planes[i].offset_bytes);
      EXPECT_EQ(plane.planes[0].stride_bytes, frame.layout.planes[i].stride_bytes);
      EXPECT_EQ(plane.planes[0].fd, frame.layout.planes[i].fd);
      EXPECT_EQ(plane.planes[0].object.identity, frame.layout.planes[i].object.identity);
      const auto checked = check_layout(plane);
      EXPECT_TRUE(checked) << checked.error().message;
    }
  }
}

TEST(SplitPlanes, Refused)
{
  // two planes of pixels, two of the state of their compression
  constexpr std::uint64_t kCompressed = I915_FORMAT_MOD_Y_TILED_GEN12_MC_CCS;
  const MemfdFrame compressed(
      {DRM_FORMAT_NV12, kCompressed}, 64, 48,
      {{-1, 0, 128, {}}, {-1, 8192, 8, {}}, {-1, 16384, 128, {}}, {-1, 24576, 8, {}}},
      {0, 0, 0, 0});
  const MemfdFrame rgb(DRM_FORMAT_XRGB8888, 64, 48);
  const MemfdFrame packed(DRM_FORMAT_NV15, 64, 48);
  for (const FrameLayout &layout : {compressed.layout, rgb.layout, packed.layout}) {
    const auto planes = split_planes(layout);
    ASSERT_FALSE(planes);
    EXPECT_EQ(planes.error().code, ErrorCode::Unsupported);
    EXPECT_NE(planes.error().message.find("plane by plane"), std::string::npos);
    EXPECT_NE(planes.error().message.find(describe_format(layout.format)), std::string::npos);
  }
  FrameLayout unknown = rgb.layout;
  unknown.format.fourcc = make_fourcc('Z', 'Z', 'Z', 'Z');
  EXPECT_FALSE(split_planes(unknown));
}

class Image : public test::WithDevice {};

TEST_F(Image, TargetIsWhatTheListAllows)
{
  driver_.formats = {{DRM_FORMAT_XRGB8888, {{kModLinear, false}}},
                     {DRM_FORMAT_NV12, {{kModLinear, true}}},
                     {DRM_FORMAT_P010, {{kModLinear, false}, {I915_FORMAT_MOD_Y_TILED, true}}},
                     {DRM_FORMAT_YUYV, {}}};
  open();
  constexpr Format kXr24{DRM_FORMAT_XRGB8888, kModLinear};
  constexpr Format kNv12{DRM_FORMAT_NV12, kModLinear};
  EXPECT_EQ(target_of(*device_, kXr24), Target::Texture2D);
  EXPECT_EQ(target_of(*device_, kNv12), Target::External);
  EXPECT_EQ(target_of(*device_, {DRM_FORMAT_NV12, I915_FORMAT_MOD_Y_TILED}), std::nullopt);
  EXPECT_NE(target_of(*device_, {DRM_FORMAT_YUYV, kModImplicit}), std::nullopt);
  // without a modifier: a target of every layout that the driver may find
  EXPECT_EQ(target_of(*device_, {DRM_FORMAT_XRGB8888, kModImplicit}), Target::Texture2D);
  EXPECT_EQ(target_of(*device_, {DRM_FORMAT_NV12, kModImplicit}), Target::External);
  EXPECT_EQ(target_of(*device_, {DRM_FORMAT_P010, kModLinear}), Target::Texture2D);
  EXPECT_EQ(target_of(*device_, {DRM_FORMAT_P010, kModImplicit}), Target::External);
  EXPECT_EQ(target_of(*device_, {DRM_FORMAT_ARGB8888, kModImplicit}), std::nullopt);

  driver_.gl_extensions = "GL_OES_EGL_image";
  open();
  EXPECT_EQ(target_of(*device_, kXr24), Target::Texture2D);
  EXPECT_EQ(target_of(*device_, kNv12), std::nullopt);
  const MemfdFrame frame(DRM_FORMAT_NV12, 64, 48);
  const auto imported = import_frame(device_, frame.layout, Shape::OneImage, {});
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().code, ErrorCode::Unsupported);
  EXPECT_NE(imported.error().message.find("external texture"), std::string::npos);
  EXPECT_FALSE(Texture::import(*device_, frame.layout, Target::External, {}));
  EXPECT_EQ(driver_.calls_of("eglCreateImageKHR"), 0U);
}

EGLint number(std::uint32_t value)
{
  return static_cast<EGLint>(value);
}

PlaneLayout plane(std::uint64_t offset, std::uint32_t stride)
{
  return {-1, offset, stride, {}};
}

constexpr std::uint64_t kAmd = 0x0200000018601b04; // of amd-navi31.txt
constexpr ColorHints kAllHints = {EGL_ITU_REC709_EXT, EGL_YUV_NARROW_RANGE_EXT,
                                  EGL_YUV_CHROMA_SITING_0_EXT, EGL_YUV_CHROMA_SITING_0_5_EXT};

TEST_F(Image, TexturesAreReadyAndNothingElseIsChanged)
{
  GLuint others[2] = {};
  const GlCalls &gl = device_->calls().gl;
  gl.gen_textures(2, others);
  gl.bind_texture(GL_TEXTURE_2D, others[0]);
  gl.bind_texture(GL_TEXTURE_EXTERNAL_OES, others[1]);
  const auto bound = driver_.bound;
  {
    const MemfdFrame frame(DRM_FORMAT_NV12, 65, 47, 256);
    for (const Shape shape : {Shape::OneImage, Shape::PerPlane}) {
      const auto imported = import_frame(device_, frame.layout, shape, {});
      ASSERT_TRUE(imported) << imported.error().message;
      EXPECT_EQ((*imported)->device, device_);
      ASSERT_EQ((*imported)->textures.size(), shape == Shape::OneImage ? 1U : 2U);
      for (const Texture &texture : (*imported)->textures) {
        const test::FakeTexture &made = driver_.textures.at(texture.id());
        EXPECT_EQ(made.target, gl_target(texture.target()));
        ASSERT_TRUE(made.image);
        EXPECT_EQ(made.image->width, number(texture.width()));
        EXPECT_EQ(made.image->height, number(texture.height()));
        EXPECT_EQ(made.parameters.at(GL_TEXTURE_MIN_FILTER), GL_LINEAR);
        EXPECT_EQ(made.parameters.at(GL_TEXTURE_MAG_FILTER), GL_LINEAR);
        EXPECT_EQ(made.parameters.at(GL_TEXTURE_WRAP_S), GL_CLAMP_TO_EDGE);
        EXPECT_EQ(made.parameters.at(GL_TEXTURE_WRAP_T), GL_CLAMP_TO_EDGE);
      }
      EXPECT_EQ(driver_.bound, bound);
      EXPECT_EQ(driver_.active_texture, unsigned{GL_TEXTURE0});
    }
  }
  EXPECT_EQ(driver_.bound, bound);
  gl.delete_textures(2, others);
}

TEST_F(Image, PerPlaneKeepsTheModifier)
{
  driver_.formats = {{DRM_FORMAT_NV12, {{kAmd, true}}},
                     {DRM_FORMAT_R8, {{kAmd, false}}},
                     {DRM_FORMAT_GR88, {{kAmd, false}}}};
  open();
  const MemfdFrame frame({DRM_FORMAT_NV12, kAmd}, 64, 48, {plane(0, 256), plane(65536, 256)},
                         {0, 1});
  const auto imported = import_frame(device_, frame.layout, Shape::PerPlane, kAllHints);
  ASSERT_TRUE(imported) << imported.error().message;
  const test::FakeImage &chroma = *driver_.textures.at((*imported)->textures[1].id()).image;
  EXPECT_EQ(chroma.fourcc, unsigned{DRM_FORMAT_GR88});
  EXPECT_EQ(chroma.plane_count(), 1U);
  EXPECT_EQ(chroma.planes[0]->fd, frame.memory[1].get());
  EXPECT_EQ(chroma.planes[0]->offset, 65536);
  EXPECT_EQ(chroma.planes[0]->modifier, kAmd);
  EXPECT_TRUE(chroma.hints.empty());
  EXPECT_EQ((*imported)->textures[1].target(), Target::Texture2D);
}

// NV12 with the modifier is listed, but GR88 with it is not.
TEST_F(Image, PerPlaneNeedsEachPlaneListed)
{
  driver_.formats = {{DRM_FORMAT_NV12, {{kAmd, true}}},
                     {DRM_FORMAT_R8, {{kAmd, false}}},
                     {DRM_FORMAT_GR88, {{kModLinear, false}}}};
  open();
  const MemfdFrame frame({DRM_FORMAT_NV12, kAmd}, 64, 48, {plane(0, 256), plane(65536, 256)},
                         {0, 0});
  const auto refused = import_frame(device_, frame.layout, Shape::PerPlane, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  EXPECT_NE(refused.error().message.find("Plane 1 of NV12"), std::string::npos);
  EXPECT_EQ(driver_.calls_of("eglCreateImageKHR"), 1U);
  EXPECT_TRUE(import_frame(device_, frame.layout, Shape::OneImage, {}));
}

// Planes that can be imported although the whole is not listed.
TEST_F(Image, PerPlaneWithoutTheWhole)
{
  driver_.formats = {{DRM_FORMAT_R8, {{kModLinear, false}}},
                     {DRM_FORMAT_GR88, {{kModLinear, false}}}};
  open();
  const MemfdFrame frame(DRM_FORMAT_NV12, 64, 48);
  EXPECT_TRUE(import_frame(device_, frame.layout, Shape::PerPlane, {}));
  EXPECT_FALSE(import_frame(device_, frame.layout, Shape::OneImage, {}));
}

TEST_F(Image, MovedTextureIsReleasedOnce)
{
  const MemfdFrame frame(DRM_FORMAT_XRGB8888, 64, 48, 256);
  auto made = Texture::import(*device_, frame.layout, Target::Texture2D, {});
  ASSERT_TRUE(made);
  const GLuint id = made->id();
  {
    const Texture moved(std::move(*made));
    EXPECT_EQ(moved.id(), id);
    EXPECT_EQ(moved.width(), 64U);
    EXPECT_EQ(moved.height(), 48U);
    EXPECT_EQ(driver_.live_textures(), 1U);
  }
  EXPECT_EQ(driver_.alive(), 0U);
}

} // namespace
} // namespace gstdrm::egl

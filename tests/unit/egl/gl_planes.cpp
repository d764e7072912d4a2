// SPDX-License-Identifier: LGPL-2.1-or-later
// Planes drawn as RGBA: the numbers of the conversion, and that no failure of
// GL leaks or leaves state behind. Pixels are tests/device/egl/egl_pipeline.cpp's.
#include "engine/gl_planes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <drm_fourcc.h>
#include <gtest/gtest.h>

#include "core/drm_facts.hpp"
#include "egl_frames.hpp"
#include "fake_egl.hpp"

namespace gstdrm::egl {
namespace {

using test::FakeEgl;
using test::MemfdFrame;

// --- numbers -------------------------------------------------------------------------------------

struct ColourRow {
  const char *name;
  std::uint32_t fourcc;
  LumaWeights luma;
  YuvRange range;
  std::array<int, 3> yuv; // words
  std::array<int, 3> rgb; // of 255
};

// Computed by hand from the equations of the recommendations.
const ColourRow kColours[] = {
    {"black", DRM_FORMAT_P010, kBt709Luma, YuvRange::Limited, {64 << 6, 512 << 6, 512 << 6}, {0, 0, 0}},
    {"white", DRM_FORMAT_P010, kBt601Luma, YuvRange::Limited, {940 << 6, 512 << 6, 512 << 6}, {255, 255, 255}},
    {"white, full", DRM_FORMAT_P010, kBt601Luma, YuvRange::Full, {1023 << 6, 512 << 6, 512 << 6}, {255, 255, 255}},
    {"white, 12 bits", DRM_FORMAT_P012, kBt2020Luma, YuvRange::Limited, {3760 << 4, 2048 << 4, 2048 << 4}, {255, 255, 255}},
    {"white, 16 bits", DRM_FORMAT_P016, kBt709Luma, YuvRange::Full, {65535, 32768, 32768}, {255, 255, 255}},
    {"white, lower bits", kFourccS010, kBt709Luma, YuvRange::Limited, {940, 512, 512}, {255, 255, 255}},
    {"red, BT.601", DRM_FORMAT_P010, kBt601Luma, YuvRange::Limited, {326 << 6, 361 << 6, 960 << 6}, {255, 0, 0}},
    {"green, BT.709", DRM_FORMAT_P010, kBt709Luma, YuvRange::Limited, {691 << 6, 167 << 6, 105 << 6}, {0, 255, 0}},
    {"white, 8 bits", DRM_FORMAT_NV12, kBt601Luma, YuvRange::Limited, {235, 128, 128}, {255, 255, 255}},
    {"white, 8 bits, full", DRM_FORMAT_YUV420, kBt601Luma, YuvRange::Full, {255, 128, 128}, {255, 255, 255}},
    {"red, BT.601, 8 bits", DRM_FORMAT_NV21, kBt601Luma, YuvRange::Limited, {81, 90, 240}, {254, 0, 0}},
    {"green, BT.709, packed", DRM_FORMAT_UYVY, kBt709Luma, YuvRange::Limited, {173, 42, 26}, {0, 255, 1}},
    {"blue, BT.601, full", DRM_FORMAT_P010, kBt601Luma, YuvRange::Full, {117 << 6, 1023 << 6, 429 << 6}, {0, 0, 255}},
};

TEST(RgbRows, AsTheRecommendationsSay)
{
  for (const ColourRow &row : kColours) {
    const YuvSamples &samples = *yuv_samples(row.fourcc);
    const RgbRows rows = rgb_rows({row.luma, row.range}, samples);
    const double one = samples.bits > 8 ? 65535 : 255;
    for (std::size_t i = 0; i < 3; i++) {
      const double value = rows.offset[i] + (rows.luma[samples.y] * row.yuv[0] +
                                             rows.rows[i][samples.cb] * row.yuv[1] +
                                             rows.rows[i][samples.cr] * row.yuv[2]) /
                                                one;
      EXPECT_NEAR(std::clamp(value, 0.0, 1.0) * 255, row.rgb[i], 0.5) << row.name << " " << i;
    }
  }
}

// The chroma sample 0 is at 0.5 of its plane, and the pixels 0 and 1 have their centres at 0.25 and
// 0.75 of it.
TEST(ChromaShift, PutsSamplesWhereTheyAre)
{
  EXPECT_EQ(chroma_shift(Siting::Cosited, 1), 0.0F);
  EXPECT_EQ(chroma_shift(Siting::Centred, 1), 0.0F);
  EXPECT_EQ(0.25F + chroma_shift(Siting::Cosited, 2), 0.5F);
  EXPECT_EQ((0.25F + 0.75F) / 2 + chroma_shift(Siting::Centred, 2), 0.5F);
}

// All whose planes can be imported one by one, and no other ones: whole pixels in one texture (Y210, Y410, AYUV) are
// for GStreamer's shaders.
TEST(YuvSamples, AreKnownOfAllPlanes)
{
  const FormatSet textures = FormatSet::from_pairs({{DRM_FORMAT_ABGR8888, kModLinear}});
  for (const FourccInfo &info : known_fourccs()) {
    const Format format{info.fourcc, kModLinear};
    bool has_planes = info.is_yuv && (info.n_planes > 1 || packed_chroma_format(format));
    bool is_deep = false;
    for (std::size_t i = 0; i < info.n_planes && has_planes; i++) {
      const auto plane = plane_format(format, i);
      has_planes = plane.has_value();
      is_deep = plane && (plane->fourcc == DRM_FORMAT_R16 || plane->fourcc == DRM_FORMAT_GR1616);
    }
    EXPECT_EQ(can_draw_planes(format, textures), has_planes) << fourcc_to_string(info.fourcc);
    EXPECT_EQ(can_draw_planes(format, {}), has_planes && info.n_planes > 1);
    EXPECT_EQ(is_drawn_exacter(info.fourcc), has_planes && is_deep);
  }
}

// --- draws ---------------------------------------------------------------------------------------

class DrawPlanes : public testing::Test {
protected:
  DrawPlanes()
  {
    for (const std::uint32_t fourcc :
         {DRM_FORMAT_R8, DRM_FORMAT_GR88, DRM_FORMAT_R16, DRM_FORMAT_GR1616, DRM_FORMAT_ABGR8888})
      driver_.formats.push_back({fourcc, {{kModLinear, false}}});
    driver_.calls().gl.gen_textures(1, &into_);
  }
  std::shared_ptr<Device> open()
  {
    auto device = Device::open(driver_.calls(), driver_.display());
    if (!device)
      ADD_FAILURE() << device.error().message;
    return device ? *device : nullptr;
  }
  // Less the texture that is drawn into, which is GStreamer's.
  unsigned alive() const { return driver_.alive() - 1; }
  FakeEgl driver_;
  GLuint into_ = 0;
};

TEST_F(DrawPlanes, WithOneCallAndNothingMade)
{
  const auto device = open();
  for (const std::uint32_t fourcc :
       {DRM_FORMAT_P010, DRM_FORMAT_P016, DRM_FORMAT_Q401, DRM_FORMAT_NV12, DRM_FORMAT_YUYV}) {
    const std::string name = fourcc_to_string(fourcc);
    const MemfdFrame frame(fourcc, 641, 481, 16);
    auto planes = import_frame(device, frame.layout, Shape::Drawn, {});
    ASSERT_TRUE(planes) << name << ": " << planes.error().message;
    auto painter = PlanesPainter::make(device, fourcc);
    ASSERT_TRUE(painter) << name << ": " << painter.error().message;
    driver_.forget_calls();
    for (int i = 0; i < 3; i++) {
      const auto drawn = (*painter)->draw(**planes, {}, into_);
      ASSERT_TRUE(drawn) << name << ": " << drawn.error().message;
    }
    EXPECT_EQ(driver_.calls_of("glDrawArrays"), 3U) << name;
    for (const char *made : {"eglCreateImageKHR", "glGenTextures", "glGenFramebuffers",
                             "glGenBuffers", "glCreateProgram", "glTexParameteri", "glFinish"})
      EXPECT_EQ(driver_.calls_of(made), 0U) << name << ": " << made;
    for (const auto &[framebuffer, texture] : driver_.framebuffers)
      EXPECT_NE(texture, into_) << name << ": the texture is held";
    painter->reset();
    planes->reset();
    EXPECT_EQ(alive(), 0U) << name;
  }
  EXPECT_EQ(driver_.double_frees, 0U);
}

TEST_F(DrawPlanes, PutsStateBack)
{
  const auto device = open();
  const MemfdFrame frame(DRM_FORMAT_P010, 64, 64);
  const auto planes = import_frame(device, frame.layout, Shape::Drawn, {});
  const auto painter = PlanesPainter::make(device, DRM_FORMAT_P010);
  ASSERT_TRUE(planes && painter);
  driver_.bound[GL_FRAMEBUFFER] = 77;
  driver_.bound[GL_READ_FRAMEBUFFER] = 78;
  driver_.enabled[GL_BLEND] = true;
  driver_.enabled[GL_RASTERIZER_DISCARD] = true;
  const std::array<GLboolean, 4> mask{GL_FALSE, GL_TRUE, GL_FALSE, GL_TRUE};
  driver_.color_mask = mask;
  for (GLuint unit = 0; unit < 4; unit++)
    driver_.samplers[unit] = 90 + unit;
  driver_.forget_calls();
  ASSERT_TRUE((*painter)->draw(**planes, {}, into_));
  EXPECT_EQ(driver_.in_the_way, std::vector<std::string>());
  EXPECT_EQ(driver_.calls_of("glBindSampler"), 6U) << "taken off three units, and put back";
  for (GLuint unit = 0; unit < 4; unit++)
    EXPECT_EQ(driver_.samplers[unit], 90 + unit);
  EXPECT_EQ(driver_.bound[GL_FRAMEBUFFER], 77U);
  EXPECT_EQ(driver_.bound[GL_READ_FRAMEBUFFER], 78U);
  EXPECT_EQ(driver_.bound[GL_TEXTURE_2D], 0U);
  EXPECT_EQ(driver_.bound[GL_ARRAY_BUFFER], 0U);
  EXPECT_EQ(driver_.active_texture, static_cast<GLenum>(GL_TEXTURE0));
  EXPECT_EQ(driver_.program, 0U);
  EXPECT_TRUE(driver_.enabled[GL_BLEND]);
  EXPECT_TRUE(driver_.enabled[GL_RASTERIZER_DISCARD]);
  EXPECT_EQ(driver_.color_mask, mask);
}

// Each call on the way fails once: it is said, and nothing is left.
TEST_F(DrawPlanes, LeaksNothingWhereACallFails)
{
  const MemfdFrame frame(DRM_FORMAT_P010, 64, 64);
  for (const char *call : {"glGenBuffers", "glBufferData", "glCreateShader", "glCreateProgram",
                           "glGetShaderiv", "glGetProgramiv", "glGenFramebuffers",
                           "glBindFramebuffer", "glFramebufferTexture2D", "glDrawArrays",
                           "glUseProgram"}) {
    const auto device = open();
    {
      const auto planes = import_frame(device, frame.layout, Shape::Drawn, {});
      ASSERT_TRUE(planes);
      driver_.fail(call, 1, GL_OUT_OF_MEMORY);
      const auto painter = PlanesPainter::make(device, DRM_FORMAT_P010);
      Result<void> drawn;
      if (painter)
        drawn = (*painter)->draw(**planes, {}, into_);
      else
        drawn = painter.error();
      ASSERT_FALSE(drawn) << call << " failed, and nobody noticed";
      EXPECT_EQ(drawn.error().code, ErrorCode::Device) << call;
      EXPECT_NE(drawn.error().message.find("update the GPU's driver"), std::string::npos)
          << call << ": " << drawn.error().message;
      driver_.fail(call, 0);
    }
    EXPECT_EQ(alive(), 0U) << call;
  }
  EXPECT_EQ(driver_.double_frees, 0U);
}

} // namespace
} // namespace gstdrm::egl

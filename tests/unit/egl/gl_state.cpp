// SPDX-License-Identifier: LGPL-2.1-or-later
// What another user of the context left: no draw depends on it, or changes it. On a real driver:
// tests/device/egl/egl_download_state.cpp.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "egl_frames.hpp"
#include "engine/gl_planes.hpp"
#include "gl_draw.hpp"

namespace gstdrm::egl {
namespace {

using test::Draw;
using Frame = test::DrawFrame;

TEST_F(Draw, PutsStateBack)
{
  const auto device = open();
  auto painter = Painter::make(device);
  ASSERT_TRUE(painter);
  const Frame frame(DRM_FORMAT_NV12, 64, 64);
  const Picture source = picture();
  driver_.bound[GL_FRAMEBUFFER] = 77;
  driver_.bound[GL_READ_FRAMEBUFFER] = 78;
  driver_.enabled[GL_BLEND] = true;
  driver_.enabled[GL_SCISSOR_TEST] = true;
  driver_.enabled[GL_RASTERIZER_DISCARD] = true;
  const std::array<GLboolean, 4> mask{GL_FALSE, GL_TRUE, GL_FALSE, GL_TRUE};
  driver_.color_mask = mask;
  driver_.samplers[0] = 79;
  driver_.samplers[1] = 80;
  auto target = DrawTarget::import(device, frame.layout);
  ASSERT_TRUE(target);
  EXPECT_EQ(driver_.bound[GL_FRAMEBUFFER], 77U);
  EXPECT_EQ(driver_.bound[GL_READ_FRAMEBUFFER], 78U);
  const auto drawn = (*painter)->draw(source, **target, {});
  ASSERT_TRUE(drawn) << drawn.error().message;
  EXPECT_EQ(driver_.bound[GL_FRAMEBUFFER], 77U);
  EXPECT_EQ(driver_.bound[GL_TEXTURE_2D], 0U);
  EXPECT_EQ(driver_.bound[GL_ARRAY_BUFFER], 0U);
  EXPECT_EQ(driver_.program, 0U);
  EXPECT_TRUE(driver_.enabled[GL_BLEND]);
  EXPECT_TRUE(driver_.enabled[GL_SCISSOR_TEST]);
  EXPECT_FALSE(driver_.enabled[GL_DEPTH_TEST]);
  EXPECT_EQ(driver_.in_the_way, std::vector<std::string>());
  EXPECT_EQ(driver_.bound[GL_READ_FRAMEBUFFER], 78U);
  EXPECT_TRUE(driver_.enabled[GL_RASTERIZER_DISCARD]);
  EXPECT_EQ(driver_.color_mask, mask);
  EXPECT_EQ(driver_.samplers[0], 79U);
  EXPECT_EQ(driver_.samplers[1], 80U);
}

struct SamplersRow {
  const char *version;
  const char *extension;
  bool has_samplers; // and the functions of version 3
  bool is_gl_3;
};
const SamplersRow kSamplers[] = {
    {"OpenGL ES 2.0 Mesa 26.1.6", "", false, false},
    {"OpenGL ES 3.0 Mesa 26.1.6", "", true, true},
    {"3.2 (Core Profile) Mesa 26.1.6", "", false, true},
    {"3.2 (Core Profile) Mesa 26.1.6", " GL_ARB_sampler_objects", true, true},
    {"3.3 (Core Profile) Mesa 26.1.6", "", true, true},
    {"4.0 (Core Profile) Mesa 26.1.6", "", true, true},
    {"2.1 Mesa 26.1.6", "", false, false},
};

// What a version of GL does not have is not asked for: the answer would be an error.
TEST_F(Draw, AsksForNoStateThatTheVersionLacks)
{
  const std::string extensions = driver_.gl_extensions;
  for (const SamplersRow &row : kSamplers) {
    driver_.gl_version = row.version;
    driver_.gl_extensions = extensions + row.extension;
    const auto device = open();
    EXPECT_EQ(device->calls().gl.bind_sampler != nullptr, row.has_samplers) << row.version;
    EXPECT_EQ(device->calls().gl.blit_framebuffer != nullptr, row.is_gl_3) << row.version;
    auto painter = Painter::make(device);
    const Frame frame(DRM_FORMAT_NV12, 64, 64);
    auto target = DrawTarget::import(device, frame.layout);
    ASSERT_TRUE(painter && target) << row.version;
    const Picture source = picture();
    const auto drawn = (*painter)->draw(source, **target, {});
    EXPECT_TRUE(drawn) << row.version << ": " << (drawn ? "" : drawn.error().message);
    driver_.calls().gl.delete_textures(1, &source.texture);
  }
}

constexpr GLenum kLogicOp = 0x0BF2;       // GL_COLOR_LOGIC_OP
constexpr GLenum kPolygonSmooth = 0x0B41; // GL_POLYGON_SMOOTH
constexpr GLint kLines = 0x1B01;          // GL_LINE
constexpr GLint kPoints = 0x1B00;         // GL_POINT
constexpr GLuint kForeignArray = 90000;   // which the engine has not made

constexpr GLenum kAlphaTest = 0x0BC0;     // GL_ALPHA_TEST
constexpr GLenum kPolygonStipple = 0x0B42; // GL_POLYGON_STIPPLE

// What each draw buffer, or each viewport, has of its own.
enum class Indexed : std::uint8_t { Nothing, Buffers, Viewports, Both };

struct LeftRow {
  const char *version;
  const char *extensions;
  Indexed indexed;
  bool has_clip_origin;
  std::vector<GLenum> switches;
  std::array<GLint, 2> polygons; // front and back
};
const LeftRow kLeft[] = {
    {"OpenGL ES 2.0 Mesa 26.1.6", "", Indexed::Nothing, false, {GL_BLEND, GL_SCISSOR_TEST, GL_CULL_FACE}, {GL_FILL_NV, GL_FILL_NV}},
    {"OpenGL ES 3.0 Mesa 26.1.6", "", Indexed::Nothing, false, {GL_BLEND, GL_SCISSOR_TEST, GL_RASTERIZER_DISCARD}, {GL_FILL_NV, GL_FILL_NV}},
    {"OpenGL ES 3.1 Mesa 26.1.6", " GL_OES_draw_buffers_indexed", Indexed::Buffers, false, {GL_BLEND}, {GL_FILL_NV, GL_FILL_NV}},
    {"OpenGL ES 3.1 Mesa 26.1.6", " GL_OES_viewport_array", Indexed::Viewports, false, {GL_SCISSOR_TEST, GL_BLEND}, {GL_FILL_NV, GL_FILL_NV}},
    {"OpenGL ES 3.1 Mesa 26.1.6", " GL_EXT_clip_control GL_EXT_clip_cull_distance", Indexed::Nothing, true, {GL_CLIP_DISTANCE0_EXT, GL_CLIP_DISTANCE5_EXT}, {GL_FILL_NV, GL_FILL_NV}},
    {"OpenGL ES 3.2 Mesa 26.1.6", "", Indexed::Buffers, false, {GL_BLEND, GL_RASTERIZER_DISCARD}, {GL_FILL_NV, GL_FILL_NV}},
    {"OpenGL ES 3.2 Mesa 26.1.6", " GL_OES_viewport_array", Indexed::Both, false, {GL_BLEND, GL_SCISSOR_TEST}, {GL_FILL_NV, GL_FILL_NV}},
    {"3.2 (Core Profile) Mesa 26.1.6", "", Indexed::Buffers, false, {GL_BLEND, kLogicOp, kPolygonSmooth}, {kLines, kLines}},
    {"3.3 (Core Profile) Mesa 26.1.6", " GL_ARB_viewport_array GL_ARB_clip_control", Indexed::Both, true, {GL_BLEND, GL_SCISSOR_TEST}, {kLines, kLines}},
    {"4.1 (Core Profile) Mesa 26.1.6", "", Indexed::Both, false, {GL_SCISSOR_TEST, GL_CLIP_DISTANCE1_EXT}, {kLines, kLines}},
    {"4.6 (Core Profile) Mesa 26.1.6", "", Indexed::Both, true, {GL_SCISSOR_TEST, kLogicOp}, {kPoints, 0}},
    {"4.6 (Compatibility Profile) Mesa 26.1.6", "", Indexed::Both, true, {GL_BLEND, kLogicOp, kAlphaTest}, {kLines, kPoints}},
    {"4.6 (Compatibility Profile) Mesa 26.1.6", "", Indexed::Both, true, {GL_BLEND, kPolygonStipple}, {GL_FILL_NV, kPoints}},
    {"3.1 Mesa 26.1.6", " GL_ARB_compatibility", Indexed::Buffers, false, {kAlphaTest, kPolygonStipple}, {kLines, kLines}},
    {"2.1 Mesa 26.1.6", "", Indexed::Nothing, false, {GL_BLEND, kLogicOp, kPolygonSmooth, kAlphaTest, GL_CLIP_DISTANCE0_EXT}, {kLines, kLines}},
};

// Whatever somebody left on, and however their context divides it among draw buffers and faces.
class Left : public Draw {
protected:
  void leave(const LeftRow &row, bool others_are_on)
  {
    driver_.gl_version = row.version;
    driver_.color_mask = kMask;
    driver_.second_color_mask = kSecondMask;
    driver_.second_blends = others_are_on;
    driver_.second_is_cut = others_are_on;
    others_are_on_ = others_are_on;
    driver_.viewport = kViewport;
    driver_.second_viewport = kSecondViewport;
    driver_.is_upside_down = row.has_clip_origin;
    driver_.polygon_mode = row.polygons;
    driver_.vertex_array = 0;
    driver_.enabled.clear();
    for (const GLenum what : row.switches)
      driver_.enabled[what] = true;
  }
  static bool has_viewports(const LeftRow &row)
  {
    return row.indexed == Indexed::Viewports || row.indexed == Indexed::Both;
  }
  void expect_switches(const LeftRow &row, const std::string &name)
  {
    EXPECT_EQ(driver_.in_the_way, std::vector<std::string>()) << name;
    for (const auto &[what, is_on] : driver_.enabled)
      EXPECT_EQ(is_on, std::count(row.switches.begin(), row.switches.end(), what) == 1)
          << name << ": switch " << what;
    if (has_viewports(row)) {
      EXPECT_EQ(driver_.second_is_cut, others_are_on_) << name;
    }
  }
  void expect_as_it_was(const LeftRow &row, const char *who)
  {
    const auto name = std::string(row.version) + row.extensions + ", " + who;
    expect_switches(row, name);
    EXPECT_EQ(driver_.color_mask, kMask) << name;
    if (row.indexed == Indexed::Buffers || row.indexed == Indexed::Both) {
      EXPECT_EQ(driver_.second_color_mask, kSecondMask) << name;
      EXPECT_EQ(driver_.second_blends, others_are_on_) << name;
    }
    if (has_viewports(row)) {
      EXPECT_EQ(driver_.second_viewport, kSecondViewport) << name;
    }
    // without an index it is in whole pixels
    const auto whole = std::array<GLfloat, 4>{1, 2, 30, 40};
    EXPECT_EQ(driver_.viewport, has_viewports(row) ? kViewport : whole) << name;
    EXPECT_EQ(driver_.is_upside_down, row.has_clip_origin) << name;
    const GLint back = row.polygons[1] == 0 ? row.polygons[0] : row.polygons[1];
    EXPECT_EQ(driver_.polygon_mode, (std::array<GLint, 2>{row.polygons[0], back})) << name;
    EXPECT_EQ(driver_.foreign_attributes, 0U) << name;
  }
  bool others_are_on_ = false; // blending of other draw buffers, the scissor of other viewports
  static constexpr std::array<GLboolean, 4> kMask{GL_FALSE, GL_TRUE, GL_FALSE, GL_TRUE};
  static constexpr std::array<GLboolean, 4> kSecondMask{GL_TRUE, GL_FALSE, GL_TRUE, GL_FALSE};
  static constexpr std::array<GLfloat, 4> kViewport{1.5F, 2.5F, 30.25F, 40.75F};
  static constexpr std::array<GLfloat, 4> kSecondViewport{5, 6, 7, 8};
};

TEST_F(Left, IsOffForTheDrawAndPutBack)
{
  const Picture source = picture();
  const Frame frame(DRM_FORMAT_NV12, 64, 64);
  const Frame rgb(DRM_FORMAT_XRGB8888, 64, 64);
  const test::MemfdFrame deep(DRM_FORMAT_P010, 64, 64);
  const std::string extensions = driver_.gl_extensions;
  for (const LeftRow &row : kLeft) {
    driver_.gl_version = row.version;
    driver_.gl_extensions = extensions + row.extensions;
    const auto device = open();
    const auto painter = Painter::make(device);
    const auto target = DrawTarget::import(device, frame.layout);
    const auto copied = DrawTarget::import(device, rgb.layout);
    const auto planes = import_frame(device, deep.layout, Shape::PerPlane, {});
    const auto of_planes = PlanesPainter::make(device, DRM_FORMAT_P010);
    ASSERT_TRUE(painter && target && copied && planes && of_planes) << row.version;
    for (const bool others_are_on : {false, true}) {
      leave(row, others_are_on);
      if (!driver_.vertex_arrays.empty())
        driver_.vertex_array = kForeignArray;
      const auto drawn = (*painter)->draw(source, **target, {});
      EXPECT_TRUE(drawn) << row.version << ": " << (drawn ? "" : drawn.error().message);
      expect_as_it_was(row, "a frame");
      leave(row, others_are_on);
      if (!driver_.vertex_arrays.empty())
        driver_.vertex_array = kForeignArray;
      const auto of = (*of_planes)->draw(**planes, {}, source.texture);
      EXPECT_TRUE(of) << row.version << ": " << (of ? "" : of.error().message);
      expect_as_it_was(row, "planes");
      leave(row, others_are_on);
      Picture upright = source;
      upright.flip = false;
      const auto copy = (*painter)->draw(upright, **copied, {});
      EXPECT_TRUE(copy) << row.version << ": " << (copy ? "" : copy.error().message);
      expect_switches(row, std::string(row.version) + row.extensions + ", a copy");
    }
  }
  EXPECT_EQ(alive(), 0U);
}

// Attributes are set in an array of the engine's own: a core profile draws nothing without one, and
// elsewhere the one that is bound is somebody else's, or has a divisor.
TEST_F(Draw, WithAVertexArrayWhereThereAreAny)
{
  for (const auto &[version, arrays] : {std::pair{"4.6 (Core Profile) Mesa 26.1.6", 1U},
                                        std::pair{"OpenGL ES 3.0 Mesa 26.1.6", 1U},
                                        std::pair{"OpenGL ES 2.0 Mesa 26.1.6", 0U}}) {
    driver_.gl_version = version;
    const auto device = open();
    auto painter = Painter::make(device);
    ASSERT_TRUE(painter) << version;
    EXPECT_EQ(driver_.vertex_arrays.size(), arrays) << version;
    painter->reset();
    EXPECT_EQ(driver_.alive(), 0U) << version;
  }
}

} // namespace
} // namespace gstdrm::egl

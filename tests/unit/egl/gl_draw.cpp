// SPDX-License-Identifier: LGPL-2.1-or-later
// What can be drawn into, the numbers of the conversion to YUV, and that no failure of GL leaks or
// leaves state behind. Pixels are tests/device/egl/egl_download.cpp's.
#include "engine/gl_draw.hpp"

#include <array>
#include <cmath>

#include <drm_fourcc.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/unique_fd.hpp"
#include "engine/gl_program.hpp"
#include "fake_egl.hpp"
#include "support/gpu_table.hpp"

namespace gstdrm::egl {
namespace {

using test::FakeEgl;

constexpr std::uint64_t kXTiled = I915_FORMAT_MOD_X_TILED;
constexpr std::uint64_t kCompressed = I915_FORMAT_MOD_Y_TILED_CCS;

// --- formats -------------------------------------------------------------------------------------

struct FormatsRow {
  const char *name;
  std::vector<Format> texture_2d;
  std::vector<Format> external_only;
  std::vector<Format> drawable;
};

const FormatsRow kFormats[] = {
    {"nothing listed", {}, {}, {}},
    {"RGB as listed, with every modifier",
     {{DRM_FORMAT_XRGB8888, 0}, {DRM_FORMAT_XRGB8888, kXTiled}, {DRM_FORMAT_RGB565, 0}},
     {},
     {{DRM_FORMAT_XRGB8888, 0}, {DRM_FORMAT_XRGB8888, kXTiled}, {DRM_FORMAT_RGB565, 0}}},
    {"compressed RGB is one image", // its second plane is the driver's
     {{DRM_FORMAT_XRGB8888, kCompressed}},
     {},
     {{DRM_FORMAT_XRGB8888, kCompressed}}},
    {"external alone is never drawn into",
     {},
     {{DRM_FORMAT_XRGB8888, 0}, {DRM_FORMAT_NV12, 0}},
     {}},
    {"R8 alone makes three planes",
     {{DRM_FORMAT_R8, 0}},
     {},
     {{DRM_FORMAT_YUV420, 0},
      {DRM_FORMAT_YVU420, 0},
      {DRM_FORMAT_YUV422, 0},
      {DRM_FORMAT_YUV444, 0},
      {DRM_FORMAT_YVU444, 0}}},
    {"16 bits of one component alone", {{DRM_FORMAT_R16, 0}}, {}, {}},
    {"16 bits",
     {{DRM_FORMAT_R16, 0}, {DRM_FORMAT_GR1616, 0}},
     {{DRM_FORMAT_P010, 0}},
     {{DRM_FORMAT_P010, 0}, {DRM_FORMAT_P012, 0}, {DRM_FORMAT_P016, 0}}},
    {"planes of other modifiers", {{DRM_FORMAT_R16, 0}, {DRM_FORMAT_GR1616, kXTiled}}, {}, {}},
    {"YUYV shares bytes between pixels", {{DRM_FORMAT_YUYV, 0}}, {}, {}},
};

TEST(DrawableFormats, OfWhatIsListed)
{
  for (const FormatsRow &row : kFormats) {
    const DisplayFormats listed{FormatSet::from_pairs(row.texture_2d),
                                FormatSet::from_pairs(row.external_only)};
    EXPECT_EQ(drawable_formats(listed), FormatSet::from_pairs(row.drawable)) << row.name;
  }
}

// Each vendor's own list: NV12 where the planes are listed, and nothing that is external alone.
TEST(DrawableFormats, OfVendors)
{
  for (const char *table : {"amd-navi31", "llvmpipe", "freedreno-a660", "nouveau-nv162"}) {
    FakeEgl driver;
    driver.load_table(table);
    const auto listed = query_formats(driver.calls().egl, driver.display());
    ASSERT_TRUE(listed) << table;
    const FormatSet drawable = drawable_formats(*listed);
    EXPECT_TRUE(drawable.contains_fourcc(DRM_FORMAT_XRGB8888)) << table;
    EXPECT_EQ(drawable.contains({DRM_FORMAT_NV12, kModLinear}),
              listed->texture_2d.contains({DRM_FORMAT_R8, kModLinear}) &&
                  listed->texture_2d.contains({DRM_FORMAT_GR88, kModLinear}))
        << table;
    for (const Format format : drawable.pairs()) {
      EXPECT_TRUE(fourcc_is_yuv(format.fourcc) || listed->texture_2d.contains(format))
          << table << describe_format(format);
    }
  }
}

// --- numbers -------------------------------------------------------------------------------------

struct ColourRow {
  const char *name;
  YuvMatrix matrix;
  YuvRange range;
  SampleDepth depth;
  std::array<double, 3> rgb;
  std::array<int, 3> yuv; // words
};

constexpr SampleDepth k8{8, 8};
constexpr SampleDepth k10{10, 16};

// Computed by hand from the equations of the recommendations.
const ColourRow kColours[] = {
    {"black, limited", YuvMatrix::Bt601, YuvRange::Limited, k8, {0, 0, 0}, {16, 128, 128}},
    {"white, limited", YuvMatrix::Bt709, YuvRange::Limited, k8, {1, 1, 1}, {235, 128, 128}},
    {"red, BT.601", YuvMatrix::Bt601, YuvRange::Limited, k8, {1, 0, 0}, {81, 90, 240}},
    {"green, BT.601", YuvMatrix::Bt601, YuvRange::Limited, k8, {0, 1, 0}, {145, 54, 34}},
    {"blue, BT.601", YuvMatrix::Bt601, YuvRange::Limited, k8, {0, 0, 1}, {41, 240, 110}},
    {"red, BT.709", YuvMatrix::Bt709, YuvRange::Limited, k8, {1, 0, 0}, {63, 102, 240}},
    {"green, BT.709", YuvMatrix::Bt709, YuvRange::Limited, k8, {0, 1, 0}, {173, 42, 26}},
    {"red, BT.2020", YuvMatrix::Bt2020, YuvRange::Limited, k8, {1, 0, 0}, {74, 97, 240}},
    {"black, full", YuvMatrix::Bt709, YuvRange::Full, k8, {0, 0, 0}, {0, 128, 128}},
    {"white, full", YuvMatrix::Bt601, YuvRange::Full, k8, {1, 1, 1}, {255, 128, 128}},
    {"red, BT.601, full", YuvMatrix::Bt601, YuvRange::Full, k8, {1, 0, 0}, {76, 85, 255}},
    {"white, 10 bits",
     YuvMatrix::Bt2020,
     YuvRange::Limited,
     k10,
     {1, 1, 1},
     {940 << 6, 512 << 6, 512 << 6}},
    {"black, 10 bits",
     YuvMatrix::Bt709,
     YuvRange::Limited,
     k10,
     {0, 0, 0},
     {64 << 6, 512 << 6, 512 << 6}},
};

TEST(YuvRows, AsTheRecommendationsSay)
{
  for (const ColourRow &row : kColours) {
    const YuvRows rows = yuv_rows(row.matrix, row.range, row.depth);
    const double most = row.depth.word_bits == 16 ? 65535 : 255;
    const double step = rows.step > 0 ? rows.step * most : 1;
    const YuvRow *const all[] = {&rows.y, &rows.cb, &rows.cr};
    for (std::size_t i = 0; i < 3; i++) {
      const YuvRow &one = *all[i];
      const double sample =
          one[0] * row.rgb[0] + one[1] * row.rgb[1] + one[2] * row.rgb[2] + one[3];
      // what GL does with a value beyond the range of the plane
      const double stored = std::min(std::round(sample * most / step) * step, most);
      EXPECT_NEAR(stored, row.yuv[i], 0.5) << row.name << ", component " << i;
    }
  }
}

TEST(ChromaWeights, AddUpToOne)
{
  for (const Siting siting : {Siting::Cosited, Siting::Centred})
    for (const unsigned subsampling : {1U, 2U}) {
      const auto weights = chroma_weights(siting, subsampling);
      EXPECT_FLOAT_EQ(weights[0] + weights[1] + weights[2], 1.0F);
    }
  EXPECT_EQ(chroma_weights(Siting::Cosited, 1), (std::array<float, 3>{0, 1, 0}));
  EXPECT_EQ(chroma_weights(Siting::Centred, 2), (std::array<float, 3>{0, 0.5F, 0.5F}));
  EXPECT_EQ(chroma_weights(Siting::Cosited, 2), (std::array<float, 3>{0.25F, 0.5F, 0.25F}));
}

// --- draws ---------------------------------------------------------------------------------------

// A frame in a memfd, which no driver that is not a fake would import.
class Frame {
public:
  Frame(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height)
      : fd_(::memfd_create("frame", MFD_CLOEXEC))
  {
    std::uint64_t size = 0;
    auto made = make_linear_layout(fourcc, width, height, 256, 256, size);
    if (!made || ::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) {
      ADD_FAILURE() << "no frame";
      return;
    }
    layout = *made;
    const auto object = query_object(fd_.get());
    for (std::size_t i = 0; i < layout.n_planes && object; i++) {
      layout.planes[i].fd = fd_.get();
      layout.planes[i].object = *object;
    }
  }
  FrameLayout layout;

private:
  UniqueFd fd_;
};

class Draw : public testing::Test {
protected:
  Draw()
  {
    for (const std::uint32_t fourcc :
         {DRM_FORMAT_XRGB8888, DRM_FORMAT_R8, DRM_FORMAT_GR88, DRM_FORMAT_R16, DRM_FORMAT_GR1616})
      driver_.formats.push_back({fourcc, {{kModLinear, false}}});
  }
  std::shared_ptr<Device> open()
  {
    auto device = Device::open(driver_.calls(), driver_.display());
    if (!device)
      ADD_FAILURE() << device.error().message;
    return device ? *device : nullptr;
  }
  // What GStreamer would draw from, and what a copy is not enough for.
  Picture picture()
  {
    Picture made;
    made.flip = true;
    driver_.calls().gl.gen_textures(1, &made.texture);
    driver_.calls().gl.bind_texture(GL_TEXTURE_2D, made.texture);
    driver_.calls().gl.bind_texture(GL_TEXTURE_2D, 0);
    return made;
  }
  // Less the picture's texture, which is GStreamer's.
  unsigned alive() const { return driver_.alive() - 1; }
  FakeEgl driver_;
};

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

// A context of a core profile draws nothing without a vertex array object, and knows new GLSL only.
TEST_F(Draw, WithAVertexArrayOnDesktopGl)
{
  driver_.gl_version = "4.6 (Core Profile) Mesa 26.1.6";
  const auto device = open();
  auto painter = Painter::make(device);
  ASSERT_TRUE(painter);
  EXPECT_EQ(driver_.vertex_arrays.size(), 1U);
  painter->reset();
  EXPECT_EQ(driver_.alive(), 0U);
}

} // namespace
} // namespace gstdrm::egl

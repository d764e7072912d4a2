// SPDX-License-Identifier: LGPL-2.1-or-later
// Dma-bufs of the kernel as textures of the machine's own driver: every pixel that a shader sees is
// compared with what lies in memory. Where the driver cannot import (Mesa before 26), each case
// tests that it is refused instead, and says so.
#include "egl_import.hpp"

#include <cmath>
#include <string>

#include <drm_fourcc.h>

#include "egl_setup.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::test;
using egl::ColorHints;
using egl::Shape;

struct Row {
  const char *name;
  std::uint32_t fourcc;
  std::uint32_t width, height;
  Placement placement;
};

constexpr Placement kPadded{.stride_align = 512, .offset_align = 4096, .lead_bytes = 8192};
constexpr Placement kApart{.own_buffers = true};
constexpr Placement kApartPadded{.stride_align = 256, .lead_bytes = 4096, .own_buffers = true};

constexpr Row kRows[] = {
    {"XR24", DRM_FORMAT_XRGB8888, 64, 48, {}},
    {"XR24, padded", DRM_FORMAT_XRGB8888, 70, 33, kPadded},
    {"AR24, odd", DRM_FORMAT_ARGB8888, 65, 47, {}},
    {"AB24", DRM_FORMAT_ABGR8888, 64, 48, {}},
    {"NV12", DRM_FORMAT_NV12, 64, 48, {}},
    {"NV12, padded", DRM_FORMAT_NV12, 66, 34, kPadded},
    {"NV12, two buffers", DRM_FORMAT_NV12, 64, 48, kApart},
    {"NV12, two padded buffers", DRM_FORMAT_NV12, 66, 34, kApartPadded},
    {"NV12, odd", DRM_FORMAT_NV12, 71, 45, {}},
    {"P010", DRM_FORMAT_P010, 64, 48, {}},
    {"P010, padded", DRM_FORMAT_P010, 66, 34, kPadded},
    {"P010, two buffers", DRM_FORMAT_P010, 64, 48, kApart},
    {"YU12, odd", DRM_FORMAT_YUV420, 71, 45, {}},
    {"YU12, three padded buffers", DRM_FORMAT_YUV420, 64, 48, kApartPadded},
};
constexpr int kRowCount = G_N_ELEMENTS(kRows);

constexpr GstDrmAllocatorKind kKinds[] = {GST_DRM_ALLOCATOR_KIND_UDMABUF,
                                          GST_DRM_ALLOCATOR_KIND_DMA_HEAP};

struct Colors {
  const char *name;
  YuvMatrix matrix;
  ColorHints hints;
};

constexpr Colors kColors[] = {
    {"601 narrow", {0.299, 0.114, false}, {EGL_ITU_REC601_EXT, EGL_YUV_NARROW_RANGE_EXT, 0, 0}},
    {"601 full", {0.299, 0.114, true}, {EGL_ITU_REC601_EXT, EGL_YUV_FULL_RANGE_EXT, 0, 0}},
    {"709 narrow", {0.2126, 0.0722, false}, {EGL_ITU_REC709_EXT, EGL_YUV_NARROW_RANGE_EXT, 0, 0}},
    {"709 full",
     {0.2126, 0.0722, true},
     {EGL_ITU_REC709_EXT, EGL_YUV_FULL_RANGE_EXT, EGL_YUV_CHROMA_SITING_0_EXT,
      EGL_YUV_CHROMA_SITING_0_5_EXT}},
};

// Of 255. Mesa takes the 10 bits of P010 for the upper ones of 16, so that white in narrow range is
// 60160 / 65535 instead of 235 / 255. Measured on 26.1: up to 2.12 from what BT.709 says.
double tolerance_of(std::uint32_t fourcc)
{
  if (!fourcc_is_yuv(fourcc))
    return 1e-4;
  return fourcc == DRM_FORMAT_P010 ? 2.2 : 1.0;
}

// In every colour space that the format can have.
void check_pixels(PatternFrame &frame, const char *name)
{
  const bool is_yuv = fourcc_is_yuv(frame.layout().format.fourcc);
  unsigned seed = 1;
  for (const Colors &colors : kColors) {
    const auto imported = import(frame.layout(), Shape::OneImage, colors.hints);
    fail_unless_equals_int(imported->textures.size(), 1);
    // written after the import: the texture is the buffer, and no copy of it
    frame.fill(seed++);
    const Difference found =
        difference(setup.sampler->read(imported->textures[0]), frame, colors.matrix);
    say(std::string(name) + ", " + (is_yuv ? colors.name : "RGB") + ": " +
        std::to_string(found.compared) + " values, largest difference " +
        std::to_string(found.largest));
    fail_unless(found.largest <= tolerance_of(frame.layout().format.fourcc));
    fail_unless(found.compared > frame.layout().width * frame.layout().height / 2);
    if (!is_yuv)
      break;
  }
}

GST_START_TEST(test_pixels)
{
  const Row &row = kRows[__i__ / 2];
  PatternFrame frame(kKinds[__i__ % 2], row.fourcc, row.width, row.height, row.placement);
  if (imports(frame.layout()))
    check_pixels(frame, row.name);
}
GST_END_TEST

void check_plane(const PatternFrame &frame, std::size_t plane, const egl::Texture &texture)
{
  const FrameLayout &layout = frame.layout();
  const unsigned components = layout.n_planes == 2 && plane == 1 ? 2 : 1;
  fail_unless_equals_int(texture.width(), plane == 0 ? layout.width : (layout.width + 1) / 2);
  fail_unless_equals_int(texture.height(), plane == 0 ? layout.height : (layout.height + 1) / 2);
  fail_unless(texture.target() == egl::Target::Texture2D);
  const double maximum = frame.is_wide() ? 65535 : 255;
  const std::vector<float> seen = setup.sampler->read(texture);
  for (std::uint32_t y = 0; y < texture.height(); y++) {
    for (std::uint32_t x = 0; x < texture.width(); x++) {
      for (unsigned c = 0; c < components; c++) {
        const double value = maximum * seen[4 * (std::size_t{y} * texture.width() + x) + c];
        const unsigned expected = frame.stored(plane, x, y, c);
        if (std::lround(value) != expected)
          ck_abort_msg("plane %zu at %u,%u: %f instead of %u", plane, x, y, value, expected);
      }
    }
  }
}

GST_START_TEST(test_planes)
{
  const Row &row = kRows[__i__ / 2];
  PatternFrame frame(kKinds[__i__ % 2], row.fourcc, row.width, row.height, row.placement);
  if (!imports(frame.layout()))
    return;
  if (!fourcc_is_yuv(row.fourcc)) {
    const auto refused = egl::import_frame(setup.device, frame.layout(), Shape::PerPlane, {});
    fail_unless(!refused && refused.error().code == ErrorCode::Unsupported);
    return;
  }
  const auto imported = import(frame.layout(), Shape::PerPlane);
  frame.fill(5);
  fail_unless_equals_int(imported->textures.size(), frame.layout().n_planes);
  for (std::size_t p = 0; p < imported->textures.size(); p++)
    check_plane(frame, p, imported->textures[p]);
}
GST_END_TEST

struct Size {
  std::uint32_t width, height;
};
constexpr Size kThinSizes[] = {{1, 1}, {1, 7}, {7, 1}, {1, 64}, {3, 3}};

// No driver may crash, whether it imports a frame with less than one sample of chroma or not.
GST_START_TEST(test_thin)
{
  const Size size = kThinSizes[__i__];
  for (const std::uint32_t fourcc : {DRM_FORMAT_XRGB8888, DRM_FORMAT_NV12, DRM_FORMAT_YUV420}) {
    PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, fourcc, size.width, size.height, {});
    frame.fill(3);
    if (!imports(frame.layout()))
      continue;
    for (const Shape shape : {Shape::OneImage, Shape::PerPlane}) {
      const auto imported = egl::import_frame(setup.device, frame.layout(), shape, {});
      if (!imported) {
        say(imported.error().message);
        continue;
      }
      for (const egl::Texture &texture : (*imported)->textures)
        (void)setup.sampler->read(texture);
    }
  }
}
GST_END_TEST

// The same on the other platform that has no window.
GST_START_TEST(test_gbm)
{
  close_device();
  open_device(EglPlatform::Gbm);
  for (const Row &row : kRows) {
    PatternFrame frame(GST_DRM_ALLOCATOR_KIND_DMA_HEAP, row.fourcc, row.width, row.height,
                       row.placement);
    if (imports(frame.layout()))
      check_pixels(frame, row.name);
  }
  close_device();
  open_device(EglPlatform::Surfaceless);
}
GST_END_TEST

void open_surfaceless()
{
  open_device(EglPlatform::Surfaceless);
}

Suite *egl_import_suite()
{
  Suite *suite = suite_create("egl_import");
  TCase *tcase = tcase_create("import");
  tcase_set_timeout(tcase, 0);
  tcase_add_unchecked_fixture(tcase, open_surfaceless, close_device);
  tcase_add_loop_test(tcase, test_pixels, 0, 2 * kRowCount);
  tcase_add_loop_test(tcase, test_planes, 0, 2 * kRowCount);
  tcase_add_loop_test(tcase, test_thin, 0, G_N_ELEMENTS(kThinSizes));
  add_import_edges(tcase);
  tcase_add_test(tcase, test_gbm);
  suite_add_tcase(suite, tcase);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(egl_import)

// SPDX-License-Identifier: LGPL-2.1-or-later
// What the driver is asked for each shape of frame, word by word.
#include <drm_fourcc.h>

#include "egl_frames.hpp"

namespace gstdrm::egl {
namespace {

using test::MemfdFrame;

class ImageLists : public test::WithDevice {};

// The list that the driver got last, with EGL_NONE at its end.
std::vector<EGLint> given;
PFNEGLCREATEIMAGEKHRPROC to_driver = nullptr;

EGLImageKHR EGLAPIENTRY record(EGLDisplay display, EGLContext context, EGLenum target,
                               EGLClientBuffer buffer, const EGLint *attributes)
{
  const EGLint *end = attributes;
  while (*end != EGL_NONE)
    end += 2;
  given.assign(attributes, end + 1);
  return to_driver(display, context, target, buffer, attributes);
}

// Stand for the descriptors of the memfds.
constexpr EGLint kFd0 = 1000001, kFd1 = 1000002, kFd2 = 1000003, kFd3 = 1000004;

EGLint number(std::uint32_t value)
{
  return static_cast<EGLint>(value);
}

struct ListRow {
  const char *name;
  Format format;
  std::uint32_t width, height;
  std::vector<PlaneLayout> planes;
  std::vector<std::size_t> objects;
  ColorHints hints;
  std::vector<EGLint> list;
};

PlaneLayout plane(std::uint64_t offset, std::uint32_t stride)
{
  return {-1, offset, stride, {}};
}

constexpr std::uint64_t kAmd = 0x0200000018601b04;      // of amd-navi31.txt
constexpr std::uint64_t kHighBits = 0x8200000098601b04; // both halves are below 0 as EGLint
constexpr std::uint64_t kRgbCompressed = I915_FORMAT_MOD_Y_TILED_CCS;
constexpr std::uint64_t kYuvCompressed = I915_FORMAT_MOD_Y_TILED_GEN12_MC_CCS;
constexpr ColorHints kAllHints = {EGL_ITU_REC709_EXT, EGL_YUV_NARROW_RANGE_EXT,
                                  EGL_YUV_CHROMA_SITING_0_EXT, EGL_YUV_CHROMA_SITING_0_5_EXT};

std::vector<ListRow> list_rows()
{
  const EGLint xr24 = number(DRM_FORMAT_XRGB8888);
  const EGLint nv12 = number(DRM_FORMAT_NV12);
  return {
      {"one plane, linear",
       {DRM_FORMAT_XRGB8888, kModLinear},
       64,
       48,
       {plane(0, 256)},
       {0},
       {},
       {EGL_WIDTH, 64, EGL_HEIGHT, 48, EGL_LINUX_DRM_FOURCC_EXT, xr24, EGL_DMA_BUF_PLANE0_FD_EXT,
        kFd0, EGL_DMA_BUF_PLANE0_OFFSET_EXT, 0, EGL_DMA_BUF_PLANE0_PITCH_EXT, 256,
        EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT, 0, EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT, 0, EGL_NONE}},
      {"one plane, implicit: the modifier alone is left out",
       {DRM_FORMAT_XRGB8888, kModImplicit},
       64,
       48,
       {plane(4096, 512)},
       {0},
       {},
       {EGL_WIDTH, 64, EGL_HEIGHT, 48, EGL_LINUX_DRM_FOURCC_EXT, xr24, EGL_DMA_BUF_PLANE0_FD_EXT,
        kFd0, EGL_DMA_BUF_PLANE0_OFFSET_EXT, 4096, EGL_DMA_BUF_PLANE0_PITCH_EXT, 512, EGL_NONE}},
      {"hints are for YUV",
       {DRM_FORMAT_XRGB8888, kHighBits},
       64,
       48,
       {plane(0, 256)},
       {0},
       kAllHints,
       {EGL_WIDTH, 64, EGL_HEIGHT, 48, EGL_LINUX_DRM_FOURCC_EXT, xr24, EGL_DMA_BUF_PLANE0_FD_EXT,
        kFd0, EGL_DMA_BUF_PLANE0_OFFSET_EXT, 0, EGL_DMA_BUF_PLANE0_PITCH_EXT, 256,
        EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT, number(0x98601b04), EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT,
        number(0x82000000), EGL_NONE}},
      {"two planes in one buffer",
       {DRM_FORMAT_NV12, kModLinear},
       64,
       48,
       {plane(0, 64), plane(3072, 64)},
       {0, 0},
       kAllHints,
       {EGL_WIDTH,
        64,
        EGL_HEIGHT,
        48,
        EGL_LINUX_DRM_FOURCC_EXT,
        nv12,
        EGL_DMA_BUF_PLANE0_FD_EXT,
        kFd0,
        EGL_DMA_BUF_PLANE0_OFFSET_EXT,
        0,
        EGL_DMA_BUF_PLANE0_PITCH_EXT,
        64,
        EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT,
        0,
        EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT,
        0,
        EGL_DMA_BUF_PLANE1_FD_EXT,
        kFd0,
        EGL_DMA_BUF_PLANE1_OFFSET_EXT,
        3072,
        EGL_DMA_BUF_PLANE1_PITCH_EXT,
        64,
        EGL_DMA_BUF_PLANE1_MODIFIER_LO_EXT,
        0,
        EGL_DMA_BUF_PLANE1_MODIFIER_HI_EXT,
        0,
        EGL_YUV_COLOR_SPACE_HINT_EXT,
        EGL_ITU_REC709_EXT,
        EGL_SAMPLE_RANGE_HINT_EXT,
        EGL_YUV_NARROW_RANGE_EXT,
        EGL_YUV_CHROMA_HORIZONTAL_SITING_HINT_EXT,
        EGL_YUV_CHROMA_SITING_0_EXT,
        EGL_YUV_CHROMA_VERTICAL_SITING_HINT_EXT,
        EGL_YUV_CHROMA_SITING_0_5_EXT,
        EGL_NONE}},
      {"two buffers, a hint alone",
       {DRM_FORMAT_NV12, kAmd},
       64,
       48,
       {plane(0, 256), plane(8192, 256)},
       {1, 0},
       {0, EGL_YUV_FULL_RANGE_EXT, 0, 0},
       {EGL_WIDTH,
        64,
        EGL_HEIGHT,
        48,
        EGL_LINUX_DRM_FOURCC_EXT,
        nv12,
        EGL_DMA_BUF_PLANE0_FD_EXT,
        kFd1,
        EGL_DMA_BUF_PLANE0_OFFSET_EXT,
        0,
        EGL_DMA_BUF_PLANE0_PITCH_EXT,
        256,
        EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT,
        0x18601b04,
        EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT,
        0x02000000,
        EGL_DMA_BUF_PLANE1_FD_EXT,
        kFd0,
        EGL_DMA_BUF_PLANE1_OFFSET_EXT,
        8192,
        EGL_DMA_BUF_PLANE1_PITCH_EXT,
        256,
        EGL_DMA_BUF_PLANE1_MODIFIER_LO_EXT,
        0x18601b04,
        EGL_DMA_BUF_PLANE1_MODIFIER_HI_EXT,
        0x02000000,
        EGL_SAMPLE_RANGE_HINT_EXT,
        EGL_YUV_FULL_RANGE_EXT,
        EGL_NONE}},
      {"pixels and their compression",
       {DRM_FORMAT_XRGB8888, kRgbCompressed},
       64,
       48,
       {plane(0, 512), plane(65536, 128)},
       {0, 0},
       {},
       {EGL_WIDTH,
        64,
        EGL_HEIGHT,
        48,
        EGL_LINUX_DRM_FOURCC_EXT,
        xr24,
        EGL_DMA_BUF_PLANE0_FD_EXT,
        kFd0,
        EGL_DMA_BUF_PLANE0_OFFSET_EXT,
        0,
        EGL_DMA_BUF_PLANE0_PITCH_EXT,
        512,
        EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT,
        4,
        EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT,
        0x01000000,
        EGL_DMA_BUF_PLANE1_FD_EXT,
        kFd0,
        EGL_DMA_BUF_PLANE1_OFFSET_EXT,
        65536,
        EGL_DMA_BUF_PLANE1_PITCH_EXT,
        128,
        EGL_DMA_BUF_PLANE1_MODIFIER_LO_EXT,
        4,
        EGL_DMA_BUF_PLANE1_MODIFIER_HI_EXT,
        0x01000000,
        EGL_NONE}},
      {"three planes in three buffers",
       {DRM_FORMAT_YUV420, kModImplicit},
       65,
       47,
       {plane(0, 65), plane(16, 33), plane(32, 34)},
       {0, 1, 2},
       {EGL_ITU_REC601_EXT, 0, 0, 0},
       {EGL_WIDTH,
        65,
        EGL_HEIGHT,
        47,
        EGL_LINUX_DRM_FOURCC_EXT,
        number(DRM_FORMAT_YUV420),
        EGL_DMA_BUF_PLANE0_FD_EXT,
        kFd0,
        EGL_DMA_BUF_PLANE0_OFFSET_EXT,
        0,
        EGL_DMA_BUF_PLANE0_PITCH_EXT,
        65,
        EGL_DMA_BUF_PLANE1_FD_EXT,
        kFd1,
        EGL_DMA_BUF_PLANE1_OFFSET_EXT,
        16,
        EGL_DMA_BUF_PLANE1_PITCH_EXT,
        33,
        EGL_DMA_BUF_PLANE2_FD_EXT,
        kFd2,
        EGL_DMA_BUF_PLANE2_OFFSET_EXT,
        32,
        EGL_DMA_BUF_PLANE2_PITCH_EXT,
        34,
        EGL_YUV_COLOR_SPACE_HINT_EXT,
        EGL_ITU_REC601_EXT,
        EGL_NONE}},
      {"four planes in four buffers",
       {DRM_FORMAT_NV12, kYuvCompressed},
       64,
       48,
       {plane(0, 128), plane(0, 64), plane(0, 128), plane(64, 64)},
       {0, 1, 2, 3},
       {},
       {EGL_WIDTH,
        64,
        EGL_HEIGHT,
        48,
        EGL_LINUX_DRM_FOURCC_EXT,
        nv12,
        EGL_DMA_BUF_PLANE0_FD_EXT,
        kFd0,
        EGL_DMA_BUF_PLANE0_OFFSET_EXT,
        0,
        EGL_DMA_BUF_PLANE0_PITCH_EXT,
        128,
        EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT,
        7,
        EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT,
        0x01000000,
        EGL_DMA_BUF_PLANE1_FD_EXT,
        kFd1,
        EGL_DMA_BUF_PLANE1_OFFSET_EXT,
        0,
        EGL_DMA_BUF_PLANE1_PITCH_EXT,
        64,
        EGL_DMA_BUF_PLANE1_MODIFIER_LO_EXT,
        7,
        EGL_DMA_BUF_PLANE1_MODIFIER_HI_EXT,
        0x01000000,
        EGL_DMA_BUF_PLANE2_FD_EXT,
        kFd2,
        EGL_DMA_BUF_PLANE2_OFFSET_EXT,
        0,
        EGL_DMA_BUF_PLANE2_PITCH_EXT,
        128,
        EGL_DMA_BUF_PLANE2_MODIFIER_LO_EXT,
        7,
        EGL_DMA_BUF_PLANE2_MODIFIER_HI_EXT,
        0x01000000,
        EGL_DMA_BUF_PLANE3_FD_EXT,
        kFd3,
        EGL_DMA_BUF_PLANE3_OFFSET_EXT,
        64,
        EGL_DMA_BUF_PLANE3_PITCH_EXT,
        64,
        EGL_DMA_BUF_PLANE3_MODIFIER_LO_EXT,
        7,
        EGL_DMA_BUF_PLANE3_MODIFIER_HI_EXT,
        0x01000000,
        EGL_NONE}},
      {"SAND columns, which displays list without the height of a frame's",
       {DRM_FORMAT_NV12, DRM_FORMAT_MOD_BROADCOM_SAND128_COL_HEIGHT(1632)},
       128,
       1088,
       {plane(0, 128), plane(std::uint64_t{128} * 1088, 128)},
       {0, 0},
       {},
       {EGL_WIDTH, 128, EGL_HEIGHT, 1088, EGL_LINUX_DRM_FOURCC_EXT, nv12, EGL_DMA_BUF_PLANE0_FD_EXT,
        kFd0, EGL_DMA_BUF_PLANE0_OFFSET_EXT, 0, EGL_DMA_BUF_PLANE0_PITCH_EXT, 128,
        EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT, 0x66004, EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT, 0x07000000,
        EGL_DMA_BUF_PLANE1_FD_EXT, kFd0, EGL_DMA_BUF_PLANE1_OFFSET_EXT, 128 * 1088,
        EGL_DMA_BUF_PLANE1_PITCH_EXT, 128, EGL_DMA_BUF_PLANE1_MODIFIER_LO_EXT, 0x66004,
        EGL_DMA_BUF_PLANE1_MODIFIER_HI_EXT, 0x07000000, EGL_NONE}},
  };
}

// As drivers list it.
std::uint64_t listed(std::uint64_t modifier)
{
  return modifier >> 56 == DRM_FORMAT_MOD_VENDOR_BROADCOM ? fourcc_mod_broadcom_mod(modifier)
                                                          : modifier;
}

TEST_F(ImageLists, AttributeLists)
{
  for (ListRow &row : list_rows()) {
    driver_.formats = {{row.format.fourcc, {}}};
    if (row.format.modifier != kModImplicit)
      driver_.formats[0].modifiers = {{listed(row.format.modifier), true}};
    Calls calls = driver_.calls();
    to_driver = calls.egl.create_image;
    calls.egl.create_image = record;
    const auto device = Device::open(calls, driver_.display());
    ASSERT_TRUE(device) << device.error().message;
    const MemfdFrame frame(row.format, row.width, row.height, row.planes, row.objects);
    for (EGLint &value : row.list)
      if (value >= kFd0 && value <= kFd3)
        value = frame.memory[static_cast<std::size_t>(value - kFd0)].get();
    given.clear();
    driver_.forget_calls();
    {
      const auto imported = import_frame(*device, frame.layout, Shape::OneImage, row.hints);
      EXPECT_TRUE(imported) << row.name << ": " << imported.error().message;
      EXPECT_EQ(given, row.list) << row.name;
      EXPECT_EQ(driver_.calls_of("eglCreateImageKHR"), 1U) << row.name;
      EXPECT_EQ(driver_.live_images(), 1U);
    }
    EXPECT_EQ(driver_.alive(), 0U) << row.name;
  }
}

} // namespace
} // namespace gstdrm::egl

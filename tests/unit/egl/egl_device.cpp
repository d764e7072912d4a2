// SPDX-License-Identifier: LGPL-2.1-or-later
// What a device says of itself, and which drivers import nothing.
#include "engine/egl_device.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/drm_facts.hpp"
#include "open_device.hpp"

namespace gstdrm::egl {
namespace {

using test::FakeEgl;
using test::open_device;

struct StringsRow {
  const char *renderer;
  const char *version;
  bool is_gles;
  bool is_software;
  unsigned major;
  unsigned minor;
};

// As drivers print them.
const StringsRow kStrings[] = {
    {"llvmpipe (LLVM 15.0.6, 256 bits)", "OpenGL ES 3.2 Mesa 22.3.6", true, true, 22, 3},
    {"llvmpipe (LLVM 19.1.7, 256 bits)", "4.5 (Compatibility Profile) Mesa 25.0.7-2", false, true,
     25, 0},
    {"llvmpipe (LLVM 21.1.8, 256 bits)", "OpenGL ES 3.2 Mesa 26.1.6-1~bpo13+1", true, true, 26, 1},
    {"softpipe", "OpenGL ES 3.1 Mesa 23.0.0-devel (git-0123456789)", true, true, 23, 0},
    {"Software Rasterizer", "2.1 Mesa 20.3.5", false, true, 20, 3},
    {"zink Vulkan 1.3(llvmpipe (LLVM 15.0.6, 256 bits) (MESA_LLVMPIPE))",
     "OpenGL ES 3.2 Mesa 24.1.0", true, true, 24, 1},
    {"zink Vulkan 1.4(AMD Radeon RX 7900 XTX (RADV NAVI31) (MESA_RADV))",
     "OpenGL ES 3.2 Mesa 25.2.0", true, false, 25, 2},
    {"virgl (LLVMPIPE (LLVM 15.0.6, 256 bits))", "OpenGL ES 3.2 Mesa 22.3.6", true, false, 22, 3},
    {"AMD Radeon RX 7900 XTX (radeonsi, navi31, ACO)", "OpenGL ES 3.2 Mesa 26.1.6", true, false, 26,
     1},
    {"NVIDIA H200/PCIe/SSE2", "OpenGL ES 3.2 NVIDIA 570.86.15", true, false, 0, 0},
    {"Mali-G52", "OpenGL ES 3.2 v1.g13p0-01eac0.0fd2effaec483a5f4c440d2ffa25eb7a", true, false, 0,
     0},
    {"llvmpipe (LLVM 15.0.6, 256 bits)", "OpenGL ES 3.2 Mesa", true, true, 0, 0},
    {"llvmpipe (LLVM 15.0.6, 256 bits)", "OpenGL ES 3.2 Mesa x.y", true, true, 0, 0},
    {"llvmpipe (LLVM 15.0.6, 256 bits)", "OpenGL ES 3.2 Mesa 99999999999.1", true, true, 0, 1},
    {"llvmpipe (LLVM 15.0.6, 256 bits)", "OpenGL ES 3.2 Mesa 26", true, true, 26, 0},
    {"", "", false, false, 0, 0},
};

TEST(DriverStrings, AsDriversPrintThem)
{
  for (const StringsRow &row : kStrings) {
    Driver driver;
    driver.gl_renderer = row.renderer;
    driver.gl_version = row.version;
    driver.mesa_major = driver.mesa_minor = 7; // of another driver's strings
    read_driver_strings(driver);
    const std::string name = std::string(row.renderer) + ", " + row.version;
    EXPECT_EQ(driver.is_gles, row.is_gles) << name;
    EXPECT_EQ(driver.is_software, row.is_software) << name;
    EXPECT_EQ(driver.mesa_major, row.major) << name;
    EXPECT_EQ(driver.mesa_minor, row.minor) << name;
  }
}

TEST(DriverStrings, ForPeople)
{
  Driver driver;
  EXPECT_EQ(driver.describe(), "unknown renderer");
  driver.gl_renderer = "Mali-G52";
  driver.gl_version = "OpenGL ES 3.2 v1";
  EXPECT_EQ(driver.describe(), "Mali-G52, OpenGL ES 3.2 v1");
  driver.mesa_major = 22;
  driver.mesa_minor = 3;
  EXPECT_EQ(driver.describe(), "Mali-G52, Mesa 22.3");
}

struct RefusalRow {
  const char *name;
  void (*change)(FakeEgl &driver);
  const char *reason; // nullptr: it imports
};

void PrintTo(const RefusalRow &row, std::ostream *out)
{
  *out << row.name;
}

void be_llvmpipe(FakeEgl &driver, const char *version)
{
  driver.gl_renderer = "llvmpipe (LLVM 19.1.7, 256 bits)";
  driver.gl_version = version;
}

// As on a machine without nvidia-drm: the device has the extensions, and no node.
void be_nvidia(FakeEgl &driver, const char *renderer)
{
  driver.egl_vendor = "NVIDIA";
  driver.gl_renderer = renderer;
  driver.gl_version = "OpenGL ES 3.2 NVIDIA 580.159.04";
  driver.card_node.clear();
}

const RefusalRow kRefusals[] = {
    {"gpu", [](FakeEgl &) {}, nullptr},
    {"gpu_of_old_mesa", [](FakeEgl &driver) { driver.gl_version = "OpenGL ES 3.2 Mesa 18.0.0"; },
     nullptr},
    {"gpu_without_mesa", [](FakeEgl &driver) { driver.gl_version = "OpenGL ES 3.2 NVIDIA 570"; },
     nullptr},
    {"llvmpipe_26", [](FakeEgl &driver) { be_llvmpipe(driver, "OpenGL ES 3.2 Mesa 26.1.6"); },
     nullptr},
    {"llvmpipe_22", [](FakeEgl &driver) { be_llvmpipe(driver, "OpenGL ES 3.2 Mesa 22.3.6"); },
     "Mesa 22.3, imports no dma-buf: software rendering of Mesa before 26"},
    {"llvmpipe_25", [](FakeEgl &driver) { be_llvmpipe(driver, "OpenGL ES 3.2 Mesa 25.0.7"); },
     "crashes"},
    // a display of its own device, as without a surface: refused as well
    {"llvmpipe_25_without_a_node",
     [](FakeEgl &driver) {
       be_llvmpipe(driver, "OpenGL ES 3.2 Mesa 25.0.7");
       driver.device_extensions = "EGL_MESA_device_software";
     },
     "crashes"},
    {"llvmpipe_of_unknown_version", [](FakeEgl &driver) { be_llvmpipe(driver, "OpenGL ES 3.2"); },
     "crashes"},
    {"nvidia_without_nvidia_drm",
     [](FakeEgl &driver) { be_nvidia(driver, "NVIDIA H100 80GB HBM3/PCIe/SSE2"); },
     "load nvidia-drm"},
    {"nvidia_with_a_card",
     [](FakeEgl &driver) {
       be_nvidia(driver, "NVIDIA GeForce RTX 3080/PCIe/SSE2");
       driver.card_node = "/dev/null";
     },
     nullptr},
    {"nvidia_whose_device_nobody_tells",
     [](FakeEgl &driver) {
       be_nvidia(driver, "NVIDIA H100 80GB HBM3/PCIe/SSE2");
       driver.has_device = false;
     },
     nullptr},
    {"nvidia_whose_device_has_no_nodes",
     [](FakeEgl &driver) {
       be_nvidia(driver, "NVIDIA H100 80GB HBM3/PCIe/SSE2");
       driver.device_extensions = "EGL_NV_device_cuda";
     },
     nullptr},
    {"nvidia_tegra",
     [](FakeEgl &driver) { be_nvidia(driver, "NVIDIA Tegra Orin (nvgpu)/integrated"); }, nullptr},
    {"gpu_of_mesa_without_a_node", [](FakeEgl &driver) { driver.card_node.clear(); }, nullptr},
    {"no_import_extension", [](FakeEgl &driver) { driver.egl_extensions = "EGL_KHR_image_base"; },
     "EGL_EXT_image_dma_buf_import"},
    {"no_images",
     [](FakeEgl &driver) {
       driver.egl_extensions =
           "EGL_EXT_image_dma_buf_import EGL_EXT_image_dma_buf_import_modifiers";
     },
     "EGL_KHR_image_base"},
    {"no_image_function", [](FakeEgl &driver) { driver.missing = {"eglDestroyImageKHR"}; },
     "EGL_KHR_image_base"},
    {"no_images_as_textures", [](FakeEgl &driver) { driver.gl_extensions = "GL_OES_depth24"; },
     "GL_OES_EGL_image"},
    {"no_formats", [](FakeEgl &driver) { driver.formats.clear(); }, "lists no format"},
    {"formats_refused",
     [](FakeEgl &driver) { driver.fail("eglQueryDmaBufFormatsEXT", 1, EGL_NOT_INITIALIZED); },
     "EGL_NOT_INITIALIZED"},
};

class Refusal : public testing::TestWithParam<RefusalRow> {};

TEST_P(Refusal, InWords)
{
  const RefusalRow &row = GetParam();
  FakeEgl driver;
  driver.load_table("amd-navi31");
  row.change(driver);
  const auto device = open_device(driver);
  ASSERT_TRUE(device);
  const std::string &refusal = device->import_refusal();
  if (!row.reason) {
    EXPECT_EQ(refusal, "");
    EXPECT_GT(device->formats().all().size(), 0U);
    return;
  }
  EXPECT_NE(refusal.find(row.reason), std::string::npos) << refusal;
  EXPECT_TRUE(device->formats().all().empty());
  // whatever somebody asks of it, the driver is never reached
  const unsigned calls = driver.all_calls();
  FrameLayout layout;
  layout.format = {DRM_FORMAT_XRGB8888, kModLinear};
  layout.width = layout.height = 16;
  layout.n_planes = 1;
  const Result<void> checked = device->check_frame(layout);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(checked.error().message, refusal);
  EXPECT_EQ(driver.all_calls(), calls);
  EXPECT_EQ(driver.calls_of("eglCreateImageKHR"), 0U);
}

INSTANTIATE_TEST_SUITE_P(Rows, Refusal, testing::ValuesIn(kRefusals),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Device, Facts)
{
  FakeEgl driver;
  driver.load_table("amd-navi31");
  const auto device = open_device(driver);
  ASSERT_TRUE(device);
  EXPECT_EQ(device->display(), driver.display());
  EXPECT_EQ(device->driver().egl_vendor, "Fake");
  EXPECT_EQ(device->driver().egl_version, "1.5");
  EXPECT_EQ(device->driver().describe(), "Fake GPU, Mesa 26.1");
  EXPECT_EQ(device->max_texture_size(), 16384U);
  EXPECT_TRUE(device->has_external_textures());
  EXPECT_TRUE(device->has_native_fences());
  EXPECT_EQ(driver.alive(), 0U);
}

struct NodeRow {
  const char *name;
  void (*change)(FakeEgl &driver);
  const char *node;
  bool has_number;
};

// /dev/null and /dev/zero stand for nodes, as every machine has them.
TEST(Device, Node)
{
  const NodeRow rows[] = {
      {"render node first", [](FakeEgl &driver) { driver.render_node = "/dev/zero"; }, "/dev/zero",
       true},
      {"card alone", [](FakeEgl &) {}, "/dev/null", true},
      {"render node without its extension",
       [](FakeEgl &driver) {
         driver.render_node = "/dev/zero";
         driver.device_extensions = "EGL_EXT_device_drm";
       },
       "/dev/null", true},
      {"software device",
       [](FakeEgl &driver) { driver.device_extensions = "EGL_MESA_device_software"; }, "", false},
      {"no device", [](FakeEgl &driver) { driver.has_device = false; }, "", false},
      {"no query", [](FakeEgl &driver) { driver.client_extensions = "EGL_EXT_client_extensions"; },
       "", false},
      {"a query that fails",
       [](FakeEgl &driver) { driver.fail("eglQueryDisplayAttribEXT", 1, EGL_BAD_DISPLAY); }, "",
       false},
      {"device without extensions",
       [](FakeEgl &driver) { driver.fail("eglQueryDeviceStringEXT", 1, EGL_BAD_DEVICE_EXT); }, "",
       false},
      {"no such node", [](FakeEgl &driver) { driver.card_node = "/dev/dri/nowhere"; },
       "/dev/dri/nowhere", false},
      {"not a node", [](FakeEgl &driver) { driver.card_node = "/"; }, "/", false},
  };
  for (const NodeRow &row : rows) {
    FakeEgl driver;
    driver.load_table("llvmpipe");
    row.change(driver);
    const auto device = open_device(driver);
    ASSERT_TRUE(device);
    EXPECT_EQ(device->driver().node, row.node) << row.name;
    struct stat facts {};
    const std::uint64_t number =
        row.has_number && ::stat(row.node, &facts) == 0 ? facts.st_rdev : 0;
    EXPECT_EQ(device->driver().device, number) << row.name;
    EXPECT_EQ(device->import_refusal(), "") << row.name;
  }
}

TEST(Device, NoContext)
{
  FakeEgl driver;
  driver.has_context = false;
  const auto device = Device::open(driver.calls(), driver.display());
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::Unsupported);
  EXPECT_NE(device.error().message.find("play it again"), std::string::npos)
      << device.error().message;
  EXPECT_EQ(driver.calls_of("eglQueryDmaBufFormatsEXT"), 0U);
}

TEST(Device, NoTextureSize)
{
  for (const GLint size : {0, -1}) {
    FakeEgl driver;
    driver.max_texture_size = size;
    const auto device = Device::open(driver.calls(), driver.display());
    ASSERT_FALSE(device) << size;
    EXPECT_NE(device.error().message.find("update the GPU's driver"), std::string::npos)
        << device.error().message;
  }
}

// A loader finds a function for every name (libglvnd): the extension has the last word.
TEST(Device, FunctionsWithoutTheirExtension)
{
  FakeEgl driver;
  driver.load_table("llvmpipe");
  driver.egl_extensions = "EGL_KHR_image EGL_EXT_image_dma_buf_import";
  driver.client_extensions = "";
  driver.gl_extensions = "GL_OES_EGL_image";
  const auto device = open_device(driver);
  ASSERT_TRUE(device);
  EXPECT_NE(device->calls().egl.create_image, nullptr); // EGL_KHR_image is image_base and more
  EXPECT_EQ(device->calls().egl.query_formats, nullptr);
  EXPECT_EQ(device->calls().egl.query_modifiers, nullptr);
  EXPECT_EQ(device->calls().egl.create_sync, nullptr);
  EXPECT_EQ(device->calls().egl.wait_sync, nullptr);
  EXPECT_EQ(device->calls().egl.dup_native_fence_fd, nullptr);
  EXPECT_EQ(device->calls().egl.query_display_attrib, nullptr);
  EXPECT_FALSE(device->has_native_fences());
  EXPECT_FALSE(device->has_external_textures());
  EXPECT_EQ(device->formats().all().size(), 9U);
  EXPECT_EQ(device->import_refusal(), "");
}

// Each of the three makes the fences usable, and no two of them do.
TEST(Device, FencesNeedAllOfTheirExtensions)
{
  const std::string images = "EGL_KHR_image_base EGL_EXT_image_dma_buf_import ";
  for (const char *fences :
       {"EGL_KHR_fence_sync EGL_KHR_wait_sync", "EGL_KHR_fence_sync EGL_ANDROID_native_fence_sync",
        "EGL_KHR_wait_sync EGL_ANDROID_native_fence_sync"}) {
    FakeEgl driver;
    driver.egl_extensions = images + fences;
    const auto device = open_device(driver);
    ASSERT_TRUE(device);
    EXPECT_FALSE(device->has_native_fences()) << fences;
  }
}

// The list as one string is an error in core profiles, and the error would be somebody else's.
TEST(Device, ExtensionsOneByOne)
{
  FakeEgl driver;
  driver.load_table("llvmpipe");
  driver.gl_version = "4.5 (Core Profile) Mesa 26.1.6";
  const auto device = open_device(driver);
  ASSERT_TRUE(device);
  EXPECT_TRUE(device->has_external_textures());
  EXPECT_FALSE(device->driver().is_gles);
  EXPECT_EQ(driver.take_gl_error(), static_cast<unsigned>(GL_NO_ERROR));
}

// A driver that counts more than it has is not asked two thousand million times.
TEST(Device, FewerExtensionsThanCounted)
{
  for (const GLint error : {2147483000, -1000}) {
    FakeEgl driver;
    driver.load_table("llvmpipe");
    driver.extension_count_error = error;
    const auto device = open_device(driver);
    ASSERT_TRUE(device);
    EXPECT_EQ(device->has_external_textures(), error > 0);
    EXPECT_EQ(driver.calls_of("glGetStringi"), error > 0 ? 3U : 0U);
  }
}

TEST(Device, ExtensionsAsOneString)
{
  FakeEgl driver;
  driver.load_table("llvmpipe");
  driver.gl_version = "OpenGL ES 2.0 Mesa 26.1.6";
  driver.gl_extensions = "GL_OES_EGL_image GL_OES_EGL_image_external";
  const auto device = open_device(driver);
  ASSERT_TRUE(device);
  EXPECT_TRUE(device->has_external_textures());
  EXPECT_EQ(driver.calls_of("glGetStringi"), 0U);
  // functions of GL 3.0, which the loader found
  EXPECT_EQ(device->calls().gl.get_stringi, nullptr);
  EXPECT_EQ(device->calls().gl.bind_vertex_array, nullptr);
}

TEST(Device, VertexArraysBeforeGl3)
{
  FakeEgl driver;
  driver.load_table("llvmpipe");
  driver.gl_version = "2.1 Mesa 26.1.6";
  driver.gl_extensions += " GL_ARB_vertex_array_object";
  const auto device = open_device(driver);
  ASSERT_TRUE(device);
  EXPECT_NE(device->calls().gl.bind_vertex_array, nullptr);
}

} // namespace
} // namespace gstdrm::egl

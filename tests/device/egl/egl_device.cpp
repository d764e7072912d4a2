// SPDX-License-Identifier: LGPL-2.1-or-later
// The engine's device on Mesa's software drivers, without a display and on GBM: what it lists is
// what EGL lists, and what would crash the driver is refused before (docs/drivers.md).
#include "engine/egl_device.hpp"

#include <memory>
#include <string>
#include <vector>

#include <drm_fourcc.h>
#include <unistd.h>

#include "../kms/kms_raw_support.hpp"
#include "core/unique_fd.hpp"
#include "support/check_main.hpp"
#include "support/egl_context.hpp"
#include "support/gpu_table.hpp"

namespace {

using gstdrm::ErrorCode;
using gstdrm::Format;
using gstdrm::FormatSet;
using gstdrm::FrameLayout;
using gstdrm::Result;
using gstdrm::UniqueFd;
using gstdrm::egl::Device;
using gstdrm::test::EglContext;
using gstdrm::test::EglPlatform;

// The box has a card of vkms without a render node, and vgem with one.
struct DisplayRow {
  const char *name;
  EglPlatform platform;
  const char *driver; // of the card; nullptr: no card
};
const DisplayRow kDisplays[] = {
    {"surfaceless", EglPlatform::Surfaceless, nullptr},
    {"gbm on vkms", EglPlatform::Gbm, "vkms"},
    {"gbm on vgem", EglPlatform::Gbm, "vgem"},
};

// One display for all its cases: LLVM takes a second to start.
struct Opened {
  const char *name;
  std::unique_ptr<EglContext> context;
  std::shared_ptr<Device> device;

  [[nodiscard]] bool is_old() const { return device->driver().mesa_major < 26; }
};
std::unique_ptr<Opened> opened_now;

void open_display(const DisplayRow &row)
{
  gstdrm::test::EglOptions options;
  options.platform = row.platform;
  if (row.driver)
    options.node = gstdrm::test::card_of_driver(row.driver);
  std::string why_not;
  auto opened = std::make_unique<Opened>();
  opened->name = row.name;
  opened->context = EglContext::make(options, why_not);
  fail_unless(opened->context != nullptr, "%s: %s", row.name, why_not.c_str());
  const auto device = Device::open(opened->context->calls(), opened->context->display());
  fail_unless(!!device, "%s: %s", row.name, device ? "" : device.error().message.c_str());
  opened->device = *device;
  opened_now = std::move(opened);
}

template <int index> void open_one()
{
  open_display(kDisplays[index]);
}

void close_one()
{
  opened_now.reset();
}

std::string text(const FormatSet &set)
{
  std::string all;
  for (const Format format : set.pairs())
    all += gstdrm::describe_format(format) + "; ";
  return all;
}

GST_START_TEST(test_facts)
{
  const Opened &opened = *opened_now;
  const auto &driver = opened.device->driver();
  gstdrm::test::say(std::string(opened.name) + ": " + driver.describe() + ", node \"" +
                    driver.node + "\": " + opened.device->import_refusal());
  fail_unless(driver.is_software, "%s", driver.gl_renderer.c_str());
  fail_unless(driver.is_gles, "%s", driver.gl_version.c_str());
  fail_unless(driver.mesa_major >= 22, "%s", driver.gl_version.c_str());
  fail_unless_equals_string(driver.egl_vendor.c_str(), "Mesa Project");
  fail_unless(opened.device->max_texture_size() >= 4096);
  fail_unless(opened.device->has_external_textures());
  // Mesa's software drivers have native fences since 25.0
  fail_unless_equals_int(opened.device->has_native_fences(), driver.mesa_major >= 25);
  // on a card too, a software driver's EGL device is EGL_MESA_device_software
  fail_unless_equals_string(driver.node.c_str(), "");
  fail_unless(driver.device == 0);
}
GST_END_TEST

// Mesa before 26 crashes when it draws what another device made, so nothing is imported there.
GST_START_TEST(test_refusal)
{
  const Opened &opened = *opened_now;
  const std::string &refusal = opened.device->import_refusal();
  fail_unless(refusal.empty() != opened.is_old(), "%s: %s", opened.name, refusal.c_str());
  fail_unless(opened.device->formats().all().empty() == opened.is_old());
  if (!opened.is_old())
    return;
  fail_unless(refusal.find("crashes") != std::string::npos, "%s", refusal.c_str());
  fail_unless(refusal.find("update Mesa") != std::string::npos, "%s", refusal.c_str());
}
GST_END_TEST

// Every pair of the display with its flag, asked for here in EGL's own words. Mesa 22.3 lists no
// modifier for any format, and imports nothing on a display without a card.
// fail_unless_equals_string() would outlive a temporary text.
static void expect_same(const FormatSet &got, const FormatSet &expected)
{
  const std::string got_text = text(got), expected_text = text(expected);
  fail_unless_equals_string(got_text.c_str(), expected_text.c_str());
}

GST_START_TEST(test_formats_are_those_of_egl)
{
  const Opened &opened = *opened_now;
  const auto &egl = opened.context->calls().egl;
  const EGLDisplay display = opened.context->display();
  const auto formats = gstdrm::egl::query_formats(egl, display);
  if (!gstdrm::egl::names_in(egl.query_string(display, EGL_EXTENSIONS))
           .contains("EGL_EXT_image_dma_buf_import")) {
    fail_unless(!formats && formats.error().code == ErrorCode::Unsupported, "%s", opened.name);
    return;
  }
  std::vector<EGLint> fourccs(1000);
  EGLint count = 0;
  fail_unless(egl.query_formats(display, 1000, fourccs.data(), &count));
  fail_unless(count > 40, "%d formats", count);
  std::vector<Format> texture_2d;
  std::vector<Format> external_only;
  for (EGLint i = 0; i < count; ++i) {
    std::vector<EGLuint64KHR> modifiers(1000);
    std::vector<EGLBoolean> flags(1000);
    EGLint listed = 0;
    fail_unless(
        egl.query_modifiers(display, fourccs[i], 1000, modifiers.data(), flags.data(), &listed));
    const auto fourcc = static_cast<guint32>(fourccs[i]);
    for (EGLint j = 0; j < listed; ++j)
      (flags[j] ? external_only : texture_2d).push_back({fourcc, modifiers[j]});
    if (listed == 0)
      (gstdrm::fourcc_is_yuv(fourcc) ? external_only : texture_2d)
          .push_back({fourcc, gstdrm::kModImplicit});
  }
  fail_unless(!!formats, "%s", formats ? "" : formats.error().message.c_str());
  expect_same(formats->texture_2d, FormatSet::from_pairs(texture_2d));
  expect_same(formats->external_only, FormatSet::from_pairs(external_only));
  if (opened.is_old())
    return; // test_refusal
  fail_unless(opened.device->formats().texture_2d == formats->texture_2d);
  fail_unless(opened.device->formats().external_only == formats->external_only);
}
GST_END_TEST

// The recorded table is of Mesa 26.1.
GST_START_TEST(test_formats_are_those_of_the_table)
{
  const Opened &opened = *opened_now;
  const auto &driver = opened.device->driver();
  if (driver.mesa_major != 26 || driver.mesa_minor != 1) {
    gstdrm::test::say(driver.describe() + ": no table of this version");
    return;
  }
  FormatSet texture_2d;
  FormatSet external_only;
  for (const auto &row : gstdrm::test::load_gpu_rows("llvmpipe"))
    (row.external_only ? external_only : texture_2d).add(row.format);
  expect_same(opened.device->formats().texture_2d, texture_2d);
  expect_same(opened.device->formats().external_only, external_only);
}
GST_END_TEST

// A linear XR24 frame of 64x64 in a dma-buf.
struct Frame {
  explicit Frame(guint32 bytes = kBytes, guint32 height = kSize) : buffer(bytes)
  {
    layout.format = {DRM_FORMAT_XRGB8888, gstdrm::kModLinear};
    layout.width = kSize;
    layout.height = height;
    layout.n_planes = 1;
    layout.planes[0].fd = buffer.fd();
    layout.planes[0].stride_bytes = kStride;
    const auto object = gstdrm::query_object(buffer.fd());
    fail_unless(!!object);
    layout.planes[0].object = *object;
  }

  static constexpr guint32 kSize = 64, kStride = 256, kBytes = kStride * kSize;
  gstdrm::test::RawBuffer buffer;
  FrameLayout layout;
};

void expect_refused(const Device &device, const FrameLayout &layout, const char *why)
{
  const Result<void> checked = device.check_frame(layout);
  fail_unless(!checked, "%s: taken", why);
  fail_unless(checked.error().message.find(why) != std::string::npos, "%s",
              checked.error().message.c_str());
}

// Mesa 26.1 takes each of these, and then dies when it draws, or draws what is not there.
GST_START_TEST(test_frames_that_are_refused)
{
  const Opened &opened = *opened_now;
  const Device &device = *opened.device;
  if (opened.is_old()) {
    expect_refused(device, Frame().layout, "crashes");
    return;
  }
  const Result<void> checked = device.check_frame(Frame().layout);
  fail_unless(!!checked, "%s", checked ? "" : checked.error().message.c_str());

  expect_refused(device, Frame(Frame::kBytes - 4096).layout, "needs 16384 bytes");
  expect_refused(device, Frame(Frame::kBytes, Frame::kSize + 1).layout, "needs 16640 bytes");
  Frame shifted;
  shifted.layout.planes[0].offset_bytes = 4096;
  expect_refused(device, shifted.layout, "needs 20480 bytes");

  FrameLayout dead = shifted.layout;
  {
    const UniqueFd copy = UniqueFd::dup(shifted.buffer.fd());
    dead.planes[0].fd = copy.get();
  }
  expect_refused(device, dead, "cannot be used");
  int ends[2];
  fail_unless(::pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  dead.planes[0].fd = reader.get();
  expect_refused(device, dead, "neither a dma-buf nor a memfd");

  Frame tiled;
  tiled.layout.format.modifier = I915_FORMAT_MOD_X_TILED;
  expect_refused(device, tiled.layout, "not among the pairs");
  tiled.layout.format = {gstdrm::make_fourcc('Z', 'Z', 'Z', 'Z'), gstdrm::kModImplicit};
  expect_refused(device, tiled.layout, "not among the pairs");
  Frame large;
  large.layout.width = device.max_texture_size() + 1;
  expect_refused(device, large.layout, "larger than");
}
GST_END_TEST

void add_display(Suite *suite, int index, SFun open)
{
  TCase *tcase = tcase_create(kDisplays[index].name);
  suite_add_tcase(suite, tcase);
  tcase_add_unchecked_fixture(tcase, open, close_one);
  tcase_add_test(tcase, test_facts);
  tcase_add_test(tcase, test_refusal);
  tcase_add_test(tcase, test_formats_are_those_of_egl);
  tcase_add_test(tcase, test_formats_are_those_of_the_table);
  tcase_add_test(tcase, test_frames_that_are_refused);
}

Suite *egl_device_suite()
{
  Suite *suite = suite_create("EGL device");
  add_display(suite, 0, open_one<0>);
  add_display(suite, 1, open_one<1>);
  add_display(suite, 2, open_one<2>);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(egl_device)

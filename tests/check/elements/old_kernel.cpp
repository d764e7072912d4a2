// SPDX-License-Identifier: LGPL-2.1-or-later
// A kernel that lacks something is named once, on the terminal of gst-launch-1.0: boards of vendors
// have Linux 4.9 to 5.15.
#include <string>

#include <sys/utsname.h>

#include <gst/drm/gstdrm-private.hpp>

#include "support/check_main.hpp"

namespace {

using gstdrm::GstPtr;

std::string release;

// The texts of the info messages of an element that starts.
std::string start(const char *of_kernel)
{
  release = of_kernel;
  const auto element = GstPtr<GstElement>::adopt(
      GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make("dmabufupload", nullptr))));
  const auto bus = GstPtr<GstBus>::adopt(gst_bus_new());
  gst_element_set_bus(element.get(), bus.get());
  fail_unless_equals_int(gst_element_set_state(element.get(), GST_STATE_PAUSED),
                         GST_STATE_CHANGE_SUCCESS);
  std::string texts;
  while (GstMessage *message = gst_bus_pop_filtered(bus.get(), GST_MESSAGE_INFO)) {
    GError *error = nullptr;
    gst_message_parse_info(message, &error, nullptr);
    texts += error->message;
    g_error_free(error);
    gst_message_unref(message);
  }
  gst_element_set_state(element.get(), GST_STATE_NULL);
  gst_element_set_bus(element.get(), nullptr);
  return texts;
}

const struct {
  const char *release;
  const char *says;
} kKernels[] = {
    {"4.9.337-tegra", "Linux 4.9.337-tegra cannot tell one dma-buf from another (since Linux 5.3)"},
    {"5.2.21", "since Linux 5.3"},
    {"5.3.0-xilinx", "Linux 5.3.0-xilinx cannot hand a dma-buf's fence from one device to another "
                     "(since Linux 6.0)"},
    {"5.10.110-rockchip-rk3588", "since Linux 6.0"},
    {"5.19.17", "since Linux 6.0"},
    {"6.0.0", ""},
    {"6.1.0-13-amd64", ""},
    {"10.0", ""},
    {"5", ""},
    {"a kernel", ""},
    {"", ""},
};

GST_START_TEST(test_kernels)
{
  const auto &[kernel, says] = kKernels[__i__];
  std::string said = start("6.12");
  fail_unless_equals_string(said.c_str(), "");
  said = start(kernel);
  fail_unless(*says ? said.find(says) != said.npos : said.empty(), "%s", said.c_str());
  said = start(kernel); // once in a process
  fail_unless_equals_string(said.c_str(), "");
}
GST_END_TEST

Suite *old_kernel_suite()
{
  Suite *suite = suite_create("old-kernel");
  TCase *tcase = tcase_create("releases");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_kernels, 0, G_N_ELEMENTS(kKernels));
  return suite;
}

} // namespace

// In place of the C library's.
extern "C" [[gnu::visibility("default")]] int uname(struct utsname *system) noexcept
{
  *system = {};
  release.copy(system->release, sizeof(system->release) - 1);
  return 0;
}

GST_DRM_CHECK_MAIN(old_kernel)

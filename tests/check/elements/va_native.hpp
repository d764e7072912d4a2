// SPDX-License-Identifier: LGPL-2.1-or-later
// The VA elements on the test driver in the program's own process, on nodes of its own (support/fake_nodes.hpp): threads run
// in parallel here, which they never do in the box, and TSan sees them. Surfaces are memfds, which have no fences.
#pragma once

#include <filesystem>
#include <string>

#include <gst/gst.h>

#include "support/fake_nodes.hpp"

namespace gstdrm::test {

// What the driver of both nodes is like where a test says nothing else.
inline constexpr char kNativeDriver[] = "formats=NV12:BGRX,modifiers=linear:x-tiled,memory=memfd";

// renderD128 and renderD129. The plugin is probed anew, in this process, and leaves the registry of other programs alone.
class NativeNodes {
public:
  NativeNodes()
  {
    plug(128);
    plug(129);
    g_setenv("LIBVA_DRIVERS_PATH", GST_DRM_TEST_VA_DRIVER, TRUE);
    g_setenv("LIBVA_DRIVER_NAME", "gstdrmtest", TRUE);
    g_setenv("GST_DRM_VA_PROBE", "no", TRUE);
    g_setenv("GST_DRM_VA_TEST", kNativeDriver, TRUE);
    const std::string registry = nodes_.folder() + "/registry.bin";
    std::error_code none; // it is written then
    std::filesystem::copy_file(g_getenv("GST_REGISTRY_1_0") ? g_getenv("GST_REGISTRY_1_0") : "", registry, none);
    g_setenv("GST_REGISTRY_1_0", registry.c_str(), TRUE);
  }

private:
  FakeNodes nodes_;
};

} // namespace gstdrm::test

#define GST_DRM_VA_NATIVE_MAIN(name)                                                                                    \
  int main(int argc, char **argv)                                                                                      \
  {                                                                                                                    \
    const gstdrm::test::NativeNodes nodes;                                                                              \
    gst_check_init(&argc, &argv);                                                                                      \
    return gstdrm::test::run_suite(name##_suite());                                                                    \
  }

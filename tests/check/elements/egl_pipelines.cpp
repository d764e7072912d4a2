// SPDX-License-Identifier: LGPL-2.1-or-later
// Pipelines with OpenGL, one after the other, as an application makes one for each file that it
// plays. GStreamer ends the process's EGLDisplay with each pipeline's (eglTerminate()): whatever of
// a pipeline ends late takes OpenGL away from the next one. So nothing here keeps a display.
#include <string>

#include <gst/app/gstappsink.h>

#include "support/check_main.hpp"
#include "support/dmabuf_elements.hpp"
#include "support/no_display_server.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr int kPipelines = 30;

struct Row {
  const char *window; // GST_GL_WINDOW
  const char *elements;
};

constexpr const char *kUpload =
    "dmabufupload ! egldmabufupload ! video/x-raw(memory:GLMemory),format=RGBA";
constexpr const char *kCopy =
    "egldmabufupload mode=copy ! video/x-raw(memory:GLMemory),format=RGBA";
constexpr const char *kRoundTrip = "dmabufupload ! egldmabufupload ! egldmabufdownload";

const Row kRows[] = {
    {"egl-device", kUpload},  {"egl-device", kCopy},  {"egl-device", kRoundTrip},
    {"surfaceless", kUpload}, {"surfaceless", kCopy}, {"surfaceless", kRoundTrip},
};

bool has_surfaceless()
{
  guint major = 0;
  guint minor = 0;
  guint micro = 0;
  guint nano = 0;
  gst_version(&major, &minor, &micro, &nano);
  return major > 1 || minor >= 24;
}

std::string first_error(GstElement *pipeline)
{
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline));
  const auto message =
      GstPtr<GstMessage>::adopt(gst_bus_pop_filtered(bus.get(), GST_MESSAGE_ERROR));
  if (!message)
    return "no sample, and no error";
  g_autoptr(GError) error = nullptr;
  gst_message_parse_error(message.get(), &error, nullptr);
  return error->message;
}

GST_START_TEST(test_one_after_the_other)
{
  const Row &row = kRows[__i__];
  if (row.window == std::string("surfaceless") && !has_surfaceless())
    return;
  g_setenv("GST_GL_WINDOW", row.window, TRUE);
  const std::string description =
      std::string("videotestsrc ! video/x-raw,format=RGBA,width=64,height=48 ! ") + row.elements +
      " ! appsink name=out sync=false max-buffers=1";
  for (int i = 0; i < kPipelines; i++) {
    g_autoptr(GError) error = nullptr;
    auto pipeline = GstPtr<GstElement>::adopt(gst_parse_launch(description.c_str(), &error));
    fail_unless(pipeline && !error, "%s", error ? error->message : "");
    gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
    const auto sink =
        GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "out"));
    GstPtr<GstSample> sample;
    for (int n = 0; n < 3; n++) {
      sample = GstPtr<GstSample>::adopt(
          gst_app_sink_try_pull_sample(GST_APP_SINK(sink.get()), 20 * GST_SECOND));
      fail_unless(sample, "%s, pipeline %d: %s", row.window, i + 1,
                  sample ? "" : first_error(pipeline.get()).c_str());
    }
    sample.reset(); // one that outlives its pipeline ends GStreamer's display later, too
    gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  }
}
GST_END_TEST

Suite *egl_pipelines_suite()
{
  Suite *suite = suite_create("egl-pipelines");
  TCase *tcase = tcase_create("one after the other");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 240);
  tcase_add_loop_test(tcase, test_one_after_the_other, 0, G_N_ELEMENTS(kRows));
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  use_no_display_server();
  gst_check_init(&argc, &argv);
  return run_suite(egl_pipelines_suite());
}

// SPDX-License-Identifier: LGPL-2.1-or-later
// Failing pipelines of the elements that use a device: what is said, word for word, and that the pipeline runs once its advice is
// followed. Those of dmabufupload are in dmabuf_explain.cpp. Rows with Where::Box need a display or a GPU, and run in the box.
#include <cstring>
#include <string>
#include <vector>

#include "metis_line.hpp"
#include "support/dmabuf_elements.hpp"
#include "support/no_display_server.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

enum class Where { Here, Box };

struct Row {
  const char *element; // the factory of the element that fails, which is called up
  const char *name;
  std::string upstream; // caps of appsrc; empty: there is none
  std::string failing;  // behind it
  const char *filter;   // caps of the capsfilter called f, set when all is linked; nullptr: none
  // a GPatternSpec: "*" stands for what depends on the version of GStreamer or on the kernel's numbers
  const char *text;
  const char *miss; // the field `nearest-miss`
  std::string fixed;
  Where where;
};

const std::string kNv12 = plain_caps("NV12", 64, 48);
constexpr const char *kP210 = "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=P210";

const std::vector<Row> &rows()
{
  static const std::vector<Row> table = {
      {"egldmabufupload", "no textures behind it", plain_caps("BGRx", 64, 48), "egldmabufupload name=up ! capsfilter name=f ! fakesink", "video/x-raw, format=I420",
       "up finds nothing in common. appsrc (appsrc) has plain BGRx in 64x48. f (capsfilter) allows plain I420 (memory:GLMemory against system memory). Put glcolorconvert after it, or gldownload where downstream does not use OpenGL. Or change the caps of f (capsfilter).",
       "memory:GLMemory against system memory", "egldmabufupload ! glcolorconvert ! gldownload ! video/x-raw,format=I420 ! fakesink", Where::Here},
#ifdef GST_DRM_TEST_CPU
      {"metisdmabufinfer", "another format behind it", kNv12, "metisdmabufinfer name=up backend=cpu model=MODEL ! capsfilter name=f ! fakesink", "video/x-raw, format=RGBA",
       "up finds nothing in common. appsrc (appsrc) has plain NV12 in 64x48. f (capsfilter) allows plain RGBA (no format in common). Put videoconvert before it. Or change the caps of f (capsfilter).",
       "no format in common", "videoconvert ! metisdmabufinfer backend=cpu model=MODEL ! video/x-raw,format=RGBA ! fakesink", Where::Here},
#endif
      {"kmsdmabufsink", "a format that no plane has", plain_caps("YUY2", 64, 48), "kmsdmabufsink name=up", nullptr,
       "up finds nothing in common. appsrc (appsrc) has plain YUY2 in 64x48. The display takes plain NV12, * more (no format in common). Convert to XR24 (LINEAR) upstream, for instance with videoconvert.",
       "no format in common", "videoconvert ! kmsdmabufsink", Where::Box},
      {"kmsdmabufsink", "a size that no plane has", plain_caps("NV12", 8192, 64), "kmsdmabufsink name=up", nullptr,
       "up finds nothing in common. appsrc (appsrc) has plain NV12 in 8192x64. The display takes plain NV12, * more (width 8192 against [ 10, 4096 ]). The display takes sizes from 10x10 to 4096x2160. Put videoscale before the sink.",
       "width 8192 against [ 10, 4096 ]", "videoscale ! kmsdmabufsink", Where::Box},
      {"vadmabufsrc", "a format that the driver does not make", "", "vadmabufsrc name=up num-buffers=1 ! capsfilter name=f ! fakesink", kP210,
       "/dev/dri/renderD128 (gst-drm test driver) and downstream have no format in common. The device makes DMA_DRM NV12; plain NV12. f (capsfilter) allows DMA_DRM P210 (no format in common). Put an element between them that converts, such as vadmabufconvert, or choose another device. Or change the caps of f (capsfilter).",
       "no format in common", "vadmabufsrc num-buffers=1 ! video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12 ! fakesink", Where::Box},
      {"vadmabufconvert", "a format that the driver does not make", kNv12, "vadmabufconvert name=up ! capsfilter name=f ! fakesink", kP210,
       "up finds nothing in common. appsrc (appsrc) has plain NV12 in 64x48. f (capsfilter) allows DMA_DRM P210 (no format in common). Let more formats through the capsfilters, or choose another device. Or change the caps of f (capsfilter).",
       "no format in common", "vadmabufconvert ! video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format={P210,NV12} ! fakesink", Where::Box},
  };
  return table;
}

bool runs(const Row &row)
{
  if ((g_getenv("GST_DRM_TEST_DEVICES") != nullptr) != (row.where == Where::Box))
    return false;
  const auto factory = GstPtr<GstElementFactory>::adopt(gst_element_factory_find(row.element));
  return static_cast<bool>(factory);
}

GstPtr<GstElement> parse(const Row &row, const std::string &behind)
{
  std::string launch = (row.upstream.empty() ? "" : "appsrc name=appsrc format=time ! ") + behind;
  if (const std::size_t at = launch.find("MODEL"); at != std::string::npos) // its file lives as long as this process
    launch.replace(at, 5, line::model_path());
  g_autoptr(GError) error = nullptr;
  auto pipeline = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(gst_parse_launch(launch.c_str(), &error))));
  fail_unless(error == nullptr, "%s: %s", launch.c_str(), error ? error->message : "");
  return pipeline;
}

// One frame, and the end.
void play(const Row &row, GstElement *pipeline)
{
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  if (row.upstream.empty())
    return;
  const auto source = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline), "appsrc"));
  g_object_set(source.get(), "caps", caps_of(row.upstream).get(), nullptr);
  GstFlowReturn flow = GST_FLOW_OK;
  GstBuffer *buffer = gst_buffer_new_allocate(nullptr, video_info(row.upstream).size, nullptr);
  GST_BUFFER_PTS(buffer) = 0;
  g_signal_emit_by_name(source.get(), "push-buffer", buffer, &flow);
  gst_buffer_unref(buffer);
  g_signal_emit_by_name(source.get(), "end-of-stream", &flow);
}

// The first error of the element called up.
GstPtr<GstMessage> error_of(const Row &row, GstElement *pipeline)
{
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline));
  for (;;) {
    auto message = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(bus.get(), 60 * GST_SECOND, GST_MESSAGE_ERROR));
    fail_unless(static_cast<bool>(message), "%s: no error", row.name);
    if (std::strcmp(GST_MESSAGE_SRC_NAME(message.get()), "up") == 0)
      return message;
  }
}

GST_START_TEST(test_advice_helps)
{
  const Row &row = rows()[static_cast<std::size_t>(__i__)];
  say(std::string(row.element) + ": " + row.name);
  if (!runs(row))
    return;
  if (row.where == Where::Box)
    g_setenv("GST_DRM_VA_TEST", "formats=NV12", TRUE);
  const auto pipeline = parse(row, row.failing);
  if (const auto filter = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "f")))
    g_object_set(filter.get(), "caps", caps_of(row.filter).get(), nullptr);
  play(row, pipeline.get());
  const auto message = error_of(row, pipeline.get());
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  g_autoptr(GError) error = nullptr;
  gst_message_parse_error(message.get(), &error, nullptr);
  const GstStructure *details = nullptr;
  gst_message_parse_error_details(message.get(), &details);
  say(error->message);
  fail_unless(details && gst_structure_has_name(details, "GstDrmMismatch"), "%s", error->message);
  say(gst_structure_get_string(details, "nearest-miss"));
  fail_unless(g_pattern_match_simple(row.text, error->message), "'%s'", error->message);
  fail_unless_equals_string(gst_structure_get_string(details, "nearest-miss"), row.miss);
  fail_unless(std::string(error->message).ends_with(gst_structure_get_string(details, "advice")), "%s", error->message);

  const auto fixed = parse(row, row.fixed);
  play(row, fixed.get());
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(fixed.get()));
  const auto end = GstPtr<GstMessage>::adopt(
      gst_bus_timed_pop_filtered(bus.get(), 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS)));
  fail_unless(end && GST_MESSAGE_TYPE(end.get()) == GST_MESSAGE_EOS, "%s does not run", row.fixed.c_str());
  gst_element_set_state(fixed.get(), GST_STATE_NULL);
}
GST_END_TEST

Suite *element_advice_suite()
{
  Suite *suite = suite_create("element advice");
  TCase *tcase = tcase_create("golden");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_advice_helps, 0, static_cast<int>(rows().size()));
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  gstdrm::test::use_no_display_server();
  gst_check_init(&argc, &argv);
  return gstdrm::test::run_suite(element_advice_suite());
}

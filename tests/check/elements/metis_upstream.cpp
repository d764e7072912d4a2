// SPDX-License-Identifier: LGPL-2.1-or-later
// What GStreamer's own elements see of metisdmabufinfer's results since 1.26: a GstTensorMeta, which
// ssdobjectdetector decodes, and since 1.28 tensors in the caps, which the decoders ask for.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <gst/drm/gstdrmtensormeta.h>

#include "support/analytics.hpp"
#include "support/constant_network.hpp"
#include "support/dmabuf_elements.hpp"
#include "support/tensor_texts.hpp"

namespace {

using gstdrm::GstPtr;
using gstdrm::test::check_text;
using gstdrm::test::ConstantNetwork;
using gstdrm::test::detections_of;
using gstdrm::test::dims_of;
using gstdrm::test::new_frame;
using gstdrm::test::plain_caps;
using gstdrm::test::ScratchFile;

constexpr int kWidth = 64;
constexpr int kHeight = 48;

// A harness around a line of elements.
class Line {
public:
  Line(const std::string &description, const std::string &caps)
      : h_(gst_harness_new_parse(description.c_str()))
  {
    fail_unless(h_ != nullptr, "%s", description.c_str());
    gst_harness_set_src_caps_str(h_, caps.c_str());
  }
  Line(const Line &) = delete;
  Line &operator=(const Line &) = delete;
  ~Line() { gst_harness_teardown(h_); }

  [[nodiscard]] GstPtr<GstBuffer> push(GstBuffer *input) const
  {
    fail_unless_equals_int(gst_harness_push(h_, input), GST_FLOW_OK);
    GstBuffer *output = gst_harness_pull(h_);
    fail_unless(output != nullptr, "no buffer");
    return GstPtr<GstBuffer>::adopt(output);
  }

private:
  GstHarness *h_;
};

// --- metisdmabufinfer ----------------------------------------------------------------------------

const char *const kModes[] = {"dmabuf", "system"};

GST_START_TEST(test_blazeface)
{
  const std::string model = std::string(g_getenv("GST_DRM_TEST_DATA")) + "/models/blazeface-short-128.onnx";
  const std::string caps = plain_caps("NV12", kWidth, kHeight);
  const Line line(std::string("metisdmabufinfer backend=cpu cpu-threads=1 output-buffer-mode=") + kModes[__i__] + " model=" + model, caps);
  const auto output = line.push(new_frame(caps));
  GstTensorMeta *meta = gst_buffer_get_tensor_meta(output.get());
  GstDrmTensorMeta *drm = gst_buffer_get_drm_tensor_meta(output.get(), nullptr);
  fail_unless(meta && drm);
  fail_unless_equals_int(static_cast<int>(meta->num_tensors), 2);
  const std::array<const char *, 2> ids{"blazeface-short-range-128-regressors", "blazeface-short-range-128-scores"};
  const std::array<const char *, 2> dims{"1x896x16", "1x896x1"};
  for (guint i = 0; i < 2; i++) {
    const GstTensor *tensor = gst_tensor_meta_get(meta, i);
    check_text(g_quark_to_string(tensor->id), ids[i]);
    check_text(dims_of(*tensor), dims[i]);
    const GstDrmTensor *same = gst_drm_tensor_meta_get_tensor(drm, i);
    fail_unless(gst_buffer_peek_memory(tensor->data, 0) == same->memory);
    gsize n_values = 0;
    g_autofree gfloat *values = gst_drm_tensor_meta_dup_float32(drm, i, GST_SECOND, &n_values, nullptr);
    fail_unless(values && gst_buffer_memcmp(tensor->data, 0, values, n_values * sizeof(gfloat)) == 0);
  }
}
GST_END_TEST

// --- decoders ------------------------------------------------------------------------------------

// GStreamer 1.28 has ssdtensordec in its place, which wants the tensors in the caps.
#if !GST_CHECK_VERSION(1, 28, 0)

constexpr const char *kSsdInfo = R"([modelinfo]
version=1.0
group-id=constant-ssd

[in]
dir=input
type=float32
dims=1,3,8,8

[boxes]
id=Gst.Model.ObjectDetector.Boxes
dir=output
dims=1,3,4

[scores]
id=Gst.Model.ObjectDetector.Scores
dir=output
dims=1,3

[classes]
id=Gst.Model.ObjectDetector.Classes
dir=output
dims=1,3

[count]
id=Gst.Model.ObjectDetector.NumDetections
dir=output
dims=1

[gst-drm]
layout=nchw
)";

// Two objects, and a third one that the count leaves out.
std::string ssd_network()
{
  ConstantNetwork network;
  network.give("boxes", {1, 3, 4}, {0.25F, 0.125F, 0.75F, 0.5F, 0, 0.5F, 0.25F, 0.75F, 0, 0, 0.5F, 0.5F});
  network.give("scores", {1, 3}, {0.875F, 0.5F, 0.75F});
  network.give("classes", {1, 3}, {1, 0, 1});
  network.give("count", {1}, {2});
  return network.file();
}

struct SsdRow {
  const char *name;
  const char *infer;    // properties
  const char *detector; // properties
  const char *labels;   // contents of the file; nullptr: none
  const char *expected;
};

const SsdRow kSsd[] = {
    {"without labels", "", "", nullptr, "- 88% 8 12 24 24; - 50% 32 0 16 12"},
    {"labels from 0 on", "", "", "cat\ndog\n", "dog 88% 8 12 24 24; cat 50% 32 0 16 12"},
    {"results in system memory", "output-buffer-mode=system", "", "cat\ndog\n", "dog 88% 8 12 24 24; cat 50% 32 0 16 12"},
    {"threshold", "", "score-threshold=0.75", "cat\ndog\n", "dog 88% 8 12 24 24"},
};

GST_START_TEST(test_ssd)
{
  const SsdRow &row = kSsd[__i__];
  gstdrm::test::say(row.name);
  const ScratchFile network(".onnx", ssd_network());
  const ScratchFile info(".onnx.modelinfo", kSsdInfo);
  const ScratchFile labels(".txt", row.labels ? row.labels : "");
  const std::string caps = plain_caps("NV12", kWidth, kHeight);
  std::string description = "metisdmabufinfer backend=cpu cpu-threads=1 model=" + network.path() + " " + row.infer;
  description += std::string(" ! ssdobjectdetector ") + row.detector;
  if (row.labels)
    description += " label-file=" + labels.path();
  const Line line(description, caps);
  for (guint i = 0; i < 3; i++)
    check_text(detections_of(line.push(new_frame(caps, i)).get()), row.expected);
}
GST_END_TEST

#else

constexpr const char *kHead = "[modelinfo]\nversion=1.0\n";
constexpr const char *kTail = "[in]\ndir=input\ntype=float32\ndims=1,3,48,64\n[gst-drm]\nlayout=nchw\n";

std::string output(const char *name, const char *id, const char *more = "")
{
  return std::string("[") + name + "]\nid=" + id + "\ndir=output\n" + more;
}

// A model, what it puts out, and how it is described.
struct Described {
  ConstantNetwork network{48, 64};
  std::string info = kHead;
};

// Two objects, and a third one that the count leaves out.
Described ssd(const char *group = "ssd-mobilenet-v1-variant-1-out")
{
  Described model;
  const std::string ids = "ssd-mobilenet-v1-variant-1-out-";
  model.network.give("boxes", {1, 3, 4}, {0.25F, 0.125F, 0.75F, 0.5F, 0, 0.5F, 0.25F, 0.75F, 0, 0, 0.5F, 0.5F});
  model.network.give("scores", {1, 3}, {0.875F, 0.5F, 0.75F});
  model.network.give("classes", {1, 3}, {2, 1, 1});
  model.network.give("count", {1}, {2});
  model.info += std::string("group-id=") + group + "\n" + output("boxes", (ids + "boxes").c_str()) +
                output("scores", (ids + "scores").c_str()) + output("classes", (ids + "classes").c_str()) +
                output("count", "generic-variant-1-out-count") + kTail;
  return model;
}

// Three candidates of two classes, in planes of x, y, width, height and the classes' scores; the third one's are low.
Described yolov8(const char *order = "dims-order=col-major\n")
{
  Described model;
  model.network.give("out", {1, 6, 3}, {20, 50, 20, 24, 12, 24, 12, 24, 12, 24, 8, 24, 0.875F, 0.25F, 0.125F, 0.125F, 0.5F, 0.25F});
  model.info += "group-id=yolo-v8-out\n" + output("out", "yolo-v8-out", order) + kTail;
  return model;
}

// Two candidates, the second of which is background.
Described ultralight()
{
  Described model;
  model.network.give("boxes", {1, 2, 4}, {0.25F, 0.25F, 0.75F, 0.5F, 0, 0, 0.5F, 0.5F});
  model.network.give("scores", {1, 2, 2}, {0.125F, 0.875F, 0.875F, 0.125F});
  model.info += "group-id=ultra-lightweight-face-detection-rfb-320-v1-variant-1-out\n" +
                output("boxes", "ssd-mobilenet-v1-variant-1-out-boxes") +
                output("scores", "ultra-lightweight-face-detection-rfb-320-v1-variant-1-out-scores") + kTail;
  return model;
}

struct DecoderRow {
  const char *name;
  Described (*model)();
  const char *line; // behind metisdmabufinfer; %L: a file of labels
  const char *expected;
};

const DecoderRow kDecoders[] = {
    {"SSD without labels", [] { return ssd(); }, "ssdtensordec", "- 88% 8 12 24 24; - 50% 32 0 16 12"},
    {"SSD with labels", [] { return ssd(); }, "ssdtensordec label-file=%L", "dog 88% 8 12 24 24; cat 50% 32 0 16 12"},
    {"SSD behind a queue", [] { return ssd(); }, "queue ! ssdtensordec", "- 88% 8 12 24 24; - 50% 32 0 16 12"},
    {"YOLOv8", [] { return yolov8(); }, "yolov8tensordec label-file=%L", "cat 88% 14 12 12 24; dog 50% 38 8 24 8"},
    {"ultra light faces", [] { return ultralight(); }, "ultralightfacedetectortensordec", "face 88% 16 12 32 12"},
    {"nobody asks for tensors", [] { return ssd(); }, "identity", ""},
    {"caps of anything", [] { return ssd(); }, "capsfilter caps=video/x-raw", ""},
    {"drawn", [] { return ssd(); }, "ssdtensordec ! objectdetectionoverlay", "- 88% 8 12 24 24; - 50% 32 0 16 12"},
};

std::string infer_with(const ScratchFile &network)
{
  return "metisdmabufinfer backend=cpu cpu-threads=1 model=" + network.path() + " ! ";
}

GST_START_TEST(test_decoders)
{
  const DecoderRow &row = kDecoders[__i__];
  gstdrm::test::say(row.name);
  const Described model = row.model();
  const ScratchFile network(".onnx", model.network.file());
  const ScratchFile info(".onnx.modelinfo", model.info);
  const ScratchFile labels(".txt", "cat\ndog\n");
  std::string line = row.line;
  if (const auto at = line.find("%L"); at != std::string::npos)
    line.replace(at, 2, labels.path());
  const std::string caps = plain_caps("RGBx", kWidth, kHeight);
  const Line elements(infer_with(network) + line, caps);
  for (guint i = 0; i < 3; i++)
  {
    const auto output = elements.push(new_frame(caps, i));
    check_text(detections_of(output.get()), row.expected);
    const auto same = GstPtr<GstBuffer>::adopt(new_frame(caps, i));
    GstMapInfo pixels;
    fail_unless(gst_buffer_map(same.get(), &pixels, GST_MAP_READ));
    const bool untouched = gst_buffer_memcmp(output.get(), 0, pixels.data, pixels.size) == 0;
    gst_buffer_unmap(same.get(), &pixels);
    fail_unless(untouched == (strstr(row.line, "objectdetectionoverlay") == nullptr));
  }
}
GST_END_TEST

struct RefusalRow {
  const char *name;
  Described (*model)();
  const char *decoder;
  std::vector<const char *> says;
};

const RefusalRow kRefusals[] = {
    {"another model's decoder", [] { return ssd(); }, "yolov8tensordec", {"yolo-v8-out", "ssd-mobilenet-v1-variant-1-out", "drmtensordecode"}},
    {"another group", [] { return ssd("street"); }, "ssdtensordec", {"gives street"}},
    {"another order", [] { return yolov8(""); }, "yolov8tensordec", {"yolo-v8-out", "description"}},
};

GST_START_TEST(test_refused)
{
  const RefusalRow &row = kRefusals[__i__];
  gstdrm::test::say(row.name);
  const Described model = row.model();
  const ScratchFile network(".onnx", model.network.file());
  const ScratchFile info(".onnx.modelinfo", model.info);
  const std::string description = "videotestsrc num-buffers=3 ! " + plain_caps("RGBx", kWidth, kHeight) + " ! " +
                                  infer_with(network) + row.decoder + " ! fakesink";
  GstElement *pipeline = gst_parse_launch(description.c_str(), nullptr);
  GstBus *bus = gst_element_get_bus(pipeline);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstMessage *message = gst_bus_timed_pop_filtered(bus, 30 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  fail_unless(message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR);
  GError *error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  gstdrm::test::say(error->message);
  for (const char *part : row.says)
    fail_unless(strstr(error->message, part) != nullptr, "'%s' does not say '%s'", error->message, part);
  g_error_free(error);
  gst_message_unref(message);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
}
GST_END_TEST

// What is in front of the element hears nothing of tensors.
GST_START_TEST(test_upstream_of_tensors)
{
  const Described model = ssd();
  const ScratchFile network(".onnx", model.network.file());
  const ScratchFile info(".onnx.modelinfo", model.info);
  GstHarness *h = gst_harness_new_parse((infer_with(network) + "ssdtensordec").c_str());
  gst_harness_play(h);
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(h->srcpad, nullptr));
  fail_if(gst_caps_is_empty(caps.get()) || gst_caps_is_any(caps.get()));
  for (guint i = 0; i < gst_caps_get_size(caps.get()); i++)
    fail_if(gst_structure_has_field(gst_caps_get_structure(caps.get(), i), "tensors"));
  gst_harness_teardown(h);
}
GST_END_TEST

#endif

Suite *metis_upstream_suite()
{
  Suite *suite = suite_create("metis-upstream");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_blazeface, 0, G_N_ELEMENTS(kModes));
#if GST_CHECK_VERSION(1, 28, 0)
  tcase_add_loop_test(tcase, test_decoders, 0, G_N_ELEMENTS(kDecoders));
  tcase_add_loop_test(tcase, test_refused, 0, G_N_ELEMENTS(kRefusals));
  tcase_add_test(tcase, test_upstream_of_tensors);
#else
  tcase_add_loop_test(tcase, test_ssd, 0, G_N_ELEMENTS(kSsd));
#endif
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(metis_upstream)

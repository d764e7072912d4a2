// SPDX-License-Identifier: LGPL-2.1-or-later
// What GStreamer's own elements see of metisdmabufinfer's results since 1.26: a GstTensorMeta, which
// ssdobjectdetector decodes.
#include <array>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <gst/drm/gstdrmtensormeta.h>

#include "support/analytics.hpp"
#include "support/dmabuf_elements.hpp"
#include "unit/metis/onnx_writer.hpp"

namespace {

using gstdrm::GstPtr;
using gstdrm::test::detections_of;
using gstdrm::test::new_frame;
using gstdrm::test::onnx_ints;
using gstdrm::test::onnx_weights;
using gstdrm::test::OnnxModel;
using gstdrm::test::plain_caps;

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

// A file that goes with the test.
class ScratchFile {
public:
  ScratchFile(const std::string &ending, const std::string &content)
      : path_(std::string(g_get_tmp_dir()) + "/gst-drm-upstream-" + std::to_string(getpid()) + ending)
  {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ScratchFile(const ScratchFile &) = delete;
  ScratchFile &operator=(const ScratchFile &) = delete;
  ~ScratchFile() { unlink(path_.c_str()); }
  [[nodiscard]] const std::string &path() const { return path_; }

private:
  std::string path_;
};

void check_text(const std::string &text, const char *expected)
{
  fail_unless(text == expected, "'%s' where '%s' was expected", text.c_str(), expected);
}

std::string dims_of(const GstTensor &tensor)
{
  std::string text;
  for (gsize i = 0; i < tensor.num_dims; i++)
    text += (i > 0 ? "x" : "") + std::to_string(tensor.dims[i]);
  return text;
}

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

// --- ssdobjectdetector ---------------------------------------------------------------------------
// GStreamer 1.28 has ssdtensordec in its place, which wants the tensors in the caps.
#if !GST_CHECK_VERSION(1, 27, 0)

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

// A network that gives the same values for every picture: convolutions with weights of 0, and a bias.
class ConstantNetwork {
public:
  ConstantNetwork()
  {
    model_.inputs = {{"in", {1, 3, 8, 8}}};
    model_.nodes = {{"GlobalAveragePool", {"in"}, {"mean"}}};
  }
  void give(const std::string &name, const std::vector<std::int64_t> &dims, const std::vector<float> &values)
  {
    const auto count = static_cast<std::int64_t>(values.size());
    const auto rank = static_cast<std::int64_t>(dims.size());
    model_.weights.push_back(onnx_weights(name + "_weights", {count, 3, 1, 1}, std::vector<float>(values.size() * 3)));
    model_.weights.push_back(onnx_weights(name + "_bias", {count}, values));
    model_.weights.push_back(onnx_weights(name + "_shape", {rank}, dims));
    model_.nodes.push_back({"Conv", {"mean", name + "_weights", name + "_bias"}, {name + "_flat"}, onnx_ints("kernel_shape", {1, 1})});
    model_.nodes.push_back({"Reshape", {name + "_flat", name + "_shape"}, {name}});
    model_.outputs.push_back({name, dims});
  }
  [[nodiscard]] std::string file() const { return model_.file(); }

private:
  OnnxModel model_;
};

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

#endif

Suite *metis_upstream_suite()
{
  Suite *suite = suite_create("metis-upstream");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_blazeface, 0, G_N_ELEMENTS(kModes));
#if !GST_CHECK_VERSION(1, 27, 0)
  tcase_add_loop_test(tcase, test_ssd, 0, G_N_ELEMENTS(kSsd));
#endif
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(metis_upstream)

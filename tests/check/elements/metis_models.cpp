// SPDX-License-Identifier: LGPL-2.1-or-later
// Real models on photographs: the cpu back end and drmtensordecode find what tests/data/models/expected.tsv says, which
// other programs computed (tests/data/models/NOTICE).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gst/drm/gstdrmtensormeta.h>
#include <gst/video/gstvideometa.h>

#include "support/dmabuf_elements.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

std::string data_file(const std::string &name)
{
  return std::string(g_getenv("GST_DRM_TEST_DATA")) + "/" + name;
}

struct Object {
  std::string label;
  int x, y, width, height; // the part of the box within the photograph
  double score;
};

std::string text_of(const Object &object)
{
  char text[128];
  std::snprintf(text, sizeof text, "%s %.3f x %d y %d %dx%d", object.label.c_str(), object.score, object.x, object.y, object.width, object.height);
  return text;
}

// What the table says of this model and photograph, cut at the photograph's edges.
std::vector<Object> expected(const std::string &model, const std::string &photo, int width, int height)
{
  std::ifstream table(data_file("models/expected.tsv"));
  std::vector<Object> objects;
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string cells[8];
    for (std::string &cell : cells)
      std::getline(fields, cell, '\t');
    if (cells[0] != model || cells[1] != photo)
      continue;
    const int left = std::stoi(cells[3]), top = std::stoi(cells[4]);
    const int x = std::max(left, 0), y = std::max(top, 0);
    const int right = std::min(left + std::stoi(cells[5]), width), bottom = std::min(top + std::stoi(cells[6]), height);
    objects.push_back({cells[2], x, y, right - x, bottom - y, std::stod(cells[7])});
  }
  return objects;
}

GstPtr<GstSample> photograph(const std::string &file, const std::string &format)
{
  const bool png = file.ends_with(".png");
  GError *error = nullptr;
  GstElement *pipeline = gst_parse_launch(("filesrc location=" + file + (png ? " ! pngdec" : " ! jpegdec") +
                                           " ! videoconvert ! video/x-raw,format=" + format + " ! fakesink name=sink sync=false").c_str(), &error);
  fail_unless(error == nullptr, "%s", error ? error->message : "");
  GstBus *bus = gst_element_get_bus(pipeline);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstMessage *end = gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  fail_unless_equals_int(GST_MESSAGE_TYPE(end), GST_MESSAGE_EOS);
  gst_message_unref(end);
  gst_object_unref(bus);
  GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  GstSample *sample = nullptr;
  g_object_get(sink, "last-sample", &sample, nullptr);
  gst_object_unref(sink);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  fail_unless(sample != nullptr, "%s was not decoded", file.c_str());
  return GstPtr<GstSample>::adopt(sample);
}

std::vector<Object> regions_of(GstBuffer *buffer)
{
  std::vector<Object> objects;
  gpointer state = nullptr;
  while (GstMeta *found = gst_buffer_iterate_meta_filtered(buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto *meta = reinterpret_cast<GstVideoRegionOfInterestMeta *>(found);
    gdouble confidence = 0;
    gst_structure_get_double(gst_video_region_of_interest_meta_get_param(meta, "detection"), "confidence", &confidence);
    objects.push_back({g_quark_to_string(meta->roi_type), static_cast<int>(meta->x), static_cast<int>(meta->y), static_cast<int>(meta->w),
                       static_cast<int>(meta->h), confidence});
  }
  return objects;
}

// 5 % of the box, by which the programs that computed the table differ from each other, and 0.03 of the score.
bool is_near(const Object &a, const Object &b)
{
  const double wide = 1 + 0.05 * b.width, high = 1 + 0.05 * b.height; // and a pixel, as the table has whole ones
  return a.label == b.label && std::abs(a.score - b.score) <= 0.03 && std::abs(a.x - b.x) <= wide && std::abs(a.y - b.y) <= high &&
         std::abs(a.width - b.width) <= wide && std::abs(a.height - b.height) <= high;
}

struct Row {
  const char *model, *photo; // as in the table
  const char *folder;
  const char *properties; // of drmtensordecode
  const char *format = "RGB";
};

const Row kRows[] = {
    {"ultraface-rfb-320", "astronaut.png", "models/", "threshold=0.7 iou-threshold=0.3"},
    {"ultraface-rfb-320-undecoded", "astronaut.png", "models/", "threshold=0.7 iou-threshold=0.3"},
    {"yunet-n-320", "astronaut.png", "models/", "threshold=0.7 iou-threshold=0.3"},
    {"yolox-nano-416", "dogs.jpg", "photos/", "threshold=0.5"},
    {"yolox-nano-416", "bus-car-people.jpg", "photos/", "threshold=0.5"},
    {"yolox-nano-416", "stop-sign.jpg", "photos/", "threshold=0.5"},
    {"fastestdet-352", "dogs.jpg", "photos/", "threshold=0.6"},
    {"fastestdet-352", "bus-car-people.jpg", "photos/", "threshold=0.6"},
    {"fastestdet-352", "stop-sign.jpg", "photos/", "threshold=0.6"},
    // as decoders and cameras give them
    {"yolox-nano-416", "stop-sign.jpg", "photos/", "threshold=0.5", "NV12"},
    {"yolox-nano-416", "stop-sign.jpg", "photos/", "threshold=0.5", "Y42B"},
    {"yolox-nano-416", "stop-sign.jpg", "photos/", "threshold=0.5", "Y444"},
    {"yolox-nano-416", "stop-sign.jpg", "photos/", "threshold=0.5", "YUY2"},
    {"yolox-nano-416", "stop-sign.jpg", "photos/", "threshold=0.5", "P010_10LE"},
    {"ultraface-rfb-320", "astronaut.png", "models/", "threshold=0.7 iou-threshold=0.3", "GRAY8"},
};

// RGB without padding, in a DMA buffer.
GstBuffer *dmabuf_of(GstSample *sample, const GstVideoInfo &info)
{
  const std::string plain = plain_caps("RGB", info.width, info.height);
  GstBuffer *frame = new_dmabuf_frame(test_kinds().front(), plain);
  GstVideoFrame pixels;
  fail_unless(gst_video_frame_map(&pixels, &info, gst_sample_get_buffer(sample), GST_MAP_READ));
  for_each_row(frame, video_info(plain), GST_MAP_WRITE, [&](guint, guint y, std::uint8_t *data, std::size_t bytes) {
    std::memcpy(data, static_cast<std::uint8_t *>(GST_VIDEO_FRAME_PLANE_DATA(&pixels, 0)) + y * static_cast<gsize>(GST_VIDEO_FRAME_PLANE_STRIDE(&pixels, 0)), bytes);
  });
  gst_video_frame_unmap(&pixels);
  return frame;
}

GST_START_TEST(test_photographs)
{
  const Row &row = kRows[__i__];
  say(std::string(row.model) + " on " + row.photo + " in " + row.format);
  const auto sample = photograph(data_file(std::string(row.folder) + row.photo), row.format);
  GstVideoInfo info;
  fail_unless(gst_video_info_from_caps(&info, gst_sample_get_caps(sample.get())));
  const bool rgb = g_str_equal(row.format, "RGB");
  const std::string caps = rgb ? dmabuf_caps("BG24", info.width, info.height) : gstdrm::test::text_of(gst_sample_get_caps(sample.get()));
  GstBuffer *frame = rgb ? dmabuf_of(sample.get(), info) : gst_buffer_ref(gst_sample_get_buffer(sample.get()));

  const bool faces = !g_str_equal(row.folder, "photos/");
  const Harness infer("metisdmabufinfer backend=cpu cpu-threads=1 model=" + data_file("models/") + row.model + ".onnx");
  fail_unless(infer.negotiate(caps), "%s", infer.last_error().c_str());
  const GstFlowReturn flow = gst_harness_push(infer.get(), frame);
  fail_unless(flow == GST_FLOW_OK, "%s: %s", gst_flow_get_name(flow), infer.last_error().c_str());
  GstPtr<GstBuffer> with_tensors = infer.pull();
  fail_unless(static_cast<bool>(with_tensors), "%s", infer.last_error().c_str());
  const Harness decode(std::string("drmtensordecode ") + row.properties + (faces ? "" : " labels-file=" + data_file("models/coco.labels")));
  fail_unless(decode.negotiate(caps));
  const auto output = decode.push(with_tensors.release());

  const std::vector<Object> found = regions_of(output.get()), wanted = expected(row.model, row.photo, info.width, info.height);
  fail_if(wanted.empty(), "the table has nothing of this model and photograph");
  std::string all;
  for (const Object &object : found)
    all += "  " + text_of(object) + "\n";
  say("found:\n" + all);
  for (const Object &object : wanted)
    fail_unless(std::any_of(found.begin(), found.end(), [&](const Object &one) { return is_near(one, object); }), "not found: %s\n%s",
                text_of(object).c_str(), all.c_str());
  fail_unless(found.size() == wanted.size(), "%d were expected:\n%s", static_cast<int>(wanted.size()), all.c_str());
}
GST_END_TEST

std::string content_of(const std::string &path)
{
  std::ifstream file(path);
  fail_unless(static_cast<bool>(file), "%s", path.c_str());
  return {std::istreambuf_iterator<char>(file), {}};
}

// The descriptions are those that the page prints.
GST_START_TEST(test_descriptions)
{
  const std::string page = content_of(data_file("../../docs/elements/metis-models.md"));
  for (const Row &row : kRows) {
    const std::string text = content_of(data_file("models/") + row.model + ".onnx.modelinfo");
    const bool offsets = text.ends_with("boxes=offsets\n"); // printed without this key, which the page names
    fail_unless(offsets || page.find("```text\n" + text + "```\n") != std::string::npos, "%s is not in the page", row.model);
  }
}
GST_END_TEST

Suite *metis_models_suite()
{
  Suite *suite = suite_create("metis-models");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_descriptions);
  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, test_photographs, 0, G_N_ELEMENTS(kRows));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(metis_models)

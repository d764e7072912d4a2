// SPDX-License-Identifier: LGPL-2.1-or-later
// A model on the regions that another one found: what each region's colour is, by a network that gives the mean of its
// picture, and with real models, which kind of dog is in the picture.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gst/drm/gstdrmtensormeta.h>
#include <gst/video/gstvideometa.h>

#include "support/constant_network.hpp"
#include "support/dmabuf_elements.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr int kWidth = 120;
constexpr int kHeight = 60;

// The mean red, green and blue, 0 to 1, as the probabilities of three classes.
std::string mean_network()
{
  OnnxModel model;
  model.inputs = {{"in", {1, 3, 8, 8}}};
  model.weights = {onnx_weights<std::int64_t>("shape", {2}, {1, 3})};
  model.nodes = {{"GlobalAveragePool", {"in"}, {"mean"}}, {"Reshape", {"mean", "shape"}, {"colours"}}};
  model.outputs = {{"colours", {1, 3}}};
  return model.file();
}

constexpr const char *kInfo = "[modelinfo]\nversion=1.0\ngroup-id=colours\n[in]\ndir=input\n[colours]\ndir=output\n"
                              "[gst-drm]\nlayout=nchw\nfit=stretch\ndecoder=classify\nscores=probabilities\n";

// Red, green and blue columns of 40 pixels.
GstBuffer *new_columns(const std::string &caps)
{
  GstBuffer *buffer = new_frame(caps);
  for_each_row(buffer, video_info(caps), GST_MAP_WRITE, [](guint, guint, std::uint8_t *row, std::size_t) {
    for (int x = 0; x < kWidth; x++)
      for (int channel = 0; channel < 3; channel++)
        row[3 * x + channel] = channel == x / 40 ? 255 : 0;
  });
  return buffer;
}

struct Area {
  const char *label;
  gint id;
  guint x, y, width, height;
};

void add_region(GstBuffer *buffer, const Area &area)
{
  auto *meta = gst_buffer_add_video_region_of_interest_meta(buffer, area.label, area.x, area.y, area.width, area.height);
  meta->id = area.id;
  gst_video_region_of_interest_meta_add_param(meta, gst_structure_new("detection", "confidence", G_TYPE_DOUBLE, 0.9, nullptr));
}

// "id: classification confidence%" of each region; "id" alone of those without.
std::string about_regions(GstBuffer *buffer)
{
  std::string text;
  gpointer state = nullptr;
  while (GstMeta *found = gst_buffer_iterate_meta_filtered(buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto *meta = reinterpret_cast<GstVideoRegionOfInterestMeta *>(found);
    text += (text.empty() ? "" : "; ") + std::to_string(meta->id);
    const GstStructure *about = gst_video_region_of_interest_meta_get_param(meta, "classification");
    if (!about && g_str_has_prefix(g_quark_to_string(meta->roi_type), "class ")) // of the whole frame
      about = gst_video_region_of_interest_meta_get_param(meta, "detection");
    gdouble confidence = 0;
    if (about && gst_structure_get_double(about, "confidence", &confidence))
      text += std::string(": ") + gst_structure_get_string(about, "label") + " " + std::to_string(std::lround(confidence * 100)) + "%";
  }
  return text;
}

GstPtr<GstBuffer> through(const Harness &infer, GstBuffer *input)
{
  const GstFlowReturn flow = gst_harness_push(infer.get(), input);
  fail_unless(flow == GST_FLOW_OK, "%s: %s", gst_flow_get_name(flow), infer.last_error().c_str());
  return infer.pull();
}

struct Row {
  const char *name;
  const char *properties; // of metisdmabufinfer
  std::vector<Area> regions;
  const char *expected;
  guint64 inferences;
};

const Row kRows[] = {
    {"each region by itself", "", {{"face", 3, 2, 2, 30, 30}, {"face", 9, 44, 8, 20, 20}, {"car", 1, 90, 50, 30, 10}}, "3: red 100%; 9: green 100%; 1: blue 100%", 3},
    {"no region", "", {}, "", 0},
    {"of a class", "region-class=car", {{"face", 3, 2, 2, 30, 30}, {"car", 1, 90, 50, 30, 10}}, "3; 1: blue 100%", 1},
    {"of two classes", "region-class=car,bus", {{"bus", 3, 2, 2, 30, 30}, {"car", 1, 90, 50, 30, 10}, {"face", 2, 90, 50, 30, 10}}, "3: red 100%; 1: blue 100%; 2", 2},
    {"of a class that is not there", "region-class=dog", {{"face", 3, 2, 2, 30, 30}}, "3", 0},
    {"large enough", "min-region-size=20", {{"face", 3, 2, 2, 30, 20}, {"face", 4, 44, 2, 30, 19}, {"face", 5, 90, 50, 30, 30}}, "3: red 100%; 4; 5", 1},
    {"cut at the frame's edges", "", {{"face", 3, 110, 40, 4000000000, 4000000000}}, "3: blue 100%", 1},
    {"outside, empty, and of the largest numbers", "", {{"face", 3, 120, 0, 9, 9}, {"face", 4, 0, 60, 9, 9}, {"face", 5, 0, 0, 0, 9}, {"face", 6, G_MAXUINT, G_MAXUINT, G_MAXUINT, G_MAXUINT}}, "3; 4; 5; 6", 0},
    {"one pixel", "", {{"face", 3, 0, 0, 1, 1}}, "3: red 100%", 1},
    {"odd corners take in one pixel more", "", {{"face", 3, 41, 1, 19, 19}}, "3: green 100%", 1},
    {"half red, half green: the first of the two", "", {{"face", 3, 20, 0, 40, 40}}, "3: red 50%", 1},
};

GST_START_TEST(test_colours)
{
  const Row &row = kRows[__i__];
  say(row.name);
  const ScratchFile network(".onnx", mean_network());
  const ScratchFile info(".onnx.modelinfo", kInfo);
  const ScratchFile labels(".txt", "red\ngreen\nblue\n");
  const std::string caps = plain_caps("RGB", kWidth, kHeight);
  const Harness infer("metisdmabufinfer backend=cpu cpu-threads=1 inference-region=regions model=" + network.path() + " " + row.properties);
  fail_unless(infer.negotiate(caps), "%s", infer.last_error().c_str());
  GstBuffer *input = new_columns(caps);
  for (const Area &area : row.regions)
    add_region(input, area);
  auto with_tensors = through(infer, input);
  fail_unless(with_tensors.get() == input, "the frame passes as it is");
  fail_unless_equals_uint64(infer.stat("inferences"), row.inferences);
  fail_unless_equals_uint64(infer.stat("passed-through"), row.inferences == 0 ? 1 : 0);
  fail_unless_equals_uint64(infer.stat("frames"), 1);
  const Harness decode("drmtensordecode threshold=0.4 max-detections=1 labels-file=" + labels.path());
  fail_unless(decode.negotiate(caps));
  const auto output = decode.push(with_tensors.release());
  const std::string found = about_regions(output.get());
  fail_unless(found == row.expected, "'%s' where '%s' was expected", found.c_str(), row.expected);
  fail_unless_equals_uint64(decode.stat("detections"), row.inferences);
}
GST_END_TEST

constexpr Area kArea{"face", 3, 40, 20, 40, 20};

// A frame with the region kArea through both elements; `network` gives the tensors that `info` describes.
GstPtr<GstBuffer> with_region(const std::string &network, const std::string &info, const Harness &decode)
{
  const ScratchFile model(".onnx", network);
  const ScratchFile description(".onnx.modelinfo", info);
  const std::string caps = plain_caps("RGB", kWidth, kHeight);
  const Harness infer("metisdmabufinfer backend=cpu cpu-threads=1 inference-region=regions model=" + model.path());
  fail_unless(infer.negotiate(caps) && decode.negotiate(caps));
  GstBuffer *input = new_columns(caps);
  add_region(input, kArea);
  auto with_tensors = through(infer, input);
  return decode.push(with_tensors.release());
}

// What is found in a region lies there, and names the region as its parent.
GST_START_TEST(test_objects_in_a_region)
{
  ConstantNetwork network;
  network.give("boxes", {1, 2, 4}, {0.25F, 0.125F, 0.75F, 0.5F, 0, 0.5F, 0.25F, 0.75F});
  network.give("scores", {1, 2}, {0.875F, 0.75F});
  network.give("classes", {1, 2}, {1, 0});
  network.give("count", {1}, {2});
  const Harness decode("drmtensordecode decoder=ssd");
  const auto output = with_region(network.file(), "[modelinfo]\nversion=1.0\n[in]\ndir=input\n[boxes]\ndir=output\n[scores]\ndir=output\n"
                                                  "[classes]\ndir=output\n[count]\ndir=output\n[gst-drm]\nlayout=nchw\nfit=stretch\n", decode);
  std::string found;
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered(output.get(), &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    const auto *roi = reinterpret_cast<GstVideoRegionOfInterestMeta *>(meta);
    if (roi->parent_id == kArea.id)
      for (const guint number : {roi->x, roi->y, roi->w, roi->h})
        found += std::to_string(number) + " ";
  }
  fail_unless(found == "45 25 15 10 60 20 10 5 ", "%s", found.c_str());
}
GST_END_TEST

// The embedding of a region is a parameter of the region; the line of JSON names the region. It is held with its region,
// wherever that goes, and not without.
GST_START_TEST(test_embedding_of_a_region)
{
  const Harness decode("drmtensordecode hold=2 post-messages=true");
  const auto output = with_region(mean_network(), "[modelinfo]\nversion=1.0\n[in]\ndir=input\n[colours]\ndir=output\n"
                                                  "[gst-drm]\nlayout=nchw\nfit=stretch\ndecoder=embedding\n", decode);
  const auto embedding_of = [](GstBuffer *buffer) {
    return gst_video_region_of_interest_meta_get_param(gst_buffer_get_video_region_of_interest_meta_id(buffer, kArea.id), "embedding");
  };
  const GValue *numbers = gst_structure_get_value(embedding_of(output.get()), "embedding");
  fail_unless(gst_value_array_get_size(numbers) == 3 && g_value_get_double(gst_value_array_get_value(numbers, 1)) == 1);
  GstBus *bus = gst_element_get_bus(decode.element());
  GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT);
  const std::string json = gst_structure_get_string(gst_message_get_structure(message), "json");
  fail_unless(json.find("{\"parent-id\":3,\"label\":\"embedding\",\"label-id\":0,\"confidence\":1,\"x\":40,\"y\":20,\"width\":40,\"height\":20,") != std::string::npos, "%s", json.c_str());
  gst_message_unref(message);
  gst_object_unref(bus);
  GstBuffer *next = new_columns(plain_caps("RGB", kWidth, kHeight));
  add_region(next, {"face", kArea.id, 60, 10, 30, 30});
  const auto held = decode.push(next);
  gint x = 0;
  fail_unless(gst_structure_get_int(embedding_of(held.get()), "x", &x) && x == 60);
  const auto gone = decode.push(new_columns(plain_caps("RGB", kWidth, kHeight)));
  fail_unless_equals_int(gst_buffer_get_n_meta(gone.get(), GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE), 0);
}
GST_END_TEST

// More regions than are inferred: the first ones.
GST_START_TEST(test_many_regions)
{
  const ScratchFile network(".onnx", mean_network());
  const ScratchFile info(".onnx.modelinfo", kInfo);
  const std::string caps = plain_caps("RGB", kWidth, kHeight);
  const Harness infer("metisdmabufinfer backend=cpu cpu-threads=1 inference-region=regions model=" + network.path());
  fail_unless(infer.negotiate(caps));
  for (guint frame = 0; frame < 3; frame++) {
    GstBuffer *input = new_columns(caps);
    for (gint id = 0; id < 40; id++)
      add_region(input, {"face", id, 2, 2, 30, 30});
    const auto output = through(infer, input);
    fail_unless_equals_int(gst_buffer_get_n_meta(output.get(), GST_DRM_TENSOR_META_API_TYPE), 32);
  }
  fail_unless_equals_uint64(infer.stat("inferences"), 3 * 32);
  fail_unless_equals_uint64(infer.stat("regions-left-out"), 3 * 8);
}
GST_END_TEST

// Frames leave in order, each with the results of its own regions, also while several are under way and after a flush.
GST_START_TEST(test_order)
{
  const ScratchFile network(".onnx", mean_network());
  const ScratchFile info(".onnx.modelinfo", kInfo);
  const std::string caps = plain_caps("RGB", kWidth, kHeight);
  const Harness infer("metisdmabufinfer backend=cpu cpu-threads=1 max-in-flight=4 inference-region=regions model=" + network.path());
  fail_unless(infer.negotiate(caps));
  for (guint round = 0; round < 2; round++) {
    for (guint i = 0; i < 30; i++) {
      GstBuffer *input = new_columns(caps);
      GST_BUFFER_PTS(input) = i;
      for (guint region = 0; region < i % 4; region++)
        add_region(input, {"face", static_cast<gint>(region), 40 * region, 0, 40, 40});
      fail_unless_equals_int(gst_harness_push(infer.get(), input), GST_FLOW_OK);
    }
    for (guint i = 0; i < 30; i++) {
      const auto output = infer.pull();
      fail_unless_equals_uint64(GST_BUFFER_PTS(output.get()), i);
      fail_unless_equals_int(gst_buffer_get_n_meta(output.get(), GST_DRM_TENSOR_META_API_TYPE), i % 4);
    }
    gst_harness_push_event(infer.get(), gst_event_new_flush_start());
    gst_harness_push_event(infer.get(), gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(infer.get(), gst_event_new_segment(&segment));
  }
}
GST_END_TEST

GST_START_TEST(test_refused)
{
  const ScratchFile network(".onnx", mean_network());
  const ScratchFile info(".onnx.modelinfo", kInfo);
  const std::string text = start_error("metisdmabufinfer backend=cpu leaky=true inference-region=regions model=" + network.path());
  fail_unless(text.find("inference-region=regions and leaky=true") != std::string::npos, "%s", text.c_str());
}
GST_END_TEST

#ifdef GST_DRM_TEST_MODELS
// What is said of the regions of each frame of the photograph of dogs.
std::vector<std::string> play(const std::string &elements)
{
  GError *error = nullptr;
  GstElement *pipeline = gst_parse_launch(("filesrc location=" + std::string(g_getenv("GST_DRM_TEST_DATA")) + "/photos/dogs.jpg ! jpegdec ! " + elements +
                                           " ! fakesink name=sink sync=false").c_str(), &error);
  fail_unless(error == nullptr, "%s", error ? error->message : "");
  std::vector<std::string> frames;
  GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  GstPad *pad = gst_element_get_static_pad(sink, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, [](GstPad *, GstPadProbeInfo *probe, gpointer texts) {
    static_cast<std::vector<std::string> *>(texts)->push_back(about_regions(GST_PAD_PROBE_INFO_BUFFER(probe)));
    return GST_PAD_PROBE_OK;
  }, &frames, nullptr);
  GstBus *bus = gst_element_get_bus(pipeline);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstMessage *end = gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  fail_unless_equals_int(GST_MESSAGE_TYPE(end), GST_MESSAGE_EOS);
  gst_message_unref(end);
  gst_object_unref(bus);
  gst_object_unref(pad);
  gst_object_unref(sink);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  return frames;
}

// YOLOX finds three persons and two dogs in every third of a hundred frames, and SqueezeNet says of each dog which kind
// it is: the same as of a picture of that dog alone, which videocrop makes. The boxes are those of expected.tsv.
GST_START_TEST(test_kinds_of_dogs)
{
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("gst-drm-test-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string squeezenet = folder / "squeezenet.onnx";
  std::filesystem::create_symlink(std::string(GST_DRM_TEST_MODELS) + "/squeezenet-fp16.onnx", squeezenet);
  std::ofstream(squeezenet + ".modelinfo") << "[modelinfo]\nversion=1.0\n[data_0]\ndir=input\n[softmaxout_1]\ndir=output\n"
                                              "[gst-drm]\nchannel-order=bgr\nfit=stretch\nmean=104,117,123\nscale=1\n"
                                              "decoder=classify\nscores=probabilities\n";
  const std::string models = std::string(g_getenv("GST_DRM_TEST_DATA")) + "/models/";
  const std::string rgb = "videoconvert ! video/x-raw,format=RGB", infer = " ! metisdmabufinfer backend=cpu timeout=60000 model=";
  const std::string kinds = " ! drmtensordecode threshold=0.05 max-detections=1";
  // the dogs at 0,93 of 291x470 and at 323,185 of 349x310, from even pixels on
  const auto first = play(rgb + " ! videocrop top=92 right=615 bottom=37" + infer + squeezenet + kinds);
  const auto second = play(rgb + " ! videocrop left=322 top=184 right=234 bottom=105" + infer + squeezenet + kinds);
  const auto frames = play("imagefreeze num-buffers=100 ! " + rgb + ",framerate=30/1" + infer + models + "yolox-nano-416.onnx interval=3"
                           " ! drmtensordecode track=true hold=2 labels-file=" + models + "coco.labels" +
                           infer + squeezenet + " interval=3 inference-region=regions region-class=dog" + kinds + " hold=2");
  std::filesystem::remove_all(folder);
  fail_unless_equals_int(frames.size(), 100);
  const auto kind_of = [](const std::vector<std::string> &alone) { return alone.at(0).substr(alone.at(0).find(':')); };
  const std::string wanted = "1; 2" + kind_of(first) + "; 3; 4" + kind_of(second) + "; 5";
  say(wanted);
  for (const std::string &frame : frames)
    fail_unless(frame == wanted, "'%s' where '%s' was expected", frame.c_str(), wanted.c_str());
}
GST_END_TEST
#endif

Suite *metis_regions_suite()
{
  Suite *suite = suite_create("metis-regions");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_colours, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tcase, test_objects_in_a_region);
  tcase_add_test(tcase, test_embedding_of_a_region);
  tcase_add_test(tcase, test_many_regions);
  tcase_add_test(tcase, test_order);
  tcase_add_test(tcase, test_refused);
#ifdef GST_DRM_TEST_MODELS
  tcase_set_timeout(tcase, 120);
  tcase_add_test(tcase, test_kinds_of_dogs);
#endif
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(metis_regions)

// SPDX-License-Identifier: LGPL-2.1-or-later
// drmtensordecode: from tensors on a buffer to regions of interest, in the frame's own pixels.
#include "support/dmabuf_elements.hpp"
#include "support/float_tensors.hpp"

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#ifdef HAVE_GST_ANALYTICS
#include "support/analytics.hpp"
#endif

namespace {

using gstdrm::GstPtr;
using gstdrm::test::add_tensor;
using gstdrm::test::caps_of;
using gstdrm::test::Harness;

constexpr const char *kFrames = "video/x-raw, format=(string)NV12, width=(int)200, height=(int)100, framerate=(fraction)30/1";
constexpr GstDrmTensorPlacement kWhole{400, 400, 2, 2, 0, 100}; // letterboxed: the frame is the middle of 400x400

// Two objects: class 1 in the middle of the input, class 0 in its lower part, beyond the frame's edge.
void add_ssd(GstBuffer *buffer, const GstDrmTensorPlacement &placement = kWhole, const char *group = "objects")
{
  GstDrmTensorMeta *meta = gst_buffer_add_drm_tensor_meta(buffer, group);
  meta->placement = placement;
  add_tensor(meta, "boxes", {1, 2, 4}, {0.4F, 0.25F, 0.6F, 0.5F, 0.7F, 0.5F, 0.9F, 1.25F});
  add_tensor(meta, "scores", {1, 2}, {0.9F, 0.6F});
  add_tensor(meta, "classes", {1, 2}, {1, 0});
  add_tensor(meta, "count", {1}, {2});
}

GstBuffer *new_frame()
{
  return gst_buffer_new_allocate(nullptr, 200 * 100 * 3 / 2, nullptr);
}

// A temporary text would be gone before a macro of GstCheck prints it.
void check_text(const std::string &text, const char *expected)
{
  fail_unless(text == expected, "'%s' where '%s' was expected", text.c_str(), expected);
}

// "label confidence% x y width height", one region after the other.
std::string regions_of(GstBuffer *buffer)
{
  std::string text;
  gpointer state = nullptr;
  while (GstMeta *found = gst_buffer_iterate_meta_filtered(buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto *meta = reinterpret_cast<GstVideoRegionOfInterestMeta *>(found);
    const GstStructure *detection = gst_video_region_of_interest_meta_get_param(meta, "detection");
    gdouble confidence = 0;
    fail_unless(detection && gst_structure_get_double(detection, "confidence", &confidence));
    text += text.empty() ? "" : "; ";
    text += g_quark_to_string(meta->roi_type);
    text += " " + std::to_string(std::lround(confidence * 100)) + "%";
    for (const guint number : {meta->x, meta->y, meta->w, meta->h})
      text += " " + std::to_string(number);
  }
  return text;
}

std::string write_labels(const std::string &text)
{
  gchar *name = nullptr;
  const int fd = g_file_open_tmp("labels-XXXXXX", &name, nullptr);
  fail_unless(fd >= 0);
  fail_unless_equals_int(write(fd, text.data(), text.size()), static_cast<int>(text.size()));
  close(fd);
  std::string path = name;
  g_free(name);
  return path;
}

struct Row {
  const char *name;
  const char *element;
  const char *labels; // contents of the file; nullptr: none
  const char *caps;
  GstDrmTensorPlacement placement;
  const char *expected;
};

const Row kRows[] = {
    {"back into the frame, cut at its edge", "drmtensordecode", nullptr, kFrames, kWhole, "class 1 90% 50 30 50 40; class 0 60% 100 90 100 10"},
    {"the decoder by name", "drmtensordecode decoder=ssd", nullptr, kFrames, kWhole, "class 1 90% 50 30 50 40; class 0 60% 100 90 100 10"},
    {"labels", "drmtensordecode", "cat\ndog\n", kFrames, kWhole, "dog 90% 50 30 50 40; cat 60% 100 90 100 10"},
    {"labels of another system, too few", "drmtensordecode", "cat\r\n", kFrames, kWhole, "class 1 90% 50 30 50 40; cat 60% 100 90 100 10"},
    {"labels that are no UTF-8", "drmtensordecode", "\xff\nd\xc3\xb6g", kFrames, kWhole, "d\xc3\xb6g 90% 50 30 50 40; \xef\xbf\xbd 60% 100 90 100 10"},
    {"threshold", "drmtensordecode threshold=0.7", nullptr, kFrames, kWhole, "class 1 90% 50 30 50 40"},
    {"at most one", "drmtensordecode max-detections=1", nullptr, kFrames, kWhole, "class 1 90% 50 30 50 40"},
    {"nothing of the frame is there", "drmtensordecode", nullptr, kFrames, {400, 400, 2, 2, 400, 400}, ""},
    {"caps without a size", "drmtensordecode", nullptr, "application/x-frames", kWhole, "class 1 90% 50 30 50 40; class 0 60% 100 90 150 40"},
    {"DMA buffers", "drmtensordecode", nullptr, "video/x-raw(memory:DMABuf), format=(string)DMA_DRM, drm-format=(string)NV12:0x0100000000000002, width=(int)200, height=(int)100", kWhole, "class 1 90% 50 30 50 40; class 0 60% 100 90 100 10"},
};

GST_START_TEST(test_regions)
{
  const Row &row = kRows[__i__];
  gstdrm::test::say(row.name);
  std::string element = row.element;
  const std::string path = row.labels ? write_labels(row.labels) : "";
  if (row.labels)
    element += " labels-file=" + path;
  const Harness harness(element);
  fail_unless(harness.negotiate(row.caps));
  GstBuffer *input = new_frame();
  const GstMemory *memory = gst_buffer_peek_memory(input, 0);
  add_ssd(input, row.placement);
  const auto output = harness.push(input);
  fail_unless(gst_buffer_peek_memory(output.get(), 0) == memory, "the frame is as it was");
  check_text(regions_of(output.get()), row.expected);
#ifdef HAVE_GST_ANALYTICS
  check_text(gstdrm::test::detections_of(output.get()), row.expected);
#endif
  fail_unless(gst_buffer_get_drm_tensor_meta(output.get(), "objects") != nullptr, "the tensors stay");
  if (row.labels)
    unlink(path.c_str());
}
GST_END_TEST

struct SaidRow {
  const char *name;
  const char *element;
  const char *said; // with the tensors, by the model's description
  const char *expected;
};

constexpr const char *kTwo = "class 1 90% 50 30 50 40; class 0 60% 100 90 100 10";
// nullptr: an error
const SaidRow kSaid[] = {
    {"nobody said", "drmtensordecode", nullptr, kTwo},
    {"what it is", "drmtensordecode", "ssd", kTwo},
    {"what it is not", "drmtensordecode", "yolov8", nullptr},
    {"a word of others: they decode it", "drmtensordecode", "masks", ""},
    {"nothing to decode", "drmtensordecode", "none", ""},
    {"the model's words about its boxes", "drmtensordecode", "ssd,boxes=yxyx,box-unit=normalised", kTwo},
    {"the property's words about the boxes", "drmtensordecode decoder=ssd,boxes=yxyx", nullptr, kTwo},
    {"the property says that there is nothing", "drmtensordecode decoder=none", "ssd", ""},
    {"the property is stronger", "drmtensordecode decoder=ssd", "yolov8", kTwo},
};

GST_START_TEST(test_decoder_that_the_model_names)
{
  const SaidRow &row = kSaid[__i__];
  gstdrm::test::say(row.name);
  const Harness harness(row.element);
  fail_unless(harness.negotiate(kFrames));
  const auto first = GstPtr<GstBuffer>::adopt(new_frame());
  add_ssd(first.get());
  gst_drm_tensor_meta_set_decoder(gst_buffer_get_drm_tensor_meta(first.get(), nullptr), row.said);
  GstBuffer *input = gst_buffer_copy(first.get()); // a copy has the word too
  if (row.expected) {
    check_text(regions_of(harness.push(input).get()), row.expected);
    return;
  }
  fail_unless_equals_int(gst_harness_push(harness.get(), input), GST_FLOW_ERROR);
  const std::string said = harness.last_error();
  fail_unless(said.find("decoder yolov8 cannot read") != std::string::npos, "%s", said.c_str());
}
GST_END_TEST

// Somebody else holds the buffer: its copy gets the metas, and the memory is the same.
GST_START_TEST(test_shared)
{
  const Harness harness("drmtensordecode");
  fail_unless(harness.negotiate(kFrames));
  const auto kept = GstPtr<GstBuffer>::adopt(new_frame());
  add_ssd(kept.get());
  const auto output = harness.push(gst_buffer_ref(kept.get()));
  fail_unless(output.get() != kept.get());
  fail_unless(gst_buffer_peek_memory(output.get(), 0) == gst_buffer_peek_memory(kept.get(), 0));
  fail_unless(regions_of(kept.get()).empty() && !regions_of(output.get()).empty());
}
GST_END_TEST

GST_START_TEST(test_without_tensors)
{
  const Harness harness("drmtensordecode");
  fail_unless(harness.negotiate(kFrames));
  GstBuffer *input = new_frame();
  fail_unless(harness.push(input).get() == input);
  fail_unless_equals_int(harness.stat("frames"), 1);
  fail_unless_equals_int(harness.stat("detections"), 0);
  fail_unless_equals_int(harness.stat("decoding-ns"), 0);
}
GST_END_TEST

struct HoldRow {
  const char *name;
  const char *element;
  const char *frames;   // t: with objects, o: tensors without an object, -: no tensors, f: a flush, s: a new segment, c: other caps
  const char *expected; // for each frame whether it leaves with the objects
};

const HoldRow kHolds[] = {
    {"not asked for", "drmtensordecode", "t--t", "1001"},
    {"interval=3", "drmtensordecode hold=2", "--t--t--", "00111111"},
    {"longer than the hold", "drmtensordecode hold=2", "t---t", "11101"},
    {"the object is gone", "drmtensordecode hold=2", "t-o-t", "11001"},
    {"a flush", "drmtensordecode hold=9", "t-f-t", "1101"},
    {"a new segment", "drmtensordecode hold=9", "t-s-t", "1101"},
    {"other caps", "drmtensordecode hold=9", "t-c-t", "1101"},
    {"tracked, not held", "drmtensordecode track=true", "t--t", "1001"},
    {"tracked and held", "drmtensordecode track=true hold=2", "--t--t--", "00111111"},
    {"tracked, the object is gone", "drmtensordecode track=true hold=2", "t-o-t", "11001"},
};

void push_segment(const Harness &harness)
{
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
}

void flush(const Harness &harness)
{
  gst_harness_push_event(harness.get(), gst_event_new_flush_start());
  gst_harness_push_event(harness.get(), gst_event_new_flush_stop(TRUE));
  push_segment(harness);
}

GST_START_TEST(test_hold)
{
  const HoldRow &row = kHolds[__i__];
  gstdrm::test::say(row.name);
  const Harness harness(row.element);
  fail_unless(harness.negotiate(kFrames));
  std::string got;
  for (const char *what = row.frames; *what; what++) {
    if (*what == 'f') {
      flush(harness);
      continue;
    }
    if (*what == 's') {
      push_segment(harness);
      continue;
    }
    if (*what == 'c') {
      fail_unless(harness.negotiate("video/x-raw, format=(string)NV12, width=(int)200, height=(int)102, framerate=(fraction)30/1"));
      continue;
    }
    GstBuffer *input = new_frame();
    if (*what != '-')
      add_ssd(input, *what == 't' ? kWhole : GstDrmTensorPlacement{400, 400, 2, 2, 400, 400});
    const auto output = harness.push(input);
    got += regions_of(output.get()).empty() ? '0' : '1';
#ifdef HAVE_GST_ANALYTICS
    check_text(gstdrm::test::detections_of(output.get()), regions_of(output.get()).c_str());
#endif
  }
  check_text(got, row.expected);
  fail_unless_equals_int(harness.stat("detections"), 2 * std::count(row.frames, row.frames + strlen(row.frames), 't'));
}
GST_END_TEST

struct Box {
  double x, y, width, height; // pixels of the frame
};

// Objects of class 0.
void add_boxes(GstBuffer *buffer, const std::vector<Box> &boxes, const char *group = "objects")
{
  GstDrmTensorMeta *meta = gst_buffer_add_drm_tensor_meta(buffer, group);
  meta->placement = {200, 100, 1, 1, 0, 0};
  const gsize n = boxes.size();
  std::vector<gfloat> corners;
  for (const Box &box : boxes)
    for (const double corner : {box.y / 100, box.x / 200, (box.y + box.height) / 100, (box.x + box.width) / 200})
      corners.push_back(static_cast<gfloat>(corner));
  add_tensor(meta, "boxes", {1, n, 4}, corners);
  add_tensor(meta, "scores", {1, n}, std::vector<gfloat>(n, 0.9F));
  add_tensor(meta, "classes", {1, n}, std::vector<gfloat>(n, 0.0F));
  add_tensor(meta, "count", {1}, {static_cast<gfloat>(n)});
}

GstVideoRegionOfInterestMeta *region(GstBuffer *buffer, guint id)
{
  auto *roi = gst_buffer_get_video_region_of_interest_meta_id(buffer, static_cast<gint>(id));
  fail_unless(roi != nullptr, "no region has the id %u", id);
  guint same = 0;
  fail_unless(gst_structure_get_uint(gst_video_region_of_interest_meta_get_param(roi, "detection"), "id", &same) && same == id);
  return roi;
}

#ifdef HAVE_GST_ANALYTICS
// The box of the object that is related to this track.
void check_track(GstBuffer *buffer, guint id, const GstVideoRegionOfInterestMeta &roi, GstClockTime last_seen)
{
  GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta(buffer);
  gpointer state = nullptr;
  GstAnalyticsMtd object, track;
  while (gst_analytics_relation_meta_iterate(relations, &state, gst_analytics_od_mtd_get_mtd_type(), &object)) {
    guint64 track_id = 0;
    GstClockTime first = 0, last = 0;
    gboolean lost = TRUE;
    fail_unless(gst_analytics_relation_meta_get_direct_related(relations, object.id, GST_ANALYTICS_REL_TYPE_RELATE_TO, gst_analytics_tracking_mtd_get_mtd_type(), nullptr, &track));
    fail_unless(gst_analytics_tracking_mtd_get_info(&track, &track_id, &first, &last, &lost));
    if (track_id != id)
      continue;
    gint x = 0;
    gint y = 0, width = 0, height = 0;
    gfloat score = 0;
    fail_unless(gst_analytics_od_mtd_get_location(&object, &x, &y, &width, &height, &score));
    fail_unless(first == 0 && last == last_seen && !lost);
    fail_unless_equals_int(x, static_cast<int>(roi.x));
    return;
  }
  fail("no track has the id %u", id);
}
#endif

// interval=3: two objects of a class cross each other within 100 frames. Each frame has both, each object keeps its id,
// and no box jumps. An object's speed, 1.5 pixels a frame, is known from the second inference on.
GST_START_TEST(test_track)
{
  const Harness harness("drmtensordecode track=true hold=2");
  fail_unless(harness.negotiate(kFrames));
  std::array<double, 2> before{10, 160};
  for (guint n = 0; n < 100; n++) {
    const std::array<Box, 2> objects{Box{10 + 1.5 * n, 20, 30, 40}, Box{160 - 1.5 * n, 30, 30, 40}};
    GstBuffer *input = new_frame();
    GST_BUFFER_PTS(input) = n;
    if (n % 3 == 0) // the order is that of the scores, which are alike
      add_boxes(input, n % 2 == 0 ? std::vector{objects[0], objects[1]} : std::vector{objects[1], objects[0]});
    const auto output = harness.push(input);
    fail_unless_equals_int(gst_buffer_get_n_meta(output.get(), GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE), 2);
    for (guint i = 0; i < 2; i++) {
      const auto *roi = region(output.get(), i + 1);
      const double error = std::abs(roi->x - objects[i].x), step = std::abs(roi->x - before[i]);
      fail_unless(error <= (n < 3 ? 3.5 : 2), "frame %u: object %u is at %u, not at %f", n, i, roi->x, objects[i].x);
      fail_unless(step <= (n <= 3 ? 5 : 3), "frame %u: object %u jumps by %f", n, i, step);
      fail_unless(roi->y == objects[i].y && std::abs(roi->w - 30.0) <= 2 && roi->h == 40, "frame %u: %u %ux%u", n, roi->y, roi->w, roi->h);
      before[i] = roi->x;
#ifdef HAVE_GST_ANALYTICS
      check_track(output.get(), i + 1, *roi, n - n % 3);
#endif
    }
  }
  fail_unless_equals_int(harness.stat("detections"), 2 * 34);
}
GST_END_TEST

// No id is given twice until the next start; messages and lines have it.
GST_START_TEST(test_track_ids)
{
  const Harness harness("drmtensordecode track=true hold=9 threshold=0.7 post-messages=true");
  fail_unless(harness.negotiate(kFrames));
  const auto push = [&harness](guint id) {
    GstBuffer *input = new_frame();
    add_ssd(input);
    (void)region(harness.push(input).get(), id);
    GstBus *bus = gst_element_get_bus(harness.element());
    GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT);
    const std::string json = gst_structure_get_string(gst_message_get_structure(message), "json");
    fail_unless(json.find("[{\"id\":" + std::to_string(id) + ",\"label\":\"class 1\"") != std::string::npos, "%s", json.c_str());
    gst_message_unref(message);
    gst_object_unref(bus);
  };
  push(1);
  push(1);
  flush(harness);
  push(2);
  push_segment(harness);
  push(3);
  fail_unless(harness.negotiate("video/x-raw, format=(string)NV12, width=(int)200, height=(int)102, framerate=(fraction)30/1"));
  push(4);
  g_object_set(harness.element(), "track", FALSE, nullptr);
  (void)harness.push(new_frame());
  g_object_set(harness.element(), "track", TRUE, nullptr);
  push(5);
  gst_element_set_state(harness.element(), GST_STATE_NULL);
  gst_element_set_state(harness.element(), GST_STATE_PLAYING);
  fail_unless(harness.negotiate(kFrames));
  push(1);
}
GST_END_TEST

// One model sees each frame, the other one each third.
GST_START_TEST(test_models_of_two_intervals)
{
  const Harness harness("drmtensordecode track=true hold=2");
  fail_unless(harness.negotiate(kFrames));
  for (guint n = 0; n < 9; n++) {
    GstBuffer *input = new_frame();
    add_boxes(input, {{10, 20, 30, 40}}, "fast");
    if (n % 3 == 0)
      add_boxes(input, {{10, 20, 30, 40}}, "slow");
    const auto output = harness.push(input);
    check_text(regions_of(output.get()), "class 0 90% 10 20 30 40; class 0 90% 10 20 30 40");
    (void)region(output.get(), 1);
    (void)region(output.get(), 2);
  }
  fail_unless_equals_int(harness.stat("detections"), 9 + 3);
}
GST_END_TEST

// Regions without ids of their own are numbered, and the second element's numbers go on.
GST_START_TEST(test_numbers)
{
  auto buffer = GstPtr<GstBuffer>::adopt(new_frame());
  add_ssd(buffer.get());
  add_ssd(buffer.get(), kWhole, "others");
  for (const char *element : {"drmtensordecode group=objects", "drmtensordecode group=others"}) {
    const Harness harness(element);
    fail_unless(harness.negotiate(kFrames));
    buffer = harness.push(buffer.release());
  }
  for (gint number = 0; number < 4; number++)
    fail_unless(gst_buffer_get_video_region_of_interest_meta_id(buffer.get(), number) != nullptr, "%d", number);
}
GST_END_TEST

GST_START_TEST(test_two_models)
{
  const Harness harness("drmtensordecode threshold=0.7");
  fail_unless(harness.negotiate(kFrames));
  GstBuffer *input = new_frame();
  add_ssd(input);
  add_ssd(input, {400, 400, 4, 4, 0, 0}, "others");
  const auto output = harness.push(input);
  check_text(regions_of(output.get()), "class 1 90% 50 30 50 40; class 1 90% 25 40 25 20");
#ifdef HAVE_GST_ANALYTICS
  check_text(gstdrm::test::detections_of(output.get()), "class 1 90% 50 30 50 40; class 1 90% 25 40 25 20");
#endif
  fail_unless_equals_int(harness.stat("detections"), 2);
  fail_unless(harness.stat("decoding-ns") > 0);
}
GST_END_TEST

// Both objects at a timestamp of 7.
constexpr const char *kLine = "{\"pts\":7,\"width\":200,\"height\":100,\"detections\":["
                              "{\"label\":\"class 1\",\"label-id\":1,\"confidence\":0.9,\"x\":50,\"y\":30,\"width\":50,\"height\":40},"
                              "{\"label\":\"class 0\",\"label-id\":0,\"confidence\":0.6,\"x\":100,\"y\":90,\"width\":100,\"height\":10}]}";

GST_START_TEST(test_messages)
{
  for (const bool wanted : {false, true}) {
    const Harness harness(wanted ? "drmtensordecode post-messages=true" : "drmtensordecode");
    fail_unless(harness.negotiate(kFrames));
    GstBus *bus = gst_element_get_bus(harness.element());
    GstBuffer *input = new_frame();
    GST_BUFFER_PTS(input) = 7;
    add_ssd(input);
    (void)harness.push(input);
    GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT);
    gst_object_unref(bus);
    fail_unless((message != nullptr) == wanted);
    if (!message)
      continue;
    const GstStructure *structure = gst_message_get_structure(message);
    fail_unless(gst_structure_has_name(structure, "drm-detections"));
    guint64 pts = 0;
    fail_unless(gst_structure_get_uint64(structure, "pts", &pts) && pts == 7);
    const GValue *list = gst_structure_get_value(structure, "detections");
    fail_unless_equals_int(gst_value_array_get_size(list), 2);
    check_text(gst_structure_get_string(structure, "json"), kLine);
    const GstStructure *object = gst_value_get_structure(gst_value_array_get_value(list, 0));
    gint x = 0;
    fail_unless(gst_structure_get_int(object, "x", &x) && x == 50);
    fail_unless_equals_string(gst_structure_get_string(object, "label"), "class 1");
    gst_message_unref(message);
  }
}
GST_END_TEST

// The face's key points travel with its region.
GST_START_TEST(test_key_points)
{
  const Harness harness("drmtensordecode");
  fail_unless(harness.negotiate(kFrames));
  GstBuffer *input = new_frame();
  GstDrmTensorMeta *meta = gst_buffer_add_drm_tensor_meta(input, "faces");
  meta->placement = {16, 16, 0.5, 0.5, 0, 0};
  std::vector<gfloat> rows(14 * 16, 0.0F), logits(14, -20.0F);
  rows[2] = rows[3] = 4; // the anchor is at 4, 4
  logits[0] = 20;
  add_tensor(meta, "regressors", {1, 14, 16}, rows);
  add_tensor(meta, "classificators", {1, 14, 1}, logits);
  const auto output = harness.push(input);
  check_text(regions_of(output.get()), "face 100% 4 4 8 8");
  auto *roi = gst_buffer_get_video_region_of_interest_meta_id(output.get(), 0);
  const GValue *points = gst_structure_get_value(gst_video_region_of_interest_meta_get_param(roi, "detection"), "key-points-x");
  fail_unless_equals_int(gst_value_array_get_size(points), 6);
  fail_unless(g_value_get_double(gst_value_array_get_value(points, 5)) == 8);
}
GST_END_TEST

// The key points of a face move with its box, which goes by 2 pixels to the right.
GST_START_TEST(test_key_points_of_a_track)
{
  const Harness harness("drmtensordecode track=true hold=1");
  fail_unless(harness.negotiate(kFrames));
  for (const gfloat right : {0.0F, 1.0F}) {
    GstBuffer *input = new_frame();
    GstDrmTensorMeta *meta = gst_buffer_add_drm_tensor_meta(input, "faces");
    meta->placement = {16, 16, 0.5, 0.5, 0, 0};
    std::vector<gfloat> rows(14 * 16, 0.0F), logits(14, -20.0F);
    rows[0] = right;
    rows[2] = rows[3] = 4;
    logits[0] = 20;
    add_tensor(meta, "regressors", {1, 14, 16}, rows);
    add_tensor(meta, "classificators", {1, 14, 1}, logits);
    (void)harness.push(input);
  }
  const auto output = harness.push(new_frame());
  const auto *roi = region(output.get(), 1);
  fail_unless_equals_int(roi->x, 8);
  const GValue *points = gst_structure_get_value(gst_video_region_of_interest_meta_get_param(region(output.get(), 1), "detection"), "key-points-x");
  const gdouble x = g_value_get_double(gst_value_array_get_value(points, 5));
  fail_unless(std::abs(x - 10) < 0.1, "%f", x); // of 8
}
GST_END_TEST

void push_frame_with_objects(const Harness &harness)
{
  GstBuffer *input = new_frame();
  GST_BUFFER_PTS(input) = 7;
  add_ssd(input);
  (void)harness.push(input);
}

// All that can be read without waiting.
std::string read_all(int fd)
{
  std::string text(1 << 20, '\0');
  const ssize_t size = ::read(fd, text.data(), text.size());
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

std::string of_descriptor(int fd)
{
  return "drmtensordecode json-fd=" + std::to_string(fd);
}

// A file is appended to by the next start; a frame without objects is a line, a frame without tensors is none.
GST_START_TEST(test_json_file)
{
  const std::string path = write_labels("");
  const Harness harness("drmtensordecode json-file=" + path);
  for (int start = 0; start < 2; start++) {
    fail_unless(harness.negotiate(kFrames));
    push_frame_with_objects(harness);
    (void)harness.push(new_frame());
    gst_element_set_state(harness.element(), GST_STATE_NULL);
    gst_element_set_state(harness.element(), GST_STATE_PLAYING);
  }
  GstBuffer *empty = new_frame();
  add_ssd(empty, {400, 400, 2, 2, 400, 400});
  fail_unless(harness.negotiate("application/x-frames"));
  (void)harness.push(empty);
  const int fd = ::open(path.c_str(), O_RDONLY);
  check_text(read_all(fd), (std::string(kLine) + "\n" + kLine + "\n{\"pts\":null,\"detections\":[]}\n").c_str());
  ::close(fd);
  ::unlink(path.c_str());
}
GST_END_TEST

enum class Kind { Pipe, Socket };

// What is read is whole lines, also if the reader is late; the descriptor of the application keeps its flags, and sleeps.
GST_START_TEST(test_json_slow_reader)
{
  std::array<int, 2> ends{};
  if (static_cast<Kind>(__i__) == Kind::Pipe)
    fail_unless(::pipe(ends.data()) == 0 && ::fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096);
  else
    fail_unless(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  fail_unless(::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
  {
    const Harness harness(of_descriptor(ends[1]));
    fail_unless(harness.negotiate(kFrames));
    std::size_t frames = 0;
    for (; harness.stat("lines-dropped") < 3; frames++) // 4 KiB and some 200 KiB
      push_frame_with_objects(harness);
    fail_unless_equals_int(harness.messages(GST_MESSAGE_WARNING).size(), 1);
    std::string text;
    for (std::string more = read_all(ends[0]); !more.empty(); more = read_all(ends[0]))
      text += more;
    push_frame_with_objects(harness);
    text += read_all(ends[0]);
    std::size_t lines = 0;
    for (std::size_t at = 0; at < text.size(); at += strlen(kLine) + 1, lines++)
      check_text(text.substr(at, strlen(kLine) + 1), (std::string(kLine) + "\n").c_str());
    fail_unless_equals_int(lines, frames - 3 + 1);
  }
  fail_unless((::fcntl(ends[1], F_GETFL) & O_NONBLOCK) == 0);
  ::close(ends[0]);
  ::close(ends[1]);
}
GST_END_TEST

// One warning, and the frames go on: no SIGPIPE ends the process.
GST_START_TEST(test_json_cannot_be_written)
{
  for (const Kind kind : {Kind::Pipe, Kind::Socket}) {
    std::array<int, 2> ends{};
    fail_unless((kind == Kind::Pipe ? ::pipe(ends.data()) : ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data())) == 0);
    const Harness harness(of_descriptor(ends[1]));
    fail_unless(harness.negotiate(kFrames));
    ::close(ends[0]);
    for (int i = 0; i < 3; i++)
      push_frame_with_objects(harness);
    const auto warnings = harness.messages(GST_MESSAGE_WARNING);
    fail_unless(warnings.size() == 1 && warnings[0].find("its reader has gone") != std::string::npos);
    ::close(ends[1]);
  }
  const Harness harness("drmtensordecode json-file=/dev/full");
  fail_unless(harness.negotiate(kFrames));
  for (int i = 0; i < 3; i++)
    push_frame_with_objects(harness);
  const auto warnings = harness.messages(GST_MESSAGE_WARNING);
  fail_unless(warnings.size() == 1 && warnings[0].find("/dev/full: ENOSPC") != std::string::npos);
}
GST_END_TEST

// A FIFO without a reader stops who opens it for writing, as in a public report
// (Digital-Process-Tools/claude-remember, issue 653).
GST_START_TEST(test_json_refused)
{
  const std::string fifo = write_labels("") + "-pipe";
  const int read_only = ::open("/dev/null", O_RDONLY), event = ::eventfd(0, 0);
  fail_unless(::mkfifo(fifo.c_str(), 0600) == 0);
  for (const auto &[settings, why] : {std::pair<std::string, const char *>{"json-file=/nowhere/lines", "/nowhere/lines: ENOENT"},
                                      {"json-file=/tmp", "/tmp: EISDIR"}, {"json-file=" + fifo, "nobody reads it"},
                                      {"json-fd=" + std::to_string(read_only), "EBADF"}, {"json-fd=1000000", "descriptor 1000000: EBADF"},
                                      {"json-fd=" + std::to_string(event), "no file, FIFO, pipe"},
                                      {"json-file=/tmp json-fd=1", "both set"}}) {
    const std::string text = gstdrm::test::start_error("drmtensordecode " + settings);
    fail_unless(text.find(why) != std::string::npos, "%s: %s", settings.c_str(), text.c_str());
  }
  ::close(read_only);
  ::close(event);
  ::unlink(fifo.c_str());
  ::unlink(fifo.substr(0, fifo.size() - strlen("-pipe")).c_str());
}
GST_END_TEST

// A mask and an embedding travel with their regions, in pixels of the frame; the line of JSON has the embedding.
GST_START_TEST(test_masks_and_embeddings)
{
  const Harness harness("drmtensordecode post-messages=true");
  fail_unless(harness.negotiate(kFrames));
  GstBuffer *input = new_frame();
  GstDrmTensorMeta *masks = gst_buffer_add_drm_tensor_meta(input, "masks");
  masks->placement = {64, 32, 0.5, 0.5, 0, 0};
  std::vector<gfloat> rows(7 * 20, 0.0F);
  for (const auto &[column, value] : {std::pair(0, 32.0F), {1, 16.0F}, {2, 32.0F}, {3, 16.0F}, {4, 0.75F}, {5, 1.0F}, {6, 0.0F}})
    rows[static_cast<std::size_t>(column) * 20] = value;
  add_tensor(masks, "output0", {1, 7, 20}, rows);
  std::vector<gfloat> prototypes(2 * 8, 0.0F);
  prototypes[1] = 20;
  add_tensor(masks, "output1", {1, 2, 2, 4}, prototypes);
  GstDrmTensorMeta *faces = gst_buffer_add_drm_tensor_meta(input, "faces");
  faces->placement = {64, 32, 0.5, 0.5, 0, 0};
  gst_drm_tensor_meta_set_decoder(faces, "embedding");
  add_tensor(faces, "vector", {1, 2}, {3, -4});
  const auto output = harness.push(input);
  check_text(regions_of(output.get()), "class 0 75% 32 16 64 32; embedding 100% 0 0 128 64");
  const GstStructure *object = gst_video_region_of_interest_meta_get_param(gst_buffer_get_video_region_of_interest_meta_id(output.get(), 0), "detection");
  g_autoptr(GstBuffer) mask = nullptr;
  guint columns = 0;
  gdouble x = 0, width = 0;
  fail_unless(gst_structure_get(object, "mask", GST_TYPE_BUFFER, &mask, "mask-columns", G_TYPE_UINT, &columns, "mask-x", G_TYPE_DOUBLE, &x, "mask-width", G_TYPE_DOUBLE, &width, nullptr));
  const std::array<guint8, 4> cells{255, 128, 128, 128};
  fail_unless(gst_buffer_get_size(mask) == 4 && gst_buffer_memcmp(mask, 0, cells.data(), 4) == 0);
  fail_unless(columns == 2 && x == 32 && width == 64);
  const GstStructure *face = gst_video_region_of_interest_meta_get_param(gst_buffer_get_video_region_of_interest_meta_id(output.get(), 1), "detection");
  const GValue *numbers = gst_structure_get_value(face, "embedding");
  fail_unless(gst_value_array_get_size(numbers) == 2 && g_value_get_double(gst_value_array_get_value(numbers, 1)) == static_cast<gdouble>(-0.8F));
  GstBus *bus = gst_element_get_bus(harness.element());
  GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT);
  gst_object_unref(bus);
  const std::string json = gst_structure_get_string(gst_message_get_structure(message), "json");
  gst_message_unref(message);
  fail_unless(json.find("\"height\":64,\"embedding\":[0.6,-0.8]}") != std::string::npos, "%s", json.c_str());
}
GST_END_TEST

struct RefusedRow {
  const char *element;
  GstDrmTensorPlacement placement;
  std::vector<gsize> dims; // of the one tensor
  const char *says;
};

const RefusedRow kRefused[] = {
    {"drmtensordecode", kWhole, {3}, "the model gave tensor probabilities 3"},
    {"drmtensordecode decoder=yolov5", kWhole, {1, 84, 8400}, "more boxes than columns"},
    {"drmtensordecode", kWhole, {1, 100, 85}, "the decoders yolov8, yolov5 all read"},
    {"drmtensordecode decoder=blazeface", kWhole, {3}, "decoder blazeface cannot read"},
    {"drmtensordecode decoder=ssd", kWhole, {3}, "boxes, scores, classes"},
    {"drmtensordecode decoder=yolov8", kWhole, {3}, "one tensor has to be"},
    {"drmtensordecode", {400, 400, 0, 2, 0, 0}, {1, 5, 6}, "scales of 0"},
    {"drmtensordecode", {400, 400, -1, 2, 0, 0}, {1, 5, 6}, "scales of -1"},
    {"drmtensordecode", {400, 400, NAN, 2, 0, 0}, {1, 5, 6}, "scales of nan"},
    {"drmtensordecode", {400, 400, 1, 2, INFINITY, 0}, {1, 5, 6}, "lies nowhere"},
};

GST_START_TEST(test_refused)
{
  const RefusedRow &row = kRefused[__i__];
  gstdrm::test::say(row.says);
  const Harness harness(row.element);
  fail_unless(harness.negotiate(kFrames));
  GstBuffer *input = new_frame();
  GstDrmTensorMeta *meta = gst_buffer_add_drm_tensor_meta(input, nullptr);
  meta->placement = row.placement;
  gsize count = 1;
  for (const gsize dim : row.dims)
    count *= dim;
  add_tensor(meta, "probabilities", row.dims, std::vector<gfloat>(count, 0.9F));
  fail_unless_equals_int(gst_harness_push(harness.get(), input), GST_FLOW_ERROR);
  std::string said = harness.last_error();
  gstdrm::test::say(said);
  std::transform(said.begin(), said.end(), said.begin(), [](unsigned char c) { return static_cast<char>(g_ascii_tolower(static_cast<gchar>(c))); });
  fail_unless(said.find(row.says) != std::string::npos, "%s", said.c_str());
}
GST_END_TEST

GST_START_TEST(test_no_labels_file)
{
  const std::string said = gstdrm::test::start_error("drmtensordecode labels-file=/nowhere/labels");
  fail_unless(said.find("/nowhere/labels") != std::string::npos, "%s", said.c_str());
  const std::string large = write_labels("");
  const std::string pipe = large + "-pipe";
  fail_unless(::truncate(large.c_str(), 8388609) == 0 && ::mkfifo(pipe.c_str(), 0600) == 0);
  for (const auto &[path, why] : {std::pair<std::string, const char *>{large, "has more than 8388608 bytes"}, {pipe, "is no regular file"},
                                  {"/tmp", "is no regular file"}, {"/dev/zero", "is no regular file"}}) {
    const std::string text = gstdrm::test::start_error("drmtensordecode labels-file=" + path);
    fail_unless(text.find(why) != std::string::npos, "%s: %s", path.c_str(), text.c_str());
  }
  ::unlink(pipe.c_str());
  ::unlink(large.c_str());
}
GST_END_TEST

// A word that is no decoder's is refused at start.
GST_START_TEST(test_unknown_decoder)
{
  const std::string said = gstdrm::test::start_error("drmtensordecode decoder=yolov9");
  fail_unless(said.find("no decoder \"yolov9\"; it may be one of blazeface, ssd") != std::string::npos, "%s", said.c_str());
  const std::string key = gstdrm::test::start_error("drmtensordecode decoder=yolox,boxes=xyxy");
  fail_unless(key.find("decoder yolox has no key \"boxes\"") != std::string::npos, "%s", key.c_str());
}
GST_END_TEST

struct GroupRow {
  const char *name;
  std::vector<const char *> elements; // one after the other
  const char *expected;
};

// Two models in one line: "objects" and "others".
const GroupRow kGroups[] = {
    {"one decoder for both", {"drmtensordecode threshold=0.7"}, "class 1 90% 50 30 50 40; class 1 90% 25 40 25 20"},
    {"a second one finds nothing left", {"drmtensordecode threshold=0.7", "drmtensordecode threshold=0.7"}, "class 1 90% 50 30 50 40; class 1 90% 25 40 25 20"},
    {"one group", {"drmtensordecode threshold=0.7 group=others"}, "class 1 90% 25 40 25 20"},
    {"two groups by name", {"drmtensordecode threshold=0.7 group=objects,others"}, "class 1 90% 50 30 50 40; class 1 90% 25 40 25 20"},
    {"a group that is not there", {"drmtensordecode group=neither"}, ""},
    {"a group by name again, and what is left", {"drmtensordecode threshold=0.7 group=others", "drmtensordecode threshold=0.7 group=others", "drmtensordecode threshold=0.7"}, "class 1 90% 25 40 25 20; class 1 90% 25 40 25 20; class 1 90% 50 30 50 40"},
    {"one decoder for each", {"drmtensordecode threshold=0.7 group=others", "drmtensordecode threshold=0.7"}, "class 1 90% 25 40 25 20; class 1 90% 50 30 50 40"},
};

// Frames with two models through all of the elements; nullptr: the last of them posted an error.
GstPtr<GstBuffer> through(const std::vector<const char *> &elements, std::string &error)
{
  auto buffer = GstPtr<GstBuffer>::adopt(new_frame());
  add_ssd(buffer.get());
  add_ssd(buffer.get(), {400, 400, 4, 4, 0, 0}, "others");
  for (const char *element : elements) {
    const Harness harness(element);
    fail_unless(harness.negotiate(kFrames));
    const auto kept = GstPtr<GstBuffer>::share(buffer.get()); // so that the element makes a copy, and the marks go with it
    if (gst_harness_push(harness.get(), buffer.release()) != GST_FLOW_OK) {
      error = harness.last_error();
      return {};
    }
    buffer = harness.pull();
  }
  return buffer;
}

GST_START_TEST(test_groups)
{
  const GroupRow &row = kGroups[__i__];
  gstdrm::test::say(row.name);
  std::string error;
  const auto output = through(row.elements, error);
  fail_unless(static_cast<bool>(output), "%s", error.c_str());
  check_text(regions_of(output.get()), row.expected);
}
GST_END_TEST

// The labels of one model never name the objects of another one.
GST_START_TEST(test_labels_of_one_model)
{
  const std::string path = write_labels("cat\ndog\n");
  const std::string all = "drmtensordecode threshold=0.7 labels-file=" + path, one = all + " group=objects";
  std::string error;
  fail_if(static_cast<bool>(through({all.c_str()}, error)));
  fail_unless(error.find("groups \"objects\" and \"others\"") != std::string::npos, "%s", error.c_str());
  const auto output = through({one.c_str(), "drmtensordecode threshold=0.7"}, error);
  fail_unless(static_cast<bool>(output), "%s", error.c_str());
  check_text(regions_of(output.get()), "dog 90% 50 30 50 40; class 1 90% 25 40 25 20");
  unlink(path.c_str());
}
GST_END_TEST

// Downstream's answer to an allocation query reaches upstream as it is.
GST_START_TEST(test_allocation_passes)
{
  const Harness harness("drmtensordecode");
  gst_harness_add_propose_allocation_meta(harness.get(), GST_VIDEO_META_API_TYPE, nullptr);
  fail_unless(harness.negotiate(kFrames));
  const auto query = harness.ask_allocation(kFrames);
  fail_unless(query && gst_query_find_allocation_meta(query.get(), GST_VIDEO_META_API_TYPE, nullptr));
}
GST_END_TEST

Suite *drmtensordecode_suite()
{
  Suite *suite = suite_create("drmtensordecode");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_regions, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tcase, test_decoder_that_the_model_names, 0, G_N_ELEMENTS(kSaid));
  tcase_add_loop_test(tcase, test_refused, 0, G_N_ELEMENTS(kRefused));
  tcase_add_test(tcase, test_shared);
  tcase_add_test(tcase, test_without_tensors);
  tcase_add_loop_test(tcase, test_hold, 0, G_N_ELEMENTS(kHolds));
  tcase_add_test(tcase, test_track);
  tcase_add_test(tcase, test_track_ids);
  tcase_add_test(tcase, test_models_of_two_intervals);
  tcase_add_test(tcase, test_numbers);
  tcase_add_test(tcase, test_two_models);
  tcase_add_test(tcase, test_unknown_decoder);
  tcase_add_loop_test(tcase, test_groups, 0, G_N_ELEMENTS(kGroups));
  tcase_add_test(tcase, test_labels_of_one_model);
  tcase_add_test(tcase, test_messages);
  tcase_add_test(tcase, test_json_file);
  tcase_add_loop_test(tcase, test_json_slow_reader, 0, 2);
  tcase_add_test(tcase, test_json_cannot_be_written);
  tcase_add_test(tcase, test_json_refused);
  tcase_add_test(tcase, test_key_points);
  tcase_add_test(tcase, test_key_points_of_a_track);
  tcase_add_test(tcase, test_masks_and_embeddings);
  tcase_add_test(tcase, test_no_labels_file);
  tcase_add_test(tcase, test_allocation_passes);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(drmtensordecode)

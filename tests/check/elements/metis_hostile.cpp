// SPDX-License-Identifier: LGPL-2.1-or-later
// metisdmabufinfer, drmtensordecode and drmoverlay among applications and elements that do what nobody should: queries,
// events, peers and metas; bus handlers that call back; frames and tensors of random shapes.
#include "metis_line.hpp"

#include <cmath>
#include <memory>
#include <random>

#include <gst/drm/gstdrmtensormeta.h>
#include <gst/video/video-overlay-composition.h>

#include "support/bus_handler.hpp"
#include "support/odd_peers.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;
using gstdrm::test::line::described;

// --- queries and events --------------------------------------------------------------------------

enum class Stage { Null, Ready, Paused, WithCaps };

constexpr const char *kElements[] = {"metisdmabufinfer", "drmtensordecode", "drmoverlay"};
constexpr const char *kPads[] = {"sink", "src"};
constexpr Stage kStages[] = {Stage::Null, Stage::Ready, Stage::Paused, Stage::WithCaps};
constexpr int kPlaces = G_N_ELEMENTS(kElements) * G_N_ELEMENTS(kPads) * G_N_ELEMENTS(kStages);

// The element of a row in its state, between two pads of the test, and its pad.
class Odd {
public:
  explicit Odd(int row) : name_(kElements[row % 3])
  {
    const Stage stage = kStages[row / 6];
    if (stage == Stage::Null) {
      element_ = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(make_element(described(name_)))));
    } else {
      harness_ = std::make_unique<Harness>(described(name_));
      element_ = GstPtr<GstElement>::share(harness_->element());
      gst_element_set_state(element_.get(), GST_STATE_READY);
      if (stage != Stage::Ready)
        gst_harness_play(harness_->get());
      if (stage == Stage::WithCaps)
        fail_unless(harness_->negotiate(plain_caps("NV12", 64, 48)), "%s", harness_->last_error().c_str());
    }
    pad_ = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element_.get(), kPads[row / 3 % 2]));
    say(std::string(name_) + ", " + GST_PAD_NAME(pad_.get()));
  }
  [[nodiscard]] GstPad *pad() const { return pad_.get(); }
  // The other two pass on what neither they nor their peers look at.
  [[nodiscard]] bool passes_all() const { return !g_str_equal(name_, "metisdmabufinfer"); }

private:
  const char *name_;
  std::unique_ptr<Harness> harness_;
  GstPtr<GstElement> element_;
  GstPtr<GstPad> pad_;
};

// metisdmabufinfer takes memory:NVMM too, which is no GstDrmVideoInfo.
bool anything(const GstCaps *)
{
  return true;
}

GST_START_TEST(test_queries)
{
  const Odd odd(__i__);
  ask_everything(odd.pad(), odd.passes_all() ? could_be_sent : can_be_honoured, odd.passes_all() ? anything : can_be_honoured);
}
GST_END_TEST

GST_START_TEST(test_events)
{
  const Odd odd(__i__);
  send_odd_events(odd.pad());
  if (GST_PAD_IS_SINK(odd.pad()) && !odd.passes_all())
    for (const OddCaps &caps : kOddCaps)
      send_odd_caps(odd.pad(), caps);
}
GST_END_TEST

// Downstream answers with odd caps: no CRITICAL, and one message at most for what is refused.
GST_START_TEST(test_odd_peer)
{
  const auto answer = odd_caps(kOddCaps[__i__]);
  if (!answer) // a harness without caps answers ANY
    return;
  for (const char *element : kElements)
    try_odd_peer(described(element), answer);
}
GST_END_TEST

// --- bus handlers --------------------------------------------------------------------------------

GstBuffer *add_region(GstBuffer *buffer)
{
  gst_buffer_add_video_region_of_interest_meta(buffer, "face", 4, 4, 40, 30);
  return buffer;
}

// A tensor of no model.
GstBuffer *add_nonsense(GstBuffer *buffer)
{
  GstDrmTensorMeta *meta = gst_buffer_add_drm_tensor_meta(buffer, "nonsense");
  const auto memory = GstPtr<GstMemory>::adopt(gst_allocator_alloc(nullptr, 4, nullptr));
  GstDrmTensor tensor;
  gst_drm_tensor_init(&tensor);
  tensor.type = GST_DRM_TENSOR_TYPE_UINT8;
  tensor.n_dims = 1;
  tensor.dims[0].size = tensor.size = 4;
  tensor.memory = memory.get();
  fail_unless(gst_drm_tensor_meta_add_tensor(meta, &tensor, nullptr));
  return buffer;
}

// A message of each kind: a bad frame, caps that are refused, a copy that is announced or forbidden, tensors of no model.
const MessageRow kMessages[] = {
    {"metisdmabufinfer", "ANY", "NV12", cut},
    {"metisdmabufinfer", "audio/x-raw", "NV12", nullptr},
    {"metisdmabufinfer", "ANY", "NV12_10LE32", nullptr},
    {"drmtensordecode", "ANY", "NV12", add_nonsense},
    {"drmoverlay", "ANY", "NV12", add_region},
    {"drmoverlay zero-copy=require", "ANY", "NV12", add_region},
};

GST_START_TEST(test_bus_handler)
{
  const MessageRow &row = kMessages[__i__];
  call_back_within(row, described(row.element), anything);
}
GST_END_TEST

// --- random frames, tensors and regions ----------------------------------------------------------

class Dice {
public:
  explicit Dice(unsigned seed) : random_(seed) {}
  guint up_to(guint most) { return static_cast<guint>(random_() % (guint64{most} + 1)); }
  bool one_in(guint n) { return up_to(n - 1) == 0; }
  // Small, at an edge, or anything.
  guint size(guint usual)
  {
    static constexpr guint kEdges[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff};
    return one_in(6) ? kEdges[up_to(5)] : up_to(usual);
  }
  gfloat value()
  {
    const auto bits = static_cast<guint32>(random_());
    gfloat any = 0;
    memcpy(&any, &bits, sizeof any);
    return one_in(8) ? any : static_cast<gfloat>(up_to(2000)) / 1000.0F - 0.5F;
  }

private:
  std::mt19937 random_;
};

constexpr const char *kFormats[] = {"NV12", "BGRx", "BGRA", "RGBx", "RGBA", "RGB", "BGR"};

// A frame of these caps whose GstVideoMeta, memory or size may be another's.
GstBuffer *random_frame(Dice &dice, const std::string &caps)
{
  const GstVideoInfo info = video_info(caps);
  const bool dmabuf = dice.one_in(3);
  GstBuffer *frame = dmabuf ? new_dmabuf_frame("memfd", caps) : new_frame(caps);
  if (dice.one_in(3)) {
    gsize offsets[GST_VIDEO_MAX_PLANES] = {};
    gint strides[GST_VIDEO_MAX_PLANES] = {};
    for (guint i = 0; i < 2; i++) {
      offsets[i] = dice.one_in(2) ? info.offset[i] : dice.size(20000);
      strides[i] = dice.one_in(2) ? info.stride[i] : static_cast<gint>(dice.size(400));
    }
    while (GstMeta *meta = gst_buffer_get_meta(frame, GST_VIDEO_META_API_TYPE))
      gst_buffer_remove_meta(frame, meta);
    gst_buffer_add_video_meta_full(frame, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                   dice.one_in(2) ? static_cast<guint>(info.width) : dice.size(100),
                                   dice.one_in(2) ? static_cast<guint>(info.height) : dice.size(100),
                                   GST_VIDEO_INFO_N_PLANES(&info), offsets, strides);
  }
  if (dice.one_in(6))
    gst_buffer_set_size(frame, dice.up_to(static_cast<guint>(gst_buffer_get_size(frame)) - 1) + 1);
  return frame;
}

// Frames of random caps through all three elements: each one comes out, or one error says why not.
GST_START_TEST(test_random_frames)
{
  Dice dice(static_cast<unsigned>(__i__) + 1);
  for (int stream = 0; stream < 12; stream++) {
    for (const char *element : {"metisdmabufinfer", "drmoverlay"}) {
      const Harness h(described(element));
      const std::string caps = plain_caps(kFormats[dice.up_to(6)], static_cast<int>(dice.up_to(99)) + 1, static_cast<int>(dice.up_to(99)) + 1);
      fail_unless(h.negotiate(caps), "%s: %s", caps.c_str(), h.last_error().c_str());
      for (int n = 0; n < 4; n++) {
        GstBuffer *frame = random_frame(dice, caps);
        gst_buffer_add_video_region_of_interest_meta(frame, "thing", dice.size(120), dice.size(120), dice.size(120), dice.size(120));
        if (gst_harness_push(h.get(), frame) == GST_FLOW_OK) {
          const auto output = h.pull();
          fail_unless(static_cast<bool>(output));
          continue;
        }
        fail_unless_equals_int(static_cast<int>(h.messages(GST_MESSAGE_ERROR).size()), 1);
        break;
      }
    }
  }
}
GST_END_TEST

void add_random_tensor(Dice &dice, GstDrmTensorMeta *meta)
{
  static constexpr const char *kNames[] = {nullptr, "boxes", "scores", "classes", "count", "out"};
  GstDrmTensor tensor;
  gst_drm_tensor_init(&tensor);
  tensor.name = kNames[dice.up_to(5)];
  tensor.type = dice.one_in(3) ? static_cast<GstDrmTensorType>(dice.up_to(2)) : GST_DRM_TENSOR_TYPE_FLOAT32;
  tensor.n_dims = dice.up_to(4);
  static constexpr gsize kUseful[] = {1, 2, 4, 6, 16, 64, 84, 896};
  gsize n = 1;
  for (guint i = 0; i < tensor.n_dims; i++) {
    tensor.dims[i].size = n > 4096 ? 1 : kUseful[dice.up_to(7)];
    if (dice.one_in(5))
      tensor.dims[i].padding_after = dice.up_to(static_cast<guint>(tensor.dims[i].size));
    n *= tensor.dims[i].size;
  }
  tensor.quantised = dice.one_in(4);
  tensor.scale = static_cast<gdouble>(dice.value());
  tensor.zero_point = static_cast<gint>(dice.size(200));
  std::vector<gfloat> values(n);
  for (gfloat &value : values)
    value = dice.value();
  tensor.size = n * (tensor.type == GST_DRM_TENSOR_TYPE_FLOAT32 ? 4 : 1);
  const auto memory = GstPtr<GstMemory>::adopt(gst_allocator_alloc(nullptr, n * sizeof(gfloat), nullptr));
  GstMapInfo map;
  fail_unless(gst_memory_map(memory.get(), &map, GST_MAP_WRITE));
  memcpy(map.data, values.data(), n * sizeof(gfloat));
  gst_memory_unmap(memory.get(), &map);
  tensor.memory = memory.get();
  g_autoptr(GError) error = nullptr;
  gst_drm_tensor_meta_add_tensor(meta, &tensor, &error); // what is no tensor is refused
}

// Tensors of random shapes and values: decoded, or refused with one error, and what is found lies in the frame.
GST_START_TEST(test_random_tensors)
{
  static constexpr const char *kDecoders[] = {"auto", "blazeface", "ssd", "yolov8", "yolov5", "yolov10", "yolox", "pose", "ultraface", "ultraface,boxes=offsets", "yunet", "fastestdet", "classify", "none"};
  Dice dice(static_cast<unsigned>(__i__) + 1);
  for (int n = 0; n < 150; n++) {
    const Harness h(std::string("drmtensordecode threshold=0 decoder=") + kDecoders[dice.up_to(G_N_ELEMENTS(kDecoders) - 1)]);
    const std::string caps = plain_caps("NV12", 100, 80);
    fail_unless(h.negotiate(caps));
    GstBuffer *frame = new_frame(caps);
    GstDrmTensorMeta *meta = gst_buffer_add_drm_tensor_meta(frame, "random");
    for (guint i = dice.up_to(4); i > 0; i--)
      add_random_tensor(dice, meta);
    meta->placement.input_width = dice.size(128);
    meta->placement.input_height = dice.size(128);
    for (gdouble *number : {&meta->placement.scale_x, &meta->placement.scale_y, &meta->placement.offset_x, &meta->placement.offset_y})
      *number = static_cast<gdouble>(dice.value());
    if (gst_harness_push(h.get(), frame) != GST_FLOW_OK) {
      fail_unless_equals_int(static_cast<int>(h.messages(GST_MESSAGE_ERROR).size()), 1);
      continue;
    }
    const auto output = h.pull();
    gpointer state = nullptr;
    while (GstMeta *found = gst_buffer_iterate_meta_filtered(output.get(), &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
      const auto *region = reinterpret_cast<const GstVideoRegionOfInterestMeta *>(found);
      fail_unless(region->x + region->w <= 100 && region->y + region->h <= 80, "%u %u %u %u", region->x, region->y, region->w, region->h);
    }
  }
}
GST_END_TEST

Suite *metis_hostile_suite()
{
  Suite *suite = suite_create("metis-hostile");
  TCase *tcase = tcase_create("hostile");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_queries, 0, kPlaces);
  tcase_add_loop_test(tcase, test_events, 0, kPlaces);
  tcase_add_loop_test(tcase, test_odd_peer, 0, kOddCapsCount);
  tcase_add_loop_test(tcase, test_bus_handler, 0, G_N_ELEMENTS(kMessages));
  tcase_add_loop_test(tcase, test_random_frames, 0, 4);
  tcase_add_loop_test(tcase, test_random_tensors, 0, 4);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(metis_hostile)

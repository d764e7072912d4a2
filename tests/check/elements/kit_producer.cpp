// SPDX-License-Identifier: LGPL-2.1-or-later
// How a producer agrees with downstream: what it offers, what it chooses, and what it allocates for that.
#include <cerrno>
#include <string>
#include <vector>

#include <gst/drm/drm.h>
#include <gst/drm/element/producer.hpp>

#include "support/check_main.hpp"
#include "support/count_memfds.hpp"
#include "support/descriptors.hpp"

namespace {

using namespace gstdrm;
using gstdrm::test::memfds_made;

constexpr guint32 kNv12 = 0x3231564e;
constexpr guint32 kXr24 = 0x34325258;
constexpr guint32 kRg16 = 0x36314752;
constexpr guint64 kXTiled = G_GUINT64_CONSTANT(0x0100000000000001);

#define DMA_DRM "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format="
#define SIZE ", width=320, height=240, framerate=25/1"

GstPtr<GstCaps> caps_of(const char *text)
{
  auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(text));
  fail_unless(static_cast<bool>(caps), "%s", text);
  return caps;
}

const FormatSet &formats()
{
  static const FormatSet set = FormatSet::from_pairs(
      {{kNv12, kModLinear}, {kNv12, kXTiled}, {kXr24, kModLinear}, {kXr24, kXTiled}, {kXr24, kModImplicit}});
  return set;
}

// A pad whose peer takes the caps, and an allocator of linear frames.
class World {
public:
  explicit World(const char *peer) : peer_(caps_of(peer))
  {
    gst_element_add_pad(bin_, src_);
    gst_pad_set_query_function_full(sink_, answer, peer_.get(), nullptr);
    fail_unless(gst_pad_link(src_, sink_) == GST_PAD_LINK_OK);
  }
  World(const World &) = delete;
  World &operator=(const World &) = delete;
  ~World()
  {
    gst_object_unref(sink_);
    gst_object_unref(bin_);
    gst_object_unref(allocator_);
  }

  Producer::Agreement agree(const FormatSet &set = formats(), ImplicitModifier setting = ImplicitModifier::Auto,
                            guint32 nearest = 0)
  {
    const auto own = producer_caps(&set, {});
    return producer_.agree(src_, own.get(), set, allocator_, setting, nearest);
  }
  void forget() { producer_.forget(); }
  void answer_with(const char *peer)
  {
    peer_ = caps_of(peer);
    sink_->querydata = peer_.get();
  }

private:
  static gboolean answer(GstPad *pad, GstObject *, GstQuery *query)
  {
    if (GST_QUERY_TYPE(query) != GST_QUERY_CAPS)
      return FALSE;
    gst_query_set_caps_result(query, static_cast<GstCaps *>(pad->querydata));
    return TRUE;
  }

  GstPtr<GstCaps> peer_;
  GstElement *bin_ = GST_ELEMENT(gst_object_ref_sink(gst_bin_new(nullptr)));
  GstPad *src_ = gst_pad_new("src", GST_PAD_SRC);
  GstPad *sink_ = GST_PAD(gst_object_ref_sink(gst_pad_new("sink", GST_PAD_SINK)));
  GstDrmAllocator *allocator_ = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr);
  Producer producer_{bin_, GST_CAT_DEFAULT};
};

struct AgreeRow {
  const char *peer;
  Producer::Outcome outcome;
  const char *caps;     // of Agreed
  const char *refusals; // a part of them
};
const AgreeRow kAgreements[] = {
    {DMA_DRM "NV12" SIZE, Producer::Outcome::Agreed, DMA_DRM "NV12" SIZE, ""},
    {DMA_DRM "{XR24, NV12}" SIZE, Producer::Outcome::Agreed, DMA_DRM "XR24" SIZE, ""}, // in the order of the consumer
    {DMA_DRM "{NV12:0x0100000000000001, NV12}" SIZE, Producer::Outcome::Agreed, DMA_DRM "NV12" SIZE, ""},
    // what the allocator refuses is passed over
    {DMA_DRM "{NV12:0x0100000000000001, XR24}" SIZE, Producer::Outcome::Agreed, DMA_DRM "XR24" SIZE, ""},
    {"video/x-raw, format=NV12" SIZE, Producer::Outcome::Agreed, "video/x-raw, format=NV12" SIZE, ""},
    {"video/x-raw", Producer::Outcome::Agreed, "video/x-raw, format=NV12, width=640, height=480, framerate=30/1", ""},
    // DMA buffers before plain caps, whatever downstream's order
    {"video/x-raw, format=BGRx" SIZE "; " DMA_DRM "NV12" SIZE, Producer::Outcome::Agreed, DMA_DRM "NV12" SIZE, ""},
    // plain formats of few bits last: videocrop lists RGB16 before BGRx; a display's order counts
    {"video/x-raw, format={RGB16, BGRx}" SIZE, Producer::Outcome::Agreed, "video/x-raw, format=BGRx" SIZE, ""},
    {"video/x-raw, format=RGB16" SIZE, Producer::Outcome::Agreed, "video/x-raw, format=RGB16" SIZE, ""},
    {DMA_DRM "{RG16, XR24}" SIZE, Producer::Outcome::Agreed, DMA_DRM "RG16" SIZE, ""},
    {DMA_DRM "AR24" SIZE, Producer::Outcome::NothingInCommon, nullptr, ""},
    {"audio/x-raw", Producer::Outcome::NothingInCommon, nullptr, ""},
    {DMA_DRM "NV12:0x0100000000000001" SIZE, Producer::Outcome::NotAllocated, nullptr, "INTEL_X_TILED"},
};

struct NearestRow {
  const char *peer;
  guint32 nearest;
  const char *caps;
};
const NearestRow kNearest[] = {
    {DMA_DRM "{XR24, NV12}" SIZE, kNv12, DMA_DRM "NV12" SIZE},
    {DMA_DRM "{XR24, NV12}" SIZE, kRg16, DMA_DRM "XR24" SIZE}, // not taken: downstream's order
    {"video/x-raw, format={BGRx, NV12}, width=512, height=240", kNv12, "video/x-raw, format=NV12"},
    {"video/x-raw, format={BGRx, RGB16}, width=512, height=240", kRg16, "video/x-raw, format=RGB16"},
    // 256 bytes a row are not GStreamer's for 320: a reader of plain video may want a copy of it
    {"video/x-raw, format={BGRx, NV12}" SIZE, kNv12, "video/x-raw, format=BGRx" SIZE},
    {"video/x-raw, format=NV12" SIZE, kNv12, "video/x-raw, format=NV12" SIZE},
    // DMA buffers before plain caps all the same
    {"video/x-raw, format=NV12" SIZE "; " DMA_DRM "XR24" SIZE, kNv12, DMA_DRM "XR24" SIZE},
};

// A converter keeps the format of its frames where it can.
GST_START_TEST(test_nearest)
{
  const NearestRow &row = kNearest[__i__];
  World world(row.peer);
  const auto agreement = world.agree(FormatSet::unite(formats(), FormatSet::from_pairs({{kRg16, kModLinear}})), ImplicitModifier::Auto,
                                     row.nearest);
  fail_unless(agreement.outcome == Producer::Outcome::Agreed);
  fail_unless(gst_caps_is_subset(agreement.caps.get(), caps_of(row.caps).get()), "%s: got %" GST_PTR_FORMAT, row.peer,
              static_cast<void *>(agreement.caps.get()));
}
GST_END_TEST

GST_START_TEST(test_agree)
{
  const AgreeRow &row = kAgreements[__i__];
  World world(row.peer);
  const auto agreement = world.agree(FormatSet::unite(formats(), FormatSet::from_pairs({{kRg16, kModLinear}})));
  fail_unless_equals_int(static_cast<int>(agreement.outcome), static_cast<int>(row.outcome));
  fail_unless(static_cast<bool>(agreement.caps) == (row.caps != nullptr));
  if (row.caps) {
    fail_unless(gst_caps_is_fixed(agreement.caps.get()));
    fail_unless(gst_caps_is_subset(agreement.caps.get(), caps_of(row.caps).get()), "%s: got %" GST_PTR_FORMAT, row.peer,
                static_cast<void *>(agreement.caps.get()));
  }
  fail_unless(agreement.refusals.message.find(row.refusals) != std::string::npos, "'%s'", agreement.refusals.message.c_str());
  fail_unless(agreement.outcome == Producer::Outcome::NotAllocated || row.refusals[0] == '\0');
  fail_unless_equals_int(agreement.refusals.sys_errno, 0);
}
GST_END_TEST

struct ImplicitRow {
  const char *name;
  ImplicitModifier setting;
  const char *peer;
  const char *caps; // nullptr: none are agreed on
};
#define DMABUF "video/x-raw(memory:DMABuf), format="
const ImplicitRow kImplicit[] = {
    {"a peer without DMA_DRM", ImplicitModifier::Linear, DMABUF "NV12" SIZE, DMABUF "NV12" SIZE},
    {"a peer with both: in its order", ImplicitModifier::Linear, DMA_DRM "NV12" SIZE "; " DMABUF "NV12" SIZE, DMA_DRM "NV12" SIZE},
    {"a peer with both, implicit first", ImplicitModifier::Linear, DMABUF "I420" SIZE "; " DMABUF "BGRx" SIZE "; " DMA_DRM "NV12" SIZE,
     DMABUF "BGRx" SIZE},
    {"implicit before plain", ImplicitModifier::Linear, "video/x-raw, format=NV12" SIZE "; " DMABUF "NV12" SIZE, DMABUF "NV12" SIZE},
    {"nobody says that it is linear", ImplicitModifier::Auto, DMABUF "NV12" SIZE, nullptr},
    {"refused", ImplicitModifier::Refuse, DMABUF "{NV12, BGRx}" SIZE, nullptr},
};

// The allocator makes LINEAR frames alone, so that what is agreed on is LINEAR.
GST_START_TEST(test_implicit)
{
  const ImplicitRow &row = kImplicit[__i__];
  gstdrm::test::say(row.name);
  World world(row.peer);
  const auto agreement = world.agree(with_implicit(formats(), row.setting), row.setting);
  fail_unless_equals_int(agreement.outcome == Producer::Outcome::Agreed, row.caps != nullptr);
  if (!row.caps)
    return;
  fail_unless(gst_caps_is_equal(agreement.caps.get(), caps_of(row.caps).get()), "got %" GST_PTR_FORMAT,
              static_cast<void *>(agreement.caps.get()));
  const auto made = memfds_made();
  (void)world.agree(with_implicit(formats(), row.setting), row.setting);
  fail_unless_equals_uint64(memfds_made(), made);
}
GST_END_TEST

// A GError has no errno: the process's lack of descriptors is asked for beside it.
GST_START_TEST(test_few_descriptors)
{
  World world(DMA_DRM "{NV12, XR24}" SIZE);
  Producer::Agreement agreement;
  {
    const gstdrm::test::FewDescriptors few(0);
    agreement = world.agree();
  }
  fail_unless_equals_int(static_cast<int>(agreement.outcome), static_cast<int>(Producer::Outcome::NotAllocated));
  fail_unless_equals_int(agreement.refusals.sys_errno, EMFILE);
  fail_unless_equals_int(static_cast<int>(agreement.refusals.code), GST_DRM_ERROR_ALLOCATION);
  agreement = world.agree(); // there is room again
  fail_unless_equals_int(static_cast<int>(agreement.outcome), static_cast<int>(Producer::Outcome::Agreed));
  fail_unless_equals_int(agreement.refusals.sys_errno, 0);
}
GST_END_TEST

// A renegotiation that changes nothing costs no frame.
GST_START_TEST(test_same_choice_allocates_once)
{
  World world(DMA_DRM "NV12" SIZE);
  const auto first = world.agree();
  const auto made = memfds_made();
  const auto second = world.agree();
  fail_unless_equals_uint64(memfds_made(), made);
  fail_unless(gst_caps_is_equal(first.caps.get(), second.caps.get()));
  world.forget();
  (void)world.agree();
  fail_unless_equals_uint64(memfds_made(), made + 1);
}
GST_END_TEST

GST_START_TEST(test_other_modifiers_are_another_choice)
{
  World world(DMA_DRM "{NV12, NV12:0x0100000000000001}" SIZE);
  (void)world.agree();
  const auto made = memfds_made();
  (void)world.agree(FormatSet::from_pairs({{kNv12, kModLinear}}));
  fail_unless_equals_uint64(memfds_made(), made + 1);
}
GST_END_TEST

// The same formats in another size are another choice: the frames have the new size.
GST_START_TEST(test_other_size_is_another_choice)
{
  World world(DMA_DRM "NV12, width=64, height=48");
  (void)world.agree();
  world.answer_with(DMA_DRM "NV12, width=32, height=16");
  const auto made = memfds_made();
  const auto second = world.agree();
  fail_unless_equals_uint64(memfds_made(), made + 1);
  fail_unless(gst_caps_is_subset(second.caps.get(), caps_of(DMA_DRM "NV12, width=32, height=16").get()));
}
GST_END_TEST

struct CapsRow {
  FormatSet formats;
  FrameSizes sizes;
  const char *expected;
};
const CapsRow kCaps[] = {
    {formats(), {16, 32, 1920, 1088},
     DMA_DRM "{ NV12, NV12:0x0100000000000001, XR24, XR24:0x0100000000000001 }, width=[16,1920], height=[32,1088], framerate=[0/1,2147483647/1];"
     "video/x-raw(memory:DMABuf), format=BGRx, width=[16,1920], height=[32,1088], framerate=[0/1,2147483647/1];"
     "video/x-raw, format={ NV12, BGRx }, width=[16,1920], height=[32,1088], framerate=[0/1,2147483647/1]"},
    {{}, {}, "EMPTY"},
};

GST_START_TEST(test_caps)
{
  const CapsRow &row = kCaps[__i__];
  const auto caps = producer_caps(&row.formats, row.sizes);
  fail_unless(gst_caps_is_equal(caps.get(), caps_of(row.expected).get()), "%" GST_PTR_FORMAT, static_cast<void *>(caps.get()));
}
GST_END_TEST

// Without a device every format can be meant.
GST_START_TEST(test_open_caps)
{
  const auto caps = producer_caps(nullptr, {});
  for (const char *taken : {DMA_DRM "NV12:0x0100000000000001" SIZE, "video/x-raw, format=I420" SIZE})
    fail_unless(gst_caps_can_intersect(caps.get(), caps_of(taken).get()), "%s", taken);
}
GST_END_TEST

Suite *kit_producer_suite()
{
  Suite *suite = suite_create("kit: producer");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_nearest, 0, G_N_ELEMENTS(kNearest));
  tcase_add_loop_test(tcase, test_agree, 0, G_N_ELEMENTS(kAgreements));
  tcase_add_loop_test(tcase, test_implicit, 0, G_N_ELEMENTS(kImplicit));
  tcase_add_test(tcase, test_few_descriptors);
  tcase_add_test(tcase, test_same_choice_allocates_once);
  tcase_add_test(tcase, test_other_modifiers_are_another_choice);
  tcase_add_test(tcase, test_other_size_is_another_choice);
  tcase_add_loop_test(tcase, test_caps, 0, G_N_ELEMENTS(kCaps));
  tcase_add_test(tcase, test_open_caps);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(kit_producer)

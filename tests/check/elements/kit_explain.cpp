// SPDX-License-Identifier: LGPL-2.1-or-later
// The kit's explanation of a failed negotiation: caps in words, what keeps two sides apart, and who refuses.
#include <string>
#include <vector>

#include "support/dmabuf_elements.hpp"

#include <gst/drm/element/explain.hpp>

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;
using gstdrm::Mismatch;
using gstdrm::Restriction;

void check_text(const std::string &text, const char *expected)
{
  fail_unless(text == expected, "got '%s', expected '%s'", text.c_str(), expected);
}

#define DMA_DRM "video/x-raw(memory:DMABuf), format=DMA_DRM"

struct WordsRow {
  const char *caps;
  const char *words;
};

constexpr WordsRow kWords[] = {
    {"EMPTY", "nothing"},
    {"ANY", "anything"},
    {"video/x-raw, format=NV12", "plain NV12"},
    {"video/x-raw, format={NV12,I420}; video/x-raw, format={I420,YUY2}, width=64", "plain NV12, I420, YUY2"},
    {"video/x-raw", "plain video in any format"},
    {DMA_DRM ", drm-format=NV12", "DMA_DRM NV12"},
    {DMA_DRM ", drm-format={NV12:0x0100000000000001,XR24}", "DMA_DRM NV12:0x0100000000000001 (INTEL_X_TILED), XR24"},
    {DMA_DRM, "DMA_DRM in any drm-format"},
    {"video/x-raw(memory:DMABuf), format=NV12", "memory:DMABuf NV12"},
    {"video/x-raw(memory:GLMemory)", "memory:GLMemory in any format"},
    {DMA_DRM ", drm-format=no-format; audio/x-raw; video/x-raw, format=NV12", "DMA_DRM no-format; audio/x-raw; plain NV12"},
};

GST_START_TEST(test_words)
{
  const WordsRow &row = kWords[__i__];
  const std::string words = gstdrm::describe_caps(caps_of(row.caps).get());
  fail_unless(words == row.words, "%s: got '%s', expected '%s'", row.caps, words.c_str(), row.words);
}
GST_END_TEST

// A GPU's list has hundreds of pairs, and a string from outside any length.
GST_START_TEST(test_words_are_cut)
{
  GstDrmFormatSet *set = gst_drm_format_set_new();
  for (guint64 i = 0; i < 400; i++)
    gst_drm_format_set_add(set, GST_MAKE_FOURCC('N', 'V', '1', '2'), 0x0300000000000010 + i);
  const auto many = GstPtr<GstCaps>::adopt(gst_drm_format_set_to_caps(set));
  gst_drm_format_set_unref(set);
  const std::string words = gstdrm::describe_caps(many.get());
  fail_unless(words.size() < 120, "%zu bytes", words.size());
  fail_unless(words.ends_with("…) and 399 more"), "not cut between two entries: '%s'", words.c_str());

  std::string wide = "x";
  for (int i = 0; i < 5000; i++)
    wide += "ä"; // two bytes each: a cut after an even number of bytes would halve one
  const auto one = GstPtr<GstCaps>::adopt(
      gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, wide.c_str(), nullptr));
  const std::string cut = gstdrm::describe_caps(one.get());
  fail_unless(cut.size() < 120, "%zu bytes", cut.size());
  fail_unless(g_utf8_validate(cut.c_str(), -1, nullptr), "'%s'", cut.c_str());
}
GST_END_TEST

GST_START_TEST(test_null_string)
{
  const auto caps = GstPtr<GstCaps>::adopt(
      gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, nullptr, "width", G_TYPE_INT, 64, nullptr));
  check_text(gstdrm::describe_caps(caps.get()), "plain video in any format");
  check_text(gstdrm::text_of(caps.get()), "video/x-raw, format=(gchararray)unreadable, width=(gint)64");
  check_text(gstdrm::describe_caps(nullptr), "nothing");
  check_text(gstdrm::text_of(static_cast<const GstCaps *>(nullptr)), "");
}
GST_END_TEST

struct MissRow {
  const char *name;
  const char *sent;
  const char *taken;
  const char *miss;
};

constexpr MissRow kMisses[] = {
    {"they meet", "video/x-raw, format=NV12", "video/x-raw, format={NV12,I420}", ""},
    {"nothing is known", "ANY", DMA_DRM, ""},
    {"nothing is taken", "video/x-raw, format=NV12", "EMPTY", ""},
    {"a size", "video/x-raw, format=NV12, width=641", "video/x-raw, format=NV12, width=[1,640]", "width 641 against [ 1, 640 ]"},
    {"two sizes", "video/x-raw, width=5", "video/x-raw, width=6; video/x-raw, width=7", "width 5 against 6 or 7"},
    {"a rate", "video/x-raw, framerate=25/1", "video/x-raw, framerate=30/1", "framerate 25/1 against 30/1"},
    {"modifiers", DMA_DRM ", drm-format={XR24,NV12}", DMA_DRM ", drm-format=NV12:0x0100000000000002", "NV12 with other modifiers"},
    {"plain into DMA_DRM", "video/x-raw, format=NV12", DMA_DRM ", drm-format=NV12", "system memory against memory:DMABuf"},
    {"DMA_DRM into plain", DMA_DRM ", drm-format=NV12", "video/x-raw, format=NV12", "memory:DMABuf against system memory"},
    {"formats", "video/x-raw, format=NV12", "video/x-raw, format=I420", "no format in common"},
    {"an overlay beside the same pair", "video/x-raw(memory:DMABuf, meta:GstVideoOverlayComposition), format=DMA_DRM, drm-format=XR24", DMA_DRM ", drm-format=XR24", "memory:DMABuf, meta:GstVideoOverlayComposition against memory:DMABuf"},
    {"an overlay, as other modifiers are taken too", "video/x-raw(memory:DMABuf, meta:GstVideoOverlayComposition), format=DMA_DRM, drm-format=XR24", DMA_DRM ", drm-format={XR24:0x0100000000000001,XR24}", "memory:DMABuf, meta:GstVideoOverlayComposition against memory:DMABuf"},
    {"a GL texture into DMA_DRM", "video/x-raw(memory:GLMemory), format=RGBA", DMA_DRM ", drm-format=AB24", "memory:GLMemory against memory:DMABuf"},
    {"VA surfaces into plain or GL memory", "video/x-raw(memory:VAMemory), format=NV12", "video/x-raw, format=NV12; video/x-raw(memory:GLMemory), format=RGBA", "memory:VAMemory against system memory or memory:GLMemory"},
    {"plain that is DMA_DRM as well", "video/x-raw, format=NV12; " DMA_DRM ", drm-format=NV12", "video/x-raw, format=I420; " DMA_DRM ", drm-format=XR24", "no format in common"},
    {"fourccs", DMA_DRM ", drm-format=NV12", DMA_DRM ", drm-format=XR24", "no format in common"},
};

GST_START_TEST(test_nearest_miss)
{
  const MissRow &row = kMisses[__i__];
  const std::string miss = gstdrm::nearest_miss(caps_of(row.sent).get(), caps_of(row.taken).get());
  fail_unless(miss == row.miss, "%s: got '%s', expected '%s'", row.name, miss.c_str(), row.miss);
}
GST_END_TEST

struct Receiver {
  const char *name;
  const char *caps;
  bool is_filter;
};

struct MismatchRow {
  const char *name;
  const char *sent;
  std::vector<Receiver> receivers;
  const char *text; // all of it
};

const std::vector<MismatchRow> &mismatch_rows()
{
  static const std::vector<MismatchRow> rows = {
      {"a sink", "video/x-raw, format=NV12, width=64, height=48", {{"sink", "video/x-raw, format=I420", false}},
       "It failed. src has plain NV12 in 64x48. sink takes plain I420 (no format in common). Convert."},
      {"a filter", "video/x-raw, format=NV12", {{"f", "video/x-raw, format=I420", true}, {"sink", "ANY", false}},
       "It failed. src has plain NV12. f allows plain I420 (no format in common). Convert. Or change the caps of f."},
      {"the second one", "video/x-raw, format=NV12, width=8", {{"f", "video/x-raw, format=NV12", true}, {"sink", "video/x-raw, width=9", false}},
       "It failed. src has plain NV12. sink takes plain video in any format (width 8 against 9). Convert."},
      {"nothing there", "video/x-raw, format=NV12", {},
       "It failed. src has plain NV12. Nothing that handles frames is linked after it. Link its source pad to a sink or a converter."},
      {"EMPTY caps", "video/x-raw, format=NV12", {{"f", "EMPTY", true}},
       "It failed. src has plain NV12. f allows nothing. Its caps are EMPTY: write those that the stream may have."},
      {"the old dialect", DMA_DRM ", drm-format=NV12", {{"f", "video/x-raw(memory:DMABuf), format=NV12", true}},
       "It failed. src has DMA_DRM NV12. f allows memory:DMABuf NV12 (no format in common). With memory:DMABuf, format=NV12 stands for "
       "a layout that only a driver knows: write format=DMA_DRM and drm-format, or, for linear frames, set "
       "implicit-modifier=linear."},
      {"two that nothing can please", "video/x-raw, format=NV12", {{"f", "video/x-raw, format=I420", true}, {"sink", "video/x-raw, format=YUY2", false}},
       "It failed. src has plain NV12. f allows plain I420 and sink takes plain YUY2, which have nothing in common. Change the "
       "caps of f, or put a converter (videoconvert) before sink."},
      {"too large", "video/x-raw, format=NV12, width=20000, height=10", {{"sink", "ANY", false}},
       "It failed. src has plain NV12 in 20000x10. No frame here has more than 16384 pixels in a direction. Put videoscale before it."},
  };
  return rows;
}

GST_START_TEST(test_mismatch)
{
  const MismatchRow &row = mismatch_rows()[static_cast<std::size_t>(__i__)];
  const auto sent = caps_of(row.sent);
  std::vector<Restriction> receivers;
  for (const Receiver &each : row.receivers)
    receivers.push_back({each.name, each.is_filter ? "allows" : "takes", caps_of(each.caps), each.is_filter});
  const Mismatch mismatch =
      gstdrm::describe_mismatch({"It failed.", {"src", "has", sent.get()}, std::move(receivers)},
                                [](const GstCaps *, const GstCaps *) { return "Convert."; });
  fail_unless(mismatch.text == row.text, "%s:\n   got '%s',\nexpected '%s'", row.name, mismatch.text.c_str(), row.text);
  fail_unless(mismatch.debug.find(text_of(sent.get())) != std::string::npos, "%s: '%s'", row.name, mismatch.debug.c_str());
  for (const Receiver &each : row.receivers)
    fail_unless(mismatch.debug.find(text_of(caps_of(each.caps).get())) != std::string::npos, "%s: '%s'", row.name,
                mismatch.debug.c_str());
}
GST_END_TEST

// What an element can make of upstream's caps decides who refuses; the suggestion is about upstream's own caps.
GST_START_TEST(test_sendable)
{
  const auto upstream = caps_of("video/x-raw, format=NV12");
  const auto sendable = caps_of(DMA_DRM ", drm-format=NV12");
  std::string asked;
  const auto suggest = [&](const GstCaps *sent, const GstCaps *refusing) {
    asked = text_of(sent) + " to " + text_of(refusing);
    return std::string("Convert.");
  };
  std::vector<Restriction> receivers;
  receivers.push_back({"f", "allows", caps_of(DMA_DRM), true});
  receivers.push_back({"sink", "takes", caps_of(DMA_DRM ", drm-format=NV12:0x0100000000000002"), false});
  const Mismatch mismatch = gstdrm::describe_mismatch(
      {"It failed.", {"src", "has", upstream.get(), sendable.get()}, std::move(receivers)}, suggest);
  check_text(mismatch.text,
                            "It failed. src has plain NV12. sink takes DMA_DRM NV12:0x0100000000000002 (INTEL_Y_TILED) "
                            "(NV12 with other modifiers). Convert.");
  fail_unless(asked == text_of(upstream.get()) + " to " + text_of(caps_of(DMA_DRM ", drm-format=NV12:0x0100000000000002").get()),
              "%s", asked.c_str());
}
GST_END_TEST

// The names of both sides, through elements that pass frames on.
GST_START_TEST(test_names)
{
  GError *error = nullptr;
  const auto pipeline = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(gst_parse_launch(
      "fakesrc name=src ! queue name=queue0 ! capsfilter name=f caps=video/x-raw ! videoconvert name=me ! identity ! fakesink name=sink", &error))));
  fail_unless(error == nullptr, "%s", error ? error->message : "");
  const auto me = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "me"));
  const auto sink = GstPtr<GstPad>::adopt(gst_element_get_static_pad(me.get(), "sink"));
  const auto src = GstPtr<GstPad>::adopt(gst_element_get_static_pad(me.get(), "src"));
  check_text(gstdrm::origin_name(sink.get()), "src (fakesrc), through f (capsfilter)");
  check_text(gstdrm::peer_name(sink.get()), "f (capsfilter)");
  check_text(gstdrm::holder_name(src.get()), "sink (fakesink)");
  const auto first = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "src"));
  const auto first_src = GstPtr<GstPad>::adopt(gst_element_get_static_pad(first.get(), "src"));
  check_text(gstdrm::holder_name(first_src.get()), "queue0 (queue)"); // which may keep frames
  const std::vector<Restriction> receivers = gstdrm::restrictions_after(src.get());
  fail_unless(receivers.size() == 1);
  check_text(receivers[0].name, "sink (fakesink)");
  check_text(gstdrm::nothing_in_common(me.get()), "me finds nothing in common.");
}
GST_END_TEST

// Elements that feed themselves: the way through them ends all the same.
GST_START_TEST(test_loop)
{
  GError *error = nullptr;
  const auto pipeline = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(gst_parse_launch(
      "videoconvert name=me ! funnel name=f ! tee name=t t. ! queue ! f. t. ! queue ! fakesink", &error))));
  fail_unless(error == nullptr, "%s", error ? error->message : "");
  const auto me = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "me"));
  const auto tee = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "t"));
  const auto src = GstPtr<GstPad>::adopt(gst_element_get_static_pad(me.get(), "src"));
  const auto sink = GstPtr<GstPad>::adopt(gst_element_get_static_pad(tee.get(), "sink"));
  fail_unless(gstdrm::restrictions_after(src.get()).size() < 64);
  fail_if(gstdrm::origin_name(sink.get()).empty());
}
GST_END_TEST

Suite *kit_explain_suite()
{
  Suite *suite = suite_create("kit explain");
  TCase *tcase = tcase_create("explain");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_words, 0, G_N_ELEMENTS(kWords));
  tcase_add_test(tcase, test_words_are_cut);
  tcase_add_test(tcase, test_null_string);
  tcase_add_loop_test(tcase, test_nearest_miss, 0, G_N_ELEMENTS(kMisses));
  tcase_add_loop_test(tcase, test_mismatch, 0, static_cast<int>(mismatch_rows().size()));
  tcase_add_test(tcase, test_sendable);
  tcase_add_test(tcase, test_names);
  tcase_add_test(tcase, test_loop);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(kit_explain)

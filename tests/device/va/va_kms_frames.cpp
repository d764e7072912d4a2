// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc ! kmsdmabufsink: 600 frames, whose numbers are read from what the display scanned out
// (writeback).
#include "va_support.hpp"

namespace {

using namespace gstdrm::test;

constexpr int kFrames = 600;
constexpr int kWidth = 640;
constexpr int kHeight = 480;

// The frame counter in a picture of the display; -1: there is none, or its sum is wrong.
std::int64_t read_number(GstSample *sample)
{
  GstVideoInfo info;
  GstVideoFrame frame;
  if (!sample || !gst_video_info_from_caps(&info, gst_sample_get_caps(sample)) ||
      !gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ))
    return -1;
  constexpr int cell = 8;                                      // pixels
  const int left = (GST_VIDEO_INFO_WIDTH(&info) - kWidth) / 2; // a smaller picture is centred
  const int top = (GST_VIDEO_INFO_HEIGHT(&info) - kHeight) / 2;
  std::int64_t number = 0;
  unsigned sum = 0;
  for (int i = 0; i < 13; ++i) {
    unsigned byte = 0;
    for (int bit = 0; bit < 8; ++bit) {
      const auto *row = static_cast<const guint8 *>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0)) +
                        static_cast<gsize>(top + i * cell + cell / 2) *
                            static_cast<gsize>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0));
      byte = byte << 1 | (row[(left + bit * cell + cell / 2) * 4] > 127 ? 1U : 0U);
    }
    if (i < 4)
      number = number << 8 | byte;
    sum += i < 12 ? byte : 0;
    if (i == 12 && byte != (~sum & 0xff))
      number = -1;
  }
  gst_video_frame_unmap(&frame);
  return number;
}

// Looks at the display after each frame, before the next one reaches the sink: in the streaming
// thread.
struct Watch {
  GstElement *sink = nullptr;
  std::int64_t given = 0; // frames that the sink has
  std::vector<std::int64_t> seen;

  // Until the last frame is shown: a flip may still be on its way.
  void look()
  {
    for (int i = 0; i < 8 && given > 0 && (seen.empty() || seen.back() != given - 1); ++i) {
      GstSample *sample = nullptr;
      g_signal_emit_by_name(sink, "snapshot", &sample);
      const auto number = read_number(sample);
      g_clear_pointer(&sample, gst_sample_unref);
      if (seen.empty() || seen.back() != number)
        seen.push_back(number);
    }
  }
  static GstPadProbeReturn probe(GstPad *, GstPadProbeInfo *info, gpointer self)
  {
    auto &watch = *static_cast<Watch *>(self);
    if ((GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER) != 0) {
      watch.look();
      ++watch.given;
    } else if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_EOS) {
      watch.look();
    }
    return GST_PAD_PROBE_OK;
  }
};

GST_START_TEST(test_every_number_is_shown_once)
{
  set_driver("formats=BGRX");
  Pipeline pipeline(source("pattern=frame-counter num-buffers=" + std::to_string(kFrames),
                           dma_caps("XR24", kWidth, kHeight),
                           "kmsdmabufsink name=sink mode=match driver-name=vkms sync=false"));
  Watch watch;
  watch.sink = pipeline.get("sink");
  GstPad *pad = gst_element_get_static_pad(watch.sink, "sink");
  gst_pad_add_probe(
      pad,
      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM),
      Watch::probe, &watch, nullptr);
  gst_object_unref(pad);
  fail_unless(pipeline.play());
  fail_unless(pipeline.wait_for_end() == "eos");
  for (std::size_t i = 0; i < watch.seen.size(); ++i)
    fail_unless(watch.seen[i] == static_cast<std::int64_t>(i), "picture %d has number %d",
                static_cast<int>(i), static_cast<int>(watch.seen[i]));
  fail_unless_equals_int(static_cast<int>(watch.seen.size()), kFrames);
  fail_unless_equals_uint64(pipeline.stat("frames"), kFrames);
  fail_unless_equals_uint64(pipeline.stat("copies"), 0);
  GstStructure *stats = nullptr;
  g_object_get(watch.sink, "drm-stats", &stats, nullptr);
  guint64 imports = 0;
  guint64 copies = 0;
  guint64 fences = 0;
  fail_unless(gst_structure_get(stats, "imports", G_TYPE_UINT64, &imports, "copies", G_TYPE_UINT64,
                                &copies, "release-fences", G_TYPE_UINT64, &fences, nullptr));
  gst_structure_free(stats);
  fail_unless_equals_uint64(copies, 0);
  // the source honours release fences: each commit but the first gives a frame back
  fail_unless_equals_uint64(fences, kFrames - 1);
  fail_unless(imports <= 9, "each dma-buf is imported once, there were %d imports",
              static_cast<int>(imports));
}
GST_END_TEST

Suite *va_kms_frames_suite()
{
  Suite *suite = suite_create("vadmabufsrc's frames on a display");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 240);
  tcase_add_test(tcase, test_every_number_is_shown_once);
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_kms_frames)
